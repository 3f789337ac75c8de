"""Symmetric bootstrap-t intervals over people: each resample's error is divided by its own standard error."""

import numpy as np
from jaxtyping import Float

from armwise.evaluation.off_policy_estimators import Estimates, PersonSums, estimate

# The largest product people × resamples in memory at once, in about ten arrays of eight bytes per element.
ELEMENTS_AT_ONCE = 2**21


def studentised_intervals(
    rng: np.random.Generator, sums: PersonSums, confidence: float, num_resamples: int
) -> Float[np.ndarray, "3 6"]:
    """Value, low and high of the six estimates.

    With t* = (θ* − θ) / s* over resamples, the interval is θ ± s q, with q the quantile of |t*|. The coverage of this
    symmetric form is more accurate than that of one with two separate tails (Hall 1988). With rare calls, it covered
    the inverse-probability difference in 95 instead of 94 % of programmes, at the same width. A resample in which an
    estimate does not exist counts as infinitely far away.
    """
    num_people = len(sums.decisions)
    whole = estimate(sums, np.ones((1, num_people)))
    value, error = whole.values[0], whole.standard_errors[0]
    distances = np.abs(_studentised(rng, sums, value, num_resamples))
    distances = np.where(np.isnan(distances), np.inf, distances)
    quantile = np.quantile(distances, confidence, axis=0, method="higher")
    # An error of 0 means that policy and reference are the same, so they differ in no sample.
    half = np.where(error == 0, 0, np.where(error == 0, 1, error) * quantile)
    return np.stack([value, value - half, value + half])


def _studentised(
    rng: np.random.Generator, sums: PersonSums, value: Float[np.ndarray, " 6"], num_resamples: int
) -> Float[np.ndarray, "resamples 6"]:
    num_people = len(sums.decisions)
    at_once = max(1, ELEMENTS_AT_ONCE // num_people)
    blocks = []
    for start in range(0, num_resamples, at_once):
        size = min(at_once, num_resamples - start)
        counts = rng.multinomial(num_people, np.full(num_people, 1 / num_people), size=size).astype(float)
        blocks.append(_distances(estimate(sums, counts), value))
    return np.concatenate(blocks)


def _distances(resampled: Estimates, value: Float[np.ndarray, " 6"]) -> Float[np.ndarray, "resamples 6"]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return (resampled.values - value) / resampled.standard_errors
