"""The codes of one column of a table: words in alphabetical order, numbers by quantiles; the last level is unknown."""

import dataclasses

import numpy as np
import polars as pl

from armwise.errors import InvalidInputError

WORDS = (pl.String, pl.Categorical, pl.Enum, pl.Boolean)


@dataclasses.dataclass(frozen=True)
class Categories:
    """A column of words, or of other values that are compared as text.

    Attributes:
        name: the name of the column.
        levels: the words, in alphabetical order. One more level is for missing and unseen values.
        had_missing: whether the column had missing values in training.
    """

    name: str
    levels: tuple[str, ...]
    had_missing: bool

    @classmethod
    def fit(cls, column: pl.Series, max_levels: int) -> "Categories":
        """Learn the levels of a column; its missing values must be null."""
        levels = column.drop_nulls().unique().sort()
        if len(levels) > max_levels:
            raise InvalidInputError(
                f"Column {column.name!r} has {len(levels):,} different values, more than max_levels = {max_levels:,}. "
                "Leave out names and identifiers; group rare values, or raise max_levels."
            )
        return cls(column.name, tuple(levels.to_list()), column.null_count() > 0)

    @property
    def unknown(self) -> int:
        """The code of a missing or unseen value."""
        return len(self.levels)

    @staticmethod
    def read(column: pl.Series) -> pl.Series:
        """The column as text, missing values null; a whole number has the same text in every numeric type."""
        check_usable(column)
        text = column.cast(pl.String)
        if not column.dtype.is_float():
            return text
        whole = column.cast(pl.Int64, strict=False)
        text = text.zip_with((whole.cast(pl.Float64) != column).fill_null(True), whole.cast(pl.String))
        return text.set(column.is_nan(), None)

    def codes(self) -> pl.Expr:
        """The codes of what was read."""
        known = pl.col(self.name).cast(pl.Enum(self.levels), strict=False)
        return known.to_physical().cast(pl.UInt32).fill_null(self.unknown)


@dataclasses.dataclass(frozen=True)
class Numbers:
    """A column of numbers, cut into levels.

    Attributes:
        name: the name of the column.
        cuts: a number's level is how many of these it exceeds. One more level is for missing numbers.
        had_missing: whether the column had missing values in training.
    """

    name: str
    cuts: tuple[float, ...]
    had_missing: bool

    @classmethod
    def fit(cls, column: pl.Series, num_bins: int) -> "Numbers":
        """Learn the cuts of a column, its quantiles, without duplicates; its missing values must be null."""
        present = column.drop_nulls().to_numpy()
        cuts = np.zeros(0)
        if len(present):
            cuts = np.unique(np.quantile(present, np.arange(1, num_bins) / num_bins, method="lower"))
            # A cut at or above the maximum would leave the level above it empty.
            cuts = cuts[cuts < present.max()]
        return cls(column.name, tuple(cuts.tolist()), column.null_count() > 0)

    @property
    def unknown(self) -> int:
        """The code of a missing number."""
        return len(self.cuts) + 1

    @staticmethod
    def read(column: pl.Series) -> pl.Series:
        """The column as numbers, missing values and NaN null; refuses infinities and text that is not a number."""
        check_usable(column)
        # A category's physical number in Polars is not the number that its text names.
        named = column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column
        numbers = named.cast(pl.Float64, strict=False)
        wrong = (numbers.is_null() & column.is_not_null()) | numbers.is_infinite().fill_null(False)
        if wrong.any():
            row = wrong.arg_max() or 0
            raise InvalidInputError(
                f"Column {column.name!r} must hold finite numbers, but row {row} has {column[row]!r}. Correct it, or "
                "make it null if it is not known."
            )
        return numbers.fill_nan(None)

    def codes(self) -> pl.Expr:
        """The codes of what was read."""
        number = pl.col(self.name)
        level = pl.lit(pl.Series(self.cuts, dtype=pl.Float64)).search_sorted(number.fill_null(0.0), side="left")
        return pl.when(number.is_null()).then(self.unknown).otherwise(level).cast(pl.UInt32).alias(self.name)


Column = Categories | Numbers


def kind_of(column: pl.Series) -> type[Column]:
    """The encoding for a column's type: words or numbers; refuses dates and nested values."""
    check_usable(column)
    return Categories if column.dtype in WORDS or column.dtype == pl.Null else Numbers


def check_usable(column: pl.Series) -> None:
    """Refuse a column that holds neither words nor numbers."""
    if column.dtype in WORDS or column.dtype.is_numeric() or column.dtype == pl.Null:
        return
    remedy = "Take out of it what matters, in columns of their own, or drop the column."
    if column.dtype.is_temporal():
        remedy = "Turn it into a number, such as the days until a fixed date, or drop the column."
    raise InvalidInputError(f"Column {column.name!r} has the type {column.dtype}: neither words nor numbers. {remedy}")
