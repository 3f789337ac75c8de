"""An evaluation as text for a terminal: the effect of calls, the ways to choose people, a verdict, the predictions."""

import math
from collections.abc import Sequence

from armwise.evaluation.effects import FEWEST_CALLS, CallEffect
from armwise.evaluation.gain import NUM_STEPS
from armwise.evaluation.resampling import Estimate
from armwise.evaluation.simple_rules import RULES_OF_THUMB
from armwise.planner.backtest import WayJudged
from armwise.planner.past_lists import ARMWISE
from armwise.planner.reasons import describe_evidence
from armwise.text import counted
from armwise.weekly.evaluation_file import Assessment
from armwise.weekly.groups import SMALL_GROUPS

WIDTH, NEVER = 28, "never"


def write_text(kept: Assessment, step: str = "week") -> str:
    """The whole evaluation as text, in the order in which a programme needs it.

    Args:
        kept: the evaluation.
        step: the word for a step, in the singular.
    """
    parts = [
        write_effects(kept, step),
        f"{write_ways(kept.ways, step)}\n{_write_basis(kept, step)}\n\n{write_verdict(kept)}",
        _write_predictions(kept, step),
        _write_bound(kept, step),
    ]
    return "\n\n".join(part for part in parts if part)


def write_effects(kept: Assessment, step: str) -> str:
    """Whether calls helped: first a sentence, then the effects by state and by group."""
    effects = kept.effects
    lines = ["Did calls help?", describe_evidence(effects, step, kept.num_states)]
    if not effects.is_enough:
        return "\n".join(lines)
    lines.append(f"Effect of a call on engagement in the next {step}, in points of 100 (95 % intervals):")
    rows = [(_state(each.name, kept.num_states), each) for each in effects.by_state]
    rows += [
        (f"{name}: {each.name}", each)
        for name, groups in effects.by_group.items()
        for each in groups
        if each.name != SMALL_GROUPS
    ]
    lines += [f"  {name:{WIDTH}}  {_effect(each)}" for name, each in rows]
    estimated = sum(not math.isnan(each.effect.value) for _, each in rows)
    if estimated >= 10:
        lines.append(f"  (Of {estimated} such intervals, about one in 20 misses the truth by chance.)")
    return "\n".join(lines)


def _state(name: str, num_states: int) -> str:
    """A state's usual name; with two states, they are "disengaged" and "engaged"."""
    return {"state 0": "disengaged", "state 1": "engaged"}.get(name, name) if num_states == 2 else name


def _effect(each: CallEffect) -> str:
    calls = counted(each.num_calls, "call")
    if math.isnan(each.effect.value):
        return f"not estimated: {calls} are too few" if each.num_calls else "not estimated: no calls"
    return f"{in_figures(Estimate(*(100 * figure for figure in each.effect)))}, {calls}"


def write_ways(ways: Sequence[WayJudged], step: str) -> str:
    """A table of what 100 calls gain with each way to choose people."""
    lines = [f"{'whom to call':{WIDTH}}  {f'engaged {step}s by 100 calls':28}  armwise gains more by"]
    for way in ways:
        lead = "" if way.name == ARMWISE else in_figures(way.lead)
        lines.append(f"{way.name:{WIDTH}}  {in_figures(way.gain):28}  {lead}".rstrip())
    lines.append(
        f"(Gained in the {NUM_STEPS} {step}s after the calls, over no calls. Lists are for {step}s and people that "
        "were not learned from, by one run of training each. Of such 95 % intervals, about one in 20 misses the truth.)"
    )
    return "\n".join(lines)


def _write_basis(kept: Assessment, step: str) -> str:
    return (
        f"(They are judged by the {counted(kept.num_calls, 'call')} of later {step}s alone. The effects above are of "
        f"the calls of all {step}s, so that the two can disagree by chance.)"
    )


def write_verdict(kept: Assessment) -> str:
    """Whether armwise is better, in words. Bad results come first, and a lead that may be chance does not count."""
    others = [way for way in kept.ways if way.name != ARMWISE]
    if all(math.isnan(way.lead.value) for way in others):
        return (
            f"Nothing can be compared. Lists are judged by calls that could have gone otherwise in later steps; of "
            f"{counted(kept.num_calls, 'later call')}, too few could. It takes {FEWEST_CALLS}, and people alike who "
            "were not called."
        )
    worse = [way.name for way in others if way.lead.is_below_zero]
    better = [way.name for way in others if way.lead.is_above_zero]
    same = [way.name for way in others if way.name not in (*worse, *better)]
    said = [f"armwise did worse than: {', '.join(worse)}."] if worse else []
    said += _not_shown(same)
    if better:
        said.append(f"armwise did better than: {', '.join(better)}.")
        if not kept.effects.is_shown:
            said.append("But calls are not shown to help at all, so that this may be chance too.")
    if any(name in RULES_OF_THUMB for name in (*worse, *same)):
        said.append("Where a rule of thumb does as well, use the rule: it is simpler to explain.")
    return "\n".join(said)


def _not_shown(names: Sequence[str]) -> list[str]:
    """Sentences for the ways that armwise is not shown to beat."""
    rules = [name for name in names if name in RULES_OF_THUMB and name != NEVER]
    losses = [name for name in names if name not in RULES_OF_THUMB]
    said = ["armwise's calls are not shown to gain more than no calls."] if NEVER in names else []
    if rules:
        said.append(f"armwise is not shown to be better than: {', '.join(rules)}. The differences may be chance.")
    if losses:
        said.append(f"Learning by another loss is not shown to do better or worse: {', '.join(losses)}.")
    return said


def _write_predictions(kept: Assessment, step: str) -> str:
    lines = [f"Predictions of the next {step} of people left alone (log-loss, smaller is better):"]
    lines += [
        f"  {each.name:{WIDTH}}  {each.log_loss.value:.3f} ({each.log_loss.low:.3f} to {each.log_loss.high:.3f})"
        for each in kept.predictions
    ]
    better = [each.name for each in kept.predictions if each.lead.is_below_zero]
    if better:
        lines.append(f"  armwise predicts worse than: {', '.join(better)}.")
    return "\n".join(lines)


def _write_bound(kept: Assessment, step: str) -> str:
    if kept.bound is None:
        return ""
    doubt = "" if kept.effects.is_shown else " Calls are not shown to help, so that it may as well be 0."
    return (
        f"If people behaved as estimated, and calls did the same for all people in the same state, no rule could gain "
        f"more than {kept.bound:.1f} engaged {step}s by 100 calls, calling every {step}. Estimates above it are partly "
        f"luck, partly of single calls, and by later calls alone.{doubt}"
    )


def in_figures(estimate: Estimate) -> str:
    """A figure with its interval."""
    if math.isnan(estimate.low):
        return "not estimated"
    return f"{_signed(estimate.value)} ({_signed(estimate.low)} to {_signed(estimate.high)})"


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−").replace("+0.0", "0.0").replace("−0.0", "0.0")
