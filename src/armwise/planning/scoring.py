"""What a call to each person is worth now: the state she is probably in, her index, and what calls in it gain.

Every person is scored in a block of one fixed shape, by operations that never mix rows. So neither neighbours, nor the
order of rows, nor the size of a batch can change a digit.
"""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from armwise.data import Features
from armwise.planner import CallGains
from armwise.rmab import Problem, whittle_indices
from armwise.training.engine import cast

# People scored at a time: enough to keep two cores busy, few enough to pad small tables cheaply.
BLOCK = 2**14
# Beliefs further back than ten years of weeks have long settled.
LONGEST_GAP = 520

PerPerson = Float[Array, " people"]
PerState = Float[Array, "people states"]
Transitions = Float[Array, "people states actions states"]


@dataclass(frozen=True, eq=False)
class Scores:
    """What a call to each person is worth.

    Attributes:
        index: the Whittle index, averaged over the states that the person may be in; who is called goes by it.
        gain: how much reward (by default: weeks of engagement) one call now gains in the 12 steps after it, by what
            past calls did to people in the states that the person may be in; NaN if there were too few to tell.
        gain_error: the standard error of the gain.
    """

    index: np.ndarray
    gain: np.ndarray
    gain_error: np.ndarray


def in_blocks(function: Any, features: Features, *columns: np.ndarray) -> list[np.ndarray]:
    """The function of blocks of people, each padded to ``BLOCK`` rows, put together again; its results are a tuple."""
    codes, numeric = np.asarray(features.codes), np.asarray(features.numeric)
    parts = []
    for start in range(0, max(1, len(codes)), BLOCK):
        rows = [_padded(array[start : start + BLOCK]) for array in (codes, numeric, *columns)]
        block = eqx.tree_at(lambda each: (each.codes, each.numeric), features, (rows[0], rows[1]))
        parts.append([np.asarray(result) for result in function(block, *rows[2:])])
    return [np.concatenate(results)[: len(codes)] for results in zip(*parts, strict=True)]


def _padded(rows: np.ndarray) -> Array:
    return jnp.asarray(np.pad(rows, [(0, BLOCK - len(rows))] + [(0, 0)] * (rows.ndim - 1)))


def score(
    model: Any,
    problem: Problem,
    gains: CallGains,
    features: Features,
    states: Int[np.ndarray, " people"],
    gaps: Int[np.ndarray, " people"],
) -> Scores:
    """Index and gain of each person.

    Args:
        model: features to transitions.
        problem: rewards, discount and, for people never observed, first states.
        gains: of a call in each state.
        features: of each person.
        states: last observed; −1 if never.
        gaps: steps since then in which the person was not observed; 0 if she was in the step before this.
    """
    model, problem = _in_one_precision(model, problem)
    gaps = np.minimum(gaps, LONGEST_GAP)
    mean, covariance = (jnp.asarray(part, dtype=_dtype(model)) for part in (gains.gains, gains.covariance))

    def of_block(block: Features, states: Array, gaps: Array) -> tuple[PerPerson, ...]:
        return _score_block(model, problem, mean, covariance, _like(model, block), states, gaps)

    index, gain, error = in_blocks(of_block, features, states.astype(np.int32), gaps.astype(np.int32))
    # −0.0 and 0.0 are the same price and must be the same text.
    return Scores(index + 0.0, gain + 0.0, error)


def predict(model: Any, features: Features) -> np.ndarray:
    """The predicted transitions, ``[people, states, actions, states]``."""
    return in_blocks(lambda block: (_predict_block(model, _like(model, block)),), features)[0]


def predict_indices(model: Any, problem: Problem, features: Features) -> np.ndarray:
    """The predicted Whittle indices, ``[people, states]``."""
    model, problem = _in_one_precision(model, problem)
    return in_blocks(lambda block: (_index_block(model, problem, _like(model, block)),), features)[0]


def _in_one_precision(model: Any, problem: Problem) -> tuple[Any, Problem]:
    return model, cast(problem, _dtype(model))


def _dtype(model: Any) -> jnp.dtype:
    return jnp.result_type(*jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)))


def _like(model: Any, features: Features) -> Features:
    return cast(features, _dtype(model))


@eqx.filter_jit
def _predict_block(model: Any, features: Features) -> Transitions:
    return model(features)


@eqx.filter_jit
def _index_block(model: Any, problem: Problem, features: Features) -> PerState:
    return whittle_indices(model(features), problem)


@eqx.filter_jit
def _score_block(
    model: Any,
    problem: Problem,
    gains: Float[Array, " states"],
    covariance: Float[Array, "states states"],
    features: Features,
    states: Int[Array, " people"],
    gaps: Int[Array, " people"],
) -> tuple[PerPerson, PerPerson, PerPerson]:
    transitions = model(features)
    belief = believe(transitions[:, :, 0], problem.initial, states, gaps)
    index = jnp.sum(belief * whittle_indices(transitions, problem), axis=1)
    variance = jnp.sum(belief * jnp.sum(belief[:, None] * covariance[None], axis=2), axis=1)
    return index, jnp.sum(belief * gains[None], axis=1), jnp.sqrt(jnp.maximum(variance, 0.0))


def believe(
    passive: Float[Array, "people states states"],
    initial: Float[Array, " states"],
    states: Int[Array, " people"],
    gaps: Int[Array, " people"],
) -> PerState:
    """How likely each state is now: the last one seen, moved on by the chain of those left alone for each step unseen.

    A person never observed is taken to be as people are when first seen.
    """
    seen = jax.nn.one_hot(states, passive.shape[1], dtype=passive.dtype)
    belief = jnp.where(states[:, None] >= 0, seen, initial[None])
    unseen = jnp.where(states >= 0, gaps, 0)

    def move_on(step: Array, belief: PerState) -> PerState:
        moved = jnp.sum(belief[:, :, None] * passive, axis=1)
        return jnp.where((step < unseen)[:, None], moved, belief)

    return jax.lax.fori_loop(0, jnp.max(unseen), move_on, belief)
