import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax.test_util import check_grads

import armwise as aw
from armwise.rmab.whittle import _departures, _prices_of_indifference
from tests.oracles import bisected_indices, package_indices, random_transitions

KINDS = ("dense", "skewed", "sparse", "deterministic")


def test_example_4_1():
    predicted = [[[1, 0], [0, 1]], [[0, 1], [0, 1]]]
    true = [[[1, 0], [1, 0]], [[1, 0], [1, 0]]]
    for discount in (0.5, 0.9, 0.99):
        indices = aw.whittle_indices(np.array([predicted, true], float), aw.Problem(discount=discount))
        np.testing.assert_allclose(indices, [[discount / (1 - discount), 0], [0, 0]], rtol=1e-12)


@pytest.mark.parametrize("discount", [0.5, 0.9, 0.99, 0.999])
@pytest.mark.parametrize("states", [2, 3, 5, 8, 20])
@pytest.mark.parametrize("kind", KINDS)
def test_indices_and_verdicts_equal_the_packages(rng, kind, states, discount):
    arms = 100 if states <= 8 else 25
    transitions = random_transitions(rng, kind, arms, states)
    evenly = np.broadcast_to(np.linspace(0, 1, states), (arms // 2, states))
    rewards = np.concatenate([evenly, rng.normal(size=(arms - arms // 2, states))])
    problem = aw.Problem(rewards, discount)
    expected, indexable = package_indices(transitions, rewards, discount)
    np.testing.assert_array_equal(aw.is_indexable(transitions, problem), indexable)
    indices = np.asarray(aw.whittle_indices(transitions, problem))
    np.testing.assert_allclose(indices[indexable], expected[indexable], rtol=1e-8, atol=1e-8)
    bound = discount * np.ptp(rewards, axis=1) / (1 - discount)
    assert (np.abs(indices) <= bound[:, None] * (1 + 1e-12)).all()  # finite, without an index too


@pytest.mark.parametrize("states", [2, 3, 5])
def test_indices_equal_bisection_over_value_iteration(rng, states):
    transitions = random_transitions(rng, "dense", 10, states)
    problem = aw.Problem(num_states=states, discount=0.8)
    expected = [bisected_indices(arm, np.asarray(problem.rewards), 0.8) for arm in transitions]
    np.testing.assert_allclose(aw.whittle_indices(transitions, problem), expected, atol=1e-10)


@pytest.mark.parametrize("states", [2, 3, 5, 8])
def test_equal_rewards_are_indexable_and_worth_nothing(rng, states):
    transitions = random_transitions(rng, "dense", 100, states)
    problem = aw.Problem(rewards=np.full(states, 0.3))
    assert aw.is_indexable(transitions, problem).all()
    np.testing.assert_array_equal(aw.whittle_indices(transitions, problem), 0)


def test_a_constant_in_the_rewards_costs_no_digits(rng, user_precision):
    transitions = random_transitions(rng, "dense", 50, 5).astype(np.float32)
    rewards = np.linspace(0, 1, 5, dtype=np.float32)
    plain = aw.whittle_indices(transitions, aw.Problem(rewards))
    np.testing.assert_allclose(aw.whittle_indices(transitions, aw.Problem(rewards + 1024)), plain, atol=1e-6)


@pytest.mark.parametrize("states", [2, 5, 20])
@pytest.mark.parametrize("discount", [0.9, 0.999])
def test_float32_keeps_its_digits_where_chains_mix(rng, user_precision, states, discount):
    transitions = random_transitions(rng, "dense", 50, states)
    got = aw.whittle_indices(transitions.astype(np.float32), aw.Problem(num_states=states, discount=discount))
    assert got.dtype == jnp.float32
    rewards = np.broadcast_to(np.linspace(0, 1, states), (50, states))
    exact, indexable = package_indices(transitions, rewards, discount)
    assert indexable.all()
    np.testing.assert_allclose(got, exact, rtol=1e-4, atol=1e-5)


def test_verdicts_hold_in_float32(rng, user_precision):
    transitions = np.concatenate([random_transitions(rng, kind, 200, 5) for kind in ("skewed", "deterministic")])
    rewards = rng.normal(size=(400, 5)).astype(np.float32)
    _, indexable = package_indices(transitions, rewards.astype(float), 0.9)
    assert not indexable.all()
    verdict = aw.is_indexable(transitions.astype(np.float32), aw.Problem(rewards, discount=0.9))
    np.testing.assert_array_equal(verdict, indexable)


def test_two_states_closed_form_equals_the_general_algorithm(rng):
    transitions = np.concatenate([random_transitions(rng, kind, 50, 2) for kind in KINDS])
    rewards = rng.normal(size=(200, 2))
    closed = aw.whittle_indices(transitions, aw.Problem(rewards, discount=0.95))
    general = jax.vmap(_departures, in_axes=(0, 0, None))(
        jnp.asarray(transitions), jnp.asarray(rewards), jnp.array(0.95)
    )
    np.testing.assert_allclose(closed, general.prices, rtol=1e-9, atol=1e-9)
    assert not general.returns.any()  # two states are always indexable


def test_prices_make_acting_indifferent_under_their_active_set(rng):
    """The two routes to an index, rank-one departures and a fresh linear solve, agree."""
    transitions, rewards = jnp.asarray(random_transitions(rng, "dense", 30, 6)), jnp.asarray(rng.normal(size=(30, 6)))
    departures = jax.vmap(_departures, in_axes=(0, 0, None))(transitions, rewards, jnp.array(0.9))
    solved = jax.vmap(_prices_of_indifference, in_axes=(0, 0, None, 0))(
        transitions, rewards, jnp.array(0.9), departures.active_sets
    )
    np.testing.assert_allclose(departures.prices, solved, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("states", [2, 3, 5])
def test_gradients_equal_finite_differences(rng, states):
    weights = rng.normal(size=(6, states))
    logits = rng.normal(size=(6, states, 2, states))

    def weighted(logits, rewards, discount):
        problem = aw.Problem(rewards, discount)
        return jnp.sum(weights * aw.whittle_indices(jax.nn.softmax(logits, axis=-1), problem))

    for rewards in (np.linspace(0, 1, states), rng.normal(size=(6, states))):
        inputs = jnp.asarray(logits), jnp.asarray(rewards), jnp.asarray(0.9)
        check_grads(weighted, inputs, order=1, modes="rev", rtol=1e-6, atol=1e-6, eps=1e-6)


def test_index_is_a_price_per_unit_of_cost(rng):
    transitions = random_transitions(rng, "dense", 5, 3)
    unit = aw.whittle_indices(transitions, aw.Problem(num_states=3))
    dear = aw.whittle_indices(transitions, aw.Problem(num_states=3, costs=[0.5, 4.5]))
    np.testing.assert_allclose(dear, unit / 4, rtol=1e-12)


@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS))
def test_indices_scale_with_rewards_and_ignore_a_constant(seed, kind):
    rng = np.random.default_rng(seed)
    transitions, rewards = random_transitions(rng, kind, 3, 4), rng.normal(size=(3, 4))
    indices = aw.whittle_indices(transitions, aw.Problem(rewards))
    moved = aw.whittle_indices(transitions, aw.Problem(3 * rewards + 7))
    np.testing.assert_allclose(moved, 3 * indices, rtol=1e-9, atol=1e-9)


@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS))
def test_acting_is_optimal_just_below_an_index_and_not_just_above(seed, kind):
    """What an index means, by solving each state's priced arm over all policies."""
    rng = np.random.default_rng(seed)
    transitions, rewards, discount = random_transitions(rng, kind, 1, 3), rng.normal(size=3), 0.8
    if not aw.is_indexable(transitions, aw.Problem(rewards, discount))[0]:
        return
    policies = aw.all_policies(3)
    for state, index in enumerate(aw.whittle_indices(transitions, aw.Problem(rewards, discount))[0]):
        initial = np.eye(3)[state]
        reward, spend = aw.policy_returns(transitions, aw.Problem(rewards, discount, initial), policies)
        for price, best_action in ((index - 1e-4, 1), (index + 1e-4, 0)):
            net = np.asarray(reward - price * spend)[0]
            acts = policies[:, state] == best_action
            assert net[acts].max() >= net[~acts].max() - 1e-9


@pytest.mark.parametrize("states", [2, 4])
def test_row_order_and_neighbours_do_not_matter(rng, states):
    """To the last bit: a person's index does not depend on who else is in the table."""
    transitions = random_transitions(rng, "dense", 1003, states)
    problem, shuffle = aw.Problem(num_states=states), rng.permutation(1003)
    indices = np.asarray(aw.whittle_indices(transitions, problem))
    np.testing.assert_array_equal(aw.whittle_indices(transitions[shuffle], problem), indices[shuffle])
    for prefix in (1, 5, 100, 601):
        np.testing.assert_array_equal(aw.whittle_indices(transitions[:prefix], problem), indices[:prefix])


def test_jit_and_vmap_equal_eager(rng):
    cohorts = np.stack([random_transitions(rng, "dense", 6, 3) for _ in range(4)])
    problem = aw.Problem(num_states=3)
    batched = jax.jit(jax.vmap(lambda t: aw.whittle_indices(t, problem)))(cohorts)
    for cohort, indices in zip(cohorts, batched, strict=True):
        np.testing.assert_allclose(indices, aw.whittle_indices(cohort, problem), rtol=1e-12)


def test_three_actions_have_no_index():
    transitions = np.full((1, 2, 3, 2), 0.5)
    with pytest.raises(aw.InvalidInputError, match=r"compares two actions.*transitions has 3"):
        aw.whittle_indices(transitions, aw.Problem(costs=[0, 1, 2]))


def test_acting_must_cost_more_than_not_acting():
    with pytest.raises(aw.InvalidInputError, match=r"acting must cost more than not acting, but costs is \[1.0, 1.0\]"):
        aw.whittle_indices(np.full((1, 2, 2, 2), 0.5), aw.Problem(costs=[1, 1]))
