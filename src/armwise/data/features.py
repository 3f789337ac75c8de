"""The features of each person at intake: numbers, and categories as codes."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer

from armwise._validation import (
    as_float_array,
    as_whole_numbers,
    check_count,
    check_finite,
    check_shape,
    is_concrete,
    refuse_first,
    to_numpy,
)
from armwise.errors import InvalidInputError


class Features(eqx.Module):
    """The features x of the arms: numeric columns, and categorical columns as codes.

    Codes take one integer per column; a one-hot matrix takes a number per level. At a million people and 44 categories
    this is the difference between megabytes and gigabytes. The class is a pytree, and any batch axes may lead.

    Args:
        numeric: ``[*batch, arms, numeric]``; no columns by default.
        codes: whole numbers ``[*batch, arms, categorical]``, from 0 to the column's number of levels minus one; no
            columns by default. They are stored in the smallest unsigned type that fits the levels.
        levels: how many levels each categorical column has.

    Example:
        >>> features = Features(numeric=[[0.5], [1.5]], codes=[[0, 2], [1, 0]], levels=(2, 3))
        >>> features.width, one_hot(features).tolist()
        (6, [[0.5, 1.0, 0.0, 0.0, 0.0, 1.0], [1.5, 0.0, 1.0, 1.0, 0.0, 0.0]])
    """

    numeric: Float[Array, "*arms numeric"]
    codes: Integer[Array, "*arms categorical"]
    levels: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, numeric: Any = None, codes: Any = None, levels: Any = ()):
        if numeric is None and codes is None:
            raise InvalidInputError("Features needs numeric columns, codes or both, but got neither.")
        self.levels = tuple(check_count(f"levels[{place}]", level, minimum=1) for place, level in enumerate(levels))
        self.numeric = _check_numeric(np.zeros((*np.shape(codes)[:-1], 0)) if numeric is None else numeric)
        empty = np.zeros((*self.numeric.shape[:-1], 0), dtype=np.uint8)
        self.codes = _check_codes(empty if codes is None else codes, self.levels)
        check_shape("codes", self.codes.shape[:-1], self.numeric.shape[:-1], "numeric's leading axes")

    @property
    def width(self) -> int:
        """How many columns the one-hot matrix of these features has."""
        return self.numeric.shape[-1] + sum(self.levels)

    def __getitem__(self, index: Any) -> "Features":
        """The features at an index of the leading axes: some rows, or some cohorts."""
        return jax.tree.map(lambda columns: columns[index], self)


def one_hot(features: Features) -> Float[Array, "*arms width"]:
    """The features as one dense matrix: the numeric columns, then one column for each level of each category."""
    dtype = features.numeric.dtype
    hot = [
        jax.nn.one_hot(features.codes[..., column], level, dtype=dtype) for column, level in enumerate(features.levels)
    ]
    return jnp.concatenate([features.numeric, *hot], axis=-1)


def _check_numeric(numeric: Any) -> Float[Array, "*arms numeric"]:
    array = as_float_array("numeric", numeric)
    if array.ndim < 2:
        raise InvalidInputError(f"numeric must have the shape [*batch, arms, columns], not {list(array.shape)}.")
    check_finite("numeric", array, *_axes(array.ndim))
    return array


def _check_codes(codes: Any, levels: tuple[int, ...]) -> Integer[Array, "*arms categorical"]:
    if not is_concrete(codes):
        return jnp.asarray(codes)
    shape = np.shape(codes)
    if len(shape) < 2 or shape[-1] != len(levels):
        raise InvalidInputError(
            f"codes must have the shape [*batch, arms, {len(levels)}], a column for each of levels, not {list(shape)}."
        )
    axes = _axes(len(shape))
    array = to_numpy("codes", codes)
    if array.dtype not in (np.uint8, np.uint16):
        array = as_whole_numbers("codes", codes, *axes, remedy="Give a missing value a level of its own.")
    unknown = array >= np.broadcast_to(np.asarray(levels, dtype=np.int64), array.shape)
    remedy = "Raise the column's level, or map the value to a level for the unknown."
    refuse_first("codes", array, unknown, f"must be below levels = {levels}", *axes, remedy=remedy)
    # One byte per code where it fits: a million people with 44 categories take 44 MB instead of 176 MB.
    return jnp.asarray(array.astype(np.min_scalar_type(max(levels, default=1) - 1)))


def _axes(ndim: int) -> tuple[str, ...]:
    return (*(f"batch axis {axis}" for axis in range(ndim - 2)), "arm", "column")
