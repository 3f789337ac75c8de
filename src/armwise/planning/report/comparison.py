"""Whether armwise chooses better than simpler ways do: said plainly, and only as far as the evaluation shows it."""

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from armwise.planning.intervals import errors_for_95
from armwise.planning.judging import Evaluation, PolicyQuality
from armwise.planning.report.charts import Point, Row, row_chart
from armwise.planning.report.facts import Facts
from armwise.planning.report.markup import Markup, count, decimal, fold, join, signed, table, tag

ARMWISE = "armwise"
WAYS = {
    ARMWISE: "armwise",
    "least likely to engage": "the risk score (least likely to engage)",
    "disengaged first": "the rule of thumb (disengaged first)",
    "round robin": "calling everyone in turn",
    "random": "drawing lots",
}
HOW_TO_COMPUTE = "armwise evaluate PROGRAMME --for-report"


class Verdict(StrEnum):
    """How armwise did beside a simpler way."""

    BETTER = "Better than"
    SAME = "No different from"
    WORSE = "Worse than"
    UNKNOWN = "Not comparable with"


class Judged(NamedTuple):
    """A simpler way, and how much more armwise gained per 100 people, with its 95 % interval.

    Attributes:
        name: in words.
        verdict: on armwise.
        lead: how much more armwise gained.
        low: the lower end of the interval of the lead.
        high: its upper end.
    """

    name: str
    verdict: Verdict
    lead: float
    low: float
    high: float


def judge_ways(evaluation: Evaluation) -> list[Judged]:
    """A verdict for each simpler way: a difference counts from two standard errors, from more with few cohorts."""
    reach = errors_for_95(evaluation.num_cohorts)
    return [_judge(each, reach) for each in evaluation.policies if each.policy != ARMWISE]


def _judge(each: PolicyQuality, reach: float) -> Judged:
    half = reach * each.lead_error
    low, high = each.lead - half, each.lead + half
    verdict = Verdict.SAME
    if math.isnan(half) or math.isnan(each.lead):
        verdict = Verdict.UNKNOWN
    elif low > 0:
        verdict = Verdict.BETTER
    elif high < 0:
        verdict = Verdict.WORSE
    return Judged(WAYS.get(each.policy, each.policy), verdict, each.lead, low, high)


def better_section(facts: Facts) -> Markup:
    """The answer, the verdicts one by one, and a chart of the differences."""
    kept = facts.assessment
    if kept is None:
        return not_computed("Nobody knows yet. The comparison with simpler ways")
    judged, evaluation = judge_ways(kept.evaluation), kept.evaluation
    gained = f"engaged {facts.step}s per 100 people"
    return join(
        age(facts),
        tag("p", answer(judged), class_="answer"),
        tag(
            "div",
            _chart(judged, gained),
            tag(
                "div",
                tag("ul", *(tag("li", _sentence(each)) for each in judged), class_="verdicts"),
                fold("The comparison in numbers", _table(evaluation, judged, facts.step)),
                _how(facts, evaluation),
            ),
            class_="pair",
        ),
    )


def _how(facts: Facts, evaluation: Evaluation) -> Markup:
    """What was simulated, in small print."""
    step, budget = facts.step, evaluation.budget
    return tag(
        "p",
        f"Simulated for {evaluation.num_cohorts} groups of {evaluation.cohort_size} people whom the model had not "
        f"learned from, {budget} call{'s' * (budget != 1)} a {step} in each, {count(evaluation.num_trajectories)} "
        f"runs; the same people and the same luck for every way. Numbers are engaged {step}s per 100 people, later "
        f"{step}s counting a little less; lines and brackets are 95 % intervals over these groups. The simulation "
        "takes the behaviour estimated from each person's own history for the truth.",
        class_="note",
    )


def answer(judged: Sequence[Judged]) -> str:
    """The answer to the section's question in a sentence or two; a difference that may be chance is no yes."""
    named = {verdict: [each.name for each in judged if each.verdict == verdict] for verdict in Verdict}
    better, worse, same = _list(named[Verdict.BETTER], "and"), _list(named[Verdict.WORSE]), _list(named[Verdict.SAME])
    if not judged or all(each.verdict == Verdict.UNKNOWN for each in judged):
        return "The evaluation cannot say: it takes at least two groups of people to compare."
    said = [f"No: it did worse than {worse}."] if worse else []
    if same:
        said.append(f"It is not shown to be better than {same}: the difference may be chance.")
    if better:
        said.append(f"{'It is better' if said else 'Yes, better'} than {better}, in a simulation.")
    return " ".join(said)


def _list(names: Sequence[str], word: str = "or") -> str:
    return f" {word} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _sentence(each: Judged) -> Markup:
    numbers = ""
    if each.verdict != Verdict.UNKNOWN:
        numbers = f": {signed(each.lead)} ({signed(each.low)} to {signed(each.high)})"
    return join(tag("strong", each.verdict), f" {each.name}{numbers}.")


def _chart(judged: Sequence[Judged], gained: str) -> Markup:
    rows = [Row(each.name, (Point(each.lead, each.low, each.high),)) for each in judged]
    title = f"How much more armwise gains than … ({gained})"
    return row_chart("ways", title, rows, ("armwise gains",), "{:+.3g}", ends=("← armwise worse", "armwise better →"))


def _table(evaluation: Evaluation, judged: Sequence[Judged], step: str) -> Markup:
    leads = {each.name: f"{signed(each.lead)} ({signed(each.low)} to {signed(each.high)})" for each in judged}
    rows = [
        (name, f"{decimal(each.quality)} ± {decimal(each.standard_error)}", decimal(each.gain, 1), leads.get(name, "–"))
        for each in evaluation.policies
        if (name := WAYS.get(each.policy, each.policy)) is not None
    ]
    header = ("Whom to call", "Quality", "Gain per 100", "armwise's lead")
    explained = (
        f"Gain is engaged {step}s gained over no calls, per 100 people. Quality is that gain as a share of what calls "
        "would gain if everyone's true behaviour were known: 0 is no better than no calls, 1 is as good as knowing; ± "
        "is its standard error."
    )
    return join(table("Ways to choose whom to call", header, rows), tag("p", explained, class_="note"))


def age(facts: Facts) -> Markup | None:
    """A warning where the evaluation is of other files than the list."""
    if facts.is_current:
        return None
    return tag(
        "p",
        "This was computed from other files than the list: settings or tables have changed since. To renew it: ",
        tag("code", HOW_TO_COMPUTE),
        class_="banner",
    )


def not_computed(what: str) -> Markup:
    """How to get what is not there."""
    return tag(
        "p", f"{what} has not been computed yet. To compute it: ", tag("code", HOW_TO_COMPUTE), ", then report again."
    )
