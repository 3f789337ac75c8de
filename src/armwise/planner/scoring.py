"""What a call to each person is worth now: her probable state, her index, and what calls in that state gain.

Every person is scored in a block of one fixed shape, by operations that never mix rows. So other people, the order of
rows and the size of a batch cannot change a digit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from armwise.data import Features, Trajectories
from armwise.models.chains import ChainModel, PersonPosterior
from armwise.models.corrections import CorrectedChains, known_chains
from armwise.planner.call_gains import CallGains
from armwise.rmab import Problem, whittle_indices
from armwise.training.engine import cast

# People scored at a time: enough to keep two cores busy, and few enough to fill up small tables cheaply.
BLOCK = 2**14
# After ten years of weeks without an observation, the probabilities of the states have settled.
LONGEST_GAP = 520

PerPerson = Float[Array, " people"]
PerState = Float[Array, "people states"]
Chains = Float[np.ndarray, "people states 2 states"]


@dataclass(frozen=True, eq=False)
class Scores:
    """What a call to each person is worth.

    Attributes:
        index: the Whittle index, averaged over the states that the person may be in; it decides who is called.
        gain: how much reward (by default: weeks of engagement) one call now gains in the 12 steps after it, estimated
            from past calls to people in the states that the person may be in; NaN if there were too few to tell.
        gain_error: the standard error of the gain.
        belief: how likely she is in each state, ``[people, states]``.
        chance: the probability that she is above the lowest state in the next step if left alone.
        chance_called: the same probability if called.
    """

    index: np.ndarray
    gain: np.ndarray
    gain_error: np.ndarray
    belief: np.ndarray
    chance: np.ndarray
    chance_called: np.ndarray


def in_blocks(function: Callable[..., tuple[Array, ...]], *columns: np.ndarray) -> list[np.ndarray]:
    """Apply a function to blocks of people, each filled up to ``BLOCK`` rows, and join the results.

    Args:
        function: takes columns with ``BLOCK`` rows; its results are a tuple of arrays, people first.
        columns: arrays, people first.
    """
    number, parts = len(columns[0]), []
    for start in range(0, max(1, number), BLOCK):
        rows = [jnp.asarray(filled(array[start : start + BLOCK])) for array in columns]
        parts.append([np.asarray(result) for result in function(*rows)])
    return [np.concatenate(results)[:number] for results in zip(*parts, strict=True)]


def filled(rows: np.ndarray) -> np.ndarray:
    """Rows filled up to a block with copies of the last row, or with zeros if there is no row."""
    mode: Any = "edge" if len(rows) else "constant"
    return np.pad(rows, [(0, BLOCK - len(rows))] + [(0, 0)] * (rows.ndim - 1), mode=mode)


def score(
    chains: Chains,
    problem: Problem,
    gains: CallGains,
    states: Int[np.ndarray, " people"],
    gaps: Int[np.ndarray, " people"],
) -> Scores:
    """Index, gain and chances of each person.

    Args:
        chains: each person's chain from now on.
        problem: rewards, discount and, for people never observed, first states.
        gains: what a call gains in each state.
        states: the last observed state; −1 if never observed.
        gaps: for how many steps since then the person was not observed; 0 if she was observed in the step before this.
    """
    problem, gaps = cast(problem, chains.dtype), np.minimum(gaps, LONGEST_GAP)
    mean, covariance = (jnp.asarray(part, dtype=chains.dtype) for part in (gains.gains, gains.covariance))

    def of_block(*columns: Array) -> tuple[Array, ...]:
        return _score_block(problem, mean, covariance, *columns)

    found = in_blocks(of_block, chains, states.astype(np.int32), gaps.astype(np.int32))
    # −0.0 and 0.0 are the same price and must be the same text.
    return Scores(found[0] + 0.0, found[1] + 0.0, *found[2:])


def infer(model: Any, features: Features, weeks: Trajectories | None) -> tuple[Chains, PersonPosterior | None]:
    """Each person's chain from now on, and the posterior whose mean it is; None if a network gave the chain.

    Args:
        model: a model of chains, corrected or not; or of features alone, which ignores weeks.
        features: each person's features.
        weeks: each person's weeks, row by row; None if nobody's weeks are known.
    """
    if isinstance(model, CorrectedChains) and not len(features.codes):
        return np.zeros((0, model.num_states, 2, model.num_states), _dtype(model.correction)), None
    if isinstance(model, CorrectedChains):
        known = known_chains(_posterior(model.chains, features, weeks), features)
        return predict(model.correction, known), None
    if not isinstance(model, ChainModel):
        return predict(model, features), None
    posterior = _posterior(model, features, weeks)
    return posterior.transitions(), posterior


def _posterior(model: ChainModel, features: Features, weeks: Trajectories | None) -> PersonPosterior:
    # Use the model in the precision of this process, even if it was learned in single precision.
    exact: ChainModel = cast(model, jnp.zeros(()).dtype)
    return exact.prior(features) if weeks is None else exact.posterior(features, weeks)


def predict(model: Any, features: Features) -> Chains:
    """The predicted chains of people without known weeks, ``[people, states, actions, states]``."""
    if isinstance(model, ChainModel | CorrectedChains):
        return infer(model, features, None)[0]
    dtype = _dtype(model)

    def of_block(codes: Array, numeric: Array) -> tuple[Array]:
        block = eqx.tree_at(lambda each: (each.codes, each.numeric), features, (codes, numeric))
        return (_predict_block(model, cast(block, dtype)),)

    return in_blocks(of_block, np.asarray(features.codes), np.asarray(features.numeric))[0]


def predict_indices(model: Any, problem: Problem, features: Features) -> np.ndarray:
    """The predicted Whittle indices of people without known weeks, ``[people, states]``."""
    return index_chains(predict(model, features), problem)


def index_chains(chains: Chains, problem: Problem) -> np.ndarray:
    """The Whittle index of each state of each person, ``[people, states]``."""
    exact = cast(problem, chains.dtype)
    return in_blocks(lambda block: (_index_block(block, exact),), chains)[0]


def _dtype(model: Any) -> jnp.dtype:
    return jnp.result_type(*jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)))


@eqx.filter_jit
def _predict_block(model: Any, features: Features) -> Float[Array, "people states actions states"]:
    return model(features)


@eqx.filter_jit
def _index_block(chains: Array, problem: Problem) -> PerState:
    return whittle_indices(chains, problem)


@eqx.filter_jit
def _score_block(
    problem: Problem,
    gains: Float[Array, " states"],
    covariance: Float[Array, "states states"],
    chains: Float[Array, "people states 2 states"],
    states: Int[Array, " people"],
    gaps: Int[Array, " people"],
) -> tuple[Array, ...]:
    belief = believe(chains[:, :, 0], problem.initial, states, gaps)
    index = jnp.sum(belief * whittle_indices(chains, problem), axis=1)
    variance = jnp.sum(belief * jnp.sum(belief[:, None] * covariance[None], axis=2), axis=1)
    gain, error = jnp.sum(belief * gains[None], axis=1), jnp.sqrt(jnp.maximum(variance, 0.0))
    chances = [jnp.sum(belief * (1 - chains[:, :, action, 0]), axis=1) for action in (0, 1)]
    return index, gain, error, belief, *chances


def believe(
    passive: Float[Array, "people states states"],
    initial: Float[Array, " states"],
    states: Int[Array, " people"],
    gaps: Int[Array, " people"],
) -> PerState:
    """How likely each state is now: the last one seen, moved on by the chain without calls for each step unseen.

    A person never observed gets the probabilities of people when first seen.
    """
    seen = jax.nn.one_hot(states, passive.shape[1], dtype=passive.dtype)
    belief = jnp.where(states[:, None] >= 0, seen, initial[None])
    unseen = jnp.where(states >= 0, gaps, 0)

    def move_on(step: Array, belief: PerState) -> PerState:
        moved = jnp.sum(belief[:, :, None] * passive, axis=1)
        # Rows that miss 1 by rounding would let the belief grow or fade over hundreds of steps.
        moved = moved / jnp.sum(moved, axis=1, keepdims=True)
        return jnp.where((step < unseen)[:, None], moved, belief)

    return jax.lax.fori_loop(0, jnp.max(unseen), move_on, belief)
