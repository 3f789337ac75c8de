"""Compare predictions with what happened: whether events happen as often as the model predicts."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from armwise.evaluation.decisions import Decisions
from armwise.weekly.shares import Share, wilson

NUM_BINS = 10
# Fewer observations than this say little about a share.
FEWEST_IN_BIN = 20


class Bin(NamedTuple):
    """Observations for which the model predicted about the same probability.

    Attributes:
        predicted: the average predicted probability of not being in the lowest state in the next step.
        observed: the share of observations in which that happened, with its interval.
        number: the number of observations.
    """

    predicted: float
    observed: Share
    number: int


def compare_with_observed(
    expected: Float[np.ndarray, "people steps"], decisions: Decisions
) -> tuple[tuple[Bin, ...], tuple[Bin, ...]]:
    """Compare predictions with frequencies, first for people left alone, then for people called.

    Args:
        expected: the predicted probability of not being in the lowest state after each decision, by a model that had
            not learned from the person or the step; NaN where nothing was predicted.
        decisions: what was done, and what followed.

    Returns:
        For each, up to ``NUM_BINS`` bins with about equally many observations, in the order of the predictions.
    """
    judged, happened = decisions.valid & ~np.isnan(expected), decisions.next_states > 0
    left_alone, called = (
        _bins(expected[rows], happened[rows]) for rows in (judged & (decisions.called == action) for action in (0, 1))
    )
    return left_alone, called


def _bins(chance: Float[np.ndarray, " cells"], happened: Bool[np.ndarray, " cells"]) -> tuple[Bin, ...]:
    if not len(chance):
        return ()
    num_bins = max(1, min(NUM_BINS, len(chance) // FEWEST_IN_BIN))
    place = np.unique(chance, return_inverse=True)[1]
    # Equal predictions share a bin, so that the order of people does not matter.
    number = np.bincount(place)
    middle = np.cumsum(number) - number / 2
    which = np.minimum((middle / len(chance) * num_bins).astype(int), num_bins - 1)[place]
    return tuple(_bin(chance[which == each], happened[which == each]) for each in np.unique(which))


def _bin(chance: Float[np.ndarray, " cells"], happened: Bool[np.ndarray, " cells"]) -> Bin:
    return Bin(float(np.mean(np.sort(chance))), wilson(int(happened.sum()), len(chance)), len(chance))
