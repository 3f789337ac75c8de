"""The call list: who is called, in which order and why; who is not, and why not."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from armwise.errors import InvalidInputError
from armwise.evaluation.gain import NUM_STEPS
from armwise.planning.evidence import BOTH, HELPED, HURT, NOTHING_KNOWN, Evidence
from armwise.planning.files import spreadsheet_safe, without_hidden
from armwise.planning.programme import PathLike
from armwise.planning.rules import COOL_DOWN, FINISHED, MAX_CALLS, NEVER_CALL, NOT_ENROLLED, CallRules, why_not
from armwise.planning.workbook import to_workbook
from armwise.text import counted
from armwise.writing import write_file

DIGITS = 4


@dataclass(frozen=True)
class PlanSummary:
    """A plan in numbers, without anybody's data.

    Attributes:
        num_people: in the table.
        num_eligible: of them, those whom no rule excludes.
        num_calls: on the list.
        budget: at most so many could be.
        calls_by_group: for each group with a budget, how many are on the list and how many could be.
        excluded: for each reason, how many people it keeps from the list; each counts once, under the first of
            finished, not enrolled yet, never to be called, called recently, calls used up, too little known.
        unseen: for each feature, how many eligible people have a value that the model never learned from.
        num_without_gain: on the list although calls to people in their state gained nothing, or less than nothing, by
            the estimate.
    """

    num_people: int
    num_eligible: int
    num_calls: int
    budget: int
    calls_by_group: Mapping[str, tuple[int, int]]
    excluded: Mapping[str, int]
    unseen: Mapping[str, int]
    num_without_gain: int

    def __str__(self) -> str:
        lines = [f"{self.num_calls:,} of {counted(self.budget, 'call')}, for {self.num_people:,} people:"]
        lines += [f"  {name}: {used:,} of {counted(cap, 'call')}" for name, (used, cap) in self.calls_by_group.items()]
        lines += [f"  {self.num_eligible:,} may be called"]
        lines += [f"  {number:,} {reason}" for reason, number in self.excluded.items()]
        lines += [f"  {number:,} with a value of {name!r} never seen before" for name, number in self.unseen.items()]
        if self.num_without_gain:
            calls = "past calls to people in the same state gained nothing, or did harm"
            lines += [f"  {self.num_without_gain:,} on the list although {calls}"]
        return "\n".join(lines)


@dataclass(frozen=True)
class Explanation:
    """Why a person is or is not on the list.

    Attributes:
        id: the person's.
        group: the person's; none if people have no groups.
        rank: on the list, from 1; none if not on it.
        state: last observed; none if never.
        steps_since_observed: 1 if that was in the step before the planned one.
        index: what decides the order; none if a rule excludes her.
        expected_gain: what a call gains on average for people in the state she is probably in; none if a rule excludes
            her, or if there were too few past calls to tell.
        gain_low, gain_high: its 95 % interval.
        reasons: in words, one sentence each.
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

    def __str__(self) -> str:
        head = (
            f"{self.id} is not on the list." if self.rank is None else f"{self.id} is number {self.rank} on the list."
        )
        return " ".join([head, *self.reasons])


# Looks a person up again: one row with where she stands, and index and gain if she may be called; none if unknown.
Standing = Callable[[str], pl.DataFrame]


@dataclass(frozen=True, eq=False)
class Plan:
    """Who is called in the planned step. Any library that reads Arrow tables can take it as one.

    Attributes:
        calls: a table, the best first: id, rank, group (where people have groups), state, index, expected_gain,
            gain_low, gain_high, reason, evidence.
        summary: in numbers.
        rules: that it keeps to.
        evidence: whether past calls helped, in a few words and in a sentence to read before the list.
    """

    calls: pl.DataFrame
    summary: PlanSummary
    rules: CallRules
    _standing: Standing
    evidence: Evidence = NOTHING_KNOWN

    def __len__(self) -> int:
        return self.calls.height

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.calls.__arrow_c_stream__(requested_schema)

    def explain(self, identity: Any) -> Explanation:
        """Why a person is or is not on the list.

        Args:
            identity: the id, as text or as a whole number.
        """
        person = self._standing(str(identity))
        if not person.height:
            raise InvalidInputError(f"There is no person with the id {str(identity)!r}. Check it; zeros count.")
        return explain(person, self.calls, self.rules, self.evidence)

    def to_bytes(self, suffix: str = ".csv") -> bytes:
        """The list as a file.

        Args:
            suffix: ``.csv`` (UTF-8, text that a spreadsheet would run made harmless), ``.xlsx`` (ids as text, so that a
                spreadsheet keeps their zeros) or ``.parquet``.
        """
        if suffix == ".csv":
            return spreadsheet_safe(without_hidden(self.calls)).write_csv(float_precision=DIGITS).encode()
        if suffix == ".xlsx":
            return to_workbook(without_hidden(self.calls), DIGITS)
        if suffix != ".parquet":
            raise InvalidInputError(f"A call list is written as .xlsx, .csv or .parquet, not as {suffix!r}.")
        stream = io.BytesIO()
        self.calls.write_parquet(stream)
        return stream.getvalue()

    def write(self, path: PathLike) -> None:
        """Write the list, whole or not at all; the ending of the path, .csv, .xlsx or .parquet, says how."""
        write_file(path, self.to_bytes(Path(path).suffix.lower()))


COLUMNS = (
    "id",
    "rank",
    "group",
    "state",
    "index",
    "expected_gain",
    "gain_low",
    "gain_high",
    "reason",
    "evidence",
)


def call_table(
    chosen: pl.DataFrame, rules: CallRules, num_states: int, evidence: Evidence, *, has_groups: bool
) -> pl.DataFrame:
    """The chosen people, in order, as a list to work from."""
    ranked = chosen.with_columns(rank=pl.int_range(1, pl.len() + 1), expected_gain=pl.col("gain"))
    ranked = ranked.with_columns(reason=_reason(rules, num_states, evidence), evidence=pl.lit(evidence.name))
    return ranked.select(name for name in COLUMNS if name != "group" or has_groups)


def state_word(state: int | None, num_states: int) -> str:
    """A state for people who make calls."""
    if state is None:
        return "never observed"
    if num_states == 2:
        return ("not engaged", "engaged")[state]
    return f"in state {state} of 0 to {num_states - 1}"


def _reason(rules: CallRules, num_states: int, evidence: Evidence) -> pl.Expr:
    words = {state: state_word(state, num_states) for state in range(num_states)}
    seen = pl.col("state").replace_strict(words, default=state_word(None, num_states), return_dtype=pl.String)
    since, step = pl.col("since_observed"), rules.step_name
    ago = pl.when(since == 1).then(pl.format("last {}", pl.lit(step))).otherwise(pl.format(f"{{}} {step}s ago", since))
    when = pl.when(since.is_null()).then(seen).otherwise(pl.format("{} when last observed, {}", seen, ago))
    return pl.format("{}; {}", when, _gain_words(step, evidence))


def _gain_words(step: str, evidence: Evidence) -> pl.Expr:
    """What calls gain, no more than is shown: past calls as a whole must show it, and so must the interval."""
    low, high = pl.col("gain_low"), pl.col("gain_high")
    gains = (low > 0) & pl.lit(evidence.name in (HELPED, BOTH))
    harms = (high < 0) & pl.lit(evidence.name in (HURT, BOTH))
    verb = pl.when(gains).then(pl.lit("gained")).when(harms).then(pl.lit("did harm:"))
    numbers = [pl.col(name).cast(pl.Float64).round(2) + 0.0 for name in ("gain", "gain_low", "gain_high")]
    said = pl.format(
        f"past calls to people in such a state {{}} {{}} {step}s on average (95 %: {{}} to {{}})",
        verb.otherwise(pl.lit("are not shown to gain:")),
        *numbers,
    )
    unknown = pl.lit("too few past calls to tell what a call gains")
    return pl.when(pl.col("gain").is_null()).then(unknown).otherwise(said)


def explain(person: pl.DataFrame, calls: pl.DataFrame, rules: CallRules, evidence: Evidence) -> Explanation:
    """The explanation of one person, given where she stands and the list."""
    row = person.row(0, named=True)
    on_list = calls.filter(pl.col("id") == row["id"])
    excluded = [name for name, applies in why_not(rules).items() if person.select(applies).item()]
    if on_list.height:
        reasons = [_as_sentence(on_list["reason"][0])]
    elif excluded:
        reasons = [_exclusion(name, row, rules) for name in excluded]
    else:
        gain = person.select(_gain_words(rules.step_name, evidence)).item()
        reasons = [_outranked(row, calls, rules), _as_sentence(gain)]
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
    )


def _as_sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _about_gains(row: dict[str, Any], step: str, evidence: Evidence) -> list[str]:
    """What a gain is, and what past calls did where they were not simply of help."""
    meaning = (
        f"A gain is an average over people in the state that this person is probably in, in {step}s of engagement in "
        f"the {NUM_STEPS} {step}s after one call, estimated from past calls; it is not known for this person alone."
    )
    told = [] if row["gain"] is None else [meaning]
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


def _outranked(row: dict[str, Any], calls: pl.DataFrame, rules: CallRules) -> str:
    """Whose call is worth more: those of the group if its budget is used up, otherwise those of everyone."""
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
