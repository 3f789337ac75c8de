"""Calls that go to one group although past calls helped another group more."""

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

from scipy.special import ndtri

from armwise.evaluation.effects import CallEffects
from armwise.evaluation.resampling import Estimate
from armwise.planning.report.equity import Group, Grouping


class GroupEffect(NamedTuple):
    """A group, and what a past call changed for its people."""

    group: Group
    effect: Estimate


class Misplaced(NamedTuple):
    """Two groups of one grouping.

    Attributes:
        column: that says who belongs where.
        called: the group that gets more calls per person.
        passed_over: the group whose people gained more from past calls.
    """

    column: str
    called: GroupEffect
    passed_over: GroupEffect


def find_misplaced(groupings: tuple[Grouping, ...], effects: CallEffects) -> list[Misplaced]:
    """For each grouping, the two groups that differ most in their effects while calls go the other way.

    A difference of effects counts if chance does not explain it, with so many pairs of groups asked (Bonferroni). One
    of calls counts if the intervals of calls per person do not overlap.

    Args:
        groupings: calls by group.
        effects: of past calls, by the same groups.
    """
    pairs = [each for grouping in groupings for each in _pairs(grouping, effects)]
    if not pairs or not effects.is_enough:
        return []
    outside = (1 - effects.level) / 2
    wider = float(ndtri(1 - outside / len(pairs)) / ndtri(1 - outside))
    found: dict[str, Misplaced] = {}
    for pair in sorted(pairs, key=_difference, reverse=True):
        more_calls = pair.called.group.call_rate.low > pair.passed_over.group.call_rate.high
        if more_calls and _difference(pair) > wider * _half_width(pair):
            found.setdefault(pair.column, pair)
    return list(found.values())


def _pairs(grouping: Grouping, effects: CallEffects) -> Iterator[Misplaced]:
    """Every two groups whose effects are known, the one with the larger effect as that passed over."""
    known = {each.name: each.effect for each in effects.by_group.get(grouping.column, ())}
    groups = [GroupEffect(each, known[each.name]) for each in grouping.groups if each.name in known]
    groups = [each for each in groups if not math.isnan(each.effect.value)]
    for pair in itertools.combinations(groups, 2):
        less, more = sorted(pair, key=lambda each: each.effect.value)
        yield Misplaced(grouping.column, less, more)


def _difference(pair: Misplaced) -> float:
    return pair.passed_over.effect.value - pair.called.effect.value


def _half_width(pair: Misplaced) -> float:
    """Of the interval of the difference; other people are in each group."""
    return math.hypot(*(each.effect.high - each.effect.value for each in (pair.called, pair.passed_over)))
