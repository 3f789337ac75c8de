"""The policies that can be best at some price, against the enumeration of all of them."""

import jax
import numpy as np
import pytest
from scipy.optimize import linprog

import armwise as aw
from armwise.errors import InvalidInputError
from tests.oracles import random_transitions, solved_returns


def highs_value(rewards, spend, budget):
    """What the best mixture under the budget is worth, by SciPy's HiGHS."""
    arms, policies = rewards.shape
    rows = np.kron(np.eye(arms), np.ones(policies))
    answer = linprog(-rewards.ravel(), A_ub=spend.reshape(1, -1), b_ub=[budget], A_eq=rows, b_eq=np.ones(arms))
    assert answer.success
    return -answer.fun


def own_returns(transitions, problem, policies):
    """Each arm's own policies by NumPy, one arm at a time."""
    known = np.asarray(problem.rewards), float(problem.discount), np.asarray(problem.initial), np.asarray(problem.costs)
    each = [solved_returns(arm[None], *known, own) for arm, own in zip(transitions, np.asarray(policies), strict=True)]
    return tuple(np.concatenate(returns) for returns in zip(*each, strict=True))


@pytest.mark.parametrize("kind", ["dense", "skewed", "sparse"])
@pytest.mark.parametrize("states", [2, 3, 5, 8])
def test_nothing_is_lost_on_indexable_arms(rng, states, kind):
    """The linear programme over S + 1 policies of each arm is worth as much as over all 2^S, at every budget."""
    problem = aw.Problem(rewards=rng.random(states), discount=0.9, initial=rng.dirichlet(np.ones(states)))
    transitions = random_transitions(rng, kind, 40, states)
    transitions = transitions[np.asarray(aw.is_indexable(transitions, problem))][:12]
    assert len(transitions) == 12
    everything = aw.policy_returns(transitions, problem, aw.all_policies(states))
    few = own_returns(transitions, problem, aw.index_policies(transitions, problem))
    for budget in (0.5, 2.0, 10.0, 30.0, 200.0):
        expected = highs_value(*map(np.asarray, everything), budget)
        assert highs_value(*few, budget) == pytest.approx(expected, rel=1e-9)
        solution = aw.LinearMixture()(*few, budget)
        assert float(np.sum(solution.mixture * few[0])) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("neighbours", [False, True])
def test_returns_of_each_arms_own_policies(rng, neighbours):
    transitions, problem = random_transitions(rng, "dense", 6, 4), aw.Problem(num_states=4)
    policies = aw.index_policies(transitions, problem, neighbours=neighbours)
    for returns, expected in zip(
        aw.policy_returns(transitions, problem, policies), own_returns(transitions, problem, policies), strict=True
    ):
        np.testing.assert_allclose(returns, expected, rtol=1e-12)


@pytest.mark.parametrize("states", [2, 5, 12])
def test_nested_in_the_order_of_the_indices(rng, states):
    transitions, problem = random_transitions(rng, "dense", 20, states), aw.Problem(num_states=states)
    policies, indices = aw.index_policies(transitions, problem), aw.whittle_indices(transitions, problem)
    order = np.argsort(-np.asarray(indices), axis=1)
    for size in range(states + 1):
        expected = np.zeros((20, states), int)
        np.put_along_axis(expected, order[:, :size], 1, axis=1)
        np.testing.assert_array_equal(policies[:, size], expected)


@pytest.mark.parametrize("states", [2, 3, 5, 8])
def test_neighbours_are_one_action_away_and_none_is_missing(rng, states):
    transitions, problem = random_transitions(rng, "dense", 3, states), aw.Problem(num_states=states)
    nested = np.asarray(aw.index_policies(transitions, problem))
    near = np.asarray(aw.index_policies(transitions, problem, neighbours=True))
    assert near.shape[1] == states**2 - states + 2
    for arm in range(3):
        distance = (aw.all_policies(states)[:, None] != nested[arm][None]).sum(axis=2).min(axis=1)
        expected = {tuple(policy) for policy in aw.all_policies(states)[distance <= 1].tolist()}
        assert {tuple(policy) for policy in near[arm].tolist()} == expected


def test_arms_of_many_cohorts_at_once(rng):
    transitions, problem = random_transitions(rng, "dense", 10, 3).reshape(2, 5, 3, 2, 3), aw.Problem(num_states=3)
    together = jax.vmap(lambda cohort: aw.index_policies(cohort, problem))(transitions)
    np.testing.assert_array_equal(together[1], aw.index_policies(transitions[1], problem))


def test_own_policies_must_be_those_of_the_arms(rng):
    transitions, problem = random_transitions(rng, "dense", 4, 3), aw.Problem(num_states=3)
    with pytest.raises(InvalidInputError, match="rows for 3 arms, but transitions has 4"):
        aw.policy_returns(transitions, problem, aw.index_policies(transitions[:3], problem))
    with pytest.raises(InvalidInputError, match=r"arm 1, policy 0, state 2 has 7"):
        aw.policy_returns(transitions, problem, np.array(aw.index_policies(transitions, problem)) + OUTSIDE)


OUTSIDE = np.zeros((4, 4, 3), int)
OUTSIDE[1, 0, 2] = 7
