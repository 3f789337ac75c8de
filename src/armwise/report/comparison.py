"""The section on whether armwise chooses better than simpler ways do, as far as past weeks show it."""

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from armwise.evaluation.gain import NUM_STEPS
from armwise.evaluation.resampling import Estimate
from armwise.evaluation.simple_rules import RULES_OF_THUMB
from armwise.planner.backtest import WayJudged
from armwise.planner.past_lists import ARMWISE
from armwise.report.charts import Chart, Point, Row, row_chart
from armwise.report.facts import Facts
from armwise.report.numbers import count, decimal, signed
from armwise.report.tables import PageTable
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
# Engaged steps by 100 calls. A smaller bound would be shown as 0.0.
SMALLEST_BOUND = 0.05


class Verdict(StrEnum):
    """How armwise did compared with another way."""

    BETTER = "Better than"
    SAME = "No clear difference from"
    WORSE = "Worse than"
    UNKNOWN = "Not comparable with"


class Judged(NamedTuple):
    """Another way to choose people, and how much more 100 of armwise's calls gained.

    Attributes:
        name: the way in words.
        verdict: how armwise did compared with it.
        lead: how much more armwise gained, with its 95 % interval.
        is_simple: whether it is a rule of thumb; otherwise it is armwise with another loss.
    """

    name: str
    verdict: Verdict
    lead: Estimate
    is_simple: bool


def judge_ways(ways: Sequence[WayJudged]) -> list[Judged]:
    """A verdict for each other way, the simpler ones first. A difference counts if its interval does not include 0."""
    others = [way for way in ways if way.name != ARMWISE]
    ordered = sorted(others, key=lambda way: way.name not in RULES_OF_THUMB)
    return [Judged(in_words(way.name), _judge(way.lead), way.lead, way.name in RULES_OF_THUMB) for way in ordered]


def in_words(name: str) -> str:
    """A way to choose people, as a manager would name it. Another loss of armwise keeps its name."""
    return WAYS.get(name, f"armwise learned by {name}")


def _judge(lead: Estimate) -> Verdict:
    if any(math.isnan(each) for each in lead):
        return Verdict.UNKNOWN
    if lead.is_above_zero:
        return Verdict.BETTER
    return Verdict.WORSE if lead.is_below_zero else Verdict.SAME


class Sentence(NamedTuple):
    """The verdict on armwise compared with another way.

    Attributes:
        verdict: the first words.
        name: the name of the other way.
        numbers: the difference with its interval; empty if it is not known.
    """

    verdict: Verdict
    name: str
    numbers: str


class BetterSection(NamedTuple):
    """The contents of the section "Is this better than simpler ways?".

    Attributes:
        is_outdated: whether the evaluation used other files than the list.
        answer: the answer in a sentence or two.
        leads: a chart of how much more armwise gains than each other way.
        gains: a chart of what each way gains over no calls.
        verdicts: the verdict for each other way.
        numbers: the numbers of both charts.
        rules: the names of the rules of thumb, and what they do.
        bound: the gain that no rule can exceed, in words; empty if it was not computed.
        times: how often the ways were judged.
        num_judged: the number of decisions that were judged.
        calls: the number of calls among these decisions, in words.
        num_steps: the steps for which gains are counted.
        step: the word for a step, in the singular.
    """

    is_outdated: bool
    answer: str
    leads: Chart
    gains: Chart
    verdicts: tuple[Sentence, ...]
    numbers: PageTable
    rules: tuple[tuple[str, str], ...]
    bound: str
    times: str
    num_judged: str
    calls: str
    num_steps: int
    step: str


def better_section(facts: Facts) -> BetterSection | None:
    """Make the section: the answer, the verdicts, and charts of gains and differences; none without an evaluation."""
    kept, step = facts.assessment, facts.step
    if kept is None:
        return None
    judged = judge_ways(kept.ways)
    return BetterSection(
        is_outdated=not facts.is_current,
        answer=answer(judged, facts.effects.is_shown, step),
        leads=_leads(judged, step),
        gains=_gains(kept.ways, step),
        verdicts=tuple(_sentence(each) for each in judged),
        numbers=_table(kept, judged),
        rules=tuple((WAYS[name], does) for name, does in RULES_OF_THUMB.items()),
        bound="" if kept.bound is None else _say_bound(kept.bound, facts),
        times=counted(len(kept.origins), "time"),
        num_judged=count(kept.num_judged),
        calls=counted(kept.num_calls, "call"),
        num_steps=NUM_STEPS,
        step=step,
    )


def answer(judged: Sequence[Judged], is_shown: bool, step: str) -> str:
    """The answer to the section's question, in a few sentences. A difference that may be chance is not called better.

    Args:
        judged: the other ways; only rules of thumb count here.
        is_shown: whether past calls are shown to help at all.
        step: the word for a step, in the singular.
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


def _sentence(each: Judged) -> Sentence:
    return Sentence(each.verdict, each.name, "" if each.verdict == Verdict.UNKNOWN else _figures(each.lead))


def _figures(estimate: Estimate) -> str:
    if math.isnan(estimate.low):
        return "–"
    return f"{signed(estimate.value)} ({signed(estimate.low)} to {signed(estimate.high)})"


def _leads(judged: Sequence[Judged], step: str) -> Chart:
    rows = [Row(each.name, (Point(*each.lead),)) for each in judged if each.verdict != Verdict.UNKNOWN]
    title = f"How much more armwise gains than … (engaged {step}s by 100 calls)"
    return row_chart("ways", title, rows, ("armwise gains",), "{:+.3g}", ends=("← armwise worse", "armwise better →"))


def _gains(ways: Sequence[WayJudged], step: str) -> Chart:
    shown = [way for way in ways if way.name != NEVER and not math.isnan(way.gain.value)]
    shown.sort(key=lambda way: way.name not in WAYS)
    rows = [Row(in_words(way.name), (Point(*way.gain),)) for way in shown]
    title = f"What 100 calls of each way gain over no calls (engaged {step}s)"
    return row_chart("gains", title, rows, ("gain",), "{:+.3g}", ends=("← lost", "gained →"))


def _table(kept: Assessment, judged: Sequence[Judged]) -> PageTable:
    leads = {each.name: _figures(each.lead) for each in judged}
    rows = [(name, _figures(way.gain), leads.get(name, "–")) for way in kept.ways if (name := in_words(way.name))]
    header = ("Whom to call", "Gain by 100 calls", "armwise gains more by")
    return PageTable("Ways to choose whom to call, with 95 % intervals", header, rows)


def _say_bound(bound: float, facts: Facts) -> str:
    if bound < SMALLEST_BOUND:
        return "No rule could gain anything by calls, if people behave as estimated."
    doubt = "" if facts.effects.is_shown else " Past calls are not shown to help, so that it may as well be 0."
    return (
        f"No rule could gain more than {decimal(bound, 1)} engaged {facts.step}s by 100 calls, if people behave "
        f"as estimated and calls do the same for all in the same state. This bound is for calls in every "
        f"{facts.step}, whose effects overlap; the gains above are of single calls, and can be larger.{doubt}"
    )
