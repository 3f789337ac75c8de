"""Read tables from any library as Polars frames, and the ids in them."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from armwise.errors import InvalidInputError

KINDS = (
    "a Polars, pandas or Arrow table, a mapping of columns, a list of records (dictionaries), or an array "
    "[people, columns]"
)
# The name of the column that holds the row labels of a pandas table.
LABELS = "armwise:labels"


def as_frame(what: str, table: Any, in_index: Sequence[str] = ()) -> pl.DataFrame:
    """The table as a Polars frame. The columns of an array are named by their numbers.

    Args:
        what: the table's name in messages.
        table: a table from Polars, pandas (with or without pyarrow) or Arrow, a mapping of columns, a list of records
            or a two-dimensional array.
        in_index: columns that may also be levels of a pandas index. If the index has no such level, the row labels
            become the column ``LABELS``, unless they only number the rows from 0.

    Example:
        >>> as_frame("people", [{"id": "a", "age": 30}, {"id": "b"}]).rows()
        [('a', 30), ('b', None)]
    """
    if isinstance(table, pl.DataFrame):
        return table
    try:
        return table.collect() if isinstance(table, pl.LazyFrame) else _convert(what, table, in_index)
    except (pl.exceptions.PolarsError, TypeError, ValueError, NotImplementedError, OSError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{what} cannot be read as {KINDS}: {_first_line(error)}") from error


def _convert(what: str, table: Any, in_index: Sequence[str]) -> pl.DataFrame:
    if is_pandas(table) and hasattr(table, "columns"):
        return _from_pandas(what, _with_index(table, in_index))
    if isinstance(table, pl.Series) or is_pandas(table):
        raise InvalidInputError(f"{what} must be {KINDS}, not one column. Give a table with that column.")
    if hasattr(table, "__arrow_c_stream__") or isinstance(table, Mapping):
        return pl.DataFrame(table)
    if isinstance(table, list | tuple) and table and all(isinstance(record, Mapping) for record in table):
        return pl.DataFrame(table, infer_schema_length=None)
    # Use objects: if a list also holds words, NumPy would turn its numbers into words.
    array = np.array(table, dtype=object) if isinstance(table, list | tuple) else np.asarray(table)
    if array.dtype.names and array.ndim == 1:
        return pl.DataFrame([_series(name, array[name]) for name in array.dtype.names])
    if array.ndim != 2 or array.dtype.kind not in "biufUO":
        raise InvalidInputError(f"{what} must be {KINDS}, not {type(table).__name__} of shape {list(array.shape)}.")
    return pl.DataFrame([_series(str(place), array[:, place]) for place in range(array.shape[1])])


def is_pandas(value: Any) -> bool:
    """Whether the value comes from pandas. This does not import pandas."""
    return type(value).__module__.split(".")[0] == "pandas"


def _from_pandas(what: str, table: Any) -> pl.DataFrame:
    names = [str(name) for name in table.columns]
    if len(set(names)) < len(names):
        raise InvalidInputError(f"{what} has several columns of one name. Rename or drop them.")
    return pl.DataFrame([_pandas_column(what, str(name), table[name]) for name in table.columns])


def _with_index(table: Any, in_index: Sequence[str]) -> Any:
    """The pandas table with columns for the requested levels of its index, or else for its row labels."""
    levels = [name for name in table.index.names if name in in_index and name not in table.columns]
    if levels:
        return table.reset_index(level=levels)
    index = table.index
    if index.nlevels > 1 or (index.dtype.kind in "iu" and (index.to_numpy() == np.arange(len(index))).all()):
        return table
    return table.assign(**{LABELS: index.to_numpy()})


def _pandas_column(what: str, name: str, column: Any) -> pl.Series:
    if str(column.dtype).startswith(("period", "interval", "complex")):
        raise InvalidInputError(f"Column {name!r} of {what} has the type {column.dtype}. Make it numbers or text.")
    try:
        return pl.Series(name, pl.from_pandas(column))
    except ImportError:  # pandas without pyarrow
        return _series(name, column.to_numpy(dtype=object))
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"Column {name!r} of {what} mixes values of several types. Make them all numbers or all text."
        ) from error


def _series(name: str, values: np.ndarray) -> pl.Series:
    """A column from an array. Among Python objects, missing values (None, NaN, pandas' NA) become null."""
    if values.dtype != object:
        return pl.Series(name, values)
    return pl.Series(name, [None if _is_missing(value) else value for value in values.tolist()])


def _is_missing(value: Any) -> bool:
    # The name of the type identifies pandas' missing values, so that pandas need not be installed.
    nothing = value is None or type(value).__name__ in ("NAType", "NaTType")
    return nothing or (isinstance(value, float | np.floating) and bool(value != value))


def as_series(what: str, values: Any, length: int) -> pl.Series:
    """One value per person, as a column.

    Args:
        what: the column's name in messages.
        values: a list, an array, or a column from Polars or pandas.
        length: the number of people.
    """
    if isinstance(values, Mapping | set | pl.DataFrame | pl.LazyFrame) or not hasattr(values, "__len__"):
        raise InvalidInputError(
            f"{what} must be a list, an array or a column with one value per person, in the order of the rows, or the "
            f"name of a column; not {type(values).__name__}."
        )
    try:
        series = values if isinstance(values, pl.Series) else _from_values(what, values)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise InvalidInputError(f"{what} cannot be read as one value per person: {_first_line(error)}") from error
    if series.dtype.is_nested() or len(series) != length:
        shape = list(np.shape(values)) if series.dtype.is_nested() else len(series)
        raise InvalidInputError(f"{what} must have one value for each of the {length} people, not {shape}.")
    return series.rename(what)


def _from_values(what: str, values: Any) -> pl.Series:
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    # Use objects: if a list holds words, NumPy would turn None and NaN into words.
    return _series(what, np.array(values, dtype=object) if isinstance(values, list | tuple) else np.asarray(values))


def check_same_labels(what: str, values: Any, table: Any) -> None:
    """Refuse a pandas column whose labels are not those of the pandas table, row by row.

    pandas would match rows by label, but armwise matches them by position, so people would get each other's values.
    """
    if not (is_pandas(values) and hasattr(values, "index") and is_pandas(table) and hasattr(table, "index")):
        return
    if len(values) == len(table) and not values.index.equals(table.index):
        raise InvalidInputError(
            f"{what} has another index than features. Bring it into the order of the people, "
            f"{what}.reindex(features.index), or give {what}.to_numpy() if row i of both is the same person."
        )


def as_text_ids(ids: pl.Series) -> pl.Series:
    """Ids as text, so that a number and its digits are the same person. A missing id is refused."""
    if ids.null_count():
        row = ids.is_null().arg_max()
        raise InvalidInputError(f"Row {row} has no id. Every person needs one.")
    if ids.dtype.is_float():
        raise InvalidInputError(
            "ids must be text or whole numbers, not decimal ones: 1.0 and 1 would differ. Convert them to text first."
        )
    if not (ids.dtype in (pl.String, pl.Categorical, pl.Enum) or ids.dtype.is_integer()):
        raise InvalidInputError(
            f"ids must be text or whole numbers, not of type {ids.dtype}. Convert them to text first."
        )
    return ids.cast(pl.String)


def check_distinct(ids: pl.Series) -> None:
    """Refuse a person who has two rows."""
    again = ids.is_duplicated()
    if again.any():
        raise InvalidInputError(f"id {ids.filter(again)[0]!r} stands in two rows. Keep one row for each person.")


def is_path(value: Any) -> bool:
    """Whether the value is a path, not a table."""
    return isinstance(value, str | os.PathLike)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
