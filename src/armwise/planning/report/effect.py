"""What followed calls in the programme's own history, beside what followed weeks without one."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

# With fewer calls than this, a difference says nothing either way.
FEWEST_CALLS = 20


class Effect(NamedTuple):
    """The average difference in the next step's reward between called and left alone, in the same state before.

    Attributes:
        num_called: person-steps with a call, observed before and after.
        difference: of the average reward (of two states: the share engaged); NaN where there is nothing to compare.
        error: its standard error, over people.
    """

    num_called: int
    difference: float
    error: float

    @property
    def is_shown(self) -> bool:
        """Whether more followed calls than chance explains."""
        return self.difference > 2 * self.error

    @property
    def is_harmful(self) -> bool:
        """Whether less followed calls than chance explains."""
        return self.difference < -2 * self.error


def pooled_effect(counts: Int[np.ndarray, "people states 2 states"], rewards: Float[np.ndarray, " states"]) -> Effect:
    """Compare called with left alone within each state, and average over the states that people were called in.

    Args:
        counts: how often each person was seen to make each transition.
        rewards: of the states.
    """
    number, total = counts.sum(axis=-1).astype(float), counts @ np.asarray(rewards, dtype=float)
    num_called = int(number[:, :, 1].sum())
    both = (number.sum(axis=0) > 0).all(axis=1)
    if not both.any():
        return Effect(num_called, math.nan, math.nan)
    number, total = number[:, both], total[:, both]
    in_all = number.sum(axis=0)
    averages = total.sum(axis=0) / in_all
    weights = in_all[:, 1] / in_all[:, 1].sum()
    difference = float(weights @ (averages[:, 1] - averages[:, 0]))
    # Weeks of one person are alike, so people, not weeks, are the independent pieces.
    residuals = (total - number * averages) / in_all
    pieces = (residuals[:, :, 1] - residuals[:, :, 0]) @ weights
    return Effect(num_called, difference, float(np.sqrt(np.sum(pieces**2))))
