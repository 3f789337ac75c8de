"""Sums and maxima over an arm's policies, for arrays laid out `[policies, arms]`.

XLA's own reduction over either axis takes one element at a time on a CPU. Folding halves onto each other is the same
sum as vector instructions: the spend of a softmax over 1,000,000 × 4 takes 2.5 ms instead of 16 (float32, 2 cores).
"""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float


def total(values: Float[Array, "policies arms"]) -> Float[Array, "1 arms"]:
    """Each arm's sum."""
    return _fold(jnp.add, values)


def largest(values: Float[Array, "policies arms"]) -> Float[Array, "1 arms"]:
    """Each arm's maximum."""
    return _fold(jnp.maximum, values)


def _fold(combine: Callable[[Array, Array], Array], values: Array) -> Array:
    while values.shape[0] > 1:
        half = values.shape[0] // 2
        folded = combine(values[:half], values[half : 2 * half])
        odd_one_out = values[2 * half :]
        values = jnp.concatenate([folded, odd_one_out]) if odd_one_out.shape[0] else folded
    return values
