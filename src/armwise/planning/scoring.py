"""What a call to each person is worth now: the predicted chain, the state she is probably in, the index and the gain.

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
from armwise.rmab import Problem, whittle_indices
from armwise.rmab.elimination import LARGEST_WRITTEN_OUT, solve
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
        gain: how much more reward (by default: weeks of engagement) one call now is expected to bring than none, if
            nobody calls later; each later week counts ``discount`` times the one before.
    """

    index: np.ndarray
    gain: np.ndarray


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
    features: Features,
    states: Int[np.ndarray, " people"],
    gaps: Int[np.ndarray, " people"],
) -> Scores:
    """Index and gain of each person.

    Args:
        model: features to transitions.
        problem: rewards, discount and, for people never observed, first states.
        features: of each person.
        states: last observed; −1 if never.
        gaps: steps since then in which the person was not observed; 0 if she was in the step before this.
    """
    model, problem = _in_one_precision(model, problem)
    gaps = np.minimum(gaps, LONGEST_GAP)

    def of_block(block: Features, states: Array, gaps: Array) -> tuple[Array, Array]:
        return _score_block(model, problem, _like(model, block), states, gaps)

    index, gain = in_blocks(of_block, features, states.astype(np.int32), gaps.astype(np.int32))
    # −0.0 and 0.0 are the same price and must be the same text.
    return Scores(index + 0.0, gain + 0.0)


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
    model: Any, problem: Problem, features: Features, states: Int[Array, " people"], gaps: Int[Array, " people"]
) -> tuple[PerPerson, PerPerson]:
    transitions = model(features)
    belief = believe(transitions[:, :, 0], problem.initial, states, gaps)
    indices, gains = whittle_indices(transitions, problem), call_gains(transitions, problem)
    return jnp.sum(belief * indices, axis=1), jnp.sum(belief * gains, axis=1)


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


def call_gains(transitions: Transitions, problem: Problem) -> PerState:
    """``γ (T¹ − T⁰) V`` by state, V the value of never being called again: what one call now brings in all."""
    passive, num_states = transitions[:, :, 0], transitions.shape[1]
    identity = jnp.eye(num_states, dtype=transitions.dtype)
    system = identity[None] - problem.discount * passive
    if num_states > LARGEST_WRITTEN_OUT:
        rewards = jnp.broadcast_to(problem.rewards[None, :, None], (len(system), num_states, 1))
        value = jnp.linalg.solve(system, rewards)[..., 0]
    else:
        right_side = [jnp.broadcast_to(reward, system.shape[:1]) for reward in problem.rewards]
        rows = [[system[:, row, column] for column in range(num_states)] for row in range(num_states)]
        value = jnp.stack(solve(rows, right_side), axis=1)
    effect = transitions[:, :, 1] - transitions[:, :, 0]
    return problem.discount * jnp.sum(effect * value[:, None, :], axis=2)
