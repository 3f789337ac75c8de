"""Budgets that are just enough, or just not: one answer by every backend (`mixtures/edge.py`)."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import armwise as aw
from armwise import native
from tests.oracles import random_transitions, solved_returns

NUM_ARMS, TEMPERATURE = 7, 0.5
LOSS = aw.DecDFL(aw.EntropyMixture(TEMPERATURE))
BACKENDS = ["reference", "fused"]
if all(native.compile_kernel(np.dtype(dtype), 2, 4) for dtype in ("float32", "float64")):
    BACKENDS.append("native")
SOLVE = {name: jax.jit(jax.value_and_grad(dataclasses.replace(LOSS, backend=name))) for name in BACKENDS}
POLICIES = aw.all_policies(2)


def chains(kind):
    """True and predicted transitions; where arms stay "still", policies differ in states that they never see."""
    rng = np.random.default_rng(7)
    true, predicted = (random_transitions(rng, "dense", NUM_ARMS, 2) for _ in range(2))
    return (np.broadcast_to(np.eye(2)[:, None], true.shape) if kind == "still" else true), predicted


def returns(transitions, problem):
    known = (float(problem.discount), np.asarray(problem.initial), np.asarray(problem.costs), POLICIES)
    return solved_returns(transitions.astype(float), np.asarray(problem.rewards), *known)


def expected_loss(true, predicted, problem, allowed):
    """The softmax of the predicted returns among the policies allowed, valued by the truth."""
    net = np.where(allowed, returns(predicted, problem)[0] / TEMPERATURE, -np.inf)
    weights = np.exp(net - net.max(axis=1, keepdims=True))
    return -np.mean(np.sum(weights * returns(true, problem)[0], axis=1) / weights.sum(axis=1))


def solved_by_all(true, predicted, problem, budget, dtype):
    """Loss and gradient by every backend, which agree."""
    prepared = LOSS.prepare(aw.CohortTruth(true.astype(dtype), problem, budget))
    found = {name: solve(jnp.asarray(predicted.astype(dtype)), prepared) for name, solve in SOLVE.items()}
    scale = 1 / (1 - float(problem.discount))
    tolerance = 1e-10 if dtype == np.float64 else 3e-6 * scale
    for value, gradient in found.values():
        np.testing.assert_allclose(value, found["reference"][0], rtol=tolerance)
        np.testing.assert_allclose(gradient, found["reference"][1], rtol=0, atol=tolerance * scale**2)
    return *found["reference"], prepared, tolerance


PROBLEMS = pytest.mark.parametrize("discount", [0.0, 0.9, 0.999])
PRECISIONS = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@PRECISIONS
@PROBLEMS
@pytest.mark.parametrize("cost", [1.0, 0.1, 1e-7, 3e6])
def test_actions_of_equal_cost_are_no_constraint(dtype, discount, cost):
    """The budget pays for everyone in every step, whatever is done: no rounding may choose between policies."""
    true, predicted = chains("dense")
    problem = aw.Problem(discount=discount, costs=(cost, cost))
    value, gradient, prepared, tolerance = solved_by_all(true, predicted, problem, NUM_ARMS * cost, dtype)
    np.testing.assert_allclose(value, expected_loss(true, predicted, problem, True), rtol=tolerance)
    np.testing.assert_allclose(LOSS(predicted.astype(dtype), prepared), value, rtol=tolerance)
    _, free, *_ = solved_by_all(true, predicted, problem, 1e3 * NUM_ARMS * cost, dtype)
    np.testing.assert_array_equal(gradient, free)


@PRECISIONS
@PROBLEMS
@pytest.mark.parametrize("kind", ["dense", "still"])
@pytest.mark.parametrize("costs", [(0.0, 1.0), (1.0, 2.0), (0.1, 0.3), (3.0, 1.0), (3e6, 7e6)])
def test_a_budget_that_just_pays_for_the_cheapest_leaves_them_alone(dtype, discount, kind, costs):
    true, predicted = chains(kind)
    problem = aw.Problem(discount=discount, costs=costs, initial=(1.0, 0.0))
    least = returns(true, problem)[1]
    cheapest = least <= least.min(axis=1, keepdims=True) * (1 + 1e-9)
    value, gradient, prepared, tolerance = solved_by_all(true, predicted, problem, NUM_ARMS * min(costs), dtype)
    np.testing.assert_allclose(value, expected_loss(true, predicted, problem, cheapest), rtol=tolerance, atol=1e-9)
    assert float(prepared.measured.left) == 0
    with pytest.raises(aw.ConvergenceError, match="pays for the cheapest policies and nothing more"):
        LOSS(predicted.astype(dtype), prepared)
    assert np.all(np.isfinite(gradient))


@PRECISIONS
@pytest.mark.parametrize("costs", [(1.0, 1.0), (1.0, 2.0), (3.0, 1.0)])
def test_a_budget_below_the_cheapest_is_an_error_or_the_cheapest(dtype, costs):
    true, predicted = chains("still")
    problem = aw.Problem(discount=0.9, costs=costs, initial=(1.0, 0.0))
    least = returns(true, problem)[1]
    cheapest = least <= least.min(axis=1, keepdims=True) * (1 + 1e-9)
    value, _, prepared, tolerance = solved_by_all(true, predicted, problem, 0.99 * NUM_ARMS * min(costs), dtype)
    np.testing.assert_allclose(value, expected_loss(true, predicted, problem, cheapest), rtol=tolerance, atol=1e-9)
    with pytest.raises(aw.ConvergenceError, match="No mixture keeps to the budget"):
        LOSS(predicted.astype(dtype), prepared)
