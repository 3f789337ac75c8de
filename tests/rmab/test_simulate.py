import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax.extend.random import threefry_2x32 as jax_threefry

import armwise as aw
from armwise._validation import check_key
from armwise.rmab import rollout
from armwise.rmab.draws import arm_words, threefry_2x32, uniforms
from tests.oracles import random_transitions

KEY = jax.random.key(7)


def standard_errors_apart(sample, expected):
    """How many standard errors the mean of the sample lies from what is expected."""
    sample = np.asarray(sample)
    return abs(sample.mean() - float(expected)) / (sample.std(ddof=1) / np.sqrt(len(sample)))


@pytest.mark.parametrize("states", range(2, 9))
def test_simulated_returns_of_a_policy_agree_with_the_exact_ones(rng, states):
    transitions = random_transitions(rng, "dense", 10, states)
    rewards, initial = rng.random((10, states)), rng.dirichlet(np.ones(states), 10)
    problem = aw.Problem(rewards, 0.8, initial, costs=[0.5, 2.0])
    policy = rng.integers(0, 2, (10, states))
    simulated = aw.simulate_policy(KEY, transitions, policy, problem, num_trajectories=4000, horizon=80)
    exact = aw.fixed_policy_returns(transitions, problem, policy)
    for sample, per_arm in zip(simulated, exact, strict=True):
        assert standard_errors_apart(sample, per_arm.sum()) < 4


def test_three_actions_agree_too(rng):
    transitions = random_transitions(rng, "dense", 6, 3, num_actions=3)
    problem = aw.Problem(num_states=3, discount=0.7, costs=[0, 1, 3])
    policy = rng.integers(0, 3, (6, 3))
    simulated = aw.simulate_policy(KEY, transitions, policy, problem, num_trajectories=4000, horizon=60)
    for sample, per_arm in zip(simulated, aw.fixed_policy_returns(transitions, problem, policy), strict=True):
        assert standard_errors_apart(sample, per_arm.sum()) < 4


def test_budgets_of_none_and_of_all_are_the_constant_policies(rng):
    transitions, priorities = random_transitions(rng, "dense", 12, 3), rng.normal(size=(12, 3))
    problem = aw.Problem(num_states=3, discount=0.8)
    for budget, action in ((0, 0), (12, 1), (1000, 1)):
        by_priority = aw.simulate(KEY, transitions, priorities, problem, budget, 2000, horizon=80)
        always = np.full((12, 3), action)
        np.testing.assert_array_equal(by_priority, aw.simulate_policy(KEY, transitions, always, problem, 2000, 80)[0])
        exact = aw.fixed_policy_returns(transitions, problem, always)[0].sum()
        assert standard_errors_apart(by_priority, exact) < 4
    assert float(aw.passive_returns(transitions, problem).sum()) == pytest.approx(
        float(aw.fixed_policy_returns(transitions, problem, np.zeros((12, 3), int))[0].sum())
    )


@pytest.mark.parametrize(("num_states", "dtype"), [(128, np.int8), (129, np.int16), (300, np.int16)])
def test_the_trace_holds_any_state(num_states, dtype):
    """An arm that begins in its last state and stays there."""
    stay = np.broadcast_to(np.eye(num_states)[:, None], (1, num_states, 2, num_states))
    problem = aw.Problem(num_states=num_states, initial=np.eye(num_states)[-1])
    trace = aw.simulate_trace(KEY, stay, np.zeros((1, num_states)), problem, budget=1, horizon=3)
    assert trace.states.dtype == dtype
    assert trace.states.ravel().tolist() == [num_states - 1] * 3
    assert trace.actions.ravel().tolist() == [1] * 3


def test_the_trace_follows_the_rules(rng):
    """Replayed in NumPy: whom each step acts on, how often, and that the returns are those of the trace."""
    transitions, priorities = random_transitions(rng, "sparse", 15, 4), rng.normal(size=(15, 4))
    problem, budget = aw.Problem(rewards=rng.normal(size=(15, 4)), discount=0.9), 4
    trace = aw.simulate_trace(KEY, transitions, priorities, problem, budget, num_trajectories=9, horizon=20)
    states, actions = np.asarray(trace.states), np.asarray(trace.actions)
    assert states.shape == actions.shape == (9, 20, 15)
    current = np.take_along_axis(np.broadcast_to(priorities, (9, 20, 15, 4)), states[..., None], -1)[..., 0]
    expected = np.zeros_like(actions)
    np.put_along_axis(expected, np.argsort(-current, axis=-1)[..., :budget], 1, axis=-1)
    np.testing.assert_array_equal(actions, expected)
    taken = transitions[np.arange(15), states[:, :-1], actions[:, :-1], states[:, 1:]]
    assert (taken > 0).all()  # no impossible transition
    earned = np.asarray(problem.rewards)[np.arange(15), states].sum(-1) @ 0.9 ** np.arange(20)
    returns = aw.simulate(KEY, transitions, priorities, problem, budget, num_trajectories=9, horizon=20)
    np.testing.assert_allclose(returns, earned, rtol=1e-12)


def test_transition_frequencies_are_the_probabilities(rng):
    transitions = random_transitions(rng, "dense", 2, 3)
    problem = aw.Problem(num_states=3)
    trace = aw.simulate_trace(KEY, transitions, np.zeros((2, 3)), problem, budget=1, num_trajectories=4000, horizon=21)
    states, actions = np.asarray(trace.states), np.asarray(trace.actions)
    counts = np.zeros((2, 3, 2, 3))
    for arm in range(2):
        np.add.at(counts[arm], (states[:, :-1, arm], actions[:, :-1, arm], states[:, 1:, arm]), 1)
    seen = counts.sum(-1, keepdims=True)
    frequencies = counts / np.maximum(seen, 1)
    deviation = np.abs(frequencies - transitions) / np.sqrt(transitions * (1 - transitions) / np.maximum(seen, 1))
    assert deviation[np.broadcast_to(seen > 0, deviation.shape)].max() < 4.5
    first = np.bincount(states[:, 0].ravel(), minlength=3) / states[:, 0].size
    assert np.abs(first - 1 / 3).max() < 4 * np.sqrt(2 / 9 / states[:, 0].size)


@given(seed=st.integers(0, 2**32 - 1), budget=st.integers(0, 14), levels=st.integers(1, 4))
def test_never_more_than_the_budget_and_never_the_excluded(seed, budget, levels):
    """Priorities take few values, so that most are tied, and some are -inf: those arms are never acted on."""
    rng = np.random.default_rng(seed)
    transitions = random_transitions(rng, "dense", 12, 2)
    priorities = rng.integers(0, levels, (12, 2)).astype(float)
    priorities[rng.random((12, 2)) < 0.3] = -np.inf
    trace = aw.simulate_trace(KEY, transitions, priorities, aw.Problem(), budget, num_trajectories=5, horizon=8)
    states, actions = np.asarray(trace.states), np.asarray(trace.actions)
    eligible = priorities[np.arange(12), states] > -np.inf
    assert not (actions.astype(bool) & ~eligible).any()
    np.testing.assert_array_equal(actions.sum(-1), np.minimum(budget, eligible.sum(-1)))


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_row_order_never_matters(rng, precision):
    """To the last bit, ties included, if the ids travel with the rows."""
    transitions = random_transitions(rng, "dense", 40, 3).astype(precision)
    priorities = rng.integers(0, 3, (40, 3)).astype(precision)
    problem = aw.Problem(rewards=rng.random((40, 3)), initial=rng.dirichlet(np.ones(3), 40))
    ids, shuffle = rng.choice(2**32, 40, replace=False), rng.permutation(40)
    shuffled = aw.Problem(problem.rewards[shuffle], initial=problem.initial[shuffle])
    arguments = {"budget": 7, "num_trajectories": 50, "horizon": 30}
    returns = aw.simulate(KEY, transitions, priorities, problem, ids=ids, **arguments)
    again = aw.simulate(KEY, transitions[shuffle], priorities[shuffle], shuffled, ids=ids[shuffle], **arguments)
    np.testing.assert_array_equal(returns, again)
    trace = aw.simulate_trace(KEY, transitions, priorities, problem, ids=ids, **arguments)
    mixed = aw.simulate_trace(KEY, transitions[shuffle], priorities[shuffle], shuffled, ids=ids[shuffle], **arguments)
    np.testing.assert_array_equal(trace.actions[:, :, shuffle], mixed.actions)
    np.testing.assert_array_equal(trace.states[:, :, shuffle], mixed.states)


def test_ties_depend_on_the_key_and_not_on_the_row(rng):
    transitions, level = random_transitions(rng, "dense", 30, 2), np.zeros((30, 2))
    acted = [
        np.asarray(aw.simulate_trace(jax.random.key(seed), transitions, level, aw.Problem(), 10, horizon=3).actions)
        for seed in range(20)
    ]
    chosen = np.stack([actions[0, 0] for actions in acted])
    assert (chosen.sum(1) == 10).all()
    assert 1 <= chosen.sum(0).max() <= 16  # no row is favoured: the mean is 20/3, the standard deviation 2.1
    assert len({tuple(row) for row in chosen}) > 10


def test_neither_blocks_nor_the_number_of_trajectories_change_a_trajectory(rng, monkeypatch):
    transitions, priorities = random_transitions(rng, "dense", 20, 2), rng.normal(size=(20, 2))
    whole = aw.simulate(KEY, transitions, priorities, aw.Problem(), 4, num_trajectories=301, horizon=25)
    fewer = aw.simulate(KEY, transitions, priorities, aw.Problem(), 4, num_trajectories=8, horizon=25)
    np.testing.assert_array_equal(whole[:8], fewer)
    monkeypatch.setattr(rollout, "BLOCK_ELEMENTS", 400)
    jax.clear_caches()
    blocks = aw.simulate(KEY, transitions, priorities, aw.Problem(), 4, num_trajectories=301, horizon=25)
    np.testing.assert_array_equal(whole, blocks)


def test_another_arm_changes_no_ones_luck(rng):
    """Common random numbers reach beyond policies: arms keep their draws when others join."""
    transitions, problem = random_transitions(rng, "dense", 9, 2), aw.Problem()
    never = np.full((9, 2), -np.inf)
    more = aw.simulate_trace(KEY, transitions, never, problem, budget=0, num_trajectories=4, horizon=20)
    fewer = aw.simulate_trace(KEY, transitions[:5], never[:5], problem, budget=0, num_trajectories=4, horizon=20)
    np.testing.assert_array_equal(more.states[:, :, :5], fewer.states)


def test_common_random_numbers_make_comparisons_precise(rng):
    transitions = random_transitions(rng, "dense", 50, 2)
    index = aw.whittle_indices(transitions, aw.Problem())
    called = aw.simulate(KEY, transitions, index, aw.Problem(), budget=10)
    nobody = aw.simulate(KEY, transitions, index, aw.Problem(), budget=0)
    unpaired = aw.simulate(jax.random.key(8), transitions, index, aw.Problem(), budget=0)
    assert np.std(called - nobody) < 0.9 * np.std(called - unpaired)
    assert called.mean() > nobody.mean()


def test_whittle_priorities_beat_random_ones(rng):
    transitions = random_transitions(rng, "dense", 60, 2)
    by_index = aw.simulate(KEY, transitions, aw.whittle_indices(transitions, aw.Problem()), aw.Problem(), budget=6)
    at_random = aw.simulate(KEY, transitions, rng.normal(size=(60, 2)), aw.Problem(), budget=6)
    assert by_index.mean() > at_random.mean()


def test_users_precision(rng, user_precision):
    transitions = random_transitions(rng, "dense", 20, 2).astype(np.float32)
    problem = aw.Problem(discount=0.8)
    returns = aw.simulate(KEY, transitions, np.zeros((20, 2)), problem, budget=0, num_trajectories=4000, horizon=80)
    assert returns.dtype == jnp.float32
    assert standard_errors_apart(returns, aw.passive_returns(transitions, problem).sum()) < 4


def test_jit_and_vmap_equal_eager(rng):
    cohorts = np.stack([random_transitions(rng, "dense", 10, 2) for _ in range(3)])
    priorities, keys = rng.normal(size=(3, 10, 2)), jax.random.split(KEY, 3)
    budgets = jnp.array([0, 2, 10])

    def run(key, transitions, priority, budget):
        return aw.simulate(key, transitions, priority, aw.Problem(), budget, num_trajectories=20, horizon=15)

    batched = jax.jit(jax.vmap(run))(keys, cohorts, priorities, budgets)
    for i in range(3):
        np.testing.assert_allclose(batched[i], run(keys[i], cohorts[i], priorities[i], int(budgets[i])), rtol=1e-12)


def test_default_horizon_ends_where_the_weight_is_negligible():
    for discount in (0.1, 0.5, 0.9, 0.99, 0.999):
        horizon = aw.default_horizon(discount)
        assert discount**horizon < 1e-3 <= discount ** (horizon - 1)
    assert aw.default_horizon(0.0) == 1


def test_threefry_is_jaxs():
    key, counters = jnp.array([0x12345678, 0x9ABCDEF0], jnp.uint32), jnp.arange(64, dtype=jnp.uint32)
    expected = jax_threefry(key, counters)
    got = threefry_2x32(key[:1], key[1:], counters[:32], counters[32:])
    np.testing.assert_array_equal(jnp.concatenate(got), expected)


@pytest.mark.parametrize("precision", [jnp.float32, jnp.float64])
def test_draws_are_uniform_and_unrelated(precision):
    words = arm_words(KEY, jnp.arange(20, dtype=jnp.uint32))
    pairs = jnp.arange(500, dtype=jnp.uint32)
    draws = np.stack([uniforms(words, pairs, jnp.uint32(step), jnp.dtype(precision)) for step in range(10)])
    assert 0 <= draws.min() < draws.max() < 1
    counts = np.bincount((draws * 100).astype(int).ravel(), minlength=100)
    chi_square = ((counts - draws.size / 100) ** 2 / (draws.size / 100)).sum()
    assert chi_square < 99 + 5 * np.sqrt(2 * 99)
    by_arm = draws.transpose(2, 0, 1, 3).reshape(20, -1)
    correlation = np.corrcoef(by_arm) - np.eye(20)
    assert np.abs(correlation).max() < 5 / np.sqrt(by_arm.shape[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"budget": -1}, "budget must be at least 0, not -1"),
        ({"budget": 1.5}, r"budget must be a whole number, not 1\.5"),
        ({"budget": "three"}, "budget must be a whole number, not 'three'"),
        ({"num_trajectories": 0}, "num_trajectories must be at least 1, not 0"),
        ({"horizon": 0}, "horizon must be at least 1, not 0"),
        ({"priorities": np.zeros((3, 3))}, r"priorities must have the shape \[3, 2\].*not \[3, 3\]"),
        (
            {"priorities": np.array([[0, 0], [0, np.nan], [0, 0]])},
            "priorities must be numbers, but arm 1, state 1 has nan",
        ),
        ({"ids": [1, 2]}, r"ids must be whole numbers of shape \[3\], one per arm, not int64 of shape \[2\]"),
        ({"ids": [0.5, 1, 2]}, r"ids must be whole numbers of shape \[3\], one per arm, not float64"),
        ({"ids": [5, 6, 5]}, "ids must differ, but 5 stands for 2 arms, first for arm 0"),
        ({"ids": [5, 6, -7]}, r"ids must be in \[0, 2\^32\), but arm 2 has -7"),
    ],
)
def test_wrong_input_is_named(arguments, message):
    usual = {"key": KEY, "transitions": np.full((3, 2, 2, 2), 0.5), "priorities": np.zeros((3, 2)), "budget": 1}
    with pytest.raises(aw.InvalidInputError, match=message):
        aw.simulate(problem=aw.Problem(), **(usual | arguments))


@pytest.mark.parametrize("key", [0, None, np.zeros(3, np.uint32), jax.random.split(KEY, 2)])
def test_what_is_not_a_key_is_refused(key):
    with pytest.raises(aw.InvalidInputError, match=r"key must be one JAX random key, such as jax.random.key\(0\), not"):
        check_key(key)


def test_keys_of_both_styles_will_do():
    check_key(jax.random.key(0))
    check_key(jax.random.PRNGKey(0))


def test_numbers_of_any_whole_kind_will_do(rng):
    transitions, priorities = random_transitions(rng, "dense", 3, 2), rng.normal(size=(3, 2))
    expected = aw.simulate(KEY, transitions, priorities, aw.Problem(), budget=3, num_trajectories=3, horizon=4)
    got = aw.simulate(KEY, transitions, priorities, aw.Problem(), budget=2**40, num_trajectories=3, horizon=4)
    np.testing.assert_array_equal(got, expected)


def test_an_impossible_state_never_happens(user_precision):
    """Not even where a row misses 1 by as much as is let through."""
    transitions = np.full((1, 2, 2, 2), [1 - 9e-6, 0.0], np.float32)
    problem = aw.Problem(initial=[1.0, 0.0])
    returns = aw.simulate(KEY, transitions, np.zeros((1, 2)), problem, budget=0, num_trajectories=20_000)
    np.testing.assert_array_equal(returns, 0)


@pytest.mark.parametrize("discount", [1.0, -0.1, float("nan")])
def test_there_is_no_default_horizon_without_a_discount(discount):
    with pytest.raises(aw.InvalidInputError, match=r"discount must be in \[0, 1\)"):
        aw.default_horizon(discount)


def test_choosing_by_priority_needs_two_actions():
    with pytest.raises(aw.InvalidInputError, match=r"compares two actions.*transitions has 3"):
        aw.simulate(KEY, np.full((3, 2, 3, 2), 0.5), np.zeros((3, 2)), aw.Problem(costs=[0, 1, 2]), budget=1)


def test_a_traced_discount_needs_a_horizon():
    def run(discount):
        problem = aw.Problem(discount=discount)
        return aw.simulate(KEY, np.full((3, 2, 2, 2), 0.5), np.zeros((3, 2)), problem, budget=1)

    with pytest.raises(aw.InvalidInputError, match="pass horizon"):
        jax.jit(run)(0.9)
