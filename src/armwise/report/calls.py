"""The section with the list: who is called and why, with one line for each person, group by group."""

from collections import Counter
from typing import Any, NamedTuple

import polars as pl

from armwise.evaluation.gain import NUM_STEPS
from armwise.planner.plan import Plan
from armwise.planner.reasons import BOTH, HELPED, HURT, state_word
from armwise.programme.settings import LOTTERY
from armwise.report.effect import list_warning
from armwise.report.facts import Facts
from armwise.report.numbers import count, decimal
from armwise.report.tables import PageTable

# At most this many people of each group are shown, because the page must stay readable. The full list is a file.
MOST_LISTED = 200
# Lines longer than this are broken on paper.
LONGEST_LINE = 92
# Ids up to this long are never broken, not even on a phone.
SHORT_ID = 16
NO_GROUP = "no group"
NUM_PARTS = 3
# A reason that holds for at least this share of the people is given once, above the list.
USUAL = 0.6


class Sheet(NamedTuple):
    """The list, or one group's part of it.

    Attributes:
        styles: the CSS classes, by the length of its lines.
        calls: one line for each person.
        more: how many people are left out here, as text; empty if nobody is.
    """

    styles: str
    calls: PageTable
    more: str


class CallsSection(NamedTuple):
    """The contents of the section "Whom to call, and why".

    Attributes:
        warning: a warning about the list if past calls are not shown to help; otherwise none.
        introduction: how the list is ordered and how people were chosen.
        sheets: the list, group by group.
        num_steps: the steps for which gains are counted.
        step: the word for a step, in the singular.
    """

    warning: str | None
    introduction: str
    sheets: tuple[Sheet, ...]
    num_steps: int
    step: str


def calls_section(facts: Facts) -> CallsSection:
    """Make the section: who is on the list and why."""
    reasons = why(facts)
    usual = usual_reasons(reasons)
    words = ["; ".join(part for part in parts if part and part not in usual) or "as most" for parts in reasons]
    calls = facts.plan.calls.with_columns(pl.Series("why", words, dtype=pl.String))
    return CallsSection(
        warning=list_warning(facts),
        introduction=" ".join(["The call that armwise ranks highest comes first.", *say_choice(facts.plan)]),
        sheets=tuple(_sheets(facts, calls, f"Unless a line says otherwise: {'; '.join(usual)}." if usual else None)),
        num_steps=NUM_STEPS,
        step=facts.step,
    )


def say_choice(plan: Plan) -> list[str]:
    """How people were chosen, and how much of the list other possible chains would keep; empty without draws."""
    if plan.stability is None:
        return []
    lots = "Where calls to several people are worth almost the same, lots decided between them."
    again = plan.stability * len(plan)
    same = (
        f"The data allow other models that fit as well. On average, such a model would choose {count(round(again))} of "
        f"these {count(len(plan))} people; the other places would go to people who are about as good a choice."
    )
    return [lots, same] if plan.rules.choice == LOTTERY else [same]


def _sheets(facts: Facts, calls: pl.DataFrame, note: str | None) -> list[Sheet]:
    """The list as sheets. With groups, each group has a sheet, which starts a new page on paper."""
    when = facts.planned_step
    if "group" not in calls.columns or not calls.height:
        return [_sheet(f"The calls of {when}", calls, "sheet", note)]
    named = calls.with_columns(pl.col("group").fill_null(NO_GROUP))
    parts = {str(key[0]): part for key, part in named.partition_by("group", as_dict=True).items()}
    return [
        _sheet(f"{name}: {count(part.height)} call{'s' * (part.height != 1)}, {when}", part, "sheet group", note)
        for name, part in sorted(parts.items())
    ]


def _sheet(caption: str, calls: pl.DataFrame, style: str, note: str | None) -> Sheet:
    rows = [
        (str(row["rank"]), row["id"], row["why"], gain_in_words(row), decimal(row["index"], 3))
        for row in calls.head(MOST_LISTED).iter_rows(named=True)
    ]
    longest_id = max((len(row[1]) for row in rows), default=0)
    longest = max((len(row[1]) + len(row[2]) for row in rows), default=0)
    styles = [style, *(["lines"] if longest <= LONGEST_LINE else []), *(["short"] if longest_id <= SHORT_ID else [])]
    more = calls.height - len(rows)
    table = PageTable(caption, ("Place", "Id", "Why", "Gain", "Index"), rows, words=3, extra=(4,), note=note)
    return Sheet(" ".join(styles), table, count(more) if more > 0 else "")


def gain_in_words(row: dict[str, Any]) -> str:
    """The estimated gain of a call, with its interval."""
    if row["expected_gain"] is None:
        return "unknown"
    names = ("expected_gain", "gain_low", "gain_high")
    gain, low, high = (decimal(row[name]).replace("-", "−") for name in names)
    return f"{gain} ({low} to {high})"


def why(facts: Facts) -> list[tuple[str, ...]]:
    """For each person on the list, the parts of the reason for her place.

    If the plan has posterior draws, these are the parts of her own reason. Otherwise they are when and how she was last
    seen, her past calls, and whether a gain is shown.
    """
    calls = facts.plan.calls
    if facts.plan.num_draws > 1:
        return [_parts(reason) for reason in calls["reason"]]
    background = facts.background.unique("id", keep="first")
    people = calls.join(background, on="id", how="left", maintain_order="left")
    return [
        (_seen(row, facts), _called(row, facts.step), _gains(row, facts.plan.evidence.name))
        for row in people.iter_rows(named=True)
    ]


def _parts(reason: str) -> tuple[str, ...]:
    """The parts of a reason: her weeks, her chances, how sure the choice is. Missing parts are empty."""
    parts = reason.split("; ")
    return tuple(parts[:NUM_PARTS] + [""] * (NUM_PARTS - len(parts)))


def usual_reasons(reasons: list[tuple[str, ...]]) -> list[str]:
    """The parts that hold for most people. They are given once, because they hardly tell people apart."""
    if len(reasons) < 2:
        return []
    commonest = [Counter(parts).most_common(1)[0] for parts in zip(*reasons, strict=True)]
    return [part for part, number in commonest if part and number >= USUAL * len(reasons)]


def _seen(row: dict[str, Any], facts: Facts) -> str:
    words = state_word(row["state"], facts.num_states)
    if row["state"] is None or row["since_observed"] is None:
        return words
    return f"{words} {_ago(row['since_observed'], facts.step)}"


def _called(row: dict[str, Any], step: str) -> str:
    number = row["num_calls"] or 0
    if not number:
        return "never called"
    when = "" if row["since_call"] is None else f", {_ago(row['since_call'], step)}"
    return f"1 call{when}" if number == 1 else f"{number} calls{when.replace(', ', ', latest ', 1)}"


def _ago(steps: int, step: str) -> str:
    return {0: f"this {step}", 1: f"last {step}"}.get(steps, f"{steps} {step}s ago")


def _gains(row: dict[str, Any], evidence: str) -> str:
    """Whether a gain or harm is shown. Both the past calls as a whole and the interval of her gain must show it."""
    if row["expected_gain"] is None:
        return "gain unknown"
    if row["gain_low"] > 0 and evidence in (HELPED, BOTH):
        return "gain shown"
    return "harm shown" if row["gain_high"] < 0 and evidence in (HURT, BOTH) else "no gain shown"
