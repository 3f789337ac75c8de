import jax
import jax.numpy as jnp
import numpy as np
import pytest

import armwise as aw
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
        np.testing.assert_allclose([part[i] for part in quality], expected, rtol=1e-9)


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
    quality = aw.Quality(
        jnp.asarray(100 + 0.6 * best + rng.normal(size=400)), jnp.full(400, 100.0), jnp.asarray(100 + best)
    )
    assert float(quality.normalised) == pytest.approx(
        float((quality.achieved - 100).mean() / (quality.perfect - 100).mean())
    )
    gain = np.asarray(quality.achieved) - 100
    resamples = rng.integers(0, 400, (4000, 400))
    bootstrap = gain[resamples].mean(1) / best[resamples].mean(1)
    assert float(quality.standard_error) == pytest.approx(bootstrap.std(), rel=0.1)


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
