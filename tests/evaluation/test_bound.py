"""The fluid bound: against the occupancy linear programme by HiGHS, the best joint rule, and everything simulated."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

import armwise as aw
from tests.oracles import random_transitions

KEY = jax.random.key(3)


def occupancy_bound(transitions, problem, budget):
    """The linear programme over each arm's discounted visits to (state, action), as in the literature."""
    num_arms, num_states, num_actions, _ = transitions.shape
    discount, costs = float(problem.discount), np.asarray(problem.costs, float)
    rewards, initial = (np.broadcast_to(array, (num_arms, num_states)) for array in (problem.rewards, problem.initial))
    shape = (num_arms, num_states, num_actions)
    balance = np.zeros((num_arms, num_states, *shape))
    for arm, state in itertools.product(range(num_arms), range(num_states)):
        balance[arm, state, arm, state] += 1
        balance[arm, state, arm] -= discount * transitions[arm, :, :, state]
    objective = np.broadcast_to(rewards[:, :, None], shape)
    solved = scipy.optimize.linprog(
        -objective.ravel(),
        A_ub=np.broadcast_to(costs, shape).reshape(1, -1),
        b_ub=[budget / (1 - discount)],
        A_eq=balance.reshape(num_arms * num_states, -1),
        b_eq=initial.ravel(),
        method="highs",
    )
    assert solved.success
    return -solved.fun


def best_joint_value(transitions, problem, budget):
    """The optimum of Equation 1 by value iteration over all states of all arms together."""
    num_arms, num_states = transitions.shape[:2]
    joint = list(itertools.product(range(num_states), repeat=num_arms))
    actions = [each for each in itertools.product((0, 1), repeat=num_arms) if sum(each) <= budget]
    chances = np.ones((len(joint), len(actions), len(joint)))
    for (row, state), (column, action), (end, following) in itertools.product(
        enumerate(joint), enumerate(actions), enumerate(joint)
    ):
        for arm in range(num_arms):
            chances[row, column, end] *= transitions[arm, state[arm], action[arm], following[arm]]
    rewards, initial = (np.broadcast_to(array, (num_arms, num_states)) for array in (problem.rewards, problem.initial))
    arms = np.arange(num_arms)
    earned = np.array([rewards[arms, state].sum() for state in joint])
    value = np.zeros(len(joint))
    for _ in range(400):
        value = earned + float(problem.discount) * (chances @ value).max(axis=1)
    return float(sum(value[row] * initial[arms, state].prod() for row, state in enumerate(joint)))


@pytest.mark.parametrize(("num_states", "budget"), [(2, 0), (2, 1.5), (2, 4), (2, 99), (3, 2), (4, 3)])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_occupancy_programme_agrees(rng, kind, num_states, budget):
    transitions = np.stack([random_transitions(rng, kind, 12, num_states) for _ in range(2)])
    initial = rng.dirichlet(np.ones(num_states), 12)
    problem = aw.Problem(rewards=rng.normal(size=(12, num_states)), discount=0.9, initial=initial, costs=(0.0, 0.7))
    expected = [occupancy_bound(cohort, problem, budget) for cohort in transitions]
    np.testing.assert_allclose(aw.fluid_bound(transitions, problem, budget), expected, rtol=1e-9)


def test_more_than_two_actions(rng):
    transitions = rng.dirichlet(np.ones(3), (1, 6, 3, 3))
    problem = aw.Problem(num_states=3, costs=(0.1, 1.0, 2.5))
    bound = aw.fluid_bound(transitions, problem, 4.0)
    np.testing.assert_allclose(bound, [occupancy_bound(transitions[0], problem, 4.0)], rtol=1e-9)


@pytest.mark.parametrize(("num_arms", "num_states", "budget"), [(3, 2, 1), (4, 2, 2), (2, 3, 1)])
def test_the_best_joint_rule_is_below_and_above_whittle(rng, num_arms, num_states, budget):
    """With few arms the bound is strict, and the best joint rule lies between it and every rule simulated."""
    transitions = random_transitions(rng, "dense", num_arms, num_states)
    problem = aw.Problem(num_states=num_states, discount=0.8)
    bound = float(aw.fluid_bound(transitions[None], problem, budget)[0])
    best = best_joint_value(transitions, problem, budget)
    assert best <= bound + 1e-9
    returns = aw.simulate(KEY, transitions, aw.whittle_indices(transitions, problem), problem, budget, 2000)
    assert returns.mean() <= best + 4 * returns.std() / np.sqrt(2000)


def test_a_budget_for_everyone_makes_the_bound_what_each_arm_alone_is_worth(rng):
    transitions = random_transitions(rng, "dense", 3, 2)
    problem = aw.Problem(discount=0.8)
    alone = best_joint_value(transitions, problem, 3)
    np.testing.assert_allclose(aw.fluid_bound(transitions[None], problem, 3), [alone], rtol=1e-9)


def test_no_rule_is_above_and_whittle_is_near(rng):
    transitions, problem, budget = random_transitions(rng, "dense", 60, 2)[None], aw.Problem(), 6
    bound = float(aw.fluid_bound(transitions, problem, budget)[0])
    ways = aw.rules_of_thumb(problem, transitions, transitions)
    ways["whittle"] = aw.whittle_indices(transitions[0], problem)[None]
    means = {}
    for name, way in ways.items():
        order = way[0] if hasattr(way, "shape") else way
        returns = np.asarray(aw.simulate(KEY, transitions[0], order, problem, budget, 500))
        means[name] = returns.mean()
        assert returns.mean() <= bound + 4 * returns.std() / np.sqrt(500), name
    assert means["whittle"] - means["never"] > 0.9 * (bound - means["never"])


def test_a_budget_per_cohort_and_inside_jit(rng):
    transitions, problem = np.stack([random_transitions(rng, "dense", 5, 2)] * 2), aw.Problem()
    each = [aw.fluid_bound(transitions[:1], problem, budget)[0] for budget in (1, 3)]
    np.testing.assert_allclose(aw.fluid_bound(transitions, problem, [1, 3]), each, rtol=1e-12)
    inside = jax.jit(lambda array: aw.fluid_bound(array, problem, jnp.array([1, 3])))(transitions)
    np.testing.assert_allclose(inside, each, rtol=1e-12)
    assert each[0] < each[1]


def test_users_precision(rng, user_precision):
    transitions = random_transitions(rng, "dense", 40, 2)[None]
    bound = float(aw.fluid_bound(transitions.astype(np.float32), aw.Problem(), 3)[0])
    assert abs(bound - occupancy_bound(transitions[0], aw.Problem(), 3)) < 1e-5 * bound


@pytest.mark.parametrize(
    ("budget", "message"), [(-1, "at least 0, not -1"), ([1, 2, 3], r"shape \[3\]"), (float("inf"), "finite")]
)
def test_wrong_budgets(rng, budget, message):
    with pytest.raises(aw.InvalidInputError, match=message):
        aw.fluid_bound(random_transitions(rng, "dense", 4, 2)[None], aw.Problem(), budget)


def test_a_budget_that_no_rule_can_keep(rng):
    transitions = random_transitions(rng, "dense", 4, 2)[None]
    with pytest.raises(aw.InvalidInputError, match="as little as 3 at each step in cohort 0"):
        aw.fluid_bound(transitions, aw.Problem(costs=(1.0, 2.0)), 3)


def test_one_cohort_needs_an_axis(rng):
    with pytest.raises(aw.InvalidInputError, match="add an axis"):
        aw.fluid_bound(random_transitions(rng, "dense", 4, 2), aw.Problem(), 1)
