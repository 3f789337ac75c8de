"""Shares with 95 % intervals that are valid for small numbers too."""

import math
from typing import NamedTuple

# Callers pass counts as well as measured values.
Number = float | int
# 95 % of a normal distribution lies within this many standard deviations.
WIDTH = 1.959963984540054


class Share(NamedTuple):
    """A share ``part / whole`` with its 95 % interval. All three are NaN if ``whole`` is 0."""

    value: float
    low: float
    high: float


def wilson(part: Number, whole: Number) -> Share:
    """A share with Wilson's (1927) interval. It stays within 0 and 1 and has a positive length even for 0 of n.

    Example:
        >>> [round(number, 3) for number in wilson(2, 20)]
        [0.1, 0.028, 0.301]
    """
    if not whole:
        return Share(math.nan, math.nan, math.nan)
    share, square = part / whole, WIDTH**2 / whole
    middle = share + square / 2
    half = math.sqrt(square * share * (1 - share) + square**2 / 4)
    low, high = ((middle + side * half) / (1 + square) for side in (-1, 1))
    # Rounding must not take the interval past the share itself.
    return Share(share, max(0.0, min(low, share)), min(1.0, max(high, share)))
