"""Estimate the spread between people, Σ, by Fisher scoring on the likelihood with θ_i integrated out.

For quadratic evidence the likelihood of Σ is that of normal observations of θ_i − W x_i with the covariance Σ + Λ_i⁻¹.
With Q_i its inverse and a_i = Q_i times the observation, the slope in Σ is ½ Σ_i (a_i a_iᵀ − Q_i) and the expected
curvature ½ Σ_i Q_i ⊗ Q_i (Harville 1977). Each person says very little about the effects of calls, so EM needs hundreds
of iterations for their spread. Fisher scoring needs about ten.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from armwise.models.chains.population import Population
from armwise.models.chains.posterior import combine
from armwise.models.chains.rows import Covariances, Means

# The prior of the spread counts like this many people with these variances.
PRIOR_PEOPLE, PASSIVE_VARIANCE, EFFECT_VARIANCE = 2.0, 1.0, 0.25
# The prior of the correlation between a person's log-odds and her responses to calls is N(0, this²).
CORRELATION_SCALE = 0.25
# The lower limit of the variance in any direction.
SMALLEST_VARIANCE = 1e-4


class SpreadSums(NamedTuple):
    """Sums over people of a_i a_iᵀ − Q_i and of Q_i ⊗ Q_i."""

    slope: Float[Array, "parameters parameters"]
    curvature: Float[Array, "parameters parameters parameters parameters"]


def prior_covariance(num_states: int) -> Float[np.ndarray, "parameters parameters"]:
    """The prior value of Σ, before any data."""
    return np.diag([PASSIVE_VARIANCE] * num_states + [EFFECT_VARIANCE] * num_states)


@eqx.filter_jit
def spread_sums(
    population: Population, prior_means: Means, curvature: Covariances, linear: Means, real: Float[Array, " people"]
) -> SpreadSums:
    """The contribution of some people to the slope and curvature in Σ.

    Args:
        population: the shared parameters.
        prior_means: W x_i.
        curvature: Λ_i.
        linear: h_i.
        real: 1 for people, 0 for rows that fill up a block.
    """
    means, covariances = combine(population, prior_means, curvature, linear)
    precision = jnp.linalg.inv(population.covariance)
    marginal = precision[:, :, None] - jnp.einsum("ab,bcn,cd->adn", precision, covariances, precision)
    away = precision @ (means - prior_means)
    slope = jnp.sum((away[:, None] * away[None] - marginal) * real[None, None], axis=-1)
    size, flat = len(precision), marginal.reshape(-1, marginal.shape[-1])
    pairs = (flat * real[None]) @ flat.T
    # Q ⊗ Q with the indices in the order (a, b) of the slope, then (c, d) of the step.
    return SpreadSums(slope, pairs.reshape((size,) * 4).transpose(0, 2, 1, 3))


def scored(covariance: Float[np.ndarray, "size size"], sums: SpreadSums) -> Float[np.ndarray, "size size"]:
    """Σ after one step of Fisher scoring, positive definite."""
    size = len(covariance)
    precision, before = np.linalg.inv(covariance), prior_covariance(size // 2)
    pushed = precision @ before @ precision
    slope = sums.slope + PRIOR_PEOPLE * (pushed - precision)
    # The prior's curvature grows as the spread gets small. Its expected curvature, P ⊗ P, ignores that and overshoots.
    bend = np.einsum("ac,bd->abcd", pushed, precision) + np.einsum("ac,bd->abcd", precision, pushed)
    curvature = sums.curvature + PRIOR_PEOPLE * bend
    for passive in range(size // 2):
        for effect in range(size // 2, size):
            pull = 1 / (CORRELATION_SCALE**2 * covariance[passive, passive] * covariance[effect, effect])
            for one, other in ((passive, effect), (effect, passive)):
                slope[one, other] -= pull * covariance[one, other]
                curvature[one, other, one, other] += pull
    rows, columns = np.tril_indices(size)
    # There is one free number for each entry on or below the diagonal. Off the diagonal it appears in two entries.
    twice = np.where(rows == columns, 1.0, 2.0)
    matrix = curvature[rows, columns][:, rows, columns] + curvature[rows, columns][:, columns, rows]
    step = np.linalg.solve(matrix * twice[None] / 2, slope[rows, columns])
    change = np.zeros((size, size))
    change[rows, columns] = change[columns, rows] = step
    return _positive(covariance, change)


def _positive(covariance: np.ndarray, change: np.ndarray) -> np.ndarray:
    """The covariance after a change, with every variance at least ``SMALLEST_VARIANCE``.

    The change is halved until the variance in every direction is between 0.3 and 4 times the old one.
    """
    for _ in range(20):
        values, vectors = np.linalg.eigh(covariance + change)
        now = np.linalg.eigvalsh(np.linalg.solve(covariance, covariance + change)) if values[0] > 0 else values
        if now[0] > 0.3 and now[-1] < 4:
            break
        change = change / 2
    values, vectors = np.linalg.eigh(covariance + change)
    return (vectors * np.maximum(values, SMALLEST_VARIANCE)) @ vectors.T
