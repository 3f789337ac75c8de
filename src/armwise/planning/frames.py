"""Tables of any make as Polars frames, and the ids in them."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from armwise.errors import InvalidInputError

KINDS = "a Polars, pandas or Arrow table, a mapping of columns, or an array [people, columns]"


def as_frame(what: str, table: Any) -> pl.DataFrame:
    """The table as a Polars frame; the columns of an array are named by their numbers.

    Args:
        what: its name in messages.
        table: of Polars, pandas (with or without pyarrow) or Arrow, a mapping of columns, or a two-dimensional array.
    """
    if isinstance(table, pl.DataFrame):
        return table
    if isinstance(table, pl.LazyFrame):
        return table.collect()
    try:
        return _convert(what, table)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{what} cannot be read as {KINDS}: {error}") from error


def _convert(what: str, table: Any) -> pl.DataFrame:
    if type(table).__module__.split(".")[0] == "pandas":
        return _from_pandas(what, table)
    if hasattr(table, "__arrow_c_stream__") or isinstance(table, Mapping):
        return pl.DataFrame(table)
    array = np.asarray(table)
    if array.ndim != 2 or array.dtype.kind not in "biufUO":
        raise InvalidInputError(f"{what} must be {KINDS}, not {type(table).__name__} of shape {list(array.shape)}.")
    return pl.DataFrame([_series(str(place), array[:, place]) for place in range(array.shape[1])])


def _from_pandas(what: str, table: Any) -> pl.DataFrame:
    names = [str(name) for name in table.columns]
    if len(set(names)) < len(names):
        raise InvalidInputError(f"{what} has several columns of one name. Rename or drop them.")
    try:
        return pl.from_pandas(table).rename(str)
    except ImportError:  # pandas without pyarrow: column by column
        return pl.DataFrame([_series(str(name), table[name].to_numpy(dtype=object)) for name in table.columns])


def _series(name: str, values: np.ndarray) -> pl.Series:
    """A column from an array; of mixed Python objects, missing ones (None, NaN, pandas' NA) become null."""
    if values.dtype != object:
        return pl.Series(name, values)
    plain = [None if value is None or str(value) in ("<NA>", "NaT", "nan") else value for value in values.tolist()]
    return pl.Series(name, plain)


def as_series(what: str, values: Any, length: int) -> pl.Series:
    """One value per person, as a column."""
    if hasattr(values, "to_numpy") and not isinstance(values, pl.Series):
        values = values.to_numpy()
    try:
        series = values if isinstance(values, pl.Series) else _series(what, np.asarray(values))
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise InvalidInputError(f"{what} cannot be read as one value per person: {error}") from error
    if len(series) != length:
        raise InvalidInputError(f"{what} must have one value for each of the {length} people, not {len(series)}.")
    return series.rename(what)


def as_text_ids(ids: pl.Series) -> pl.Series:
    """Ids as text, so that a number and its digits are the same person; a missing one is refused."""
    if ids.null_count():
        row = ids.is_null().arg_max()
        raise InvalidInputError(f"Row {row} has no id. Every person needs one.")
    if ids.dtype.is_float():
        raise InvalidInputError("ids must be text or whole numbers, not decimal ones: 1.0 and 1 would differ.")
    if not (ids.dtype in (pl.String, pl.Categorical, pl.Enum) or ids.dtype.is_integer()):
        raise InvalidInputError(f"ids must be text or whole numbers, not of type {ids.dtype}.")
    return ids.cast(pl.String)


def check_distinct(ids: pl.Series) -> None:
    """Refuse a person who has two rows."""
    again = ids.is_duplicated()
    if again.any():
        raise InvalidInputError(f"id {ids.filter(again)[0]!r} stands in two rows. Keep one row for each person.")


def is_path(value: Any) -> bool:
    """Whether the value names a file rather than being a table."""
    return isinstance(value, str | os.PathLike)
