"""The sections about trust: predictions against what happened, and the data."""

from collections.abc import Sequence

from armwise.evaluation.prediction import PredictionQuality
from armwise.evaluation.resampling import Estimate
from armwise.programme.findings import Report
from armwise.report.charts import Point, Row, agreement_chart, bar_chart, column_chart, row_chart
from armwise.report.comparison import age, not_computed
from armwise.report.facts import Facts
from armwise.report.markup import Markup, count, decimal, fold, join, percent, span, table, tag
from armwise.weekly.calibration import Bin


def checks_section(facts: Facts) -> Markup:
    """Predicted against observed, in steps and for people that were not learned from."""
    kept = facts.assessment
    if kept is None:
        return not_computed("The check of the predictions")
    event = "engaged" if facts.num_states == 2 else "above the lowest state"
    return join(
        age(facts),
        tag("p", say_predictions(kept.predictions, facts.step), class_="answer"),
        tag(
            "p",
            f"For this check models learned from the early {facts.step}s of half of the people. For the other half "
            f"they predicted, in each later {facts.step}, how likely each was to be {event} in the next one. If the "
            "predictions are right, the dots lie on the dashed line: of those given 30 %, 30 % were.",
        ),
        tag(
            "div",
            _agreement("left-alone", f"Left alone: {event} in the next {facts.step}", kept.left_alone),
            _agreement("called", f"Called: {event} in the next {facts.step}", kept.called),
            _surprise(kept.predictions, facts.step),
            class_="charts",
        ),
        tag(
            "p",
            f"A dot is a group of person-{facts.step}s with similar predictions; its line is the 95 % interval "
            "(Wilson), which takes them for independent, though several are of the same person. The first chart is "
            "of people left alone, the second of people who were called, each with the predictions for that case. "
            "Surprise is the average log-loss: 0 for one who always gives "
            "what happens 100 %.",
            class_="note",
        ),
    )


def say_predictions(predictions: Sequence[PredictionQuality], step: str) -> str:
    """Whether the predictions beat those that need no features: everyone's average, and each person's own past.

    Args:
        predictions: armwise's first.
        step: what a step is called, in the singular.
    """
    simple = {
        "population": "One prediction for all people in the same state",
        "own weeks": f"A person's own past {step}s",
    }
    return " ".join(_beside(simple[each.name], each, predictions[0]) for each in predictions if each.name in simple)


def _beside(who: str, each: PredictionQuality, own: PredictionQuality) -> str:
    verb = "predict" if who.endswith("s") else "predicts"
    numbers = f"average surprise {decimal(each.log_loss.value, 3)} against {decimal(own.log_loss.value, 3)}"
    if each.lead.is_below_zero:
        return f"{who} {verb} better than armwise does: {numbers}."
    if each.lead.is_above_zero:
        return f"{who} {verb} worse than armwise does: {numbers}."
    return f"{who} {verb} neither better nor worse than armwise, as far as can be told: {numbers}."


def _surprise(predictions: Sequence[PredictionQuality], step: str) -> Markup:
    """How surprised each prediction was by what happened."""
    named = {"population": "the same for all in a state", "own weeks": f"a person's own past {step}s"}
    labels = [named.get(each.name, each.name) for each in predictions]
    marks = [Row(label, (Point(*each.log_loss),)) for label, each in zip(labels, predictions, strict=True)]
    rows = [(label, _loss(each.log_loss), _loss(each.lead)) for label, each in zip(labels, predictions, strict=True)]
    title = "Average surprise at what happened (smaller is better)"
    header = ("Predicted by", "Surprise (95 % interval)", "More than armwise")
    return tag(
        "div",
        row_chart("surprise", title, marks, ("surprise",), "{:.2g}"),
        fold("The surprise in numbers", table(title, header, rows)),
    )


def _loss(each: Estimate) -> str:
    return f"{decimal(each.value, 3)} ({decimal(each.low, 3)} to {decimal(each.high, 3)})"


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
