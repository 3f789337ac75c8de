"""The section on who gets the calls: everyone by what the list says, and calls by group."""

from typing import NamedTuple

from armwise.report.charts import Chart, LegendEntry, Point, Row, bar_chart, make_legend, row_chart
from armwise.report.equity import Group, Grouping
from armwise.report.facts import Facts
from armwise.report.numbers import count, decimal, percent, span
from armwise.report.tables import ChartWithTable, PageTable
from armwise.weekly.shares import Share

SERIES = ("share of people", "share of those in need", "share of calls")


class GroupingShown(NamedTuple):
    """One way to divide the people: a chart of its groups, and the groups that differ beyond chance, in words."""

    calls: ChartWithTable
    beyond_chance: str


class EquitySection(NamedTuple):
    """The contents of the section "Who gets the calls".

    Attributes:
        groupings: the groupings with at least one group that is large enough to be shown.
        everyone: a chart of all people by what the list says about them.
        legend: the legend of the charts by group.
        smallest: groups of fewer people are not shown.
        need: the state of people in need when last observed, in words.
    """

    groupings: tuple[GroupingShown, ...]
    everyone: Chart
    legend: tuple[LegendEntry, ...]
    smallest: int
    need: str


def equity_section(facts: Facts) -> EquitySection:
    """Make the section: calls by group, compared with the group's share of people and its need."""
    shown = [grouping for grouping in facts.groupings if grouping.groups]
    return EquitySection(
        groupings=tuple(_grouping(place, grouping) for place, grouping in enumerate(shown)),
        everyone=_everyone(facts),
        legend=make_legend(SERIES),
        smallest=facts.smallest_group,
        need="not engaged" if facts.num_states == 2 else "in the lowest state of engagement",
    )


def _everyone(facts: Facts) -> Chart:
    """What the list says about everyone in the programme."""
    summary = facts.plan.summary
    waiting = summary.num_eligible - summary.num_calls
    bars = [("on the list", summary.num_calls), ("may be called, but others come first", waiting)]
    bars += list(summary.excluded.items())
    return bar_chart("everyone", "Everyone, by what the list says (people)", bars)


def _grouping(place: int, grouping: Grouping) -> GroupingShown:
    rows = [_group_row(group) for group in grouping.groups]
    if grouping.num_hidden:
        hidden = f"{grouping.num_hidden} small group{'s' * (grouping.num_hidden != 1)}, not shown"
        rows.append((hidden, *["–"] * 4))
    header = ("Group", "People", "In need", "Calls", "Calls per 100 people")
    points = [
        Row(group.name, (_point(group.share_of_people), Point(*group.share_of_need), Point(*group.share_of_calls)))
        for group in grouping.groups
    ]
    chart = row_chart(f"groups-{place}", f"Who gets the calls, by {grouping.column}", points, SERIES)
    table = PageTable(f"Calls by {grouping.column}", header, rows)
    return GroupingShown(ChartWithTable(chart, table), _beyond_chance(grouping))


def _beyond_chance(grouping: Grouping) -> str:
    """The groups whose share of people lies outside the interval of their share of calls."""
    fewer = [
        f"{grouping.column} = {group.name}"
        for group in grouping.groups
        if group.share_of_calls.high < group.share_of_people
    ]
    more = [
        f"{grouping.column} = {group.name}"
        for group in grouping.groups
        if group.share_of_calls.low > group.share_of_people
    ]
    said = [
        f"{word} calls than their share of people, beyond chance: people with {', '.join(names)}."
        for word, names in (("Fewer", fewer), ("More", more))
        if names
    ]
    return " ".join(said) or "No group gets more or fewer calls than its share of people, beyond chance."


def _group_row(group: Group) -> tuple[str, ...]:
    rate = Share(*(100 * each for each in group.call_rate))
    return (
        group.name,
        f"{count(group.num_people)} ({percent(group.share_of_people)})",
        f"{percent(group.need.value)} ({span(group.need.low, group.need.high)})",
        f"{count(group.num_calls)} ({percent(group.share_of_calls.value)})",
        f"{decimal(rate.value, 1)} ({decimal(rate.low, 1)}–{decimal(rate.high, 1)})",
    )


def _point(value: float) -> Point:
    nothing = float("nan")
    return Point(value, nothing, nothing)
