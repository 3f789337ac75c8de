import jax
import jax.numpy as jnp
import numpy as np
import pytest

import armwise as aw
from armwise.evaluation import decision_quality as quality_module
from armwise.rmab.rollout import blocks
from tests.oracles import random_transitions, solved_returns

KEY = jax.random.key(3)


@pytest.fixture
def cohorts(rng):
    true, predicted = (np.stack([random_transitions(rng, "dense", 15, 2) for _ in range(6)]) for _ in range(2))
    return true, predicted


def test_the_truth_is_perfect_and_no_call_is_nothing(cohorts):
    true, _ = cohorts
    decomposed = aw.decomposed_decision_quality(true, true, aw.Problem(), budget=3)
    joint = aw.joint_decision_quality(KEY, true, true, aw.Problem(), budget=3, num_trajectories=50)
    for quality in (decomposed, joint):
        assert float(quality.normalised) == pytest.approx(1, abs=1e-12)
        np.testing.assert_allclose(quality.per_cohort, 1, atol=1e-12)
        assert float(quality.standard_error) == pytest.approx(0, abs=1e-12)
    never = np.full(true.shape[:3], -np.inf)
    nobody = aw.priority_decision_quality(KEY, never, true, aw.Problem(), budget=3, num_trajectories=50)
    assert float(nobody.normalised) == 0


def test_decomposed_quality_follows_the_definition(cohorts):
    true, predicted = cohorts
    problem, policies = aw.Problem(), aw.all_policies(2)
    quality = aw.decomposed_decision_quality(predicted, true, problem, budget=3)
    for i in range(6):
        worth, spend = solved_returns(true[i], [0, 1], 0.9, [0.5, 0.5], [0, 1], policies)
        looks, _ = solved_returns(predicted[i], [0, 1], 0.9, [0.5, 0.5], [0, 1], policies)
        for values, returns in ((looks, quality.achieved), (worth, quality.perfect)):
            mixture = aw.LinearMixture()(values, spend, 30.0).mixture
            assert float(returns[i]) == pytest.approx(float((mixture * worth).sum()), rel=1e-9)
        assert float(quality.never[i]) == pytest.approx(worth[:, 0].sum(), rel=1e-9)
    assert (quality.achieved <= quality.perfect + 1e-9).all()  # Theorem 2


def test_joint_quality_is_a_simulation_of_each_cohort(cohorts):
    true, predicted = cohorts
    problem = aw.Problem()
    quality = aw.joint_decision_quality(KEY, predicted, true, problem, budget=3, num_trajectories=40)
    for i, key in enumerate(jax.random.split(KEY, 6)):
        indices = [aw.whittle_indices(transitions[i], problem) for transitions in (predicted, true)]
        expected = [
            aw.simulate(key, true[i], priorities, problem, budget, num_trajectories=40).mean()
            for priorities, budget in ((indices[0], 3), (indices[0], 0), (indices[1], 3))
        ]
        np.testing.assert_allclose([part[i] for part in quality[:3]], expected, rtol=1e-9)


def test_budgets_may_differ_between_cohorts(cohorts):
    true, predicted = cohorts
    budgets = np.array([0, 1, 3, 5, 15, 100])
    together = aw.joint_decision_quality(KEY, predicted, true, aw.Problem(), budgets, num_trajectories=20)
    assert float(together.achieved[0]) == float(together.never[0])
    np.testing.assert_allclose(together.achieved[4:], together.perfect[4:])  # everyone is called
    same = np.repeat(true[:1], 3, axis=0)
    decomposed = aw.decomposed_decision_quality(same, same, aw.Problem(), np.array([0, 1, 3]))
    gain = decomposed.perfect - decomposed.never
    assert float(gain[0]) == pytest.approx(0, abs=1e-9)
    assert (jnp.diff(gain) > 0).all()  # more calls, more gained


def test_normalised_is_a_ratio_of_averages_with_its_error():
    """Against the spread of the ratio over bootstrap samples of the cohorts."""
    rng = np.random.default_rng(0)
    best = rng.uniform(5, 15, 400)
    achieved, never = 100 + 0.6 * best + rng.normal(size=400), np.full(400, 100.0)
    quality = aw.Quality(*map(jnp.asarray, (achieved, never, 100 + best, np.ones(400))))
    assert float(quality.normalised) == pytest.approx(
        float((quality.achieved - 100).mean() / (quality.perfect - 100).mean())
    )
    gain = np.asarray(quality.achieved) - 100
    resamples = rng.integers(0, 400, (4000, 400))
    bootstrap = gain[resamples].mean(1) / best[resamples].mean(1)
    assert float(quality.standard_error) == pytest.approx(bootstrap.std(), rel=0.1)
    runs = jax.tree.map(lambda values: jnp.stack([values, values + 1, values[::-1]]), quality)
    for name in ("normalised", "standard_error"):
        np.testing.assert_allclose(getattr(runs, name), np.full(3, getattr(quality, name)), rtol=1e-9)


def test_decomposed_budget_use_is_what_the_mixture_really_spends(cohorts):
    true, predicted = cohorts
    policies, budgets = aw.all_policies(2), np.array([0, 1, 3, 6, 12, 100])
    quality = aw.decomposed_decision_quality(predicted, true, aw.Problem(), budgets)
    for i, budget in enumerate(budgets):
        _, spend = solved_returns(true[i], [0, 1], 0.9, [0.5, 0.5], [0, 1], policies)
        looks, _ = solved_returns(predicted[i], [0, 1], 0.9, [0.5, 0.5], [0, 1], policies)
        mixture = aw.LinearMixture()(looks, spend, 10.0 * budget).mixture
        share = float((mixture * spend).sum()) / (10 * budget) if budget else 0.0
        assert float(quality.budget_use[i]) == pytest.approx(share, abs=1e-9)
    np.testing.assert_allclose(quality.budget_use[:3], [0, 1, 1], atol=1e-9)
    assert float(quality.budget_use[5]) <= 0.15  # 15 people cannot use 100 calls


def test_joint_budget_use_is_the_share_of_calls_made(cohorts):
    true, _ = cohorts
    arguments = {"true_transitions": true, "problem": aw.Problem(costs=[1, 3]), "num_trajectories": 20, "horizon": 30}
    everyone = aw.priority_decision_quality(
        KEY, np.zeros((6, 15, 2)), budget=np.array([0, 1, 3, 15, 20, 30]), **arguments
    )
    np.testing.assert_allclose(everyone.budget_use, [0, 1, 1, 1, 15 / 20, 15 / 30], rtol=1e-12)
    disengaged = np.broadcast_to([0.0, -np.inf], (6, 15, 2))
    quality = aw.priority_decision_quality(KEY, disengaged, budget=7, **arguments)
    for i, key in enumerate(jax.random.split(KEY, 6)):
        trace = aw.simulate_trace(key, true[i], disengaged[i], aw.Problem(), 7, num_trajectories=20, horizon=30)
        calls = np.asarray(trace.actions, float).sum(-1).mean(0)
        share = calls @ 0.9 ** np.arange(30) / (7 * (0.9 ** np.arange(30)).sum())
        assert float(quality.budget_use[i]) == pytest.approx(share)
        assert share < 1


@pytest.mark.parametrize("schedule", [aw.RoundRobin(), aw.RandomCalls()], ids=["turns", "lots"])
def test_turns_and_lots_are_judged_as_priorities_are(cohorts, schedule):
    true, _ = cohorts
    problem, indices = aw.Problem(), np.stack([aw.whittle_indices(chains, aw.Problem()) for chains in cohorts[0]])
    quality = aw.priority_decision_quality(KEY, schedule, true, problem, budget=4, num_trajectories=200)
    whittle = aw.priority_decision_quality(KEY, indices, true, problem, budget=4, num_trajectories=200)
    for i, key in enumerate(jax.random.split(KEY, 6)):
        expected = aw.simulate(key, true[i], schedule, problem, 4, num_trajectories=200).mean()
        assert float(quality.achieved[i]) == pytest.approx(float(expected), rel=1e-9)
    np.testing.assert_array_equal(quality.never, whittle.never)  # the same luck
    np.testing.assert_array_equal(quality.perfect, whittle.perfect)
    np.testing.assert_allclose(quality.budget_use, 1)
    assert float(quality.normalised) < 1


def test_how_many_cohorts_are_simulated_together_changes_nothing(cohorts, monkeypatch):
    true, predicted = cohorts
    results = []
    for at_once in (None, 1, 4, 100):
        monkeypatch.setattr(quality_module, "cohorts_at_once", lambda *_, count=at_once: count)
        jax.clear_caches()
        results.append(aw.joint_decision_quality(KEY, predicted, true, aw.Problem(), 3, num_trajectories=30))
    for result in results[1:]:
        for part, expected in zip(result, results[0], strict=True):
            np.testing.assert_allclose(part, expected, rtol=1e-12)


def test_an_accelerator_takes_as_many_cohorts_as_its_memory_allows(monkeypatch):
    assert quality_module.cohorts_at_once(100, 1000) is None
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    for num_arms, num_trajectories in ((100, 1000), (76, 1), (1_000_000, 1000), (2**26, 10)):
        at_once = quality_module.cohorts_at_once(num_arms, num_trajectories)
        block = 2 * num_arms * blocks(num_trajectories, num_arms).shape[1]
        assert at_once == 1 or at_once * block <= quality_module.ELEMENTS_ON_AN_ACCELERATOR < (at_once + 1) * block
    assert at_once == 1


def test_usable_inside_jit_and_vmap_over_runs(cohorts):
    true, predicted = cohorts
    runs, problem = np.stack([predicted, true, predicted[::-1]]), aw.Problem()

    def both(problem, predicted, budget):
        decomposed = aw.decomposed_decision_quality(predicted, true, problem, budget)
        joint = aw.joint_decision_quality(KEY, predicted, true, problem, budget, num_trajectories=20, horizon=15)
        turns = aw.priority_decision_quality(KEY, aw.RoundRobin(), true, problem, budget, 20, 15)
        return decomposed, joint, turns

    compiled = jax.jit(jax.vmap(both, in_axes=(None, 0, None)))(problem, runs, jnp.asarray(3))
    for run, predicted in enumerate(runs):
        for result, expected in zip(compiled, both(problem, predicted, 3), strict=True):
            jax.tree.map(lambda a, b, run=run: np.testing.assert_allclose(a[run], b, rtol=1e-9), result, expected)
            assert float(result.normalised[run]) == pytest.approx(float(expected.normalised), rel=1e-9)
    assert compiled[0].normalised.shape == compiled[0].standard_error.shape == (3,)


def test_people_may_stand_in_any_order_within_a_cohort(cohorts, rng):
    true, predicted = cohorts
    ids, shuffle = rng.choice(2**32, (6, 15), replace=False), rng.permutation(15)
    arguments = {"problem": aw.Problem(), "budget": 3, "num_trajectories": 20}
    straight = aw.joint_decision_quality(KEY, predicted, true, ids=ids, **arguments)
    mixed = aw.joint_decision_quality(KEY, predicted[:, shuffle], true[:, shuffle], ids=ids[:, shuffle], **arguments)
    jax.tree.map(np.testing.assert_array_equal, straight, mixed)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"budget": -1}, "budget must be a whole number of at least 0, not -1"),
        ({"budget": 1.5}, r"budget must be a whole number of at least 0, not 1\.5"),
        ({"budget": np.ones(3)}, r"budget must be one number or one per cohort, not of shape \[3\]"),
        ({"predicted_transitions": np.full((6, 14, 2, 2, 2), 0.5)}, r"not \[6, 14, 2, 2, 2\] and \[6, 15, 2, 2, 2\]"),
        ({"predicted_transitions": np.full((6, 15, 2, 2, 2), 0.4)}, r"must sum to 1"),
    ],
)
def test_wrong_input_is_named(cohorts, arguments, message):
    true, predicted = cohorts
    usual = {"predicted_transitions": predicted, "true_transitions": true, "problem": aw.Problem(), "budget": 3}
    with pytest.raises(aw.InvalidInputError, match=message):
        aw.decomposed_decision_quality(**(usual | arguments))
    with pytest.raises(aw.InvalidInputError, match=message):
        aw.joint_decision_quality(KEY, **(usual | arguments))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"priorities": np.zeros((6, 15, 3))}, r"priorities must have the shape \[6, 15, 2\].*not \[6, 15, 3\]"),
        ({"priorities": np.full((6, 15, 2), np.nan)}, "cohort 0, arm 0, state 0 has nan"),
        ({"ids": np.zeros((6, 15), int)}, "0 stands for 15 arms in cohort 0"),
        ({"ids": np.arange(15)}, r"ids must be whole numbers of shape \[6, 15\]"),
        ({"horizon": 0}, "horizon must be at least 1"),
    ],
)
def test_wrong_priorities_are_named(cohorts, arguments, message):
    usual = {"priorities": np.zeros((6, 15, 2)), "true_transitions": cohorts[0], "problem": aw.Problem(), "budget": 3}
    with pytest.raises(aw.InvalidInputError, match=message):
        aw.priority_decision_quality(KEY, **(usual | arguments))
