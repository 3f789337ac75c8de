"""Calls by group, compared with the number of people in the group and how many of them need a call."""

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import polars as pl
from scipy.special import ndtri

from armwise.evaluation.effects import CallEffects
from armwise.evaluation.resampling import Estimate
from armwise.programme.programme_data import ProgrammeData
from armwise.weekly.groups import group_columns, num_shown
from armwise.weekly.shares import Share, wilson


class Group(NamedTuple):
    """A group of people: its size, its need and its calls.

    Attributes:
        name: the value that its people share.
        num_people: its people.
        num_known: its people who were observed at least once.
        num_low: its people who were in the lowest state when last observed.
        num_calls: its people on the list.
        num_may: its people who may be called.
        share_of_people: its share of all people.
        need: the share of its observed people who were in the lowest state.
        share_of_need: its share of all people in the lowest state.
        share_of_calls: its share of all calls on the list.
        call_rate: calls per person in the group.
    """

    name: str
    num_people: int
    num_known: int
    num_low: int
    num_calls: int
    num_may: int
    share_of_people: float
    need: Share
    share_of_need: Share
    share_of_calls: Share
    call_rate: Share


class Grouping(NamedTuple):
    """One way to divide the people into groups.

    Attributes:
        column: the column that says who belongs to which group.
        groups: the groups that are shown, the largest first.
        num_hidden: groups that are not shown, because they are small or because a small group could be computed.
        num_hidden_people: people in the hidden groups together.
    """

    column: str
    groups: tuple[Group, ...]
    num_hidden: int
    num_hidden_people: int


def make_groupings(
    data: ProgrammeData, called: Iterable[str], smallest: int, eligible: Iterable[str] | None = None
) -> tuple[Grouping, ...]:
    """Count calls by group, for each column of ``group_columns``.

    Args:
        data: the programme's data.
        called: the ids on the list.
        smallest: groups of fewer people are not shown.
        eligible: the ids of people who may be called; by default all ids.
    """
    people = pl.DataFrame(
        {
            "state": data.roster["state"],
            "called": _among(data.ids, called),
            "may": _among(data.ids, data.ids if eligible is None else eligible),
        }
    )
    return tuple(_grouping(column, people, smallest) for column in group_columns(data))


def _among(ids: pl.Series, some: Iterable[str]) -> pl.Series:
    return ids.is_in(pl.Series(list(some), dtype=pl.String).implode())


def _grouping(column: pl.Series, people: pl.DataFrame, smallest: int) -> Grouping:
    sizes = (
        people.with_columns(column.alias("name"))
        .group_by("name")
        .agg(
            num_people=pl.len().cast(pl.Int64),
            num_known=pl.col("state").is_not_null().sum().cast(pl.Int64),
            num_low=(pl.col("state") == 0).sum().cast(pl.Int64),
            num_calls=pl.col("called").sum().cast(pl.Int64),
            num_may=pl.col("may").sum().cast(pl.Int64),
        )
        .sort(["num_people", "name"], descending=[True, False])
    )
    number = num_shown(sizes["num_people"].to_list(), smallest)
    low, calls = int(sizes["num_low"].sum()), int(sizes["num_calls"].sum())
    groups = [_group(row, people.height, low, calls) for row in sizes.head(number).iter_rows(named=True)]
    hidden = sizes.slice(number)
    return Grouping(column.name, tuple(groups), hidden.height, int(hidden["num_people"].sum()))


def _group(row: dict[str, int | str], num_people: int, num_low: int, num_calls: int) -> Group:
    own = {name: int(value) for name, value in row.items() if name != "name"}
    return Group(
        name=str(row["name"]),
        **own,
        share_of_people=own["num_people"] / num_people,
        need=wilson(own["num_low"], own["num_known"]),
        share_of_need=wilson(own["num_low"], num_low),
        share_of_calls=wilson(own["num_calls"], num_calls),
        call_rate=wilson(own["num_calls"], own["num_people"]),
    )


class GroupEffect(NamedTuple):
    """A group, and what a past call changed for its people."""

    group: Group
    effect: Estimate


class Misplaced(NamedTuple):
    """Two groups of one grouping.

    Attributes:
        column: the column that says who belongs to which group.
        called: the group that gets more calls per person.
        passed_over: the group whose people gained more from past calls.
    """

    column: str
    called: GroupEffect
    passed_over: GroupEffect


def find_misplaced(groupings: tuple[Grouping, ...], effects: CallEffects) -> list[Misplaced]:
    """For each grouping, find two groups where the one with the smaller effect of calls gets more calls per person.

    If there are several such pairs, the pair with the largest difference of effects is returned. A difference of
    effects counts if chance does not explain it, with this many pairs tested (Bonferroni). A difference of calls counts
    if the intervals of calls per person do not overlap.

    Args:
        groupings: calls by group.
        effects: effects of past calls, by the same groups.
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
    """Every pair of groups with known effects. The group with the larger effect is set as ``passed_over``."""
    known = {each.name: each.effect for each in effects.by_group.get(grouping.column, ())}
    groups = [GroupEffect(each, known[each.name]) for each in grouping.groups if each.name in known]
    groups = [each for each in groups if not math.isnan(each.effect.value)]
    for pair in itertools.combinations(groups, 2):
        less, more = sorted(pair, key=lambda each: each.effect.value)
        yield Misplaced(grouping.column, less, more)


def _difference(pair: Misplaced) -> float:
    return pair.passed_over.effect.value - pair.called.effect.value


def _half_width(pair: Misplaced) -> float:
    """Half the width of the interval of the difference. The two groups have no people in common."""
    return math.hypot(*(each.effect.high - each.effect.value for each in (pair.called, pair.passed_over)))
