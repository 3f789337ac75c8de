"""The random numbers of a simulation alone: the least that simulating could cost."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from armwise.rmab.draws import arm_words, uniforms


def draws_alone(num_arms: int, num_trajectories: int, horizon: int) -> Callable[[jax.Array], jax.Array]:
    """A function of cohorts' keys that draws their random numbers, cohort by cohort, step by step, and stores none."""
    pairs, ids = jnp.arange(num_trajectories // 2, dtype=jnp.uint32), jnp.arange(num_arms, dtype=jnp.uint32)

    def of_cohort(key: jax.Array) -> jax.Array:
        words, steps = arm_words(key, ids), jnp.arange(horizon, dtype=jnp.uint32)
        return jax.lax.map(lambda step: uniforms(words, pairs, step, jnp.dtype(jnp.float32)).max(), steps).max()

    return jax.jit(lambda keys: jax.lax.map(of_cohort, keys))
