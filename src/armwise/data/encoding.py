"""Columns of a table as codes: words by their alphabet, numbers by quantiles, a level of its own for the missing."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from jaxtyping import Int

from armwise.data.features import Features


def encode(table: pl.DataFrame, categorical: Sequence[str], numeric: Sequence[str], num_bins: int) -> Features:
    """The columns as categorical features, as the paper's are; columns with a single value are left out.

    Numbers become levels too, so that a linear model can follow any shape and a missing number needs no imputation.

    Args:
        table: one row per person.
        categorical: columns of text; the levels are the distinct values in alphabetical order.
        numeric: columns of numbers, cut at their quantiles.
        num_bins: how many quantile levels, fewer where quantiles coincide.
    """
    encoded = [_word_codes(table[name]) for name in categorical]
    encoded += [_number_codes(table[name], num_bins) for name in numeric]
    kept = [(codes, level) for codes, level in encoded if level > 1]
    codes = np.stack([codes for codes, _ in kept], axis=1) if kept else np.zeros((table.height, 0), dtype=int)
    return Features(codes=codes, levels=tuple(level for _, level in kept))


def _word_codes(column: pl.Series) -> tuple[Int[np.ndarray, " people"], int]:
    values = column.drop_nulls().unique().sort()
    codes = np.searchsorted(values.to_numpy(), column.fill_null("").to_numpy())
    return _with_missing(codes, column.is_null().to_numpy(), len(values))


def _number_codes(column: pl.Series, num_bins: int) -> tuple[Int[np.ndarray, " people"], int]:
    present = column.drop_nulls().to_numpy()
    if not len(present):
        return np.zeros(len(column), dtype=int), 1
    # A cut at or above the maximum would leave the level above it empty.
    cuts = np.unique(np.quantile(present, np.arange(1, num_bins) / num_bins, method="lower"))
    cuts = cuts[cuts < present.max()]
    codes = np.searchsorted(cuts, column.fill_null(0).to_numpy(), side="left")
    return _with_missing(codes, column.is_null().to_numpy(), len(cuts) + 1)


def _with_missing(codes: np.ndarray, missing: np.ndarray, num_levels: int) -> tuple[Int[np.ndarray, " people"], int]:
    """The last level stands for a missing value, if there is any."""
    return np.where(missing, num_levels, codes), num_levels + bool(missing.any())
