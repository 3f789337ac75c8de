"""A long table, with one row per person and step, as dense arrays; an error in a value names its row."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int, Int64

from armwise._validation import as_whole_numbers, refuse_first, to_numpy
from armwise.errors import InvalidInputError

COLUMNS = ("id", "step", "state", "action")
REMEDIES = {
    "step": "Number the steps one by one (week 0, 1, 2, …); dates are not steps.",
    "state": "States are 0, 1, 2, …, the least engaged first. Leave out the rows of steps that were not observed.",
    "action": "Give 0 for an action not taken and 1 for a call.",
}

# A larger span is surely a mistake, such as a date: 20240131 among weeks 0, 1, 2 would make a row of 20 million steps.
MOST_STEPS_PER_SEEN_STEP = 100


class Dense(NamedTuple):
    """The table's content by arm and step; 0 where there is no row."""

    states: Int64[np.ndarray, "arms steps"]
    actions: Int64[np.ndarray, "arms steps"]
    observed: Bool[np.ndarray, "arms steps"]
    ids: np.ndarray


def to_dense(table: Any) -> Dense:
    """The table as arrays by arm (in the order of ids) and step (from the first to the last).

    Args:
        table: a mapping from the names in ``COLUMNS`` to columns of equal length.
    """
    names, steps, states, actions = _columns(table)
    ids, arm = np.unique(names, return_inverse=True)
    _check_span(steps)
    column = steps - steps.min()
    shape = (len(ids), int(column.max()) + 1)
    _check_no_duplicates(names, steps, arm * shape[1] + column)
    dense = [np.zeros(shape, dtype=np.int64) for _ in range(2)]
    observed = np.zeros(shape, dtype=bool)
    dense[0][arm, column], dense[1][arm, column], observed[arm, column] = states, actions, True
    return Dense(dense[0], dense[1], observed, ids)


def in_order_of(dense: Dense, ids: Any) -> Dense:
    """The same content with one row for each of these people, in this order; people not in the table are unobserved.

    Args:
        dense: the content by arm, as ``to_dense`` returns it.
        ids: the ids of all people, each once.
    """
    names = to_numpy("ids", ids)
    if names.ndim != 1 or len(np.unique(names)) < len(names):
        raise InvalidInputError("ids must be a list of people in which each stands once.")
    strangers = dense.ids[~np.isin(dense.ids, names)].tolist()
    if strangers:
        raise InvalidInputError(
            f"The table has rows of id {strangers[0]!r}, who is not among ids. Add the person there, or leave out "
            "these rows."
        )
    order = np.argsort(names)
    rows = order[np.searchsorted(names, dense.ids, sorter=order)]

    def spread(values: np.ndarray) -> np.ndarray:
        everyone = np.zeros((len(names), values.shape[1]), values.dtype)
        everyone[rows] = values
        return everyone

    return Dense(spread(dense.states), spread(dense.actions), spread(dense.observed), names)


def _columns(table: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The id, step, state and action of each row, as four columns."""
    for name in COLUMNS:
        if name not in table:
            raise InvalidInputError(f"The table has no column {name!r}. It needs the columns {', '.join(COLUMNS)}.")
    raw = {name: to_numpy(f"column {name!r}", table[name]) for name in COLUMNS}
    rows = raw["id"].shape
    for name, column in raw.items():
        if column.ndim != 1 or column.shape != rows:
            raise InvalidInputError(f"Column {name!r} has the shape {list(column.shape)}, but 'id' has {list(rows)}.")
    if rows == (0,):
        raise InvalidInputError("The table has no rows. Check the file or the filter it comes from.")
    _check_ids(raw["id"])
    step, state, action = (
        as_whole_numbers(f"column {name!r}", raw[name], "row", remedy=REMEDIES[name]) for name in COLUMNS[1:]
    )
    return raw["id"], step, state, action


def _check_ids(ids: np.ndarray) -> None:
    remedy = "Every row needs the id of its person."
    if ids.dtype.kind == "f":
        refuse_first("column 'id'", ids, np.isnan(ids), "must not be missing", "row", remedy=remedy)
    if ids.dtype.kind != "O":
        return
    missing = np.array([value is None or value != value for value in ids.tolist()])
    refuse_first("column 'id'", ids, missing, "must not be missing", "row", remedy=remedy)
    kinds = sorted({type(value).__name__ for value in ids.tolist()})
    if len(kinds) > 1:
        raise InvalidInputError(f"Column 'id' mixes the types {', '.join(kinds)}. Make them all text.")


def _check_span(steps: Int[np.ndarray, " rows"]) -> None:
    seen = len(np.unique(steps))
    span = int(steps.max()) - int(steps.min()) + 1
    if span > MOST_STEPS_PER_SEEN_STEP * seen:
        raise InvalidInputError(
            f"Column 'step' runs from {steps.min()} to {steps.max()} but holds only {seen} different steps. "
            "Number the steps one by one (week 0, 1, 2, …); dates are not steps."
        )


def _check_no_duplicates(ids: np.ndarray, steps: Int[np.ndarray, " rows"], cell: Int[np.ndarray, " rows"]) -> None:
    unique, first, inverse = np.unique(cell, return_index=True, return_inverse=True)
    if len(unique) == len(cell):
        return
    again = int(np.argmax(first[inverse] != np.arange(len(cell))))
    raise InvalidInputError(
        f"Rows {first[inverse[again]]} and {again} both hold column 'id' = {ids[again].item()!r}, column 'step' = "
        f"{steps[again]}. Keep one row for each person and step."
    )
