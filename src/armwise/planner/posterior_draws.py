"""Random chains and indices for each person, drawn from what is known of her with her own random numbers.

A draw depends only on the person's own two random words, the number of the draw and the parameter. So the order of
rows and the size of a batch change nothing, and the draws of two people are independent.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri
from jaxtyping import Array, Float, UInt32, UInt64

from armwise.models.chains.model import PersonPosterior, drawn_chains
from armwise.models.chains.posterior import block_size
from armwise.rmab import Problem, whittle_indices
from armwise.rmab.draws import threefry_2x32
from armwise.training.engine import cast

# With so many draws the probability of a call is known to about 5 percentage points, and better near 0 and 1.
NUM_DRAWS = 100


def draw_chains(
    posterior: PersonPosterior, lots: UInt64[np.ndarray, " people"], num_draws: int
) -> Float[np.ndarray, "draws people states 2 states"]:
    """Random chains from what is known of each person.

    Args:
        posterior: what is known of each person.
        lots: each person's own random number.
        num_draws: how many chains to draw for each person.
    """
    return _in_blocks(lambda part, words: _chains(part, words, num_draws), posterior, lots)


def draw_indices(
    posterior: PersonPosterior,
    problem: Problem,
    belief: Float[np.ndarray, "people states"],
    lots: UInt64[np.ndarray, " people"],
    num_draws: int = NUM_DRAWS,
) -> Float[np.ndarray, "draws people"]:
    """The Whittle index of each person in chains drawn from what is known of her.

    Args:
        posterior: what is known of each person.
        problem: rewards and discount.
        belief: how likely each person is in each state, the same in all draws.
        lots: each person's own random number.
        num_draws: how many chains to draw for each person.
    """
    exact = cast(problem, posterior.means.dtype)

    def of_block(part: PersonPosterior, words: Array, belief: Array) -> Array:
        return _indices(part, exact, belief, words, num_draws)

    return _in_blocks(of_block, posterior, lots, belief)


def _in_blocks(
    function: Callable[..., Array], posterior: PersonPosterior, lots: np.ndarray, *columns: np.ndarray
) -> np.ndarray:
    """Apply a function to blocks of one shape and join the results, which have people on their second axis."""
    words = np.stack([lots >> np.uint64(32), lots & np.uint64(2**32 - 1)], axis=1).astype(np.uint32)
    own = (posterior.means, posterior.covariances, posterior.prior_means, posterior.memory, words, *columns)
    parts, number = [], len(lots)
    for start in range(0, max(1, number), block_size()):
        rows = jax.tree.map(partial(_filled, start=start), own)
        known = posterior._replace(means=rows[0], covariances=rows[1], prior_means=rows[2], memory=rows[3])
        parts.append(np.asarray(function(known, *rows[4:])))
    return np.concatenate(parts, axis=1)[:, :number]


def _filled(column: np.ndarray, start: int) -> Array:
    """One block of a column. A short block is filled with copies of its last row."""
    rows = column[start : start + block_size()]
    mode: Any = "edge" if len(rows) else "constant"
    return jnp.asarray(np.pad(rows, [(0, block_size() - len(rows))] + [(0, 0)] * (rows.ndim - 1), mode=mode))


@eqx.filter_jit
def _chains(posterior: PersonPosterior, words: UInt32[Array, "people 2"], num_draws: int) -> Array:
    return jax.lax.map(lambda draw: _one_draw(posterior, words, draw), jnp.arange(num_draws, dtype=jnp.uint32))


@eqx.filter_jit
def _indices(
    posterior: PersonPosterior,
    problem: Problem,
    belief: Float[Array, "people states"],
    words: UInt32[Array, "people 2"],
    num_draws: int,
) -> Float[Array, "draws people"]:
    def of_draw(draw: Array) -> Array:
        return jnp.sum(belief * whittle_indices(_one_draw(posterior, words, draw), problem), axis=1)

    return jax.lax.map(of_draw, jnp.arange(num_draws, dtype=jnp.uint32))


def _one_draw(posterior: PersonPosterior, words: UInt32[Array, "people 2"], draw: Array) -> Array:
    own = (posterior.means, posterior.covariances, posterior.memory)
    means, covariances, memory = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, -1), own)
    noise = normals(words, draw, posterior.means.shape[1], posterior.means.dtype)
    return drawn_chains(posterior.population, means, covariances, memory, noise)


def normals(
    words: UInt32[Array, "people 2"], draw: UInt32[Array, ""], number: int, dtype: Any
) -> Float[Array, "number people"]:
    """Standard normal numbers of each person in one draw."""
    counters = jnp.arange(number, dtype=jnp.uint32)[:, None]
    bits, _ = threefry_2x32(words[None, :, 0], words[None, :, 1], jnp.broadcast_to(draw, (1, 1)), counters)
    # The middle of one of 2²³ equal parts of [0, 1]: it is never 0 or 1, and float32 holds it exactly.
    return ndtri(((bits >> 9).astype(dtype) + 0.5) * jnp.asarray(2.0**-23, dtype))
