"""The sections about people: who is on the list, what the calls are expected to bring, and which groups they go to."""

from armwise.planning.intervals import Share
from armwise.planning.report.charts import Point, Row, Series, bar_chart, line_chart, row_chart
from armwise.planning.report.equity import Group, Grouping
from armwise.planning.report.facts import Facts
from armwise.planning.report.markup import Markup, count, decimal, join, percent, span, table, tag

# A page of ten thousand rows is no page; the list itself is a file.
MOST_LISTED = 200

INDEX_IN_A_SENTENCE = (
    "The index orders the list: it is the price at which a call to this person, now, would stop being worth making, so "
    "the higher it is, the more this call changes."
)


def calls_section(facts: Facts) -> Markup:
    """Who is on the list and why; who is not, in numbers."""
    calls, summary = facts.plan.calls, facts.plan.summary
    grouped = "group" in calls.columns
    rows = [
        (
            str(row["rank"]),
            row["id"],
            *([row["group"]] if grouped else []),
            row["reason"],
            decimal(row["expected_gain"]),
            decimal(row["index"], 3),
        )
        for row in calls.head(MOST_LISTED).iter_rows(named=True)
    ]
    header = ("Place", "Id", *(["Group"] if grouped else []), "Why", "Expected gain", "Index")
    more = calls.height - len(rows)
    waiting = summary.num_eligible - summary.num_calls
    bars = [("on the list", summary.num_calls), ("may be called, but others come first", waiting)]
    bars += list(summary.excluded.items())
    return join(
        tag("p", f"{count(summary.num_calls)} of {count(summary.budget)} possible calls, the most useful first."),
        tag("p", INDEX_IN_A_SENTENCE, " ", _gain_in_a_sentence(facts.step)),
        bar_chart("everyone", "Everyone in the programme, by what the list says (people)", bars),
        table(f"The calls of {facts.planned_step}", header, rows, len(header) - 2),
        tag("p", f"{count(more)} more are in the call list itself.", class_="note") if more > 0 else None,
        _unseen(facts),
    )


def _gain_in_a_sentence(step: str) -> str:
    return (
        f"The expected gain is how many more {step}s of engagement the call is expected to bring if nobody calls "
        f"again; a later {step} counts a little less than an earlier one."
    )


def _unseen(facts: Facts) -> Markup | None:
    summary = facts.plan.summary
    said = [
        f"{count(number)} people have a value of {name} never seen before" for name, number in summary.unseen.items()
    ]
    if summary.num_without_gain:
        said.append(f"{count(summary.num_without_gain)} are on the list although no gain is expected of the call")
    return tag("p", "; ".join(said) + ".", class_="note") if said else None


def forecast_section(facts: Facts) -> Markup:
    """The expected course with the list, with lots, and without calls."""
    forecast, step = facts.forecast, facts.step
    last = len(forecast.courses[0].engagement) - 1
    what = "People engaged" if facts.num_states == 2 else "Average engagement (0 % lowest state, 100 % highest)"
    series = [Series(course.name, course.engagement) for course in forecast.courses]
    rows = [
        (
            course.name,
            percent(course.engagement[-1], 1),
            count(course.gained) if course.name != "no calls" else "–",
            f"{count(course.spread[0])} to {count(course.spread[1])}" if course.name != "no calls" else "–",
        )
        for course in forecast.courses
    ]
    header = ("Whom to call", f"{what.split(' (')[0]} after {last} {step}s", f"Engaged {step}s gained", "9 in 10 runs")
    return join(
        tag(
            "p",
            f"These are the model's expectations, not a promise: {count(forecast.num_trajectories)} simulated runs of "
            f"the next {last} {step}s, in which people behave as the model has learned they do and "
            f"{count(forecast.budget)} are called each {step}. If the model is wrong, so are the lines. The scale "
            "does not begin at nought.",
        ),
        tag(
            "div",
            line_chart("course", f"{what}, by {step}s from now", series, f"{step}s from now", what),
            table(f"Over the next {last} {step}s, everyone together", header, rows),
            class_="pair",
        ),
        tag(
            "p",
            "People who are never to be called are not called here either; budgets of groups, waits after a call and "
            "limits per person hold for the list but are not simulated. All three lines share the same luck.",
            class_="note",
        ),
    )


def equity_section(facts: Facts) -> Markup:
    """Calls by group beside the group's share and need."""
    smallest = facts.smallest_group
    shown = [grouping for grouping in facts.groupings if grouping.groups]
    if not shown:
        return tag("p", f"There is no column that divides people into groups of at least {smallest}.")
    lowest = "not engaged" if facts.num_states == 2 else "in the lowest state of engagement"
    return join(
        tag(
            "p",
            f"Need is the share of a group's people who were {lowest} when last observed; people never observed are "
            "left out of it. The list goes by what a call changes, not by need alone, so the two may differ; a large "
            "difference deserves a question.",
        ),
        tag(
            "p",
            f"Groups of fewer than {smallest} people are not shown, nor a group from which such a one could be worked "
            "out. Intervals are 95 % (Wilson): with few calls they are wide, and a difference within them may be "
            "chance; so may one difference in twenty outside them.",
            class_="note",
        ),
        *(_grouping(place, grouping) for place, grouping in enumerate(shown)),
    )


def _grouping(place: int, grouping: Grouping) -> Markup:
    rows = [_group_row(group) for group in grouping.groups]
    if grouping.num_hidden:
        hidden = f"{grouping.num_hidden} small group{'s' * (grouping.num_hidden != 1)}, not shown"
        rows.append((hidden, *["–"] * 5))
    header = ("Group", "People", "Share of people", "Need", "Calls", "Calls per 100 people")
    series = ("share of people", "share of those in need", "share of calls")
    points = [
        Row(group.name, (_point(group.share_of_people), Point(*group.share_of_need), Point(*group.share_of_calls)))
        for group in grouping.groups
    ]
    return join(
        tag("h3", f"By {grouping.column}"),
        tag(
            "div",
            row_chart(f"groups-{place}", f"Who gets the calls, by {grouping.column}", points, series),
            table(f"Calls by {grouping.column}", header, rows),
            class_="pair uneven",
        ),
        _beyond_chance(grouping),
    )


def _beyond_chance(grouping: Grouping) -> Markup:
    """The groups whose share of people lies outside the interval of their share of calls."""
    fewer = [group.name for group in grouping.groups if group.share_of_calls.high < group.share_of_people]
    more = [group.name for group in grouping.groups if group.share_of_calls.low > group.share_of_people]
    said = [
        f"{word} calls than its share of people, by more than the interval: {', '.join(names)}."
        for word, names in (("Fewer", fewer), ("More", more))
        if names
    ]
    return tag("p", " ".join(said) or "No group's share of people is outside the interval of its share of calls.")


def _group_row(group: Group) -> tuple[str, ...]:
    rate = Share(*(100 * each for each in group.call_rate))
    return (
        group.name,
        count(group.num_people),
        percent(group.share_of_people),
        f"{percent(group.need.value)} ({span(group.need.low, group.need.high)})",
        f"{count(group.num_calls)} ({percent(group.share_of_calls.value)})",
        f"{decimal(rate.value, 1)} ({decimal(rate.low, 1)}–{decimal(rate.high, 1)})",
    )


def _point(value: float) -> Point:
    nothing = float("nan")
    return Point(value, nothing, nothing)
