"""The section on what the calls are expected to gain. It promises no more than the interval allows."""

from typing import NamedTuple

from armwise.evaluation.effects import CallEffects
from armwise.evaluation.gain import NUM_STEPS
from armwise.evaluation.resampling import Estimate
from armwise.report.charts import Point, Row, row_chart
from armwise.report.facts import Facts, Promise
from armwise.report.numbers import count, signed
from armwise.report.tables import ChartWithTable, PageTable
from armwise.text import counted

TOO_FEW = "There are too few past calls to tell what this list will bring."


class ForecastSection(NamedTuple):
    """The contents of the section "What the calls are expected to bring".

    Attributes:
        is_computed: whether there was an evaluation from which to estimate the gain.
        is_outdated: whether the evaluation used other files than the list.
        num_calls: calls on the list.
        answer: what can be promised.
        expected: the gain compared with lots and with no calls; none if it is not known.
        num_steps: the steps for which gains are counted.
        step: the word for a step, in the singular.
    """

    is_computed: bool
    is_outdated: bool
    num_calls: int
    answer: str
    expected: ChartWithTable | None
    num_steps: int
    step: str


def forecast_section(facts: Facts) -> ForecastSection:
    """Make the section: what the list gains, compared with lots and with no calls."""
    promise, step = facts.promise, facts.step
    is_outdated = not facts.is_current
    if promise is None:
        return ForecastSection(False, is_outdated and facts.assessment is not None, 0, "", None, NUM_STEPS, step)
    said = f"{TOO_FEW} Nothing can be promised."
    if promise.is_known:
        said = say_promise(promise, facts.effects, step)
    expected = _expected(promise, step) if promise.is_known else None
    return ForecastSection(True, is_outdated, promise.num_calls, said, expected, NUM_STEPS, step)


def say_promise(promise: Promise, effects: CallEffects, step: str) -> str:
    """What can be promised of the list, and whether lots would do as well.

    Args:
        promise: the estimated gains of the list.
        effects: the effects of past calls; what they do not show is not promised.
        step: the word for a step, in the singular.
    """
    gain = f"{signed(promise.listed.value)} engaged {step}s in the next {NUM_STEPS} {step}s"
    said = [
        f"{counted(promise.num_calls, 'call')} on this list: {gain} (90 % interval {_interval(promise.listed)}).",
        _meaning(promise.listed, effects, step),
        _beside_lots(promise.lead, step),
    ]
    return " ".join(said)


def _meaning(gain: Estimate, effects: CallEffects, step: str) -> str:
    if gain.is_above_zero and effects.is_shown:
        return f"The calls are expected to gain engaged {step}s."
    if gain.is_below_zero and effects.is_harmful:
        return f"The calls are expected to cost engaged {step}s: do not make them before you know why."
    if gain.is_below_zero:
        return f"The calls may cost engaged {step}s, though past calls are not shown to hurt."
    if gain.is_above_zero:
        return "Past calls are not shown to help, so nothing can be promised."
    return "The interval includes 0, so nothing can be promised."


def _beside_lots(lead: Estimate, step: str) -> str:
    more = f"by {signed(abs(lead.value)).lstrip('+')} engaged {step}s"
    if lead.is_above_zero:
        return f"That is better than as many calls by lot, {more}."
    if lead.is_below_zero:
        return f"As many calls by lot are expected to do better, {more}."
    return "It is not shown to be better than as many calls by lot."


def _interval(estimate: Estimate) -> str:
    return f"{signed(estimate.low)} to {signed(estimate.high)}"


def _expected(promise: Promise, step: str) -> ChartWithTable:
    ways = {"this list": promise.listed, "as many calls by lot": promise.lots, "no calls": Estimate(0.0, 0.0, 0.0)}
    title = f"Engaged {step}s gained in the next {NUM_STEPS} {step}s by these {count(promise.num_calls)} calls"
    rows = [Row(name, (Point(*each),)) for name, each in ways.items()]
    numbers = [(name, signed(each.value), _interval(each)) for name, each in ways.items()]
    numbers.append(("this list, more than lots", signed(promise.lead.value), _interval(promise.lead)))
    header = ("Whom to call", f"Engaged {step}s gained", "90 % interval")
    chart = row_chart("promise", title, rows, ("gain",), "{:+.3g}", ends=("← lost", "gained →"))
    return ChartWithTable(chart, PageTable(title, header, numbers))
