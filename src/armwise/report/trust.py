"""The sections on predictions against what happened, and on the quality of the data."""

from collections.abc import Sequence
from typing import NamedTuple

from armwise.evaluation.prediction import PredictionQuality
from armwise.evaluation.resampling import Estimate
from armwise.programme.findings import Report
from armwise.programme.programme_data import DataQuality
from armwise.report.charts import Chart, Point, Row, agreement_chart, bar_chart, column_chart, row_chart
from armwise.report.facts import Facts
from armwise.report.numbers import count, decimal, percent, span
from armwise.report.tables import ChartWithTable, PageTable
from armwise.weekly.calibration import Bin


class Agreement(NamedTuple):
    """Predictions compared with what happened, for people left alone or called. Without observations, no chart."""

    title: str
    shares: ChartWithTable | None


class ChecksSection(NamedTuple):
    """The contents of the section "Did predictions come true?".

    Attributes:
        is_outdated: whether the evaluation used other files than the list.
        answer: whether the predictions are better than simple ones that need no features.
        event: the predicted event, in words.
        left_alone: predictions and outcomes of people who were not called.
        called: predictions and outcomes of people who were called.
        surprise: how surprised each kind of prediction was by what happened.
        step: the word for a step, in the singular.
    """

    is_outdated: bool
    answer: str
    event: str
    left_alone: Agreement
    called: Agreement
    surprise: ChartWithTable
    step: str


def checks_section(facts: Facts) -> ChecksSection | None:
    """Compare predictions with observations in steps and people not learned from; none if there is no evaluation."""
    kept, step = facts.assessment, facts.step
    if kept is None:
        return None
    event = "engaged" if facts.num_states == 2 else "above the lowest state"
    return ChecksSection(
        is_outdated=not facts.is_current,
        answer=say_predictions(kept.predictions, step),
        event=event,
        left_alone=_agreement("left-alone", f"Left alone: {event} in the next {step}", kept.left_alone),
        called=_agreement("called", f"Called: {event} in the next {step}", kept.called),
        surprise=_surprise(kept.predictions, step),
        step=step,
    )


def say_predictions(predictions: Sequence[PredictionQuality], step: str) -> str:
    """Whether the predictions are better than two without features: all people's average, and a person's own past.

    Args:
        predictions: the predictions, those of armwise first.
        step: the word for a step, in the singular.
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


def _surprise(predictions: Sequence[PredictionQuality], step: str) -> ChartWithTable:
    """How surprised each kind of prediction was by what happened (log-loss)."""
    named = {"population": "the same for all in a state", "own weeks": f"a person's own past {step}s"}
    labels = [named.get(each.name, each.name) for each in predictions]
    marks = [Row(label, (Point(*each.log_loss),)) for label, each in zip(labels, predictions, strict=True)]
    rows = [(label, _loss(each.log_loss), _loss(each.lead)) for label, each in zip(labels, predictions, strict=True)]
    title = "Average surprise at what happened (smaller is better)"
    header = ("Predicted by", "Surprise (95 % interval)", "More than armwise")
    chart = row_chart("surprise", title, marks, ("surprise",), "{:.2g}")
    return ChartWithTable(chart, PageTable(title, header, rows))


def _loss(each: Estimate) -> str:
    return f"{decimal(each.value, 3)} ({decimal(each.low, 3)} to {decimal(each.high, 3)})"


def _agreement(name: str, title: str, bins: tuple[Bin, ...]) -> Agreement:
    if not bins:
        return Agreement(title, None)
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
    chart = agreement_chart(name, f"{title} (observed, over predicted)", points, "predicted")
    return Agreement(title, ChartWithTable(chart, PageTable(title, header, rows, words=0)))


class FileWarning(NamedTuple):
    """A kind of warning: the file and column, the problem and what to do. It contains no cells and no ids."""

    where: str
    said: str


class DataSection(NamedTuple):
    """The contents of the section "How good the data are".

    Attributes:
        outages: the steps that count as outages; empty if there are none.
        observed: a chart of the share of people observed in each step.
        missing: a chart of empty cells by column, if there are any.
        warnings: the warnings of the check of the files.
        numbers: what the tables hold, in numbers.
        step: the word for a step, in the singular.
    """

    outages: str
    observed: Chart
    missing: Chart | None
    warnings: tuple[FileWarning, ...]
    numbers: PageTable
    step: str


def data_section(facts: Facts) -> DataSection:
    """Make the section: what the tables hold, and the warnings about them."""
    quality, step = facts.quality, facts.step
    lacking = [(name, number) for name, number in quality.missing_features if number]
    title = f"People observed, by {step} of the history (dashed: taken for an outage)"
    axes = f"{step} of the history", "People observed"
    return DataSection(
        outages=", ".join(str(place + 1) for place in quality.outages),
        observed=column_chart("observed", title, quality.observed_shares, quality.outages, *axes),
        missing=bar_chart("missing", "Empty cells, by column (people)", lacking) if lacking else None,
        warnings=_warnings(facts.findings),
        numbers=PageTable("What the tables hold", ("What", "Number"), _numbers(quality, step)),
        step=step,
    )


def _numbers(quality: DataQuality, step: str) -> list[tuple[str, str]]:
    return [
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


def _warnings(report: Report) -> tuple[FileWarning, ...]:
    totals = sorted(report.totals, key=lambda total: (total.kind, total.file, str(total.column)))
    return tuple(
        FileWarning(
            total.file if total.column is None else f"{total.file}, column {total.column}",
            f"{total.what} {total.remedy}" + (f" ({count(total.count)} times)" if total.count > 1 else ""),
        )
        for total in totals
    )
