"""The section about everyone together: which groups the calls go to."""

from armwise.report.charts import Point, Row, bar_chart, legend_entry, row_chart
from armwise.report.equity import Group, Grouping
from armwise.report.facts import Facts
from armwise.report.markup import Markup, count, decimal, fold, join, percent, span, table, tag
from armwise.weekly.shares import Share

SERIES = ("share of people", "share of those in need", "share of calls")


def _everyone(facts: Facts) -> Markup:
    """What the list says about everyone in the programme."""
    summary = facts.plan.summary
    waiting = summary.num_eligible - summary.num_calls
    bars = [("on the list", summary.num_calls), ("may be called, but others come first", waiting)]
    bars += list(summary.excluded.items())
    return bar_chart("everyone", "Everyone, by what the list says (people)", bars)


def equity_section(facts: Facts) -> Markup:
    """Calls by group beside the group's share and need."""
    smallest = facts.smallest_group
    shown = [grouping for grouping in facts.groupings if grouping.groups]
    if not shown:
        nothing = f"There is no column that divides people into groups of at least {smallest}."
        return join(tag("p", nothing), tag("div", _everyone(facts), class_="charts"))
    lowest = "not engaged" if facts.num_states == 2 else "in the lowest state of engagement"
    return join(
        tag(
            "p",
            f"People in need were {lowest} when last observed. The list goes by what the model expects a call to "
            "change, not by need alone, so the two may differ; a large difference deserves a question.",
        ),
        tag("ul", *(legend_entry(place, name) for place, name in enumerate(SERIES)), class_="legend paper"),
        tag(
            "div",
            *(_grouping(place, grouping) for place, grouping in enumerate(shown)),
            _everyone(facts),
            class_="charts",
        ),
        tag(
            "p",
            f"People never observed are left out of need. Groups of fewer than {smallest} people are not shown, nor a "
            "group from which such a one could be worked out. Lines are 95 % intervals (Wilson): with few calls they "
            "are wide, and a difference within them may be chance; so may one difference in twenty outside them.",
            class_="note",
        ),
    )


def _grouping(place: int, grouping: Grouping) -> Markup:
    rows = [_group_row(group) for group in grouping.groups]
    if grouping.num_hidden:
        hidden = f"{grouping.num_hidden} small group{'s' * (grouping.num_hidden != 1)}, not shown"
        rows.append((hidden, *["–"] * 4))
    header = ("Group", "People", "In need", "Calls", "Calls per 100 people")
    points = [
        Row(group.name, (_point(group.share_of_people), Point(*group.share_of_need), Point(*group.share_of_calls)))
        for group in grouping.groups
    ]
    return tag(
        "div",
        row_chart(f"groups-{place}", f"Who gets the calls, by {grouping.column}", points, SERIES),
        tag("p", _beyond_chance(grouping)),
        fold("The groups in numbers", table(f"Calls by {grouping.column}", header, rows)),
    )


def _beyond_chance(grouping: Grouping) -> str:
    """The groups whose share of people lies outside the interval of their share of calls."""
    fewer = [group.name for group in grouping.groups if group.share_of_calls.high < group.share_of_people]
    more = [group.name for group in grouping.groups if group.share_of_calls.low > group.share_of_people]
    said = [
        f"{word} calls than its share of people, beyond chance: {', '.join(names)}."
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
