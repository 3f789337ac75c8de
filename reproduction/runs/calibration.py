"""Predicted Whittle indices, brought to the scale of the true ones.

The order of people in the same state stays as it is predicted. What changes is how people in different states compare:
a model may know who gains most among the engaged and among the lapsed, and yet be wrong about which state gains more.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from armwise.data import Cohorts, Domain
from armwise.evaluation.decision_quality import all_indices
from armwise.rmab import Problem
from armwise.training.engine import cast
from reproduction.runs.scoring import chunks, predict, runs_at_once, take

# A slope of 0 would make all people in a state the same, and one below turn their order round.
SMALLEST_SLOPE = 1e-3

Indices = Float[Array, "cohorts arms states"]


def fit_maps(
    models: Any, split: Int[np.ndarray, " runs"], domain: Domain, sides: Sequence[Int[np.ndarray, " cohorts"]]
) -> Float[np.ndarray, "runs states 2"]:
    """A rising line for each run and state, from predicted to true indices, by least squares.

    Args:
        models: one model whose every weight has a leading axis over runs, as ``TrainedRuns.models``.
        split: which split each run belongs to.
        domain: where the cohorts and the problem come from.
        sides: the numbers of each split's cohorts to learn from: its training cohorts.

    Returns:
        Slope and intercept.
    """
    cohorts, problem = cast((domain.cohorts, domain.problem), jnp.dtype("float32"))
    numbers = np.stack(sides)
    size = min(runs_at_once(numbers.shape[1], cohorts), max(8, len(split)))
    parts = []
    for inside in chunks(len(split), size):
        dynamic, static = eqx.partition(take(models, inside), eqx.is_array)
        parts.append(np.asarray(_fit(dynamic, jnp.asarray(numbers[split[inside]]), cohorts, problem, static)))
    return np.concatenate(parts)[: len(split)]


@eqx.filter_jit
def _fit(
    dynamic: Any, numbers: Int[Array, "runs cohorts"], cohorts: Cohorts, problem: Problem, static: Any
) -> Float[Array, "runs states 2"]:
    predicted = all_indices(predict(dynamic, numbers, cohorts, static), problem)
    return jax.vmap(rising_lines)(predicted, all_indices(cohorts.true_transitions, problem)[numbers])


def rising_lines(predicted: Indices, true: Indices) -> Float[Array, "states 2"]:
    """Slope and intercept of each state, by least squares over all arms of all cohorts."""
    means = [jnp.mean(values, axis=(0, 1), keepdims=True) for values in (predicted, true)]
    off = predicted - means[0]
    covariance, variance = (jnp.mean(off * other, axis=(0, 1)) for other in (true - means[1], off))
    slope = jnp.maximum(covariance / jnp.where(variance > 0, variance, 1), SMALLEST_SLOPE)
    return jnp.stack([slope, means[1][0, 0] - slope * means[0][0, 0]], axis=-1)
