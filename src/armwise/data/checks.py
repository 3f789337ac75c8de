"""Checks at the edge of the data package: whole numbers, in range, told apart by row and column."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int64

from armwise.errors import InvalidInputError
from armwise.rmab.checks import at, check_count, first_offender


def as_whole_numbers(name: str, values: Any, *axes: str, remedy: str = "") -> Int64[np.ndarray, "..."]:
    """The values as integers of at least 0; fractions, NaN, negatives and text are refused, naming the first.

    Args:
        name: what the values are, for the message.
        values: anything NumPy reads as an array.
        axes: what each axis runs over, for the message.
        remedy: what to do about it, appended to the message.
    """
    array = to_numpy(name, values)
    if array.dtype == bool:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iuf":
        refuse_first(name, array, ~_are_numbers(array), "must be whole numbers", *axes, remedy=remedy)
        array = array.astype(float)
    # NaN fails the comparison with its own rounding, so it is caught here too.
    refuse_first(name, array, ~(np.floor(array) == array), "must be whole numbers", *axes, remedy=remedy)
    refuse_first(name, array, array < 0, "must not be negative", *axes, remedy=remedy)
    refuse_first(name, array, array >= 2**63, "must fit in 64 bits", *axes, remedy=remedy)
    return array.astype(np.int64)


def to_numpy(name: str, values: Any) -> np.ndarray:
    """The values as a NumPy array, or an error that names them."""
    try:
        return np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise InvalidInputError(f"{name} cannot be read as an array: {error}") from error


def refuse_first(
    name: str, array: np.ndarray, bad: Bool[np.ndarray, "..."] | np.bool, must: str, *axes: str, remedy: str = ""
) -> None:
    """Refuse the first entry marked bad, if any, with its place and value."""
    if not bad.any():
        return
    index = first_offender(bad)
    value = array[index].item() if isinstance(array[index], np.generic) else array[index]
    raise InvalidInputError(f"{name} {must}, but {at(index, *axes)} has {value!r}. {remedy}".rstrip())


def check_shape(name: str, shape: tuple[int, ...], expected: tuple[int, ...], like: str) -> None:
    """Refuse an array that does not belong to the same arms as another."""
    if shape != expected:
        raise InvalidInputError(f"{name} must have the shape {list(expected)}, as {like}, not {list(shape)}.")


def check_below(name: str, array: np.ndarray, limit: int, limit_name: str, *axes: str) -> None:
    """Refuse values that an argument says do not exist."""
    remedy = f"Correct it, or pass a larger {limit_name}."
    refuse_first(name, array, array >= limit, f"must be below {limit_name} = {limit}", *axes, remedy=remedy)


def check_share(name: str, value: Any, *, maximum: float = 1.0) -> float:
    """The value as a number between 0 and ``maximum``."""
    if not (_is_number(value) and 0 <= value <= maximum):
        raise InvalidInputError(f"{name} must be between 0 and {maximum:g}, not {value!r}.")
    return float(value)


def check_not_negative(name: str, value: Any) -> float:
    """The value as a finite number of at least 0."""
    if not (_is_number(value) and 0 <= value < np.inf):
        raise InvalidInputError(f"{name} must be a finite number of at least 0, not {value!r}.")
    return float(value)


def check_finite_number(name: str, value: Any) -> float:
    """The value as a finite number."""
    if not (_is_number(value) and np.isfinite(value)):
        raise InvalidInputError(f"{name} must be a finite number, not {value!r}.")
    return float(value)


def generator(seed: Any) -> np.random.Generator:
    """A NumPy generator from a whole number or from a JAX random key."""
    if isinstance(seed, jax.Array) and jnp.issubdtype(seed.dtype, jax.dtypes.prng_key):
        return np.random.default_rng(np.asarray(jax.random.key_data(seed)).ravel().tolist())
    return np.random.default_rng(check_count("seed", seed, minimum=0))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _are_numbers(array: np.ndarray) -> Bool[np.ndarray, "..."]:
    kinds = (bool, int, float, np.number, np.bool)
    return np.reshape([isinstance(value, kinds) for value in array.ravel().tolist()], array.shape).astype(bool)
