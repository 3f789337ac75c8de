"""Read a comma-separated file, plain or gzipped; an error names the file, the column, the line and the remedy."""

import gzip
import io
import os
import zlib
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from armwise.errors import InvalidInputError

Folder = str | os.PathLike[str]

WHERE_FROM = "The data set's README says how the file is made."


def read_table(path: Path, columns: Mapping[str, type], optional: frozenset[str] = frozenset()) -> pl.DataFrame:
    """The named columns of a file, each of the given type.

    Everything is first read as text and then converted column by column, so that an error can name the wrong value.

    Args:
        path: a ``.csv`` or ``.csv.gz`` file with a header; an empty field is a missing value.
        columns: the columns to read and the type of each: ``int``, ``float``, ``bool`` or ``str``.
        optional: the columns in which values may be missing.
    """
    table = _parse(path, _read_bytes(path))
    for name in columns:
        if name not in table.columns:
            raise InvalidInputError(f"{path} has no column {name!r}. It has {_some(table.columns)}. {WHERE_FROM}")
    if table.height == 0:
        raise InvalidInputError(f"{path} has a header but no rows. {WHERE_FROM}")
    converted = [_convert(path, table[name], kind, name in optional) for name, kind in columns.items()]
    return pl.DataFrame(converted)


def _read_bytes(path: Path) -> bytes:
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if path.suffix == ".gz" else raw
    except FileNotFoundError:
        raise InvalidInputError(f"{path} does not exist. Pass the folder that holds {path.name}.") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidInputError(f"{path} is not a complete gzip file ({error}). Copy or download it again.") from error
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}. Check the path and its rights.") from error


def _parse(path: Path, raw: bytes) -> pl.DataFrame:
    try:
        return pl.read_csv(io.BytesIO(raw), infer_schema=False)
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise InvalidInputError(f"{path} is not a comma-separated table: {reason}. Copy it again.") from error


def _convert(path: Path, column: pl.Series, kind: type, optional: bool) -> pl.Series:
    if not optional and column.null_count():
        line = _line(column.is_null())
        raise InvalidInputError(f"{path}, line {line}, column {column.name!r} is empty. Fill it in or drop the line.")
    converted = _cast(column, kind)
    wrong = converted.is_null() & column.is_not_null()
    if wrong.any():
        line, word = _line(wrong), {int: "a whole number", float: "a number", bool: "True or False"}[kind]
        value = column.filter(wrong)[0]
        raise InvalidInputError(
            f"{path}, line {line}, column {column.name!r} must be {word}, not {value!r}. Correct it or drop the line."
        )
    return converted


def _cast(column: pl.Series, kind: type) -> pl.Series:
    """The converted column, with null for every value that cannot be converted."""
    if kind is str:
        return column
    if kind is bool:
        return column.replace_strict({"True": True, "False": False}, default=None, return_dtype=pl.Boolean)
    number = column.cast(pl.Float64, strict=False)
    number = number.set(~number.is_finite(), None)
    if kind is float:
        return number
    return number.set(number != number.floor(), None).cast(pl.Int64)


def _line(bad: pl.Series) -> int:
    """The line of the first bad row; the header is line 1."""
    first = bad.arg_max()
    return (0 if first is None else first) + 2


def _some(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
