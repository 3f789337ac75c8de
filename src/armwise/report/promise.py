"""The section of what the calls are expected to bring, in words that promise no more than the interval allows."""

from armwise.evaluation.effects import CallEffects
from armwise.evaluation.gain import NUM_STEPS
from armwise.evaluation.resampling import Estimate
from armwise.report.charts import Point, Row, row_chart
from armwise.report.comparison import age, not_computed
from armwise.report.facts import Facts, Promise
from armwise.report.markup import Markup, count, fold, join, signed, table, tag
from armwise.text import counted

TOO_FEW = "There are too few past calls to tell what this list will bring."


def forecast_section(facts: Facts) -> Markup:
    """What the list gains, beside lots and no calls; or how to have it computed."""
    promise = facts.promise
    if promise is None:
        return join(age(facts) if facts.assessment else None, not_computed("What the calls bring"))
    if not promise.num_calls:
        return tag("p", "Nobody is on the list, so that there is nothing to expect.")
    if not promise.is_known:
        return join(age(facts), tag("p", f"{TOO_FEW} Nothing can be promised.", class_="answer"))
    return join(
        age(facts),
        tag("p", say_promise(promise, facts.effects, facts.step), class_="answer"),
        tag("div", _chart(promise, facts.step), _notes(facts.step), class_="pair"),
    )


def say_promise(promise: Promise, effects: CallEffects, step: str) -> str:
    """What can be promised of the list, and whether lots would do as well.

    Args:
        promise: of the list.
        effects: of past calls; what these do not show is not promised.
        step: what a step is called, in the singular.
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


def _chart(promise: Promise, step: str) -> Markup:
    ways = {"this list": promise.listed, "as many calls by lot": promise.lots, "no calls": Estimate(0.0, 0.0, 0.0)}
    title = f"Engaged {step}s gained in the next {NUM_STEPS} {step}s by these {count(promise.num_calls)} calls"
    rows = [Row(name, (Point(*each),)) for name, each in ways.items()]
    numbers = [(name, signed(each.value), _interval(each)) for name, each in ways.items()]
    numbers.append(("this list, more than lots", signed(promise.lead.value), _interval(promise.lead)))
    header = ("Whom to call", f"Engaged {step}s gained", "90 % interval")
    return tag(
        "div",
        row_chart("promise", title, rows, ("gain",), "{:+.3g}", ends=("← lost", "gained →")),
        fold("The expectation in numbers", table(title, header, numbers)),
    )


def _notes(step: str) -> Markup:
    return tag(
        "div",
        tag(
            "p",
            f"What is assumed: these calls do what as many calls would have done that armwise chose in past {step}s, "
            f"for people and {step}s that it had not learned from. What calls did is estimated from the calls in those "
            f"{step}s, by the state that people were in and their place in armwise's order. The interval covers the "
            "error of these estimates, from resampled people.",
        ),
        tag(
            "p",
            f"What is not promised: the gain of {step}s of calling. Calling the same people again and again comes to "
            f"those whom calls do not help, and past calls do not tell how many these are. This is the gain of one "
            f"{step}'s list. Rules and budgets of groups are not looked at: the list is taken to be as good as the "
            "highest places of armwise's order.",
            class_="note",
        ),
    )
