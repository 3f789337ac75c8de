"""Who takes part in which step, and in the planned one."""

import numpy as np
import polars as pl
from jaxtyping import Bool, Int

from armwise.planning.people import People
from armwise.planning.rules import FINISHED, NOT_ENROLLED
from armwise.planning.steps import Calendar


def count_present(
    observed: Bool[np.ndarray, "people steps"], people: People, calendar: Calendar
) -> Int[np.ndarray, " steps"]:
    """How many people take part in each step. Those who leave in a step count in it only if they were observed."""
    steps = np.arange(calendar.num_steps)
    present = np.full(calendar.num_steps, len(people.ids))
    if people.enrolled is not None:
        present = np.searchsorted(np.sort(calendar.steps(people.enrolled).to_numpy()), steps, side="right")
    if people.left is not None:
        left = calendar.steps(people.left).fill_null(calendar.num_steps).to_numpy()
        inside = np.flatnonzero((left >= 0) & (left < calendar.num_steps))
        seen = np.bincount(left[inside][observed[inside, left[inside]]], minlength=calendar.num_steps)
        present = present - np.searchsorted(np.sort(left), steps, side="right") + seen
    return present


def add_absent(people: People, calendar: Calendar) -> pl.Series:
    """The exclusions, with those who do not take part in the planned step.

    Whoever leaves in the planned step has finished too: the call might come after that day.
    """
    reasons = people.exclusions
    if people.enrolled is not None:
        reasons = reasons.set(calendar.steps(people.enrolled) > calendar.num_steps, NOT_ENROLLED)
    if people.left is not None:
        reasons = reasons.set((calendar.steps(people.left) <= calendar.num_steps).fill_null(False), FINISHED)
    return reasons
