"""The sections about everyone together: what the calls are expected to bring, and which groups they go to."""

from armwise.planning.intervals import Share
from armwise.planning.report.charts import Point, Row, Series, bar_chart, legend_entry, line_chart, row_chart
from armwise.planning.report.equity import Group, Grouping
from armwise.planning.report.facts import Facts
from armwise.planning.report.markup import Markup, count, decimal, fold, join, percent, span, table, tag

SERIES = ("share of people", "share of those in need", "share of calls")


def forecast_section(facts: Facts) -> Markup:
    """The expected course with the list, with lots, and without calls."""
    forecast, step = facts.forecast, facts.step
    last = len(forecast.courses[0].engagement) - 1
    what = "People engaged" if facts.num_states == 2 else "Average engagement (0 % lowest state, 100 % highest)"
    series = [
        Series(f"{course.name}: {percent(course.engagement[-1], 1)}", course.engagement) for course in forecast.courses
    ]
    return tag(
        "div",
        line_chart("course", f"{what}, by {step}s from now", series, f"{step}s from now", what),
        _forecast_notes(facts, what.split(" (")[0], last),
        class_="pair",
    )


def _forecast_notes(facts: Facts, what: str, last: int) -> Markup:
    forecast, step = facts.forecast, facts.step
    return tag(
        "div",
        tag(
            "p",
            f"The model expects the list to gain {_gains(facts, 0)} over {last} {step}s, and as many calls at random "
            f"{_gains(facts, 1)}. This is an expectation, not a promise: in {count(forecast.num_trajectories)} "
            f"simulated runs, people behave as the model has learned they do and {count(forecast.budget)} are called "
            f"each {step}. If the model is wrong, so are the lines.",
        ),
        fold("The forecast in numbers", _forecast_table(facts, what, last)),
        tag(
            "p",
            "The ranges hold 9 in 10 simulated runs. They cover luck alone, not errors of the model, so the truth can "
            "easily lie outside. People who are never to be called are not called here either; budgets of groups, "
            "waits after a call and limits per person hold for the list but are not simulated.",
            class_="note",
        ),
    )


def _gains(facts: Facts, place: int) -> str:
    course = facts.forecast.courses[place]
    low, high = (count(end) for end in course.spread)
    return f"{count(course.gained)} engaged {facts.step}s (range {low} to {high})"


def _forecast_table(facts: Facts, what: str, last: int) -> Markup:
    rows = [
        (
            course.name,
            percent(course.engagement[-1], 1),
            count(course.gained) if course.name != "no calls" else "–",
            f"{count(course.spread[0])} to {count(course.spread[1])}" if course.name != "no calls" else "–",
        )
        for course in facts.forecast.courses
    ]
    header = ("Whom to call", f"{what} after {last} {facts.step}s", f"Engaged {facts.step}s gained", "9 in 10 runs")
    return table(f"Over the next {last} {facts.step}s, everyone together", header, rows)


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
            f"People in need were {lowest} when last observed. The list goes by what a call changes, not by need "
            "alone, so the two may differ; a large difference deserves a question.",
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
