"""The returns of all policies at once, against one linear solve for each."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import armwise as aw
from armwise.rmab.policies import are_all_policies
from armwise.rmab.policy_tree import FEWEST_STATES, all_policy_returns
from tests.oracles import random_transitions, solved_returns

KINDS = ("dense", "skewed", "sparse", "deterministic")


@pytest.mark.parametrize(("states", "actions"), [(1, 2), (2, 2), (3, 2), (5, 2), (8, 2), (3, 3), (2, 1)])
@pytest.mark.parametrize("discount", [0.0, 0.9, 0.999])
def test_the_tree_equals_a_solve_for_each_policy(rng, states, actions, discount):
    transitions = np.concatenate([random_transitions(rng, kind, 2, states, actions) for kind in KINDS])
    rewards, initial = rng.normal(size=(8, states)), rng.dirichlet(np.ones(states), 8)
    costs = rng.normal(size=actions)
    expected = solved_returns(transitions, rewards, discount, initial, costs, aw.all_policies(states, actions))
    arrays = map(jnp.asarray, (transitions, rewards, initial, costs, discount))
    for got, want in zip(jax.jit(all_policy_returns)(*arrays), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("per_arm", [False, True])
@pytest.mark.parametrize(("states", "actions"), [(2, 2), (4, 2), (2, 3)])
def test_gradients_equal_finite_differences(rng, states, actions, per_arm):
    arms = 3 if per_arm else 1
    weights = rng.normal(size=(2, 3, actions**states))
    arrays = (
        random_transitions(rng, "dense", 3, states, actions),
        rng.normal(size=(arms, states)),
        rng.dirichlet(np.ones(states), arms),
        rng.random(actions),
        np.array(0.9),
    )

    @jax.jit
    def weighted(*arrays):
        rewards, spend = all_policy_returns(*arrays)
        return jnp.sum(weights[0] * rewards) + jnp.sum(weights[1] * spend)

    check_grads(weighted, tuple(map(jnp.asarray, arrays)), order=1, modes="rev", rtol=1e-6, atol=1e-6, eps=1e-6)


@pytest.mark.parametrize("states", [FEWEST_STATES, 6])
def test_float32_is_as_close_as_one_by_one(rng, user_precision, states):
    transitions = np.concatenate([random_transitions(rng, kind, 5, states) for kind in KINDS])
    policies, problem = aw.all_policies(states), aw.Problem(num_states=states, discount=0.99)
    shared = np.linspace(0, 1, states), 0.99, np.full(states, 1 / states), [0, 1]
    expected = solved_returns(transitions, *shared, policies)
    for got, want in zip(aw.policy_returns(transitions.astype(np.float32), problem, policies), expected, strict=True):
        assert got.dtype == jnp.float32
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


def test_any_order_of_the_policies_is_kept(rng):
    states = FEWEST_STATES
    transitions, policies = random_transitions(rng, "dense", 4, states), aw.all_policies(states)
    problem, order = aw.Problem(num_states=states), rng.permutation(2**states)
    assert are_all_policies(policies, states, 2)
    assert not are_all_policies(policies[order], states, 2)
    in_order = aw.policy_returns(transitions, problem, policies)
    shuffled = aw.policy_returns(transitions, problem, policies[order])
    for got, want in zip(shuffled, in_order, strict=True):
        np.testing.assert_allclose(got, want[:, order], rtol=1e-12)


def test_policies_that_cannot_be_looked_at_are_solved_one_by_one(rng):
    states = FEWEST_STATES
    transitions, policies = random_transitions(rng, "dense", 4, states), aw.all_policies(states)
    problem = aw.Problem(num_states=states)
    traced = jax.jit(lambda policies: aw.policy_returns(transitions, problem, policies))(policies)
    for got, want in zip(traced, aw.policy_returns(transitions, problem, policies), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
