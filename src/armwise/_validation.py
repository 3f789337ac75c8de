"""Checks of arguments: an impossible value raises an error with its value, its place and the remedy.

Shapes are known even while JAX traces a function, so they are always checked. Values are checked only where they are
known. Inside ``jit``, ``vmap`` or ``grad`` they are not known, and the code trusts its caller. Nothing is ever silently
normalised, clipped or rounded.
"""

import math
import operator
from collections.abc import Sequence
from typing import Any

import jax
import jax.dtypes
import jax.numpy as jnp
import jax.typing
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Int64, Integer, UInt32

from armwise.errors import InvalidInputError

# What public functions accept as an array: arrays of JAX or NumPy, numbers, and (nested) sequences of numbers.
ArrayLike = jax.typing.ArrayLike | Sequence[Any]

# The sum of a float32 softmax over a hundred states differs from 1 by about 1e-6; typing three digits gives 1e-3.
ROW_SUM_TOLERANCE = 1e-5
# A row sum of 1 + δ gives returns a relative error of δ · γ / (1 − γ). We accept an error of this size,
_RETURN_TOLERANCE = 1e-3
# and of this size if the rounding of the row explains it: float32 cannot do better at discounts near 1.
_RETURN_TOLERANCE_OF_ROUNDING = 1e-2

# The largest whole number that tables and arrays can hold.
MOST = 2**63 - 1


def is_concrete(*values: Any) -> bool:
    """Whether the values are known now: no array among them (or among their pytree leaves) is traced."""
    return not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(values))


def is_staging() -> bool:
    """Whether JAX is recording a program, as inside ``jit``, instead of computing; ``vmap`` and ``grad`` compute."""
    return isinstance(jnp.zeros(()), jax.core.Tracer)


def refuse_boolean(name: str, value: Any) -> None:
    """Refuse a single True or False in place of a number; Python itself would count it as 1 or 0."""
    array = isinstance(value, np.ndarray | jax.Array) and value.dtype.kind == "b" and value.ndim == 0
    if array or isinstance(value, bool | np.bool):
        raise InvalidInputError(f"{name} must be a number, not {bool(value) if is_concrete(value) else 'a boolean'}.")


def as_float_array(name: str, value: Any) -> Float[Array, "..."]:
    """The value as a JAX array of floats, or an error that names the argument."""
    array = _as_array(name, value)
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(float)


def as_int_array(name: str, value: Any) -> Int[Array, "..."]:
    """The value as a JAX array of integers, or an error that names the argument; refuses floats, rounds nothing."""
    array = _as_array(name, value)
    if not jnp.issubdtype(array.dtype, jnp.integer):
        raise InvalidInputError(f"{name} must be whole numbers, not of type {array.dtype}.")
    return array


def _as_array(name: str, value: Any) -> Array:
    refuse_boolean(name, value)
    if is_concrete(value) and not isinstance(value, jax.Array):
        value = _as_numpy(name, value)
    dtype = value.dtype if hasattr(value, "dtype") else jnp.result_type(float)
    if not (
        jnp.issubdtype(dtype, jnp.floating) or jnp.issubdtype(dtype, jnp.integer) or jnp.issubdtype(dtype, jnp.bool_)
    ):
        raise InvalidInputError(f"{name} must be an array of real numbers, not of type {dtype}.")
    return jnp.asarray(value)


def _as_numpy(name: str, value: Any) -> np.ndarray:
    try:
        return np.asarray(value)
    except ValueError as error:  # rows of different lengths
        raise InvalidInputError(f"{name} cannot be read as an array of numbers: {error}") from error


def first_offender(bad: Bool[np.ndarray, "..."] | np.bool) -> tuple[int, ...]:
    """The index of the first true entry, in row-major order."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), np.shape(bad)))


def at(index: tuple[int, ...], *axes: str) -> str:
    """An index in words: ``at((3, 0), "arm", "state")`` is ``arm 3, state 0``."""
    return ", ".join(f"{axis} {i}" for axis, i in zip(axes[len(axes) - len(index) :], index, strict=True)) or "it"


def check_finite(name: str, value: Float[Array, "..."], *axes: str) -> None:
    """Refuse NaN and infinities; the error names the first one."""
    if is_concrete(value) and not bool(jnp.all(jnp.isfinite(value))):
        array = np.asarray(value)
        index = first_offender(~np.isfinite(array))
        raise InvalidInputError(
            f"{name} must be finite, but {at(index, *axes)} has {array[index]}. Remove or impute it."
        )


def check_distributions(name: str, value: Float[Array, "*rows outcomes"], *axes: str) -> None:
    """Refuse rows that are not probability distributions; the error names the first wrong entry or row."""
    if not is_concrete(value) or bool(_are_distributions(value)):
        return
    check_finite(name, value, *axes)
    array = np.asarray(value)
    if (array < 0).any():
        index = first_offender(array < 0)
        raise InvalidInputError(
            f"{name} holds probabilities, but {at(index, *axes)} is {array[index]}, which is negative."
        )
    sums = array.sum(axis=-1)
    index = first_offender(np.abs(sums - 1) > ROW_SUM_TOLERANCE)
    raise InvalidInputError(
        f"{name} must sum to 1 over the last axis, but {at(index, *axes[:-1])} sums to {sums[index]:.7g} "
        f"({array[index].tolist()}). Divide each row by its sum if that is what you mean."
    )


@jax.jit
def _are_distributions(value: Float[Array, "*rows outcomes"]) -> Bool[Array, ""]:
    return jnp.all(value >= 0) & _sum_to_one(value, ROW_SUM_TOLERANCE)  # NaN fails both


@jax.jit
def _sum_to_one(value: Float[Array, "*rows outcomes"], tolerance: float | Float[Array, ""]) -> Bool[Array, ""]:
    return jnp.all(jnp.abs(jnp.sum(value, axis=-1) - 1) <= tolerance)


def row_sum_tolerance(dtype: jnp.dtype, num_outcomes: int, discount: float) -> float:
    """How far the sum of a row of transitions may be from 1, for returns at a given discount.

    Returns solve ``I − γT`` (Algorithm 3), so a sum of 1 + δ gives them a relative error of ``δ · γ / (1 − γ)``. This
    error must stay below 0.001, or below 0.01 if the rounding of the terms explains the sum.

    Example:
        >>> [f"{row_sum_tolerance(np.dtype('float64'), 2, discount):.1e}" for discount in (0.9, 0.999, 0.99999)]
        ['1.0e-05', '1.0e-06', '1.0e-08']
        >>> f"{row_sum_tolerance(np.dtype('float32'), 2, 0.99999):.1e}"
        '1.0e-07'
    """
    steps = discount / (1 - discount)
    if steps * ROW_SUM_TOLERANCE <= _RETURN_TOLERANCE:
        return ROW_SUM_TOLERANCE
    by_rounding = min(_rounding_of_sum(dtype, num_outcomes), _RETURN_TOLERANCE_OF_ROUNDING / steps)
    return min(ROW_SUM_TOLERANCE, max(_RETURN_TOLERANCE / steps, by_rounding))


def _rounding_of_sum(dtype: jnp.dtype, num_outcomes: int) -> float:
    """How far the sum of a softmax may be from 1 by rounding."""
    return 4 * float(jnp.finfo(dtype).eps) * math.sqrt(num_outcomes)


def check_row_sums(name: str, value: Float[Array, "*rows outcomes"], discount: Float[Array, ""], *axes: str) -> None:
    """Refuse rows whose sums are not close enough to 1 for returns at this discount (``row_sum_tolerance``)."""
    if not is_concrete(value, discount):
        return
    number = float(discount)
    tolerance = row_sum_tolerance(value.dtype, value.shape[-1], number)
    # A plain sum has its own rounding error. Near the tolerance, sums in double precision decide.
    certain = tolerance - _rounding_of_sum(value.dtype, value.shape[-1])
    if tolerance == ROW_SUM_TOLERANCE or bool(_sum_to_one(value, certain)):
        return
    sums = np.asarray(value).sum(axis=-1, dtype=np.float64)
    wrong = np.abs(sums - 1) > tolerance
    if wrong.any():
        index = first_offender(wrong)
        part = abs(sums[index] - 1) * number / (1 - number)
        raise InvalidInputError(
            f"{name} must sum to 1 over the last axis, but {at(index, *axes[:-1])} sums to {sums[index]:.12g}. At the "
            f"discount of {number:.7g} this makes returns wrong by {100 * part:.2g} %; the sum may miss 1 by "
            f"{tolerance:.1g}. Give float64 rows (jax_enable_x64) divided by their sums, or a smaller discount."
        )


def check_transitions(transitions: ArrayLike) -> Float[Array, "arms states actions states"]:
    """The transitions as a checked array ``[arms, states, actions, states]`` of distributions over next states."""
    array = as_float_array("transitions", transitions)
    if array.ndim != 4 or array.shape[1] != array.shape[3] or 0 in array.shape:
        hint = " For one arm, add the leading axis: transitions[None]." if array.ndim == 3 else ""
        raise InvalidInputError(
            f"transitions must have the shape [arms, states, actions, states], none of them 0, not {list(array.shape)}."
            + hint
        )
    if jnp.finfo(array.dtype).bits < 32:
        raise InvalidInputError(
            f"transitions must be float32 or float64, not {array.dtype}, whose {jnp.finfo(array.dtype).nmant + 1} bits "
            "cannot hold probabilities well enough. Convert them first."
        )
    check_distributions("transitions", array, "arm", "state", "action", "next state")
    return array


def check_count(name: str, value: Any, minimum: int, maximum: int = MOST) -> int:
    """The value as a whole number from ``minimum`` to ``maximum``; refuses a fraction and does not round it.

    Example:
        >>> check_count("budget", 3.0, minimum=0)
        3
        >>> check_count("budget", True, minimum=0)
        Traceback (most recent call last):
        armwise.errors.InvalidInputError: budget must be a whole number, not True.
    """
    whole = isinstance(value, float | np.floating) and float(value).is_integer()
    if isinstance(value, bool | np.bool) or not (whole or hasattr(value, "__index__")):
        raise InvalidInputError(f"{name} must be a whole number, not {value!r}.")
    try:
        count = int(value) if whole else operator.index(value)
    except TypeError:  # an array of several numbers has ``__index__``, but calling it fails
        raise InvalidInputError(f"{name} must be a whole number, not {value!r}.") from None
    if count < minimum:
        raise InvalidInputError(f"{name} must be at least {minimum}, not {count}.")
    if count > maximum:
        raise InvalidInputError(f"{name} must be at most {maximum}, not {count}.")
    return count


def check_ids(ids: Any, shape: tuple[int, ...]) -> UInt32[Array, "*cohorts arms"]:
    """The arms' ids in [0, 2³²), ``[arms]`` or ``[cohorts, arms]``; ids must differ within a cohort.

    By default the ids are consecutive numbers over all cohorts.
    """
    if ids is None:
        return jnp.arange(math.prod(shape), dtype=jnp.uint32).reshape(shape)
    if not is_concrete(ids):
        return ids.astype(jnp.uint32)
    array = _as_numpy("ids", ids)
    if not np.issubdtype(array.dtype, np.integer) or array.shape != shape:
        raise InvalidInputError(
            f"ids must be whole numbers of shape {list(shape)}, one per arm, not {array.dtype} of shape "
            f"{list(array.shape)}."
        )
    outside = (array < 0) | (array >= 2**32)
    if outside.any():
        index = first_offender(outside)
        raise InvalidInputError(
            f"ids must be in [0, 2^32), but {at(index, 'cohort', 'arm')} has {array[index]}. Hash longer ids first."
        )
    _check_distinct(array)
    return jnp.asarray(array.astype(np.uint32))


def _check_distinct(ids: Integer[np.ndarray, "*cohorts arms"]) -> None:
    rows = ids.reshape(-1, ids.shape[-1])
    ordered = np.sort(rows, axis=1)
    again = ordered[:, 1:] == ordered[:, :-1]
    if again.any():
        cohort, place = first_offender(again)
        arms = np.flatnonzero(rows[cohort] == ordered[cohort, place])
        where = f"arms in cohort {cohort}" if ids.ndim > 1 else "arms"
        raise InvalidInputError(
            f"ids must differ, but {ordered[cohort, place]} stands for {len(arms)} {where}, first for arm {arms[0]}."
        )


def check_budget(budget: Any) -> Float[Array, ""]:
    """The budget as one finite number of at least 0; an expected budget may be a fraction."""
    array = as_float_array("budget", budget)
    if array.ndim:
        raise InvalidInputError(f"budget must be one number, not an array of shape {list(array.shape)}.")
    if is_concrete(array) and not 0 <= float(array) < np.inf:
        raise InvalidInputError(f"budget must be a finite number of at least 0, not {float(array):.7g}.")
    return array


def check_key(key: Any) -> None:
    """Refuse a value that is not one JAX random key, of the new or the old style."""
    dtype, shape = getattr(key, "dtype", None), getattr(key, "shape", None)
    new_style = dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key) and shape == ()
    if not new_style and not (dtype == jnp.uint32 and shape == (2,)):
        raise InvalidInputError(
            f"key must be one JAX random key, such as jax.random.key(0), not {type(key).__name__}"
            + (f" of shape {list(shape)}. Use vmap for several." if shape else ".")
        )


def check_two_actions(what: str, num_actions: int) -> None:
    """Refuse any number of actions except two, because an index compares no call with a call."""
    if num_actions != 2:
        raise InvalidInputError(
            f"{what} compares two actions, leave alone (0) and call (1), but transitions has {num_actions}. "
            "Policies, their returns and simulate_policy take any number of actions."
        )


def as_whole_numbers(name: str, values: Any, *axes: str, remedy: str = "") -> Int64[np.ndarray, "..."]:
    """The values as integers of at least 0; refuses fractions, NaN, negatives and text, and names the first.

    Args:
        name: what the values are, for the message.
        values: anything NumPy reads as an array.
        axes: the name of each axis, for the message.
        remedy: what the user can do about it, appended to the message.
    """
    array = to_numpy(name, values)
    if array.dtype == bool:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iuf":
        refuse_first(name, array, ~_are_numbers(array), "must be whole numbers", *axes, remedy=remedy)
        array = array.astype(float)
    # NaN does not equal its own floor, so this check refuses NaN too.
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
    """Refuse an array with an entry marked bad; the error names the place and value of the first."""
    if not bad.any():
        return
    index = first_offender(bad)
    value = array[index].item() if isinstance(array[index], np.generic) else array[index]
    raise InvalidInputError(f"{name} {must}, but {at(index, *axes)} has {value!r}. {remedy}".rstrip())


def check_shape(name: str, shape: tuple[int, ...], expected: tuple[int, ...], like: str) -> None:
    """Refuse an array whose shape does not match that of another array."""
    if shape != expected:
        raise InvalidInputError(f"{name} must have the shape {list(expected)}, as {like}, not {list(shape)}.")


def check_below(name: str, array: np.ndarray, limit: int, limit_name: str, *axes: str) -> None:
    """Refuse values that are not below a limit, which another argument gives."""
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


def check_rate(name: str, value: object, positive: bool) -> None:
    """Refuse a value that is not a finite number of at least 0, or above 0 if ``positive``."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not (0 <= value < float("inf")):
        raise InvalidInputError(
            f"{name} must be a finite number, {'above' if positive else 'at least'} 0, not {value!r}."
        )
    if positive and value == 0:
        raise InvalidInputError(f"{name} must be above 0; at 0 nothing is learned.")


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
