"""Weeks in which far fewer people than usual were observed: a broken call log looks like everyone's disengagement."""

import numpy as np
from jaxtyping import Float, Int

from armwise.planning.programme import Outage

# With one step before it nothing is usual yet, and with few people shares jump by chance.
FEWEST_STEPS, FEWEST_PEOPLE = 2, 20


def find_outages(
    shares: Float[np.ndarray, " steps"], num_people: int | Int[np.ndarray, " steps"], rule: Outage
) -> tuple[int, ...]:
    """The steps whose observed share is below (1 − drop) × the median share of up to ``window`` steps before.

    ``num_people`` take part in all steps, or in each. Earlier outages stay in the median, so that a lasting change is
    an outage at first and then the new usual.

    Example:
        >>> find_outages(np.array([0.8, 0.8, 0.3, 0.8]), 100, Outage(drop=0.5, window=4))
        (2,)
    """
    enough = np.broadcast_to(np.asarray(num_people) >= FEWEST_PEOPLE, shares.shape)
    return tuple(
        step
        for step in range(FEWEST_STEPS, len(shares))
        if enough[step] and shares[step] < (1 - rule.drop) * np.median(shares[max(0, step - rule.window) : step])
    )
