"""The rows of a person's chain, averaged over the uncertainty about her."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from armwise.models.chains.population import Population
from armwise.models.chains.trials import average_row

Means = Float[Array, "parameters people"]
Covariances = Float[Array, "parameters parameters people"]


def row_moments(
    means: Means, covariances: Covariances, action: Float[Array, " people"] | float, num_states: int
) -> tuple[Float[Array, "states people"], Float[Array, "states people"]]:
    """Mean and variance of u_is + a v_is, for each state s."""
    passive, effect = means[:num_states], means[num_states:]
    own = jnp.stack([covariances[s, s] for s in range(num_states)])
    cross = jnp.stack([covariances[s, num_states + s] for s in range(num_states)])
    called = jnp.stack([covariances[num_states + s, num_states + s] for s in range(num_states)])
    action = jnp.broadcast_to(jnp.asarray(action), means.shape[1:])[None]
    return passive + action * effect, own + action * (2 * cross + action * called)


def predicted_rows(
    population: Population,
    rows: Float[Array, "states covariates people"],
    action: Float[Array, " people"],
    means: Means,
    covariances: Covariances,
) -> Float[Array, "states states people"]:
    """The distribution of the next state from each state, averaged over the uncertainty about each person."""
    mean, variance = row_moments(means, covariances, action, population.num_states)
    mean = mean + jnp.sum(population.slopes[:, :, None] * rows, axis=1)
    variance = jnp.maximum(variance, 0.0)
    each = [average_row(mean[s], variance[s], population.cuts[s]) for s in range(population.num_states)]
    return jnp.stack(each)
