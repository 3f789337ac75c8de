"""Predicted against observed: whether what a model expects of people happens as often as it says."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from armwise.planning.intervals import Share, wilson

NUM_BINS = 10
# Fewer observations than this say little about a share.
FEWEST_IN_BIN = 20


class Bin(NamedTuple):
    """Observations for which the model predicted about the same.

    Attributes:
        predicted: the average predicted probability of not being in the lowest state in the next step.
        observed: the share of them in which that happened, with its interval.
        number: of observations.
    """

    predicted: float
    observed: Share
    number: int


def compare_with_observed(
    predicted: Float[np.ndarray, "people states 2 states"], counts: Int[np.ndarray, "people states 2 states"]
) -> tuple[tuple[Bin, ...], tuple[Bin, ...]]:
    """Predictions beside frequencies, for those left alone and for those called.

    Args:
        predicted: each person's predicted transitions.
        counts: how often each person was seen to make each transition; of people the model has not learned from.

    Returns:
        Up to ``NUM_BINS`` bins of about equally many observations each, in the order of the predictions.
    """
    chance, number = predicted[..., 1:].sum(axis=-1), counts.sum(axis=-1)
    happened = counts[..., 1:].sum(axis=-1)
    left_alone, called = (
        _bins(chance[:, :, action].ravel(), number[:, :, action].ravel(), happened[:, :, action].ravel())
        for action in (0, 1)
    )
    return left_alone, called


def _bins(
    chance: Float[np.ndarray, " cells"], number: Int[np.ndarray, " cells"], happened: Int[np.ndarray, " cells"]
) -> tuple[Bin, ...]:
    seen = number > 0
    chance, number, happened = chance[seen], number[seen], happened[seen]
    total = int(number.sum())
    if not total:
        return ()
    num_bins = max(1, min(NUM_BINS, total // FEWEST_IN_BIN))
    place = np.unique(chance, return_inverse=True)[1]
    # Equal predictions share a bin, whatever the order of people.
    before = np.cumsum(np.bincount(place, weights=number)) - np.bincount(place, weights=number) / 2
    which = np.minimum((before / total * num_bins).astype(int), num_bins - 1)[place]
    return tuple(_bin(chance, number, happened, which == each) for each in np.unique(which))


def _bin(
    chance: Float[np.ndarray, " cells"],
    number: Int[np.ndarray, " cells"],
    happened: Int[np.ndarray, " cells"],
    here: Bool[np.ndarray, " cells"],
) -> Bin:
    whole = int(number[here].sum())
    return Bin(float(np.average(chance[here], weights=number[here])), wilson(int(happened[here].sum()), whole), whole)
