"""Weights for unobserved weeks: every state that a person may have been in counts by its probability.

The weights come from the forward and backward passes of a hidden Markov model in which observed weeks are certain. A
week before a person's first observed week or after her last one has weight 0. In an unobserved week, the memory is
that of her last observed week, and a call in it is unknown.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from armwise.models.chains.memory import no_memory, remember
from armwise.models.chains.population import Block, Population, standardised
from armwise.models.chains.rows import predicted_rows

Pairs = Float[Array, "transitions states states people"]


def pair_weights(
    population: Population,
    block: Block,
    means: Float[Array, "parameters people"],
    covariances: Float[Array, "parameters parameters people"],
) -> Pairs:
    """The probability of each pair of a state and the next one in each transition, given all weeks of the person.

    Args:
        population: the shared parameters.
        block: the people's weeks.
        means: of θ_i now.
        covariances: of θ_i now.
    """
    moves = _moves(population, block, means, covariances)
    hot = jax.nn.one_hot(block.states, population.num_states, axis=1)
    possible = jnp.where(block.observed[:, None], hot, 1.0)
    forward, backward = _forward(moves, possible), _backward(moves, possible)
    pairs = forward[:-1, :, None] * moves * (possible[1:] * backward[1:])[:, None]
    total = jnp.sum(pairs, axis=(1, 2), keepdims=True)
    before = jnp.cumsum(block.observed[:-1], axis=0) > 0
    after = jnp.cumsum(block.observed[:0:-1], axis=0)[::-1] > 0
    inside = (before & after)[:, None, None]
    return jnp.where(inside, pairs / jnp.where(total > 0, total, 1.0), 0.0)


def _moves(population, block, means, covariances):  # type: ignore[no-untyped-def]
    def move(memory, week):  # type: ignore[no-untyped-def]
        state, action, observed = week
        memory = remember(memory, state, observed, population.num_states)
        rows = standardised(population, memory)
        return memory, predicted_rows(population, rows, action.astype(means.dtype), means, covariances)

    columns = (block.states[:-1], block.actions[:-1], block.observed[:-1])
    return jax.lax.scan(move, no_memory(block.states.shape[1]), columns)[1]


def _forward(moves: Pairs, possible: Float[Array, "steps states people"]) -> Float[Array, "steps states people"]:
    """The probability of each state, given the weeks up to it. At first all possible states are equally likely."""

    def go(belief, week):  # type: ignore[no-untyped-def]
        move, allowed = week
        moved = jnp.sum(belief[:, None] * move, axis=0) * allowed
        return _normalised(moved), _normalised(moved)

    first = _normalised(possible[0])
    later = jax.lax.scan(go, first, (moves, possible[1:]))[1]
    return jnp.concatenate([first[None], later])


def _backward(moves: Pairs, possible: Float[Array, "steps states people"]) -> Float[Array, "steps states people"]:
    """The likelihood of the later weeks, given each state, up to a factor."""

    def go(value, week):  # type: ignore[no-untyped-def]
        move, allowed = week
        moved = _normalised(jnp.sum(move * (allowed * value)[None], axis=1))
        return moved, moved

    last = jnp.ones_like(possible[0])
    earlier = jax.lax.scan(go, last, (moves, possible[1:]), reverse=True)[1]
    return jnp.concatenate([earlier, last[None]])


def _normalised(values: Float[Array, "states people"]) -> Float[Array, "states people"]:
    total = jnp.sum(values, axis=0, keepdims=True)
    return values / jnp.where(total > 0, total, 1.0)
