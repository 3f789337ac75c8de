"""The weeks of many people, found by id or by row: what a plan knows of each person besides her features."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
import polars as pl
from jaxtyping import Bool, Int, Integer

from armwise._validation import as_whole_numbers
from armwise.data import Trajectories
from armwise.data.long_table import COLUMNS, REMEDIES
from armwise.errors import InvalidInputError
from armwise.planner.frames import as_frame, as_text_ids

# A longer history would not fit in memory as arrays of people by steps. 1,040 steps are twenty years of weeks.
MOST_STEPS = 1040
# Indices and policies of more states than this do not fit in memory.
MOST_STATES = 1000
# The row of a person without weeks.
NO_ROW = -1

Rows = Integer[np.ndarray, " people"]


@dataclass(frozen=True, eq=False)
class PeopleHistory:
    """Everyone's weeks as small dense arrays, where a person is found by id or by row.

    Attributes:
        states: each person's state in each step; 0 where not observed.
        called: whether a person was called in a step in which she was observed.
        observed: whether a person was observed in a step.
        num_states: how many states there are.
        next_step: the number of the step to plan, the one after the last step.
        ids: people's ids, sorted; None if row i is the person of row i of another table.
    """

    states: Int[np.ndarray, "people steps"]
    called: Bool[np.ndarray, "people steps"]
    observed: Bool[np.ndarray, "people steps"]
    num_states: int
    next_step: int
    ids: pl.Series | None = None

    @classmethod
    def from_weeks(cls, weeks: pl.DataFrame, num_states: int | None = None) -> "PeopleHistory":
        """Make a history from a table with one row for each person and step observed.

        Args:
            weeks: the columns id (text), step, state and action; other columns are ignored. It may have no rows.
            num_states: how many states there are; by default the largest state plus one, at least 2.

        Example:
            >>> weeks = pl.DataFrame({"id": ["b", "a", "a"], "step": [1, 1, 3], "state": [1, 0, 1], "action": 0})
            >>> history = PeopleHistory.from_weeks(weeks)
            >>> history.ids.to_list(), history.observed.tolist(), history.next_step
            (['a', 'b'], [[True, False, True], [True, False, False]], 4)
        """
        if not weeks.height:
            none = np.zeros((0, 1), dtype=bool)
            return cls(none.astype(np.int16), none, none, num_states or 2, 0, weeks["id"])
        whole = {
            name: as_whole_numbers(f"column {name!r}", weeks[name].to_numpy(), "row", remedy=REMEDIES[name])
            for name in ("step", "state", "action")
        }
        first, last = int(whole["step"].min()), int(whole["step"].max())
        _check_length(last - first + 1, weeks["id"])
        states = _check_states(whole["state"], num_states, lambda row: _place(weeks, whole["step"], row))
        _check_actions(whole["action"], lambda row: _place(weeks, whole["step"], row))
        ids = weeks["id"].unique().sort()
        person = weeks["id"].cast(pl.Enum(ids)).to_physical().to_numpy().astype(np.int64)
        shape, step = (len(ids), last - first + 1), whole["step"] - first
        observed = np.zeros(shape, dtype=bool)
        observed[person, step] = True
        if observed.sum() < weeks.height:
            _refuse_duplicate(weeks["id"], whole["step"])
        dense, called = np.zeros(shape, dtype=np.int16), np.zeros(shape, dtype=bool)
        dense[person, step], called[person, step] = whole["state"], whole["action"] > 0
        return cls(dense, called, observed, states, last + 1, ids)

    @classmethod
    def from_trajectories(
        cls, history: Trajectories, num_states: int | None = None, ids: pl.Series | None = None
    ) -> "PeopleHistory":
        """Make a history from arrays whose row i is the person of row i of a table. Ids are only for messages."""
        _check_length(history.num_steps, None)
        observed = np.asarray(history.observed)
        states = np.where(observed, np.asarray(history.states), 0)
        known = history.num_states if num_states is None else num_states

        def place(cell: int) -> str:
            row, step = divmod(cell, history.num_steps)
            return f"row {row} in step {step}" if ids is None else f"id {ids[row]!r} in step {step}"

        _check_states(states.ravel(), known, place)
        called = observed & (np.asarray(history.actions) > 0)
        return cls(states.astype(np.int16), called, observed, known, history.num_steps)

    def __len__(self) -> int:
        return len(self.states)

    def find(self, ids: pl.Series, rows: Rows) -> Rows:
        """The row of each person in this history; ``NO_ROW`` for people without weeks.

        Args:
            ids: people's ids as text.
            rows: people's rows in their own table.
        """
        if self.ids is None:
            return np.asarray(rows, dtype=np.int64)
        numbered = self.ids.alias("id").to_frame().with_row_index("row")
        found = ids.alias("id").to_frame().join(numbered, on="id", how="left", maintain_order="left")
        return found["row"].cast(pl.Int64).fill_null(NO_ROW).to_numpy()

    def take(self, rows: Rows) -> Trajectories:
        """The weeks of some people, by their rows here. A person without weeks counts as never observed."""
        states, called, observed = self._of(rows)
        whole = [jnp.asarray(part.astype(np.int32)) for part in (states, called)]
        return Trajectories(whole[0], whole[1], jnp.asarray(observed), self.num_states, 2)

    def standing(self, rows: Rows) -> pl.DataFrame:
        """Where people stand after their weeks. Everything is null for people without weeks.

        The columns are state (last observed), since_observed (1 if in the last step), observed (in how many steps),
        calls, since_call (1 if in the last step), engaged (steps above the lowest state), streak (observed steps in a
        row in the present state) and answered (calls after which the next step was seen in a higher state, or in the
        highest).
        """
        states, called, observed = self._of(rows)
        ever, since = np.asarray(observed.any(axis=1)), _since(observed)
        last = states[np.arange(len(rows)), observed.shape[1] - since]
        left = np.cumsum((observed & (states != last[:, None]))[:, ::-1], axis=1)[:, ::-1] > 0
        after, top = states[:, 1:], self.num_states - 1
        followed = called[:, :-1] & observed[:, 1:]
        numbers = {
            "state": last,
            "since_observed": since,
            "observed": observed.sum(axis=1),
            "calls": called.sum(axis=1),
            "since_call": _since(called),
            "engaged": (observed & (states > 0)).sum(axis=1),
            "streak": (observed & ~left).sum(axis=1),
            "answered": (followed & ((after > states[:, :-1]) | (after == top))).sum(axis=1),
        }
        ever_called = np.asarray(called.any(axis=1))
        return pl.DataFrame(
            [_column(name, each, ever_called if name == "since_call" else ever) for name, each in numbers.items()]
        )

    def _of(self, rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        there = (np.asarray(rows) != NO_ROW)[:, None]
        parts = (self.states, self.called, self.observed)
        if not len(self):
            return tuple(np.zeros((len(rows), part.shape[1]), part.dtype) for part in parts)  # type: ignore[return-value]
        return tuple(np.where(there, part[rows], np.zeros((), part.dtype)) for part in parts)  # type: ignore[return-value]


def _since(happened: Bool[np.ndarray, "people steps"]) -> Int[np.ndarray, " people"]:
    """How long ago it last happened: 1 if in the last step, and also 1 if never."""
    return happened[:, ::-1].argmax(axis=1) + 1


def _column(name: str, values: np.ndarray, known: np.ndarray) -> pl.Series:
    return pl.Series(name, values.astype(np.int32)).set(pl.Series(~known), None)


def _place(weeks: pl.DataFrame, steps: np.ndarray, row: int) -> str:
    return f"id {weeks['id'][row]!r} in step {steps[row]}"


def _check_length(num_steps: int, ids: pl.Series | None) -> None:
    if num_steps <= MOST_STEPS:
        return
    who = ""
    if ids is not None:
        longest = ids.value_counts(sort=True).sort("count", "id", descending=[True, False]).row(0)
        who = f" The person with most rows is {longest[0]!r}, with {longest[1]:,}."
    raise InvalidInputError(
        f"The history runs over {num_steps:,} steps, and at most {MOST_STEPS:,} can be used.{who} Leave out the rows "
        "of earlier steps, or number the steps one by one (week 0, 1, 2, …); dates and days are not steps."
    )


def _check_states(states: np.ndarray, num_states: int | None, place: Callable[[int], str]) -> int:
    """How many states there are. States that are too high are refused; so are gaps, unless ``num_states`` is given."""
    largest = int(states.max(initial=0))
    number = max(2, largest + 1) if num_states is None else num_states
    if number > MOST_STATES:
        raise InvalidInputError(
            f"The history has state {number - 1}, and at most {MOST_STATES} states can be learned. Number the states "
            "0, 1, 2, …, or merge some."
        )
    if num_states is None and len(np.unique(states)) < largest < number:
        absent = sorted(set(range(largest)) - set(np.unique(states).tolist()))
        raise InvalidInputError(
            f"The history has state {largest} for {place(int(np.argmax(states)))}, but never state "
            f"{', '.join(map(str, absent))}. Correct it; or give num_states={number} if it is right."
        )
    if largest >= number:
        first = int(np.argmax(states >= number))
        raise InvalidInputError(
            f"The history has state {states[first]} for {place(first)}, and there are {number} states, 0 to "
            f"{number - 1}. Correct it; with more states, fit again."
        )
    return number


def _check_actions(actions: Any, place: Callable[[int], str]) -> None:
    wrong = actions > 1
    if wrong.any():
        first = int(np.argmax(wrong))
        raise InvalidInputError(
            f"The history has action {actions[first]} for {place(first)}. Give 0 for left alone and 1 for a call."
        )


def _refuse_duplicate(ids: pl.Series, steps: np.ndarray) -> None:
    cells = pl.DataFrame({"id": ids, "step": steps}).with_row_index("row")
    twice = cells.filter(pl.struct("id", "step").is_duplicated()).group_by("id", "step").agg(pl.col("row").sort())
    identity, step, rows = min(twice.rows(), key=lambda each: each[2][1])
    raise InvalidInputError(
        f"Rows {rows[0]} and {rows[1]} both hold column 'id' = {identity!r}, column 'step' = {step}. Keep one row for "
        "each person and step."
    )


def read_history(history: Any, id_column: str, num_states: int | None, ids: pl.Series | None) -> PeopleHistory:
    """Read everyone's weeks, and check them.

    Args:
        history: ``Trajectories`` in the order of the people's rows, or a long table with the columns id, step, state
            and action, one row for each person and step observed.
        id_column: the column of ids; the long table may also call it id.
        num_states: how many states there are; by default as many as the history shows.
        ids: people's ids in the order of their rows, for messages.
    """
    if isinstance(history, Trajectories):
        return PeopleHistory.from_trajectories(history, num_states, ids)
    return PeopleHistory.from_weeks(read_weeks(history, id_column), num_states)


def read_weeks(table: Any, id_column: str) -> pl.DataFrame:
    """The columns id (as text), step, state and action of a long table from any library."""
    long = as_frame("history", _refuse_states(table), [id_column, *COLUMNS])
    name = id_column if id_column in long.columns else "id"
    absent = [each for each in (name, *COLUMNS[1:]) if each not in long.columns]
    if absent:
        present = ", ".join(map(repr, long.columns)) or "none"
        raise InvalidInputError(
            f"history has no column {', '.join(map(repr, absent))}, but {present}. It needs the columns "
            f"{', '.join((name, *COLUMNS[1:]))}, one row for each person and step observed."
        )
    return long.select(as_text_ids(long[name]).alias("id"), *COLUMNS[1:])


def _refuse_states(history: Any) -> Any:
    """Refuse one value per person, or the name of a column. These are last states, not a history."""
    if isinstance(history, str | pl.Series) or _is_flat(history):
        raise InvalidInputError(
            "history must be a long table with the columns id, step, state and action, or Trajectories, not "
            f"{type(history).__name__}. A plan takes last states by their name: states=…."
        )
    return history


def _is_flat(history: Any) -> bool:
    """Whether it is a list or an array of plain values."""
    if isinstance(history, list | tuple):
        return bool(history) and not isinstance(history[0], Mapping | Sequence | np.ndarray)
    return isinstance(history, np.ndarray) and history.ndim < 2 and history.dtype.names is None
