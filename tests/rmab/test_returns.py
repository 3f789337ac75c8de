import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax.test_util import check_grads

import armwise as aw
from armwise._validation import row_sum_tolerance
from armwise.rmab.elimination import LARGEST_WRITTEN_OUT
from armwise.rmab.returns import check_fits
from tests.oracles import random_transitions, solved_returns

KINDS = ("dense", "skewed", "sparse", "deterministic")


@pytest.mark.parametrize("states", range(2, 9))
@pytest.mark.parametrize("discount", [0.0, 0.5, 0.99, 0.999])
def test_returns_equal_a_linear_solve(rng, states, discount):
    transitions = np.concatenate([random_transitions(rng, kind, 2, states) for kind in KINDS])
    policies = aw.all_policies(states)[:: max(1, 2**states // 16)]
    rewards, initial = rng.normal(size=(8, states)), rng.dirichlet(np.ones(states), 8)
    problem = aw.Problem(rewards, discount, initial, costs=[0.5, 2.0])
    expected = solved_returns(transitions, rewards, discount, initial, [0.5, 2.0], policies)
    for got, want in zip(aw.policy_returns(transitions, problem, policies), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("states", [2, 5, 8])
def test_float32_is_close_at_a_high_discount(rng, user_precision, states):
    transitions = np.concatenate([random_transitions(rng, kind, 5, states) for kind in KINDS])
    policies = aw.all_policies(states)[:: max(1, 2**states // 16)]
    shared = np.linspace(0, 1, states), 0.99, np.full(states, 1 / states), [0, 1]
    expected = solved_returns(transitions, *shared, policies)
    got = aw.policy_returns(transitions.astype(np.float32), aw.Problem(num_states=states, discount=0.99), policies)
    for single, double in zip(got, expected, strict=True):
        assert single.dtype == jnp.float32
        np.testing.assert_allclose(single, double, rtol=1e-4, atol=1e-6)


def test_more_states_than_are_written_out(rng):
    states = LARGEST_WRITTEN_OUT + 4
    transitions, policies = random_transitions(rng, "sparse", 3, states), aw.threshold_policies(states)
    problem = aw.Problem(num_states=states, discount=0.95)
    expected = solved_returns(transitions, problem.rewards, 0.95, problem.initial, [0, 1], policies)
    for got, want in zip(aw.policy_returns(transitions, problem, policies), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)
    dense = jnp.asarray(random_transitions(rng, "dense", 3, states))
    weighted = jax.jit(lambda t: jnp.sum(jnp.sin(aw.policy_returns(t, problem, policies)[0])))
    check_grads(weighted, (dense,), order=1, modes="rev", rtol=1e-6, atol=1e-6, eps=1e-6)


def test_three_actions(rng):
    transitions = random_transitions(rng, "dense", 4, 3, num_actions=3)
    policies, costs = aw.all_policies(3, num_actions=3), [0.0, 1.0, 2.5]
    problem = aw.Problem(num_states=3, discount=0.9, costs=costs)
    expected = solved_returns(transitions, problem.rewards, 0.9, problem.initial, costs, policies)
    for got, want in zip(aw.policy_returns(transitions, problem, policies), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("per_arm", [False, True])
@pytest.mark.parametrize(("states", "actions"), [(2, 2), (3, 2), (2, 3), (5, 2)])
def test_gradients_equal_finite_differences(rng, states, actions, per_arm):
    arms = 3
    policies = aw.all_policies(states, actions)[:9]
    weights = rng.normal(size=(2, arms, len(policies)))
    shape = (arms, states) if per_arm else (states,)
    arrays = (
        random_transitions(rng, "dense", arms, states, actions),
        rng.normal(size=shape),
        rng.dirichlet(np.ones(states), shape[:-1]),
        rng.random(actions),
        np.array(0.9),
    )

    @jax.jit
    def weighted(transitions, rewards, initial, costs, discount):
        problem = aw.Problem(rewards, discount, initial, costs)
        rewards_, spend = aw.policy_returns(transitions, problem, policies)
        return jnp.sum(weights[0] * rewards_) + jnp.sum(weights[1] * spend)

    check_grads(weighted, tuple(map(jnp.asarray, arrays)), order=1, modes="rev", rtol=1e-6, atol=1e-6, eps=1e-6)


def test_gradient_is_occupancy_times_value(rng):
    """The formula itself, from NumPy: γ · occupancy(s) · value(s') where the policy takes the action."""
    transitions, discount, policy = random_transitions(rng, "dense", 1, 4), 0.9, np.array([1, 0, 0, 1])
    problem = aw.Problem(num_states=4, discount=discount)
    gradient = jax.grad(lambda t: aw.policy_returns(t, problem, policy[None])[0].sum())(jnp.asarray(transitions))[0]
    system = np.eye(4) - discount * transitions[0, np.arange(4), policy]
    value = np.linalg.solve(system, np.asarray(problem.rewards))
    occupancy = np.linalg.solve(system.T, np.asarray(problem.initial))
    expected = np.zeros((4, 2, 4))
    expected[np.arange(4), policy] = discount * np.outer(occupancy, value)
    np.testing.assert_allclose(gradient, expected, rtol=1e-12)


def test_vmap_over_cohorts_equals_a_loop(rng):
    cohorts = np.stack([random_transitions(rng, "dense", 4, 3) for _ in range(5)])
    rewards = rng.normal(size=(5, 4, 3))
    policies = aw.all_policies(3)
    problems = eqx.filter_vmap(lambda r: aw.Problem(rewards=r))(jnp.asarray(rewards))
    batched = jax.vmap(lambda t, p: aw.policy_returns(t, p, policies))(cohorts, problems)
    for cohort in range(5):
        alone = aw.policy_returns(cohorts[cohort], aw.Problem(rewards=rewards[cohort]), policies)
        for got, want in zip(batched, alone, strict=True):
            np.testing.assert_allclose(got[cohort], want, rtol=1e-12)


def test_precision_follows_the_transitions(rng):
    transitions = random_transitions(rng, "dense", 2, 2).astype(np.float32)
    for values in aw.policy_returns(transitions, aw.Problem(), aw.all_policies(2)):
        assert values.dtype == jnp.float32


def test_fixed_and_passive_returns_are_columns_of_policy_returns(rng):
    transitions, policies = random_transitions(rng, "dense", 8, 3), aw.all_policies(3)
    problem = aw.Problem(num_states=3, rewards=rng.normal(size=(8, 3)))
    rewards, spend = aw.policy_returns(transitions, problem, policies)
    chosen = rng.integers(0, 8, size=8)
    fixed_rewards, fixed_spend = aw.fixed_policy_returns(transitions, problem, policies[chosen])
    np.testing.assert_allclose(fixed_rewards, rewards[np.arange(8), chosen], rtol=1e-12)
    np.testing.assert_allclose(fixed_spend, spend[np.arange(8), chosen], rtol=1e-12)
    np.testing.assert_allclose(aw.passive_returns(transitions, problem), rewards[:, 0], rtol=1e-12)


def test_theorem_1s_two_arms():
    """The appendix's T^good and T^bad at γ = 0.9, started in state 0: the gain and the budget of acting in state 0."""
    good = [[[1, 0], [0, 1]], [[1, 0], [1, 0]]]
    bad = [[[1, 0], [0.5, 0.5]], [[1, 0], [1, 0]]]
    problem = aw.Problem(discount=0.9, initial=[1.0, 0.0])
    rewards, spend = aw.policy_returns(np.array([good, bad], float), problem, np.array([[0, 0], [1, 0]]))
    np.testing.assert_allclose(rewards[:, 1] - rewards[:, 0], [0.9 / 0.19, 0.9 / 0.29], rtol=1e-12)
    np.testing.assert_allclose(spend[:, 1], [1 / 0.19, 2 / 0.29], rtol=1e-12)
    np.testing.assert_allclose(rewards[:, 1] - rewards[:, 0], [4.7368, 3.1034], atol=5e-5)
    np.testing.assert_allclose(spend[:, 1], [5.2632, 6.8966], atol=5e-5)


def test_example_4_1s_overshoot_is_a_hundredfold():
    """Act in state 0: within a budget of B = 1 − γ on the predicted arm, 100 times over it on the true one."""
    predicted = [[[1, 0], [0, 1]], [[0, 1], [0, 1]]]
    true = [[[1, 0], [1, 0]], [[1, 0], [1, 0]]]
    problem = aw.Problem(discount=0.9, initial=[1.0, 0.0])
    _, spend = aw.policy_returns(np.array([predicted, true], float), problem, np.array([[1, 0]]))
    budget = 1 - 0.9
    np.testing.assert_allclose(spend[:, 0], [1, 10], rtol=1e-12)
    np.testing.assert_allclose(spend[0, 0], budget / (1 - 0.9), rtol=1e-12)  # all of the discounted budget, no more
    np.testing.assert_allclose(spend[1, 0] / budget, 100, rtol=1e-12)  # the paper's ratio, 1 / (1 − γ)²


@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS), discount=st.sampled_from([0.0, 0.3, 0.9, 0.999]))
def test_returns_lie_between_the_worst_and_the_best_reward(seed, kind, discount):
    transitions = random_transitions(np.random.default_rng(seed), kind, 4, 3)
    rewards, spend = aw.policy_returns(transitions, aw.Problem(num_states=3, discount=discount), aw.all_policies(3))
    longest = 1 / (1 - discount)
    for values in (rewards, spend):
        assert values.min() >= -1e-9 * longest
        assert values.max() <= longest * (1 + 1e-9)
    np.testing.assert_allclose(spend[:, 0], 0, atol=1e-12)
    np.testing.assert_allclose(spend[:, -1], longest, rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t[0], r"\[arms, states, actions, states\].*, not \[2, 2, 2\]. For one arm, add the leading axis"),
        (lambda t: t[:0], r"none of them 0, not \[0, 2, 2, 2\]"),
        (lambda t: t.astype(np.float16), "transitions must be float32 or float64, not float16"),
        (lambda t: jnp.asarray(t) + 0j, "transitions must be an array of real numbers, not of type complex128"),
        (lambda t: t[:, :, :, :1], r"transitions must have the shape .* not \[3, 2, 2, 1\]"),
        (
            lambda t: np.where(np.arange(3)[:, None, None, None] == 2, [1.5, -0.5], t),
            "arm 2, state 0, action 0, next sta",
        ),
        (
            lambda t: np.where(np.arange(3)[:, None, None, None] == 1, [0.5, 0.4], t),
            r"arm 1, state 0, action 0 sums to 0\.9",
        ),
        (
            lambda t: np.where(np.arange(2)[:, None, None] == 1, np.nan, t),
            "arm 0, state 1, action 0, next state 0 has nan",
        ),
    ],
)
def test_wrong_transitions_are_named(change, message):
    transitions = change(np.full((3, 2, 2, 2), 0.5))
    for function in (
        lambda: aw.policy_returns(transitions, aw.Problem(), aw.all_policies(2)),
        lambda: aw.whittle_indices(transitions, aw.Problem()),
        lambda: aw.simulate(jax.random.key(0), transitions, np.zeros((3, 2)), aw.Problem(), budget=1),
    ):
        with pytest.raises(aw.InvalidInputError, match=message):
            function()


def missing_one_by(miss, num_arms=2):
    rows = np.random.default_rng(0).dirichlet(np.ones(3), (num_arms, 3, 2))
    rows[-1, 2, 1] *= 1 + miss
    return rows


@pytest.mark.parametrize(("discount", "miss"), [(0.999, 9e-6), (0.9999, 9e-6), (0.999995, 9e-6), (0.99999, -2e-8)])
def test_rows_must_sum_to_one_as_exactly_as_the_discount_needs(discount, miss):
    """A sum of 1 + δ moves returns by δ γ / (1 − γ): 10 % for 1e-5 at 0.9999, and beyond 1 / γ they are negative."""
    transitions, problem = missing_one_by(miss), aw.Problem(num_states=3, discount=discount)
    loss = aw.DecDFL(aw.EntropyMixture(0.1))
    for function in (
        lambda: aw.policy_returns(transitions, problem, aw.all_policies(3)),
        lambda: aw.fixed_policy_returns(transitions, problem, np.zeros((2, 3), int)),
        lambda: aw.passive_returns(transitions, problem),
        lambda: aw.whittle_indices(transitions, problem),
        lambda: aw.simulate(jax.random.key(0), transitions, np.zeros((2, 3)), problem, budget=1, horizon=3),
        lambda: loss.prepare(aw.CohortTruth(transitions, problem, 1)),
        lambda: aw.decomposed_decision_quality(transitions[None], transitions[None], problem, 1),
    ):
        with pytest.raises(aw.InvalidInputError, match=rf"arm 1, state 2, action 1 sums to .* discount of {discount}"):
            function()


@pytest.mark.parametrize("discount", [0.0, 0.9, 0.99, 0.999, 0.9999, 0.99999])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_are_accepted_move_no_return_by_more_than_a_hundredth(dtype, discount):
    """The largest miss that is accepted, against the rows divided by their sums; by a thousandth in float64."""
    tolerance = row_sum_tolerance(np.dtype(dtype), 3, discount)
    problem = aw.Problem(num_states=3, discount=discount)
    transitions = missing_one_by((0.3 if dtype == np.float32 else 0.99) * tolerance)
    exact = transitions / transitions.sum(axis=-1, keepdims=True)
    check_fits(problem, jnp.asarray(transitions.astype(dtype)))  # rounding takes it no further
    known = np.linspace(0, 1, 3), discount, np.full(3, 1 / 3), (0, 1), np.ones((1, 3), int)
    found, expected = (solved_returns(rows, *known)[0] for rows in (transitions, exact))
    np.testing.assert_allclose(found, expected, rtol=2e-2 if dtype == np.float32 else 1.1e-3)


@pytest.mark.parametrize("num_states", [2, 5, 100])
def test_a_softmax_in_float32_is_accepted_up_to_high_discounts(num_states):
    rows = jax.nn.softmax(5 * jax.random.normal(jax.random.key(0), (40, num_states, 2, num_states), np.float32))
    check_fits(aw.Problem(num_states=num_states, discount=0.9999), rows)
    with pytest.raises(aw.InvalidInputError, match="float64 rows"):
        check_fits(aw.Problem(num_states=num_states, discount=0.999999), rows)


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (aw.Problem(num_states=3), "problem has 3 states, but transitions has 2"),
        (aw.Problem(costs=[0, 1, 2]), "problem has costs for 3 actions, but transitions has 2"),
        (aw.Problem(rewards=np.zeros((4, 2))), "problem.rewards has rows for 4 arms, but transitions has 3"),
        (aw.Problem(initial=np.full((4, 2), 0.5)), "problem.initial has rows for 4 arms"),
    ],
)
def test_a_problem_that_does_not_fit_is_named(problem, message):
    with pytest.raises(aw.InvalidInputError, match=message):
        aw.policy_returns(np.full((3, 2, 2, 2), 0.5), problem, aw.all_policies(2))


def test_a_policy_per_arm_must_be_one_per_arm():
    with pytest.raises(aw.InvalidInputError, match="policy has rows for 2 arms, but transitions has 3"):
        aw.fixed_policy_returns(np.full((3, 2, 2, 2), 0.5), aw.Problem(), np.zeros((2, 2), int))
