"""What goes wrong is said: eagerly as an error, inside jit as a status. What is extreme still works."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from armwise.errors import ConvergenceError, InvalidInputError
from armwise.mixtures import CvxpyMixture, EntropyMixture, LinearMixture, QuadraticMixture, cvxpy_reference

MIXTURES = [EntropyMixture(0.1), QuadraticMixture(0.1), LinearMixture()]
SMOOTH = MIXTURES[:2]
REWARDS, SPEND = np.array([[0.0, 1.0], [0.0, 2.0]]), np.array([[0.0, 1.0], [0.0, 1.0]])


@pytest.mark.parametrize("mixture", MIXTURES)
@pytest.mark.parametrize("name", ["reward_returns", "budget_returns"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_non_finite_input_is_named(mixture, name, bad):
    inputs = {"reward_returns": REWARDS.copy(), "budget_returns": SPEND.copy()}
    inputs[name][1, 0] = bad
    with pytest.raises(InvalidInputError, match=rf"{name}\[1, 0\] is {bad}"):
        mixture(**inputs, discounted_budget=1.0)
    assert not jax.jit(mixture)(**inputs, discounted_budget=1.0).converged


@pytest.mark.parametrize("mixture", MIXTURES)
def test_nan_budget(mixture):
    with pytest.raises(InvalidInputError, match="discounted_budget is nan"):
        mixture(REWARDS, SPEND, np.nan)
    assert not jax.jit(mixture)(REWARDS, SPEND, np.nan).converged


@pytest.mark.parametrize("mixture", MIXTURES)
def test_shapes_are_checked(mixture):
    with pytest.raises(InvalidInputError, match=r"shape \(2,\)"):
        mixture(REWARDS[0], SPEND[0], 1.0)
    with pytest.raises(InvalidInputError, match=r"\(2, 2\) and budget_returns \(1, 2\)"):
        mixture(REWARDS, SPEND[:1], 1.0)
    with pytest.raises(InvalidInputError, match="vmap"):
        mixture(REWARDS, SPEND, [1.0, 2.0])
    with pytest.raises(InvalidInputError, match="initial_price"):
        mixture(REWARDS, SPEND, 1.0, initial_price=np.nan)


@pytest.mark.parametrize("temperature", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("mixture", [EntropyMixture, QuadraticMixture, lambda value: CvxpyMixture("l2", value)])
def test_impossible_temperatures(mixture, temperature):
    with pytest.raises(InvalidInputError, match="temperature is"):
        mixture(temperature)


@pytest.mark.parametrize("mixture", MIXTURES)
def test_budget_below_the_cheapest_spend(mixture):
    with pytest.raises(ConvergenceError, match="cheapest policy together spend 4"):
        mixture(REWARDS, SPEND + 2, 3.0)
    solution = jax.jit(mixture)(REWARDS, SPEND + 2, 3.0)
    assert not solution.converged
    assert np.all(np.isfinite(solution.mixture))


@pytest.mark.parametrize("mixture", MIXTURES)
def test_the_gap_is_infinite_without_a_solution_and_never_negative_with_one(mixture, rng):
    """All cohorts at once, so inside `jit`: half of their budgets are below the cheapest spend."""
    rewards, spend = 1e4 * rng.normal(size=(40, 6, 3)), rng.uniform(1, 2, (40, 6, 3))
    feasible = np.arange(40) % 2 == 0
    budget = spend.min(axis=2).sum(axis=1) + np.where(feasible, rng.random(40), -rng.random(40))
    solution = jax.jit(jax.vmap(mixture))(rewards, spend, budget)
    np.testing.assert_array_equal(solution.converged, feasible)
    np.testing.assert_array_equal(np.isinf(solution.gap), ~feasible)
    assert np.all(solution.gap[feasible] >= -1e-8)


@pytest.mark.parametrize("mixture", MIXTURES)
def test_spends_that_differ_by_rounding_are_the_same(mixture):
    """0.1 + 0.2 is not 0.3 to a computer: no budget chooses between the two."""
    solution = mixture([[0.0, 5.0]], [[0.3, 0.1 + 0.2]], 0.3)
    assert float(solution.budget_price) == 0
    assert float(solution.mixture[0, 1]) > 0.99


def test_zero_budget_has_no_finite_entropy_price():
    with pytest.raises(ConvergenceError, match="No finite price"):
        EntropyMixture(0.1)(REWARDS, SPEND, 0.0)
    solution = jax.jit(EntropyMixture(0.1))(REWARDS, SPEND, 0.0)
    assert not solution.converged
    assert solution.mixture.tolist() == [[1, 0], [1, 0]]
    assert float(solution.budget_used) == 0


@pytest.mark.parametrize("mixture", [QuadraticMixture(0.1), LinearMixture()])
def test_zero_budget_without_entropy(mixture):
    solution = mixture(REWARDS, SPEND, 0.0)
    assert solution.mixture.tolist() == [[1, 0], [1, 0]]
    assert bool(solution.converged)


@pytest.mark.parametrize("mixture", SMOOTH)
def test_gradients_stay_finite_without_a_solution(mixture):
    gradient = jax.grad(lambda rewards: jnp.sum(mixture(rewards, SPEND, -1.0).mixture * REWARDS))(REWARDS)
    assert np.all(np.isfinite(gradient))


@pytest.mark.parametrize("mixture", SMOOTH)
def test_equal_returns_are_shared_equally(mixture):
    solution = mixture(np.full((3, 4), 5.0), np.full((3, 4), 0.1), 3 * 0.1)
    np.testing.assert_allclose(solution.mixture, 0.25, rtol=1e-15)
    assert float(solution.budget_price) == 0


@pytest.mark.parametrize("mixture", MIXTURES)
def test_one_policy_per_arm(mixture):
    solution = mixture(np.ones((3, 1)), np.ones((3, 1)), 3.0)
    assert solution.mixture.tolist() == [[1.0]] * 3


@pytest.mark.parametrize("mixture", SMOOTH)
def test_integers_and_lists_are_welcome(mixture):
    solution = mixture([[0, 1], [0, 2]], [[0, 1], [0, 1]], 1)
    assert float(solution.budget_used) == pytest.approx(1)


def test_the_papers_bracket_misses_this_root():
    """100 copies of Example 4.1's prediction, γ = 0.9, B = 1, temperature 1, first state 0: the price exceeds 10."""
    rewards, spend = np.tile([0.0, 0.0, 9.0, 9.0], (100, 1)), np.tile([0.0, 0.0, 1.0, 10.0], (100, 1))
    solution = EntropyMixture(1.0)(rewards, spend, 10.0)
    assert float(solution.budget_used) == pytest.approx(10)
    assert float(solution.budget_price) > 10


@pytest.mark.usefixtures("user_precision")
@pytest.mark.parametrize("mixture", [EntropyMixture(0.01), QuadraticMixture(0.01), LinearMixture()])
def test_a_million_arms_in_float32(mixture, rng):
    """The whole budget is placed: plain float32 sums would be off by whole arms."""
    spend = rng.uniform(0, 10, (1_000_000, 4)).astype(np.float32)
    spend[:, 0] = 0
    rewards = (spend * rng.uniform(0, 1, (1_000_000, 1)) + rng.uniform(0, 1, spend.shape)).astype(np.float32)
    budget = np.float32(1e6)
    solution = mixture(rewards, spend, budget)
    used = np.sum(np.asarray(solution.mixture, float) * spend)
    assert solution.mixture.dtype == jnp.float32
    assert -2e-7 * budget <= used - budget <= 1e-7 * budget
    assert float(solution.budget_used) == pytest.approx(used, rel=1e-7)


@pytest.mark.usefixtures("user_precision")
def test_one_undecided_arm_among_many_in_float32():
    """All arms but one are certain; the last one's share is what the budget leaves, 0.25 of 100,000.25."""
    rewards = np.tile(np.float32([0.0, 10.0]), (200_001, 1))
    rewards[100_000] = [0.0, 5.0]
    rewards[100_001:] = [0.0, 0.0]
    spend = np.tile(np.float32([0.0, 1.0]), (200_001, 1))
    for mixture in (EntropyMixture(0.1), QuadraticMixture(0.1), LinearMixture()):
        solution = mixture(rewards, spend, np.float32(100_000.25))
        np.testing.assert_allclose(solution.mixture[100_000, 1], 0.25, rtol=1e-3)


def test_missing_reference_packages_are_named(monkeypatch):
    cvxpy_reference._layer.cache_clear()
    monkeypatch.setitem(sys.modules, "cvxpylayers.jax", None)
    with pytest.raises(cvxpy_reference.MissingReferenceError, match=r"armwise\[reference\]"):
        CvxpyMixture("l2", 0.1)(REWARDS, SPEND, 1.0)
    with pytest.raises(InvalidInputError, match="regulariser is 'l1'"):
        CvxpyMixture("l1", 0.1)  # type: ignore[arg-type]
