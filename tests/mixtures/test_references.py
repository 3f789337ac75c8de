"""Gradients against two other implementations: Optimistix's implicit differentiation, and cvxpylayers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from armwise.mixtures import CvxpyMixture, EntropyMixture, QuadraticMixture
from tests.mixtures import direct

optimistix = pytest.importorskip("optimistix", reason="the extra `dev` is not installed")
pytest.importorskip("cvxpylayers", reason="the extra `reference` is not installed")

SHAPE = (12, 4)


def entropy_rows(net):
    return jax.nn.softmax(net, axis=1)


def l2_rows(net):
    """The projection by a sort, as in every textbook."""
    ranked = -jnp.sort(-net, axis=1)
    thresholds = (jnp.cumsum(ranked, axis=1) - 1) / jnp.arange(1, net.shape[1] + 1)[None, :]
    size = jnp.sum(ranked > thresholds, axis=1, keepdims=True)
    return jnp.maximum(net - jnp.take_along_axis(thresholds, size - 1, axis=1), 0)


def optimistix_mixture(rows, rewards, spend, budget, temperature):
    def excess(price, inputs):
        rewards, spend, budget, temperature = inputs
        return jnp.sum(rows((rewards - price * spend) / temperature) * spend) - budget

    inputs = (rewards, spend, budget, temperature)
    price = optimistix.root_find(
        excess,
        optimistix.Bisection(rtol=1e-12, atol=1e-12),
        jnp.asarray(1.0),
        args=inputs,
        options={"lower": jnp.asarray(0.0), "upper": jnp.asarray(1e3)},
        max_steps=200,
        adjoint=optimistix.ImplicitAdjoint(),
    ).value
    return rows((rewards - price * spend) / temperature), price


@pytest.mark.parametrize(("mixture", "rows"), [(EntropyMixture, entropy_rows), (QuadraticMixture, l2_rows)])
def test_every_entry_of_the_gradient_matches_optimistix(mixture, rows, rng):
    weights = rng.normal(size=SHAPE)

    def ours(rewards, spend, budget, temperature):
        solution = mixture(temperature)(rewards, spend, budget)
        return jnp.sum(solution.mixture * weights) + solution.budget_price

    def theirs(*inputs):
        shares, price = optimistix_mixture(rows, *inputs)
        return jnp.sum(shares * weights) + price

    our_gradient, their_gradient = (jax.jit(jax.grad(loss, argnums=(0, 1, 2, 3))) for loss in (ours, theirs))
    for temperature in (0.1, 1.0, 10.0):
        for budget_share in (0.01, 0.1, 0.2):
            instance = direct.random_instance(rng, SHAPE, temperature, budget_share, 10.0)
            inputs = [jnp.asarray(value) for value in instance]
            for mine, other in zip(our_gradient(*inputs), their_gradient(*inputs), strict=True):
                np.testing.assert_allclose(mine, other, rtol=0, atol=1e-6 * np.max(np.abs(other)))


# SCS at 1e-13 and a dense derivative: otherwise cvxpylayers' own gradients are good to three to six digits only
# (against finite differences; ours are good to thirteen on these problems).
@pytest.mark.parametrize(("regulariser", "mixture"), [("entropy", EntropyMixture), ("l2", QuadraticMixture)])
def test_solution_and_gradient_match_cvxpylayers_where_it_can_be_trusted(regulariser, mixture, rng):
    weights = rng.normal(size=SHAPE)
    for temperature in (2.0, 10.0):
        instance = direct.random_instance(rng, SHAPE, temperature, 0.1, 10.0)
        inputs = [jnp.asarray(value) for value in instance[:3]]

        def loss(layer, *inputs):
            solution = layer(*inputs)
            return jnp.sum(solution.mixture * weights), solution

        differentiate = jax.value_and_grad(loss, argnums=(1, 2, 3), has_aux=True)
        (_, ours), our_gradient = differentiate(mixture(temperature), *inputs)
        reference = CvxpyMixture(regulariser, temperature, solver="SCS", tolerance=1e-13, derivative="dense")
        (_, theirs), their_gradient = differentiate(reference, *inputs)
        assert regulariser == "l2" or np.min(ours.mixture) >= 1e-6
        np.testing.assert_allclose(ours.mixture, theirs.mixture, rtol=0, atol=1e-7)
        np.testing.assert_allclose(ours.budget_price, theirs.budget_price, rtol=1e-6)
        for mine, other in zip(our_gradient, their_gradient, strict=True):
            np.testing.assert_allclose(mine, other, rtol=0, atol=1e-6 * np.max(np.abs(mine)))
