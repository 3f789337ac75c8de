"""Calls by group, beside how many people the group has and how many of them need one."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import polars as pl

from armwise.planning.check import ProgrammeData
from armwise.planning.intervals import Share, wilson
from armwise.planning.report.markup import UNKNOWN

# A column that cuts people into more groups than this is no grouping to look at.
MOST_GROUPS = 12


class Group(NamedTuple):
    """One group.

    Attributes:
        name: the value that its people share.
        num_people: in it.
        num_known: of them, those who were ever observed.
        num_low: of these, those who were in the lowest state when last observed.
        num_calls: on the list.
        num_may: whom no rule keeps from being called.
        share_of_people: of everyone.
        need: the share of its observed people in the lowest state.
        share_of_need: of everyone in the lowest state.
        share_of_calls: of all calls on the list.
        call_rate: calls per person.
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
    """One way to divide the people.

    Attributes:
        column: that says who belongs where.
        groups: the larger ones, most people first.
        num_hidden: groups that are not shown, because of their size or to keep such a one from being worked out.
        num_hidden_people: in them together.
    """

    column: str
    groups: tuple[Group, ...]
    num_hidden: int
    num_hidden_people: int


def make_groupings(
    data: ProgrammeData, called: Iterable[str], smallest: int, eligible: Iterable[str] | None = None
) -> tuple[Grouping, ...]:
    """The programme's own groups, then every category of at most ``MOST_GROUPS`` values.

    Args:
        data: the programme's.
        called: the ids on the list.
        smallest: groups of fewer people are not shown.
        eligible: the ids of those who may be called; by default everyone's.
    """
    columns = [] if data.groups is None else [data.groups.alias(data.programme.budget.group or "group")]
    named = {column.name for column in columns}
    columns += [column for column in data.features if column.dtype == pl.String and column.name not in named]
    people = pl.DataFrame(
        {
            "state": np.asarray(data.last_states),
            "called": _among(data.ids, called),
            "may": _among(data.ids, data.ids if eligible is None else eligible),
        }
    )
    return tuple(_grouping(column, people, smallest) for column in columns if 1 < column.n_unique() <= MOST_GROUPS)


def _among(ids: pl.Series, some: Iterable[str]) -> pl.Series:
    return ids.is_in(pl.Series(list(some), dtype=pl.String).implode())


def _grouping(column: pl.Series, people: pl.DataFrame, smallest: int) -> Grouping:
    sizes = (
        people.with_columns(column.fill_null(UNKNOWN).alias("name"))
        .group_by("name")
        .agg(
            num_people=pl.len().cast(pl.Int64),
            num_known=(pl.col("state") >= 0).sum().cast(pl.Int64),
            num_low=(pl.col("state") == 0).sum().cast(pl.Int64),
            num_calls=pl.col("called").sum().cast(pl.Int64),
            num_may=pl.col("may").sum().cast(pl.Int64),
        )
        .sort(["num_people", "name"], descending=[True, False])
    )
    num_shown = _num_shown(sizes["num_people"].to_list(), smallest)
    low, calls = int(sizes["num_low"].sum()), int(sizes["num_calls"].sum())
    groups = [_group(row, people.height, low, calls) for row in sizes.head(num_shown).iter_rows(named=True)]
    hidden = sizes.slice(num_shown)
    return Grouping(column.name, tuple(groups), hidden.height, int(hidden["num_people"].sum()))


def _num_shown(sizes: list[int], smallest: int) -> int:
    """How many of the groups, largest first, are shown.

    Everyone together is known, so what is hidden can be worked out as the rest: it must not be a small group either.
    """
    shown = sum(size >= smallest for size in sizes)
    hidden = sum(sizes[shown:])
    if hidden and shown and hidden < smallest:
        shown -= 1
    return shown


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
