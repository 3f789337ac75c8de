"""The linear mixture against HiGHS, and every mixture's status, in `jit` and out, over feasible and other budgets."""

import jax
import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import block_diag

from armwise.errors import ConvergenceError
from armwise.mixtures import EntropyMixture, LinearMixture, QuadraticMixture

SHAPES = [(1, 1), (1, 2), (5, 4), (40, 3), (100, 8)]
EDGES = (-1.0, -1e-3, -1e-6, 0.0, 1e-6, 0.01, 0.3, 0.99, 1.0, 3.0)


def random_problem(rng, shape, edge):
    """Spend in units from 1e-8 to 1e8; a budget at a share of the way from the least to the most that can be spent."""
    unit, floor = 10 ** rng.uniform(-8, 8), rng.choice([0.0, 1.0])
    spend = unit * (floor + rng.random(shape) * rng.choice([0.0, 1.0], shape, p=[0.2, 0.8]))
    least, most = spend.min(axis=1).sum(), spend.max(axis=1).sum()
    return rng.normal(size=shape), spend, least + edge * (unit if edge < 0 else most - least)


def highs(rewards, spend, budget):
    unit = max(spend.max(), np.finfo(float).tiny)  # HiGHS has absolute tolerances
    rows, ones = block_diag([np.ones((1, rewards.shape[1]))] * len(rewards)), np.ones(len(rewards))
    return linprog(-rewards.ravel(), spend.reshape(1, -1) / unit, [budget / unit], rows, ones, method="highs")


@pytest.mark.parametrize("shape", SHAPES)
def test_the_linear_mixture_is_the_optimum_of_highs(shape):
    rng, solve = np.random.default_rng(list(shape)), jax.jit(LinearMixture())
    for edge in EDGES * 3:
        rewards, spend, budget = random_problem(rng, shape, edge)
        solution = solve(rewards, spend, budget)
        assert bool(solution.converged) == (edge >= 0), (edge, budget)
        if edge < 0:
            assert float(solution.gap) == np.inf
            continue
        found = float(np.sum(np.asarray(solution.mixture) * rewards))
        assert found == pytest.approx(-highs(rewards, spend, budget).fun, abs=1e-6 * (1 + np.abs(rewards).sum()))
        assert -1e-12 <= float(solution.gap) <= 1e-9 * (1 + np.abs(rewards).sum())


@pytest.mark.parametrize("mixture", [EntropyMixture(0.3), QuadraticMixture(0.3), LinearMixture()])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_status_and_gap_agree_in_jit_and_out(mixture, dtype):
    rng, solve = np.random.default_rng(5), jax.jit(mixture)
    for edge in EDGES * 5:
        problem = [np.asarray(part, dtype) for part in random_problem(rng, (6, 4), edge)]
        solution, least = solve(*problem), problem[1].astype(float).min(axis=1).sum()
        left, close = float(problem[2]) - least, 8 * np.finfo(dtype).eps * least
        if left < -close:
            assert not bool(solution.converged)
            assert float(solution.gap) == np.inf
            with pytest.raises(ConvergenceError, match="No mixture keeps to the budget"):
                mixture(*problem)
        elif left > close:
            assert bool(solution.converged), (edge, problem)
            assert float(solution.gap) >= -1e-5
            # Compiled as a whole, XLA rounds in other places.
            np.testing.assert_allclose(mixture(*problem).mixture, solution.mixture, atol=1e4 * np.finfo(dtype).eps)
        used = np.sum(np.asarray(solution.mixture, float) * problem[1])
        assert used <= max(float(problem[2]), least) * (1 + 32 * np.finfo(dtype).eps)
