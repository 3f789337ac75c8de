"""Armwise's choice on people it has not learned from, and simpler ways to choose, at a given budget."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Float, Int

import armwise as aw

NUM_FOLDS = 5


class Scores(NamedTuple):
    """What a planner that learned from other people says of each person and state.

    Attributes:
        whittle: the Whittle index.
        effect: of a call on the chance of the highest state at the next step.
        risk: one less the chance of the highest state at the next step without a call.
        first_states: shares of first states among the people learned from.
    """

    whittle: Float[np.ndarray, "people states"]
    effect: Float[np.ndarray, "people states"]
    risk: Float[np.ndarray, "people states"]
    first_states: Float[np.ndarray, "people states"]


def folds_of(num_people: int, seed: int = 0) -> Int[np.ndarray, " people"]:
    """A random part of the people for each person."""
    return np.random.default_rng(seed).permutation(num_people) % NUM_FOLDS


def cross_fitted_scores(
    people: pl.DataFrame, history: aw.Trajectories, folds: np.ndarray, make: Callable[[], aw.OutreachPlanner]
) -> Scores:
    """Each part of the people is scored by a planner that learned from all others."""
    parts = []
    for fold in range(NUM_FOLDS):
        others, own = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        planner = make().fit(people[others.tolist()], history[others])
        chains = planner.predict_transitions(people[own.tolist()])[..., -1]
        index = planner.whittle_indices(people[own.tolist()])
        first = np.broadcast_to(np.asarray(planner.problem_.initial), index.shape)
        parts.append(Scores(index, chains[..., 1] - chains[..., 0], 1 - chains[..., 0], first))
    order = np.argsort(np.concatenate([np.flatnonzero(folds == fold) for fold in range(NUM_FOLDS)]))
    return Scores(*(np.concatenate(column)[order] for column in zip(*parts, strict=True)))


def top_share(
    scores: Float[np.ndarray, "people steps"], used: np.ndarray, folds: np.ndarray, share: float
) -> Float[np.ndarray, "people steps"]:
    """The probability of a call if the highest scores of each part of the people get this share of its decisions.

    Parts are ranked apart because their scores come from different planners. Equal scores share what is left.
    """
    policy = np.zeros(scores.shape)
    for fold in np.unique(folds):
        own = used & (folds == fold)[:, None]
        policy[own] = _top(scores[own], share)
    return policy


def _top(scores: Float[np.ndarray, " decisions"], share: float) -> Float[np.ndarray, " decisions"]:
    budget = share * len(scores)
    _, inverse, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    before = np.cumsum(counts) - counts
    return np.clip((budget - before) / counts, 0, 1)[inverse]
