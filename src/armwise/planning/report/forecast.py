"""What this list's calls are expected to bring: what as many calls chosen in the same way brought in past steps."""

import math
from typing import NamedTuple

from armwise.evaluation.resampling import Estimate
from armwise.planner import promise_gain
from armwise.planner.past import ARMWISE
from armwise.planning.assessment import Assessment


class Promise(NamedTuple):
    """Engaged steps gained over no calls in the steps after one list's calls, with 90 % intervals.

    Attributes:
        num_calls: on the list.
        listed: by the list.
        lots: by as many calls drawn by lot.
        lead: how much more the list gains than lots.
    """

    num_calls: int
    listed: Estimate
    lots: Estimate
    lead: Estimate

    @property
    def is_known(self) -> bool:
        """Whether there were past calls enough to tell."""
        return not math.isnan(self.listed.value)


def make_promise(kept: Assessment, num_calls: int) -> Promise:
    """What a list of so many calls brings, by an evaluation."""
    ways = {way.name: way for way in kept.ways}
    gains = ways[ARMWISE].gain, ways["random"].gain, ways["random"].lead
    return Promise(num_calls, *(promise_gain(each, num_calls) for each in gains))
