"""The sections about trust: predictions against what happened, what the model learned by, and the data."""

import math

from armwise.planning.calibration import Bin
from armwise.planning.findings import Report
from armwise.planning.intervals import WIDTH
from armwise.planning.report.charts import Point, Row, agreement_chart, bar_chart, column_chart, row_chart
from armwise.planning.report.comparison import age, not_computed
from armwise.planning.report.facts import Facts
from armwise.planning.report.markup import Markup, count, decimal, fold, join, percent, signed, span, table, tag


def checks_section(facts: Facts) -> Markup:
    """Predicted against observed, on people whom the model has not learned from; and what it learned by."""
    kept = facts.assessment
    if kept is None:
        return join(_effect(facts), not_computed("The check of the predictions"))
    event = "engaged" if facts.num_states == 2 else "above the lowest state"
    return join(
        age(facts),
        _effect(facts),
        tag(
            "p",
            f"For this check the model learned from four fifths of the people. For the other {count(kept.num_people)} "
            f"it predicted, {facts.step} by {facts.step}, how likely each was to be {event} in the next one. If the "
            "predictions are right, the dots lie on the dashed line: of those given 30 %, 30 % were.",
        ),
        tag(
            "div",
            _agreement("left-alone", f"Left alone: {event} in the next {facts.step}", kept.left_alone),
            _agreement("called", f"Called: {event} in the next {facts.step}", kept.called),
            _losses(facts),
            class_="charts",
        ),
        tag(
            "p",
            f"A dot is a group of person-{facts.step}s with similar predictions; its line is the 95 % interval "
            "(Wilson), which takes them for independent, though several are of the same person. Who was called in the "
            "past may not have been decided by lot, so the second chart shows what happened after calls, not what "
            "calls caused. Quality is the share of the possible gain that the calls reach, with two standard errors.",
            class_="note",
        ),
    )


def _effect(facts: Facts) -> Markup | None:
    """What followed past calls, in a sentence."""
    effect = facts.effect
    if math.isnan(effect.difference):
        return None
    what = "People engaged" if facts.num_states == 2 else "Average engagement"
    points = f"{signed(100 * effect.difference)} points (± {decimal(200 * effect.error, 1)})"
    return tag(
        "p",
        f"{what} in the {facts.step} after {count(effect.num_called)} past calls, compared with people in the same "
        f"state who were left alone: {points}. This is no proof: calls may have gone to people who would have come "
        "back anyway.",
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
        fold("These predictions in numbers", table(title, header, rows, 0)),
    )


def _losses(facts: Facts) -> Markup:
    """How good the calls are that models learned by different losses lead to."""
    assert facts.assessment is not None
    losses = facts.assessment.losses
    marks = [Row(each.loss, (_reach(each.quality, WIDTH * each.standard_error),)) for each in losses]
    rows = [
        (each.loss, f"{decimal(each.quality)} ± {decimal(each.standard_error)}", decimal(each.gain))
        for each in losses
        if not math.isnan(each.quality)
    ]
    title = "Quality of the calls, by what the model learned by"
    header = ("Learned by", "Quality", "Gain per 100 people")
    return tag(
        "div",
        row_chart("losses", title, marks, ("quality",), "{:.2g}"),
        fold("The losses in numbers", table(title, header, rows)),
    )


def _reach(value: float, half: float) -> Point:
    return Point(value, value - half, value + half)


def data_section(facts: Facts) -> Markup:
    """What the tables hold, and what was noticed in them."""
    quality, step = facts.quality, facts.step
    numbers = [
        ("People", count(quality.num_people)),
        (f"{step.capitalize()}s of history", count(quality.num_steps)),
        ("Attempts to reach people", count(quality.num_attempts)),
        (
            f"… of them left out (outside the {step}s, or while the person did not take part)",
            count(quality.num_left_out),
        ),
        ("People who have finished", count(quality.num_finished)),
        ("People not enrolled yet", count(quality.num_not_enrolled)),
        ("People never observed", count(quality.num_never_observed)),
        ("Calls by health workers that count", count(quality.num_calls)),
        ("People never to be called", count(quality.num_excluded)),
    ]
    lacking = [(name, number) for name, number in quality.missing_features if number]
    outages = ", ".join(str(step + 1) for step in quality.outages)
    title = f"People observed, by {step} of the history (dashed: taken for an outage)"
    shares = quality.observed_shares
    return join(
        tag("p", f"Taken for an outage of the call log: {step} {outages}." if outages else "No outage was noticed."),
        tag(
            "div",
            column_chart("observed", title, shares, quality.outages, f"{step} of the history", "People observed"),
            bar_chart("missing", "Empty cells, by column (people)", lacking)
            if lacking
            else tag("p", "No cell of a feature is empty."),
            class_="charts",
        ),
        _findings(facts.findings),
        fold("What the tables hold", table("What the tables hold", ("What", "Number"), numbers)),
    )


def _findings(report: Report) -> Markup:
    """The kinds of warnings, without the cells and ids that they were found in."""
    items = [
        tag(
            "li",
            tag("strong", total.file if total.column is None else f"{total.file}, column {total.column}"),
            f": {total.what} {total.remedy}" + (f" ({count(total.count)} times)" if total.count > 1 else ""),
        )
        for total in sorted(report.totals, key=lambda total: (total.kind, total.file, str(total.column)))
    ]
    if not items:
        return tag("p", "The check of the files found nothing to complain about.")
    return join(tag("p", "The check of the files noticed:"), tag("ul", *items))
