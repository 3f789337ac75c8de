"""Forward and gradient of the smooth mixtures against the direct solution, over the whole range they must hold in."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from armwise.mixtures import EntropyMixture, QuadraticMixture
from tests.mixtures import direct

MIXTURES = {"entropy": EntropyMixture, "l2": QuadraticMixture}
PRECISIONS = [pytest.param(np.float64, 1e-6, id="float64"), pytest.param(np.float32, 1e-3, id="float32")]
SHAPES = [(1, 4), (24, 5)]


@jax.jit(static_argnums=0)
def loss_and_gradient(kind, weights, price_weight, *inputs):
    def loss(rewards, spend, budget, temperature):
        solution = MIXTURES[kind](temperature)(rewards, spend, budget)
        return jnp.sum(solution.mixture * weights) + price_weight * solution.budget_price, solution

    return jax.value_and_grad(loss, argnums=(0, 1, 2, 3), has_aux=True)(*inputs)


def solve(kind, instance, dtype, weights, price_weight):
    with jax.enable_x64(dtype == np.float64):
        inputs = [jnp.asarray(value, dtype) for value in (weights, price_weight, *instance)]
        (_, solution), gradient = loss_and_gradient(kind, *inputs)
    assert solution.mixture.dtype == dtype
    return jax.tree.map(np.asarray, solution), [np.asarray(part, np.float64) for part in gradient]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
@pytest.mark.parametrize("kind", MIXTURES)
def test_forward_matches_the_direct_solution(kind, dtype, tolerance, shape, rng):
    for instance in direct.instances(rng, shape, dtype):
        solution, _ = solve(kind, instance, dtype, np.zeros(shape), 0.0)
        mixture, price = direct.solve(kind, instance)
        assert solution.converged
        np.testing.assert_allclose(solution.mixture, mixture.astype(float), rtol=0, atol=tolerance)
        np.testing.assert_allclose(solution.budget_price, float(price), rtol=tolerance, atol=0)


@pytest.mark.parametrize(("dtype", "epsilons"), [(np.float64, 16), (np.float32, 16)])
@pytest.mark.parametrize("kind", MIXTURES)
def test_every_mixture_is_feasible_and_certified(kind, dtype, epsilons, rng):
    for instance in direct.instances(rng, (24, 5), dtype):
        solution, _ = solve(kind, instance, dtype, np.zeros((24, 5)), 0.0)
        spend = (np.asarray(solution.mixture, np.float64) * instance.spend).sum()
        rounding = epsilons * np.finfo(dtype).eps * instance.budget
        assert spend <= instance.budget + rounding
        assert solution.budget_used <= instance.budget + rounding
        assert np.all(solution.mixture >= 0)
        np.testing.assert_allclose(solution.mixture.sum(axis=1), 1, rtol=0, atol=8 * np.finfo(dtype).eps)
        assert 0 <= solution.gap <= 1e3 * np.finfo(dtype).eps * np.abs(instance.rewards).sum()


STEP = np.longdouble(1e-4)
STENCIL = {1: 8 / 12, -1: -8 / 12, 2: -1 / 12, -2: 1 / 12}


def finite_difference(kind, instance, part, direction, weights, price_weight):
    """A five-point directional derivative of the direct solution; None where the L2 support changes on the way."""
    derivative, supports = np.longdouble(0), set()
    for steps, factor in STENCIL.items():
        moved = [np.asarray(value, np.longdouble) for value in instance]
        moved[part] = moved[part] + steps * STEP * direction
        mixture, price = direct.solve(kind, direct.Instance(*moved))
        derivative += factor * ((mixture * weights).sum() + price_weight * price) / STEP
        supports.add(((mixture > 0).tobytes(), bool(price > 0)))
    return float(derivative) if len(supports) == 1 else None


def sized_direction(rng, instance, part, price):
    """A change of one input that moves net returns by about one temperature, and the spend left by about itself."""
    rewards, spend, budget, temperature = (np.asarray(value, float) for value in instance)
    if part == 0:
        return temperature * rng.normal(size=rewards.shape)
    if part == 1:
        least, most = spend.min(axis=1, keepdims=True), spend.max()
        return (spend - least) * rng.uniform(-1, 1, spend.shape) * min(1, temperature / (price * most + 1e-300))
    return rng.choice([-1, 1]) * (budget - spend.min(axis=1).sum() if part == 2 else temperature)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
@pytest.mark.parametrize("kind", MIXTURES)
def test_gradient_matches_finite_differences(kind, dtype, tolerance, shape, rng):
    compared = 0
    for instance in direct.instances(rng, shape, dtype):
        weights, price_weight = rounded_normal(rng, shape, dtype), rounded_normal(rng, (), dtype)
        solution, gradient = solve(kind, instance, dtype, weights, price_weight)
        price = float(solution.budget_price)
        for part, analytic in enumerate(gradient):
            direction = sized_direction(rng, instance, part, price)
            numeric = finite_difference(kind, instance, part, direction, weights, price_weight)
            if numeric is not None:
                # Directions are such that a derivative is of order 1; one below 1e-3 is the rest of a cancellation.
                size = np.sum(np.abs(analytic * direction)) + 1e-3
                assert abs(np.sum(analytic * direction) - numeric) <= tolerance * size, (part, instance)
                compared += 1
    assert compared >= 0.8 * 4 * 108


def rounded_normal(rng, shape, dtype):
    return np.asarray(np.asarray(rng.normal(size=shape), dtype), np.float64)
