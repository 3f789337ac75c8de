"""The call list: who is called, in which order and why; and why others are not called."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from armwise.errors import InvalidInputError
from armwise.io.reading import PathLike
from armwise.io.spreadsheets import spreadsheet_safe, to_workbook, without_hidden
from armwise.io.writing import write_file
from armwise.planner.explanation import Explanation, explain
from armwise.planner.reasons import NOTHING_KNOWN, Evidence, state_word
from armwise.planner.rules import CallRules
from armwise.programme.settings import LOTTERY
from armwise.text import counted

__all__ = ["COLUMNS", "Explanation", "Plan", "PlanSummary", "call_table", "state_word"]

DIGITS = 4


@dataclass(frozen=True)
class PlanSummary:
    """A plan in numbers, without anybody's data.

    Attributes:
        num_people: people in the table.
        num_eligible: people whom no rule excludes.
        num_calls: people on the list.
        budget: the most people who could be on the list.
        calls_by_group: for each group with a budget, how many people are on the list and how many could be.
        excluded: for each reason, how many people it keeps from the list. Each person counts once, under the first of
            finished, not enrolled yet, never to be called, called recently, calls used up, too little known.
        unseen: for each feature, how many eligible people have a value that the model never learned from.
        num_without_gain: people on the list although, by the estimate, past calls to people in their state gained
            nothing or did harm.
        num_without_predicted_gain: people on the list although, by the chains predicted for them, a call gains
            nothing or does harm: their index is 0 or below.
    """

    num_people: int
    num_eligible: int
    num_calls: int
    budget: int
    calls_by_group: Mapping[str, tuple[int, int]]
    excluded: Mapping[str, int]
    unseen: Mapping[str, int]
    num_without_gain: int
    num_without_predicted_gain: int

    def __str__(self) -> str:
        lines = [f"{self.num_calls:,} of {counted(self.budget, 'call')}, for {self.num_people:,} people:"]
        lines += [f"  {name}: {used:,} of {counted(cap, 'call')}" for name, (used, cap) in self.calls_by_group.items()]
        lines += [f"  {self.num_eligible:,} may be called"]
        lines += [f"  {number:,} {reason}" for reason, number in self.excluded.items()]
        lines += [f"  {number:,} with a value of {name!r} never seen before" for name, number in self.unseen.items()]
        if self.num_without_gain:
            calls = "past calls to people in the same state gained nothing, or did harm"
            lines += [f"  {self.num_without_gain:,} on the list although {calls}"]
        if self.num_without_predicted_gain:
            calls = "by the model's predictions a call to them gains nothing, or does harm"
            lines += [f"  {self.num_without_predicted_gain:,} on the list although {calls}"]
        return "\n".join(lines)


PROBABILITIES = {
    "id": pl.String,
    "call_probability": pl.Float64,
    "lot_probability": pl.Float64,
    "list_probability": pl.Float64,
}
# Looks up a person by id: one row with where she stands, and index and gain if she may be called. No row if unknown.
Standing = Callable[[str], pl.DataFrame]


@dataclass(frozen=True, eq=False)
class Plan:
    """Who is called in the planned step. Any library that reads Arrow tables can read a plan as a table.

    Attributes:
        calls: a table, the best first: id, rank, group (where people have groups), state, index, expected_gain,
            gain_low, gain_high, call_probability, reason, evidence.
        summary: the plan in numbers.
        rules: the rules that the plan keeps.
        evidence: whether past calls helped, in a few words and in a few sentences to read before the list.
        call_probabilities: id and three probabilities of everyone who may be on the list; the most probable first.
            ``call_probability`` is the share of posterior draws whose best list she is on. ``lot_probability`` is her
            chance if lots decide between people whose expected indices hardly differ. ``list_probability`` is the
            chance she had of being put on this list, which evaluation needs: with "lottery" it is her
            ``lot_probability``, with "best" it is 1 or 0. All three are 0 for everyone else who may be called.
        num_draws: the number of posterior draws that the probabilities come from.
    """

    calls: pl.DataFrame
    summary: PlanSummary
    rules: CallRules
    _standing: Standing
    evidence: Evidence = NOTHING_KNOWN
    call_probabilities: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PROBABILITIES))
    num_draws: int = 0

    def __len__(self) -> int:
        return self.calls.height

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.calls.__arrow_c_stream__(requested_schema)

    def explain(self, identity: Any) -> Explanation:
        """Why a person is or is not on the list.

        Args:
            identity: the person's id, as text or as a whole number.
        """
        person = self._standing(str(identity))
        if not person.height:
            raise InvalidInputError(f"There is no person with the id {str(identity)!r}. Check it; zeros count.")
        return explain(person, self.calls, self.rules, self.evidence, *self._probabilities_of(str(identity)))

    def _probabilities_of(self, identity: str) -> tuple[float | None, float | None]:
        """How often a person belongs on the list, and the chance she had of being put on it."""
        if self.num_draws == 0:
            return None, None
        known = self.call_probabilities.filter(pl.col("id") == identity)
        return known.select("call_probability", "list_probability").row(0) if known.height else (0.0, 0.0)

    @property
    def stability(self) -> float | None:
        """The average share of posterior draws whose best list has a person of this list on it.

        Each draw is another set of chains that fits the data. None if there were fewer than two draws or no calls.
        """
        if self.num_draws < 2 or not self.calls.height:
            return None
        return float(self.calls["call_probability"].to_numpy().mean())

    @property
    def lots_sentence(self) -> str:
        """A sentence on how many places lots decided; empty if they decided no place."""
        chances = self.calls.select("id").join(self.call_probabilities, on="id", how="left")["list_probability"]
        by_lot = int((chances < 1).sum())
        if self.rules.choice != LOTTERY or not by_lot:
            return ""
        certain = len(self) - by_lot
        return (
            f"Of {counted(len(self), 'place')}, {certain:,} {'was' if certain == 1 else 'were'} certain and lots "
            f"decided {by_lot:,}; by the model's predictions, that costs at most {100 * self.rules.lottery_cost:g} % "
            'of what the list is worth. [choice] in programme.toml sets this; rule = "best" draws no lots.'
        )

    def probabilities_to_bytes(self) -> bytes:
        """``call_probabilities`` as a CSV file with all digits. A later evaluation of the calls needs it."""
        return spreadsheet_safe(without_hidden(self.call_probabilities)).write_csv().encode()

    def to_bytes(self, suffix: str = ".csv") -> bytes:
        """The list as a file.

        Args:
            suffix: ``.csv`` (UTF-8; text that a spreadsheet would run is made harmless), ``.xlsx`` (ids are text, so
                that a spreadsheet keeps their zeros) or ``.parquet``.
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
        """Write the list, whole or not at all. The path's ending, .csv, .xlsx or .parquet, sets the format."""
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
    "call_probability",
    "reason",
    "evidence",
)


def call_table(chosen: pl.DataFrame, evidence: Evidence, *, has_groups: bool) -> pl.DataFrame:
    """The table of chosen people, in order, with a reason for each."""
    ranked = chosen.with_columns(
        rank=pl.int_range(1, pl.len() + 1),
        expected_gain=pl.col("gain"),
        evidence=pl.lit(evidence.name),
    )
    return ranked.select(name for name in COLUMNS if name in ranked.columns and (name != "group" or has_groups))
