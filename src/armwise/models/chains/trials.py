"""A move to the next state as a few yes-or-no trials, and their averages over the uncertainty about a person.

The next state is found by climbing from the lowest state: each further state is reached with probability σ(η − c_k).
So the next state is at least k with probability ∏_{j≤k} σ(η − c_j), where η is the log-odds of the row and c_1 = 0 (the
sequential logit of Tutz 1991). With two states this is the logistic model.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

# Gauss–Hermite nodes and weights for averages over N(0, 1).
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
NODES, WEIGHTS = _NODES, _WEIGHTS / _WEIGHTS.sum()


def average_trial(
    mean: Float[Array, "..."], variance: Float[Array, "..."]
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """The averages of σ(η) and of its slope σ(η)(1 − σ(η)) over η ~ N(mean, variance)."""
    spread = jnp.sqrt(variance)
    chance, slope = jnp.zeros_like(mean), jnp.zeros_like(mean)
    for node, weight in zip(NODES.tolist(), WEIGHTS.tolist(), strict=True):
        each = jax.nn.sigmoid(mean + node * spread)
        chance, slope = chance + weight * each, slope + weight * each * (1 - each)
    return chance, slope


def average_difference(
    mean: Float[Array, "..."],
    variance: Float[Array, "..."],
    added: Float[Array, "..."],
    added_variance: Float[Array, "..."],
    covariance: Float[Array, "..."],
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """The averages of σ(u + v) − σ(u) and of its square, over jointly Gaussian u and v.

    Args:
        mean: of u.
        variance: of u.
        added: the mean of v.
        added_variance: the variance of v.
        covariance: of u and v.
    """
    spread = jnp.sqrt(jnp.maximum(variance, 1e-12))
    slope = covariance / spread
    rest = jnp.sqrt(jnp.maximum(added_variance - slope**2, 0.0))
    first, second = jnp.zeros_like(mean), jnp.zeros_like(mean)
    for node, weight in zip(NODES.tolist(), WEIGHTS.tolist(), strict=True):
        alone = mean + node * spread
        for other, more in zip(NODES.tolist(), WEIGHTS.tolist(), strict=True):
            each = jax.nn.sigmoid(alone + added + node * slope + other * rest) - jax.nn.sigmoid(alone)
            first, second = first + weight * more * each, second + weight * more * each**2
    return first, second


def average_row(
    mean: Float[Array, " people"], variance: Float[Array, " people"], cuts: Float[Array, " trials"]
) -> Float[Array, "states people"]:
    """The distribution of the next state, averaged over the log-odds η ~ N(mean, variance) of the row."""
    spread = jnp.sqrt(variance)
    weighed = [weight * row(mean + node * spread, cuts) for node, weight in zip(NODES, WEIGHTS, strict=True)]
    return sum(weighed[1:], start=weighed[0])


def row(log_odds: Float[Array, "..."], cuts: Float[Array, " trials"]) -> Float[Array, "states ..."]:
    """The distribution of the next state, given the log-odds of the row. States are the first axis.

    Args:
        log_odds: η.
        cuts: c_1 = 0, c_2, …, one for each state except the lowest.

    Example:
        >>> row(jnp.zeros(()), jnp.zeros(2)).tolist()
        [0.5, 0.25, 0.25]
    """
    reached, rest = [], jnp.ones_like(log_odds)
    for cut in cuts:
        climbs = jax.nn.sigmoid(log_odds - cut)
        reached.append(rest * (1 - climbs))
        rest = rest * climbs
    return jnp.stack([*reached, rest])
