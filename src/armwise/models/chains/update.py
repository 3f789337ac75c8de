"""Update a posterior by one week: it becomes the prior, and the move to the new state is the only evidence."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from armwise.models.chains.memory import Memory, remember
from armwise.models.chains.population import Population, standardised
from armwise.models.chains.posterior import NUM_NEWTON, person_evidence
from armwise.models.chains.rows import Covariances, Means, predicted_rows
from armwise.models.chains.small_systems import apply, inverse
from armwise.models.chains.weeks import add_week, no_evidence

PerState = Float[Array, "states people"]


def believe(
    moves: Float[Array, "states states people"], memory: Memory, first: Float[Array, " states"]
) -> Float[Array, "states people"]:
    """The probability of each state now: the last observed state, moved forward for each unobserved week since.

    Args:
        moves: the transition probabilities without a call.
        memory: of the weeks so far.
        first: the share of people first observed in each state, used for people never observed.
    """
    seen = memory.state >= 0
    start = jnp.where(seen[None], jax.nn.one_hot(memory.state, len(first), axis=0), first[:, None])
    unseen = jnp.where(seen, memory.gap, 0.0)

    def move_on(week: Array, belief: PerState) -> PerState:
        return jnp.where((week < unseen)[None], jnp.sum(belief[:, None] * moves, axis=0), belief)

    return jax.lax.fori_loop(0, jnp.max(unseen).astype(int), move_on, start)


@eqx.filter_jit
def next_week(
    population: Population,
    means: Means,
    covariances: Covariances,
    memory: Memory,
    state: Int[Array, " people"],
    action: Int[Array, " people"],
    observed: Bool[Array, " people"],
) -> tuple[Means, Covariances, Memory]:
    """Means, covariances and memory after one more week, with people as the last axis.

    Args:
        population: the shared parameters.
        means: of θ_i before the week.
        covariances: of θ_i before the week.
        memory: before the week.
        state: in the new week.
        action: taken in the week before it.
        observed: whether the new week was observed.
    """
    rows, states = standardised(population, memory), population.num_states
    reached = jax.nn.one_hot(state, states, axis=0) * (observed & (memory.state >= 0))[None]
    called = action.astype(means.dtype)
    precision = inverse(covariances)

    def newton(_: Any, now: tuple[Means, Covariances]) -> tuple[Means, Covariances]:
        pairs = _pairs(population, rows, memory, called, reached, *now)
        found = add_week(population, no_evidence(population, means.shape[1]), rows, called, pairs, *now)
        curvature, linear = person_evidence(population, found)
        spread = inverse(precision + curvature)
        return apply(spread, apply(precision, means) + linear), spread

    after, spread = jax.lax.fori_loop(0, NUM_NEWTON, newton, (means, covariances))
    return after + _first_seen(population, memory, state, observed), spread, remember(memory, state, observed, states)


def _pairs(population, rows, memory, called, reached, means, covariances):  # type: ignore[no-untyped-def]
    """The probability of each pair of a state and the next one; 0 if the new week was not observed."""
    alone = predicted_rows(population, rows, jnp.zeros_like(called), means, covariances)
    moves = predicted_rows(population, rows, called, means, covariances)
    pairs = believe(alone, memory, population.first_shares)[:, None] * moves * reached[None]
    total = jnp.sum(pairs, axis=(0, 1))
    return pairs / jnp.where(total > 0, total, 1.0)[None, None]


def _first_seen(
    population: Population, memory: Memory, state: Int[Array, " people"], observed: Bool[Array, " people"]
) -> Means:
    """What the first observed state adds to the mean, for people observed for the first time; 0 for others."""
    start = jax.nn.one_hot(state, population.num_states) - population.first_shares[None]
    newly = observed & (memory.state < 0)
    return population.weights[:, 1 : 1 + population.num_states] @ jnp.where(newly[:, None], start, 0.0).T
