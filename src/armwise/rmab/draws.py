"""Random numbers that depend only on the key, the arm, the trajectory and the step.

A draw is a function of its coordinates, not of its position in a stream. So the order of rows, the number of other
arms, the policy followed and the batch size never change a person's luck. This lets us compare policies on common
random numbers.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer, PRNGKeyArray, UInt32

Words = UInt32[Array, "..."]

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)


def arm_words(key: PRNGKeyArray, ids: Integer[Array, " arms"]) -> UInt32[Array, "arms 2"]:
    """Two random words for each arm, from the key and the arm's id only: the key of the arm's own generator."""
    return jax.vmap(lambda identity: jax.random.bits(jax.random.fold_in(key, identity), (2,), jnp.uint32))(ids)


def uniforms(
    words: UInt32[Array, "arms 2"], pairs: UInt32[Array, " pairs"], step: UInt32[Array, ""], dtype: jnp.dtype
) -> Float[Array, "2 arms pairs"]:
    """Uniform draws in ``[0, 1)`` for each arm at one step; each pair is two trajectories."""
    return as_uniform(bits(words, pairs, step), dtype)


def as_uniform(drawn: Words, dtype: jnp.dtype) -> Float[Array, "..."]:
    """Random bits converted to numbers in ``[0, 1)``."""
    if dtype == jnp.float64:
        return drawn.astype(dtype) * 2.0**-32
    return (drawn >> 8).astype(dtype) * jnp.asarray(2.0**-24, dtype)  # float32 holds 24 bits


def bits(
    words: UInt32[Array, "arms 2"], pairs: UInt32[Array, " pairs"], step: UInt32[Array, ""]
) -> UInt32[Array, "2 arms pairs"]:
    """32 random bits for each arm at one step; each pair is two trajectories."""
    counter = jnp.broadcast_to(step, (1, 1))
    return jnp.stack(threefry_2x32(words[:, :1], words[:, 1:], pairs[None], counter))


def threefry_2x32(key0: Words, key1: Words, counter0: Words, counter1: Words) -> tuple[Words, Words]:
    """The Threefry-2x32 block cipher in counter mode (Salmon et al. 2011), two words for each key and counter.

    The result equals ``jax.extend.random.threefry_2x32``, bit for bit. It is written out for speed: on the CPU, JAX
    compiles its own version as a loop over rounds that passes through memory. That gives 100 million words a second
    on two cores; this straight-line code gives 1,000 million. Drawing words is most of a simulation's work.
    """
    schedule = (key0, key1, key0 ^ key1 ^ _PARITY)
    x0, x1 = counter0 + schedule[0], counter1 + schedule[1]
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = ((x1 << np.uint32(rotation)) | (x1 >> np.uint32(32 - rotation))) ^ x0
        x0 = x0 + schedule[(group + 1) % 3]
        x1 = x1 + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return x0, x1
