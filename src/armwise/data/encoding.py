"""Encode a table's columns as features: learn the codes once, then apply them to next week's people.

Numbers become levels too. So a linear model can follow any shape, and a missing number needs no imputation.
"""

import collections
import dataclasses
import itertools
import math
import reprlib
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from armwise._validation import check_count
from armwise.data.columns import Categories, Column, Numbers, kind_of
from armwise.data.features import Features
from armwise.errors import InvalidInputError

VERSION = 1


class Encoded(NamedTuple):
    """Encoded people: the features that a model uses.

    Attributes:
        features: one code per column; each column's last level means unknown.
        unseen: for each categorical column, how many values were not among the learned levels.
    """

    features: Features
    unseen: dict[str, int]


@dataclasses.dataclass(frozen=True)
class Encoder:
    """Encodes each column of a table as a code; immutable, and independent of the order of rows.

    Each column has one more level than it learned: the last level means unknown. A missing value (null or NaN) gets
    this level. A word that was not in training gets it too, and is counted. Numbers outside the range of training get
    the lowest or the highest level.

    Attributes:
        columns: the encoded columns, in the order of the codes.
        dropped: the names of columns that carry no information, because all people had the same code.

    Example:
        >>> people = pl.DataFrame({"age": [21, 35, None, 28], "phone": ["own", "shared", "own", "own"]})
        >>> encoder = Encoder.fit(people, num_bins=2)
        >>> [column.name for column in encoder.columns], encoder.levels
        (['phone', 'age'], (3, 3))
        >>> next_week = pl.DataFrame({"phone": ["shared", None, "none"], "age": [90, 20, 30]})
        >>> encoded = encoder.transform(next_week)
        >>> encoded.features.codes.tolist(), encoded.unseen
        ([[1, 1], [2, 0], [2, 1]], {'phone': 1})
    """

    columns: tuple[Column, ...]
    dropped: tuple[str, ...]

    @classmethod
    def fit(
        cls,
        table: Any,
        categorical: Any = None,
        numeric: Any = None,
        num_bins: Any = 4,
        max_levels: Any = 1000,
    ) -> "Encoder":
        """Learn the codes from a table.

        Args:
            table: a Polars DataFrame with one row per person.
            categorical: columns to compare as text; by default all other columns of words and booleans.
            numeric: columns to cut at their quantiles; by default all other columns of numbers. A number that stands
                for a word, such as a district number, is categorical. Leave identifiers out of both.
            num_bins: how many levels of about equal size a numeric column gets; fewer if quantiles are equal.
            max_levels: a column with more different words is refused. Names and identifiers say nothing about the next
                person and should not be stored.
        """
        _check_table(table)
        bins, most = check_count("num_bins", num_bins, minimum=2), check_count("max_levels", max_levels, minimum=1)
        if table.height == 0:
            raise InvalidInputError("The table has no rows to learn from. Check the file or the filter it comes from.")
        words, numbers = choose_columns(table, categorical, numeric)
        learned = [_learn(Categories, table[name], most) for name in words]
        learned += [_learn(Numbers, table[name], bins) for name in numbers]
        kept = tuple(column for column, varies in learned if varies)
        return cls(kept, tuple(sorted(column.name for column, varies in learned if not varies)))

    @property
    def levels(self) -> tuple[int, ...]:
        """How many levels each column has, including the unknown level."""
        return tuple(column.unknown + 1 for column in self.columns)

    def transform(self, table: Any) -> Encoded:
        """The features of the people in a table; each row is encoded independently of the others.

        Args:
            table: a Polars DataFrame with the columns used in training, in any order; other columns are ignored.
        """
        _check_table(table)
        _check_present(table, [column.name for column in self.columns])
        read = pl.DataFrame([column.read(table[column.name]) for column in self.columns])
        most = max(self.levels, default=1)
        dtype = pl.UInt8 if most <= 2**8 else pl.UInt16 if most <= 2**16 else pl.UInt32
        codes = read.select(column.codes().cast(dtype) for column in self.columns)
        unseen = {
            column.name: int((codes[column.name] == column.unknown).sum()) - read[column.name].null_count()
            for column in self.columns
            if isinstance(column, Categories)
        }
        matrix = codes.to_numpy() if self.columns else np.zeros((table.height, 0), np.uint8)
        return Encoded(Features(codes=matrix, levels=self.levels), unseen)

    def to_dict(self) -> dict[str, Any]:
        """Everything the encoder learned, ready for JSON; ``from_dict`` reads it back."""
        return {
            "version": VERSION,
            "columns": [_save(column) for column in self.columns],
            "dropped": list(self.dropped),
        }

    @classmethod
    def from_dict(cls, saved: Any) -> "Encoder":
        """The encoder that ``to_dict`` saved; refuses anything else."""
        what = "The saved encoder"
        if isinstance(saved, dict) and saved.get("version", VERSION) != VERSION:
            raise InvalidInputError(
                f"{what} has the version {reprlib.repr(saved['version'])}, and this armwise reads {VERSION}. Use the "
                "armwise that wrote it, or fit again."
            )
        fields = _fields(what, saved, {"version": int, "columns": list, "dropped": list})
        columns = tuple(
            _load(f"Column {place} of the saved encoder", entry) for place, entry in enumerate(fields["columns"])
        )
        names = _sequence(f"{what}'s dropped", fields["dropped"], str)
        _check_no_duplicates([*(column.name for column in columns), *names])
        return cls(columns, names)


def encode(table: pl.DataFrame, categorical: Sequence[str], numeric: Sequence[str], num_bins: int) -> Features:
    """The features of one table that no other table will follow; columns without missing values get no unknown level.

    Args:
        table: one row per person.
        categorical: columns of text.
        numeric: columns of numbers, cut at their quantiles.
        num_bins: how many quantile levels; fewer if quantiles are equal.
    """
    codes = np.asarray(Encoder.fit(table, categorical, numeric, num_bins).transform(table).features.codes)
    return Features(codes=codes, levels=(codes.max(axis=0).astype(int) + 1).tolist())


def _learn(kind: type[Column], column: pl.Series, detail: int) -> tuple[Column, bool]:
    """The learned encoding of a column, and whether people have different codes in it."""
    read = kind.read(column)
    learned = kind.fit(read, detail)
    return learned, read.to_frame().select(learned.codes()).to_series().n_unique() > 1


def choose_columns(table: pl.DataFrame, categorical: Any, numeric: Any) -> tuple[list[str], list[str]]:
    """The columns to read as words and as numbers: those given by name, or all other columns of that type."""
    for name, names in (("categorical", categorical), ("numeric", numeric)):
        if isinstance(names, str):
            raise InvalidInputError(f"{name} must be a list of columns, not {names!r}. Write [{names!r}].")
        if names is not None and not isinstance(names, Sequence | set | np.ndarray | pl.Series):
            raise InvalidInputError(f"{name} must be a list of columns, not {names!r}.")
    named = [*(categorical or ()), *(numeric or ())]
    _check_no_duplicates(named)
    _check_present(table, named)
    open_ended = categorical is None or numeric is None
    kinds = {name: kind_of(table[name]) for name in table.columns if open_ended and name not in named}

    def chosen(names: Sequence[str] | None, kind: type[Column]) -> list[str]:
        return list(names) if names is not None else [name for name in kinds if kinds[name] is kind]

    return chosen(categorical, Categories), chosen(numeric, Numbers)


def _check_table(table: Any) -> None:
    if not isinstance(table, pl.DataFrame):
        raise InvalidInputError(
            f"table must be a Polars DataFrame, not {type(table).__name__}. pl.from_pandas, pl.DataFrame and, for a "
            "LazyFrame, collect make one."
        )


def _check_present(table: pl.DataFrame, names: Sequence[str]) -> None:
    absent = [name for name in names if name not in table.columns]
    if absent:
        raise InvalidInputError(
            f"The table has no column {', '.join(map(repr, absent))}. Add it, with nulls where nothing is known."
        )


def _check_no_duplicates(names: Sequence[str]) -> None:
    twice = [name for name, count in collections.Counter(names).items() if count > 1]
    if twice:
        raise InvalidInputError(f"Column {twice[0]!r} is named more than once. Name each column once.")


def _save(column: Column) -> dict[str, Any]:
    learned = {"levels": list(column.levels)} if isinstance(column, Categories) else {"cuts": list(column.cuts)}
    kind = "category" if isinstance(column, Categories) else "number"
    return {"name": column.name, "kind": kind, **learned, "had_missing": column.had_missing}


def _load(what: str, saved: Any) -> Column:
    is_category = isinstance(saved, dict) and saved.get("kind") == "category"
    learned = "levels" if is_category else "cuts"
    fields = _fields(what, saved, {"name": str, "kind": str, learned: list, "had_missing": bool})
    if is_category:
        return Categories(fields["name"], _sequence(f"{what}'s levels", fields["levels"], str), fields["had_missing"])
    if fields["kind"] != "number":
        raise InvalidInputError(
            f"{what} has the kind {reprlib.repr(fields['kind'])}; known are 'category' and 'number'."
        )
    cuts = _sequence(f"{what}'s cuts", fields["cuts"], float)
    return Numbers(fields["name"], cuts, fields["had_missing"])


def _fields(what: str, saved: Any, types: dict[str, type]) -> dict[str, Any]:
    """The dictionary, checked to have exactly these keys with values of these types."""
    if not isinstance(saved, dict) or set(saved) != set(types):
        found = ", ".join(map(repr, saved)) if isinstance(saved, dict) else type(saved).__name__
        raise InvalidInputError(
            f"{what} must have the keys {', '.join(map(repr, types))} and no others, not {found[:200]}."
        )
    for name, kind in types.items():
        if type(saved[name]) is not kind:
            raise InvalidInputError(
                f"{what} has {name!r} = {reprlib.repr(saved[name])}, which is not of type {kind.__name__}."
            )
    return saved


def _sequence(what: str, values: list[Any], kind: type) -> tuple[Any, ...]:
    """Increasing words or finite numbers, as a tuple; a number may be a whole number after a trip through JSON."""
    right = all(type(value) is str if kind is str else _is_finite(value) for value in values)
    if not right or not all(low < high for low, high in itertools.pairwise(values)):
        raise InvalidInputError(f"{what} must be of type {kind.__name__} and increasing, not {reprlib.repr(values)}.")
    return tuple(map(kind, values))


def _is_finite(value: Any) -> bool:
    """Whether a value from JSON is a number that a finite float can hold."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max and not math.isnan(value)
