"""Whether armwise chooses better than simpler ways do: said plainly, and only as far as past weeks show it."""

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from armwise.evaluation.gain import NUM_STEPS
from armwise.evaluation.resampling import Estimate
from armwise.evaluation.simple_rules import RULES_OF_THUMB
from armwise.planner.backtest import WayJudged
from armwise.planner.past_lists import ARMWISE
from armwise.report.charts import Point, Row, row_chart
from armwise.report.facts import Facts
from armwise.report.markup import Markup, count, decimal, fold, join, signed, table, tag
from armwise.text import counted
from armwise.weekly.evaluation_file import Assessment

NEVER = "never"
WAYS = {
    ARMWISE: "armwise",
    NEVER: "no calls at all",
    "random": "drawing lots",
    "round robin": "calling everyone in turn",
    "disengaged first": "disengaged first",
    "population index": "one order for all (population index)",
    "least likely to engage": "the risk score (least likely to engage)",
}
# Engaged steps by 100 calls; less is shown as 0.
SMALLEST_BOUND = 0.05
HOW_TO_COMPUTE = "armwise evaluate PROGRAMME --for-report"


class Verdict(StrEnum):
    """How armwise did beside another way."""

    BETTER = "Better than"
    SAME = "No clear difference from"
    WORSE = "Worse than"
    UNKNOWN = "Not comparable with"


class Judged(NamedTuple):
    """Another way to choose, and how much more 100 of armwise's calls gained.

    Attributes:
        name: in words.
        verdict: on armwise.
        lead: how much more armwise gained, with its 95 % interval.
        is_simple: whether it is a rule of thumb, and not armwise itself with another loss.
    """

    name: str
    verdict: Verdict
    lead: Estimate
    is_simple: bool


def judge_ways(ways: Sequence[WayJudged]) -> list[Judged]:
    """A verdict for each other way, simpler ones first: a difference counts if its whole interval is beside 0."""
    others = [way for way in ways if way.name != ARMWISE]
    ordered = sorted(others, key=lambda way: way.name not in RULES_OF_THUMB)
    return [Judged(in_words(way.name), _judge(way.lead), way.lead, way.name in RULES_OF_THUMB) for way in ordered]


def in_words(name: str) -> str:
    """A way to choose as a manager would name it; what armwise can learn by instead keeps its name."""
    return WAYS.get(name, f"armwise learned by {name}")


def _judge(lead: Estimate) -> Verdict:
    if any(math.isnan(each) for each in lead):
        return Verdict.UNKNOWN
    if lead.is_above_zero:
        return Verdict.BETTER
    return Verdict.WORSE if lead.is_below_zero else Verdict.SAME


def better_section(facts: Facts) -> Markup:
    """The answer, the verdicts one by one, and charts of the gains and of the differences."""
    kept = facts.assessment
    if kept is None:
        return not_computed("Nobody knows yet. The comparison with simpler ways")
    judged = judge_ways(kept.ways)
    return join(
        age(facts),
        tag("p", answer(judged, facts.effects.is_shown, facts.step), class_="answer"),
        tag(
            "div",
            _leads(judged, facts.step),
            _gains(kept.ways, facts.step),
            class_="pair",
        ),
        tag("ul", *(tag("li", _sentence(each)) for each in judged), class_="verdicts"),
        fold("The comparison in numbers", _table(kept, judged)),
        tag("p", _bound(kept, facts)) if kept.bound is not None else None,
        _how(kept, facts.step),
    )


def answer(judged: Sequence[Judged], is_shown: bool, step: str) -> str:
    """The answer to the section's question in a sentence or two; a difference that may be chance is no yes.

    Args:
        judged: the other ways; only rules of thumb count here.
        is_shown: whether past calls are shown to help at all.
        step: what a step is called, in the singular.
    """
    judged = [each for each in judged if each.is_simple]
    named = {verdict: [each.name for each in judged if each.verdict == verdict] for verdict in Verdict}
    better, worse, same = _list(named[Verdict.BETTER], "and"), _list(named[Verdict.WORSE]), _list(named[Verdict.SAME])
    if not judged or all(each.verdict == Verdict.UNKNOWN for each in judged):
        return "The evaluation cannot say: too few later calls could have gone otherwise."
    said = [f"No: armwise did worse than {worse}."] if worse else []
    if same:
        said.append(f"armwise is not shown to be better than {same}: the difference may be chance.")
    if better:
        said.append(f"{'It did better' if said else 'Yes, armwise did better'} than {better}, in past {step}s.")
    if better and not is_shown:
        said.append("But past calls are not shown to help at all, so that this may be chance too.")
    if any(each.name != WAYS[NEVER] for each in judged if each.verdict in (Verdict.SAME, Verdict.WORSE)):
        said.append("Where a simpler way does as well, it is easier to explain.")
    return " ".join(said)


def _list(names: Sequence[str], word: str = "or") -> str:
    return f" {word} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _sentence(each: Judged) -> Markup:
    numbers = "" if each.verdict == Verdict.UNKNOWN else f": {_figures(each.lead)}"
    return join(tag("strong", each.verdict), f" {each.name}{numbers}.")


def _figures(estimate: Estimate) -> str:
    if math.isnan(estimate.low):
        return "–"
    return f"{signed(estimate.value)} ({signed(estimate.low)} to {signed(estimate.high)})"


def _leads(judged: Sequence[Judged], step: str) -> Markup:
    rows = [Row(each.name, (Point(*each.lead),)) for each in judged if each.verdict != Verdict.UNKNOWN]
    title = f"How much more armwise gains than … (engaged {step}s by 100 calls)"
    return row_chart("ways", title, rows, ("armwise gains",), "{:+.3g}", ends=("← armwise worse", "armwise better →"))


def _gains(ways: Sequence[WayJudged], step: str) -> Markup:
    shown = [way for way in ways if way.name != NEVER and not math.isnan(way.gain.value)]
    shown.sort(key=lambda way: way.name not in WAYS)
    rows = [Row(in_words(way.name), (Point(*way.gain),)) for way in shown]
    title = f"What 100 calls of each way gain over no calls (engaged {step}s)"
    return row_chart("gains", title, rows, ("gain",), "{:+.3g}", ends=("← lost", "gained →"))


def _table(kept: Assessment, judged: Sequence[Judged]) -> Markup:
    leads = {each.name: _figures(each.lead) for each in judged}
    rows = [(name, _figures(way.gain), leads.get(name, "–")) for way in kept.ways if (name := in_words(way.name))]
    header = ("Whom to call", "Gain by 100 calls", "armwise gains more by")
    rules = [tag("li", tag("strong", WAYS[name]), f": {RULES_OF_THUMB[name]}") for name in RULES_OF_THUMB]
    return join(table("Ways to choose whom to call, with 95 % intervals", header, rows), tag("ul", *rules))


def _bound(kept: Assessment, facts: Facts) -> str:
    assert kept.bound is not None
    if kept.bound < SMALLEST_BOUND:
        return "No rule could gain anything by calls, if people behave as estimated."
    doubt = "" if facts.effects.is_shown else " Past calls are not shown to help, so that it may as well be 0."
    return (
        f"No rule could gain more than {decimal(kept.bound, 1)} engaged {facts.step}s by 100 calls, if people behave "
        f"as estimated and calls do the same for all in the same state. This bound is for calls in every "
        f"{facts.step}, whose effects overlap; the gains above are of single calls, and can be larger.{doubt}"
    )


def _how(kept: Assessment, step: str) -> Markup:
    """What was judged, in small print."""
    origins = counted(len(kept.origins), "time")
    return tag(
        "p",
        f"Judged on past {step}s: {origins}, armwise learned from half of the people and the {step}s up to then, and "
        f"listed whom to call among the other half in the {step}s after. {count(kept.num_judged)} decisions, "
        f"{counted(kept.num_calls, 'call')} among them. Numbers are engaged {step}s gained in the {NUM_STEPS} {step}s "
        "after 100 calls; lines and brackets are 95 % intervals over people. A list is credited only where people "
        f"whom it ranks high did gain more from the calls that were made. Only calls of later {step}s count here, and "
        f"those of all {step}s in the section before, so that the two can disagree by chance.",
        class_="note",
    )


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
