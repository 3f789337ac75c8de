"""Simulated traits of people, which their features explain in part."""

import numpy as np
from jaxtyping import Float, Int

from armwise.data.features import Features


def trait(rng: np.random.Generator, features: Features, explained: float) -> Float[np.ndarray, " arms"]:
    """A trait of mean 0 and variance 1; a linear function of the features explains a given share of it.

    The function gives every level of every category its own weight, so that a linear model can learn it.

    Args:
        rng: the random generator of the weights and of the unexplained part.
        features: ``[arms, …]``.
        explained: the share of the trait's variance that the features explain, from 0 to 1.
    """
    numeric, codes = np.asarray(features.numeric, dtype=float), np.asarray(features.codes)
    known = numeric @ rng.standard_normal(numeric.shape[1])
    for column, level in enumerate(features.levels):
        known = known + rng.standard_normal(level)[codes[:, column]]
    known, unknown = _standardise(known), _standardise(rng.standard_normal(len(codes)))
    return np.sqrt(explained) * known + np.sqrt(1 - explained) * unknown


def correlated_codes(
    rng: np.random.Generator, num_people: int, levels: tuple[int, ...], num_factors: int, correlation: float
) -> Int[np.ndarray, "people columns"]:
    """Correlated categories, like those of an intake form; a few hidden factors correlate them.

    Each column is a score, cut into levels of random shares. The factors explain the share ``correlation`` of each
    score's variance, and each column uses its own random direction of the factors.
    """
    factors = rng.standard_normal((num_people, num_factors))
    columns = []
    for level in levels:
        direction = rng.standard_normal(num_factors)
        common = factors @ (direction / np.linalg.norm(direction))
        score = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * rng.standard_normal(num_people)
        shares = rng.dirichlet(np.full(level, 2.0))
        rank = (score.argsort().argsort() + 0.5) / num_people
        columns.append(np.searchsorted(np.cumsum(shares)[:-1], rank))
    return np.stack(columns, axis=1)


def _standardise(values: Float[np.ndarray, " arms"]) -> Float[np.ndarray, " arms"]:
    spread = values.std()
    return (values - values.mean()) / (spread if spread > 0 else 1.0)
