"""Why a person is or is not on the list, in sentences."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from armwise.evaluation.gain import NUM_STEPS
from armwise.planner.reasons import HELPED, Evidence, how_sure, in_100
from armwise.planner.rules import COOL_DOWN, MAX_CALLS, NEVER_CALL, CallRules, why_not
from armwise.programme.programme_data import FINISHED, NOT_ENROLLED
from armwise.programme.settings import LOTTERY
from armwise.text import counted


@dataclass(frozen=True)
class Explanation:
    """Why a person is or is not on the list.

    Attributes:
        id: the person's id.
        group: the person's group; None if people have no groups.
        rank: the place on the list, from 1; None if she is not on it.
        state: the last observed state; None if never observed.
        steps_since_observed: 1 if that was in the step before the planned one.
        index: the number that decides the order; None if a rule excludes her.
        expected_gain: what a call gains on average for people in the state she is probably in; None if a rule excludes
            her, or if there were too few past calls to tell.
        gain_low, gain_high: the 95 % interval of the gain.
        reasons: the reasons in words, each in one or a few sentences.
        call_probability: the share of posterior draws whose best list she is on; None if that is not known.
    """

    id: str
    group: str | None
    rank: int | None
    state: int | None
    steps_since_observed: int | None
    index: float | None
    expected_gain: float | None
    gain_low: float | None
    gain_high: float | None
    reasons: tuple[str, ...]
    call_probability: float | None = None

    def __str__(self) -> str:
        head = (
            f"{self.id} is not on the list." if self.rank is None else f"{self.id} is number {self.rank} on the list."
        )
        return " ".join([head, *self.reasons])


def explain(
    person: pl.DataFrame,
    calls: pl.DataFrame,
    rules: CallRules,
    evidence: Evidence,
    call_probability: float | None = None,
    list_probability: float | None = None,
) -> Explanation:
    """Explain why one person is or is not on the list.

    Args:
        person: one row: where she stands; if she may be called, also index, gain, chances and her ``reason``.
        calls: the list.
        rules: the rules that the list keeps.
        evidence: what past calls did.
        call_probability: the share of posterior draws whose best list she is on; None if that is not known.
        list_probability: the chance that she had of being put on the list; None if that is not known.
    """
    row = person.row(0, named=True)
    on_list = calls.filter(pl.col("id") == row["id"])
    excluded = [name for name, applies in why_not(rules).items() if person.select(applies).item()]
    if on_list.height:
        reasons = [_as_sentence(on_list["reason"][0]), *_lucky(rules, list_probability)]
    elif excluded:
        reasons = [_exclusion(name, row, rules) for name in excluded]
    else:
        own = [row["reason"], how_sure({"call_probability": call_probability})]
        reasons = [_left_out(row, calls, rules, list_probability), *(_as_sentence(words) for words in own if words)]
    if not excluded:
        reasons += _about_gains(row, rules.step_name, evidence)
    return Explanation(
        id=row["id"],
        group=row["group"],
        rank=on_list["rank"][0] if on_list.height else None,
        state=row["state"],
        steps_since_observed=row["since_observed"],
        index=row.get("index"),
        expected_gain=row.get("gain"),
        gain_low=row.get("gain_low"),
        gain_high=row.get("gain_high"),
        reasons=tuple(reasons),
        call_probability=None if excluded else call_probability,
    )


def _as_sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _about_gains(row: dict[str, Any], step: str, evidence: Evidence) -> list[str]:
    """Sentences on what a gain is, and on what past calls did unless they simply helped."""
    meaning = (
        f"A gain is an average over people in the state that this person is probably in, in {step}s of engagement in "
        f"the {NUM_STEPS} {step}s after one call, estimated from past calls; it is not known for this person alone."
    )
    # If her own chain is known, her sentence names chances and no gain, so "gain" needs no explanation.
    told = [meaning] if row["gain"] is not None and row["chance"] is None else []
    return told if evidence.name == HELPED else [*told, evidence.sentence]


def _exclusion(name: str, row: dict[str, Any], rules: CallRules) -> str:
    def steps(number: int) -> str:
        return f"{number} {rules.step_name}{'s' * (number != 1)}"

    if name == FINISHED:
        return "The person has finished the programme."
    if name == NOT_ENROLLED:
        return "The person is not enrolled yet."
    if name == NEVER_CALL:
        return f"The person is never to be called ({row['exclusion']})."
    if name == COOL_DOWN:
        when = f"{steps(row['since_call'])} before the planned one" if row["since_call"] else "in the planned one"
        return f"The last call was {when}; the rule is to wait {steps(rules.cool_down)} after a call."
    if name == MAX_CALLS:
        so_far = f"{'has' if row['calls'] == 1 else 'have'} been {counted(row['calls'], 'call')} already"
        return f"There {so_far}, and at most {counted(rules.max_calls or 0, 'call')} {_are(rules.max_calls)} allowed."
    needed = f"{rules.min_observed} {_are(rules.min_observed)} needed"
    return f"The person was observed in {steps(row['observed'])}, and {needed}."


def _are(number: int | None) -> str:
    return "is" if number == 1 else "are"


def _lucky(rules: CallRules, list_probability: float | None) -> list[str]:
    """A sentence that lots put her on the list, if they did."""
    if rules.choice != LOTTERY or list_probability is None or list_probability == 1:
        return []
    return [f"Lots decided: the person had a chance of {in_100(list_probability)}."]


def _left_out(row: dict[str, Any], calls: pl.DataFrame, rules: CallRules, list_probability: float | None) -> str:
    """A sentence on why lots or indices chose others."""
    if rules.choice != LOTTERY or not list_probability:
        return _outranked(row, calls, rules)
    return (
        f"The index, {row['index']:.4g}, is almost as high as others on the list: the person had a chance of "
        f"{in_100(list_probability)}, and this time the lots chose others."
    )


def _outranked(row: dict[str, Any], calls: pl.DataFrame, rules: CallRules) -> str:
    """A sentence on whose calls are worth more: those of her group if its budget is used up, else those of the list."""
    caps = dict(rules.group_budgets)
    rivals, of_whom = calls, "the list"
    if caps:
        mine = calls.filter(pl.col("group") == row["group"])
        if mine.height >= caps[row["group"]]:
            rivals, of_whom = mine, f"the list for {row['group']}"
    if not rivals.height:
        return f"There is no budget for {of_whom.removeprefix('the list for ')}."
    lowest = rivals["index"].to_numpy().min()
    if row["index"] == lowest:
        return f"The index, {row['index']:.4g}, equals the lowest on {of_whom}; a lot decided between equals."
    return (
        f"The index, {row['index']:.4g}, is below {lowest:.4g}, the lowest on {of_whom}: by the model's predictions "
        f"the {counted(rivals.height, 'call')} there {_are(rivals.height)} worth more."
    )
