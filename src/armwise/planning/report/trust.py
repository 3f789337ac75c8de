"""The sections about trust: predictions against what happened, what losses and policies are worth, and the data."""

import math

from armwise.planning.calibration import Bin
from armwise.planning.findings import Report
from armwise.planning.intervals import WIDTH
from armwise.planning.report.charts import Point, Row, agreement_chart, bar_chart, column_chart, row_chart
from armwise.planning.report.facts import Facts
from armwise.planning.report.markup import Markup, count, decimal, join, percent, span, table, tag

WAYS = {
    "armwise": "armwise: highest index first",
    "least likely to engage": "least likely to engage next first",
    "round robin": "everyone in turn",
    "random": "drawn by lot",
}
HOW_TO_COMPUTE = "armwise evaluate PROGRAMME --for-report"


def checks_section(facts: Facts) -> Markup:
    """Predicted against observed, on people whom the model has not learned from."""
    kept = facts.assessment
    if kept is None:
        return _not_computed("This check")
    event = "engaged" if facts.num_states == 2 else "above the lowest state"
    return join(
        _age(facts),
        tag(
            "p",
            "For this check the model learned from four fifths of the people only. For the other "
            f"{count(kept.num_people)} it predicted, {facts.step} by {facts.step}, how likely each was to be {event} "
            "in the next one. If the "
            "predictions are right, the dots lie on the dashed line: of those given 30 %, 30 % were.",
        ),
        tag(
            "div",
            _agreement("left-alone", f"Left alone: {event} in the next {facts.step}", kept.left_alone),
            _agreement("called", f"Called: {event} in the next {facts.step}", kept.called),
            class_="pair",
        ),
        tag(
            "p",
            f"A dot is a group of person-{facts.step}s with similar predictions; its line is the 95 % interval "
            "(Wilson), which takes them for independent, though several are of the same person. Who was called in the "
            "past may not have been decided by lot, so the second chart shows what happened after "
            "calls, not what calls caused.",
            class_="note",
        ),
    )


def _agreement(name: str, title: str, bins: tuple[Bin, ...]) -> Markup:
    if not bins:
        return tag("p", f"{title}: nothing was observed.")
    points = [(each.predicted, Point(*each.observed)) for each in bins]
    rows = [
        (
            percent(each.predicted),
            percent(each.observed.value),
            span(each.observed.low, each.observed.high),
            count(each.number),
        )
        for each in bins
    ]
    header = ("Predicted", "Observed", "95 % interval", "Observations")
    return tag(
        "div",
        agreement_chart(name, f"{title} (observed, over predicted)", points, "predicted"),
        table(title, header, rows, 0),
    )


def losses_section(facts: Facts) -> Markup:
    """What models learned by different losses, and other ways to choose, are worth to people held back."""
    kept = facts.assessment
    if kept is None:
        return _not_computed("This comparison")
    evaluation = kept.evaluation
    losses = [(each.loss, each.quality, each.standard_error, each.gain) for each in kept.losses]
    ways = [
        (WAYS.get(each.policy, each.policy), each.quality, each.standard_error, each.gain)
        for each in evaluation.policies
    ]
    return join(
        _age(facts),
        tag(
            "p",
            "Quality is what the calls gain over no calls at all, as a share of what calls would gain if everyone's "
            "true behaviour were known: 0 is no better than no calls, 1 is as good as knowing. A model can learn to "
            "predict "
            "accurately, to lead to good calls, or both; the first chart compares these, the second compares armwise "
            "with other ways to choose.",
        ),
        tag(
            "div",
            _comparison("losses", "Quality of the calls, by what the model learned by", "Learned by", losses),
            _comparison("ways", "Quality of the calls, by how people are chosen", "Whom to call", ways),
            class_="pair",
        ),
        tag(
            "p",
            f"Simulated for {evaluation.num_cohorts} groups of {evaluation.cohort_size} people held back, "
            f"{evaluation.budget} calls a {facts.step} each, {count(evaluation.num_trajectories)} runs, taking the "
            "behaviour estimated from each person's own history for the truth. ± is the standard error over these "
            "groups; lines are two of them (95 %). Differences smaller than that may be chance.",
            class_="note",
        ),
    )


def _comparison(name: str, title: str, first: str, results: list[tuple[str, float, float, float]]) -> Markup:
    def reach(quality: float, error: float) -> Point:
        return Point(quality, quality - WIDTH * error, quality + WIDTH * error)

    marks = [Row(label, (reach(quality, error),)) for label, quality, error, _ in results]
    rows = [
        (label, f"{decimal(quality)} ± {decimal(error)}", decimal(gain))
        for label, quality, error, gain in results
        if not math.isnan(quality)
    ]
    header = (first, "Quality", "Gain per 100 people")
    return tag("div", row_chart(name, title, marks, ("quality",), "{:.2g}"), table(title, header, rows))


def data_section(facts: Facts) -> Markup:
    """What the tables hold, and what was noticed in them."""
    quality, step = facts.quality, facts.step
    numbers = [
        ("People", count(quality.num_people)),
        (f"{step.capitalize()}s of history", count(quality.num_steps)),
        ("Attempts to reach people", count(quality.num_attempts)),
        (f"… of them left out (outside the {step}s, or before enrolment)", count(quality.num_left_out)),
        ("People never observed", count(quality.num_never_observed)),
        ("Calls by health workers that count", count(quality.num_calls)),
        ("People never to be called", count(quality.num_excluded)),
    ]
    lacking = [(name, number) for name, number in quality.missing_features if number]
    outages = ", ".join(str(step + 1) for step in quality.outages)
    title = f"People observed, by {step} of the history (dashed: taken for an outage)"
    shares = quality.observed_shares
    return join(
        tag(
            "div",
            column_chart("observed", title, shares, quality.outages, f"{step} of the history", "People observed"),
            table("What the tables hold", ("What", "Number"), numbers),
            class_="pair",
        ),
        tag("p", f"Taken for an outage of the call log: {step} {outages}." if outages else "No outage was noticed."),
        bar_chart("missing", "Empty cells, by column (people)", lacking)
        if lacking
        else tag("p", "No cell of a feature is empty."),
        _findings(facts.findings),
    )


def _findings(report: Report) -> Markup:
    """The kinds of warnings, without the cells and ids that they were found in."""
    rows = [
        (total.file, total.column or "", total.what, total.remedy, count(total.count))
        for total in sorted(report.totals, key=lambda total: (total.kind, total.file, str(total.column)))
    ]
    if not rows:
        return tag("p", "The check of the files found nothing to complain about.")
    return table("What the check of the files noticed", ("File", "Column", "What", "What to do", "Times"), rows, 4)


def _age(facts: Facts) -> Markup | None:
    if facts.is_current:
        return None
    return tag(
        "p",
        "This was computed from other files than the list: settings or tables have changed since. To renew it: ",
        tag("code", HOW_TO_COMPUTE),
        class_="banner",
    )


def _not_computed(what: str) -> Markup:
    return tag(
        "p", f"{what} has not been computed yet. To compute it: ", tag("code", HOW_TO_COMPUTE), ", then report again."
    )
