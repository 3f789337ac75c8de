"""A history as a caller gives it: a long table of any make, or arrays in the order of the people's rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from armwise.data import Trajectories
from armwise.data.long_table import COLUMNS
from armwise.errors import InvalidInputError
from armwise.planner.people_history import PeopleHistory
from armwise.planning.frames import as_frame, as_text_ids


def read_history(history: Any, id_column: str, num_states: int | None, ids: pl.Series | None) -> PeopleHistory:
    """Everyone's weeks, checked.

    Args:
        history: ``Trajectories`` in the order of the people's rows, or a long table with the columns id, step, state
            and action, one row for each person and step observed.
        id_column: the column of ids; the long table may also call it id.
        num_states: how many states there are; by default as many as the long table shows.
        ids: of the people, in the order of their rows, for messages.
    """
    if isinstance(history, Trajectories):
        return PeopleHistory.from_trajectories(history, num_states, ids)
    return PeopleHistory.from_weeks(read_weeks(history, id_column), num_states)


def read_weeks(table: Any, id_column: str) -> pl.DataFrame:
    """The columns id (as text), step, state and action of a long table of any make."""
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
    """Refuse one value per person, or the name of a column: these are last states, not a history."""
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
