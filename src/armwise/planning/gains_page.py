"""What calls gain, as an entry of a planner's file: written as it is, read as what anybody may have changed."""

import math
import re
from typing import Any

import numpy as np

from armwise.errors import InvalidInputError
from armwise.evaluation import CallEffect, CallEffects, Estimate
from armwise.evaluation.effects import NOTHING
from armwise.planner import CallGains
from armwise.training.untrusted import shown

ENTRIES = {"gains", "covariance", "levels", "overall", "by_state", "comparable", "confidence"}
# No gain of 12 steps comes near it, and it is a finite number in every precision.
LARGEST = 1e6


def gains_to_json(gains: CallGains) -> dict[str, Any]:
    """The entry; the same gains give the same text."""
    effects = gains.effects
    return {
        "gains": gains.gains.tolist() if gains.is_known else None,
        "covariance": gains.covariance.tolist() if gains.is_known else None,
        "levels": gains.levels.tolist(),
        "overall": _effect_to_json(effects.overall),
        "by_state": [[_states(each.name), *_effect_to_json(each)] for each in effects.by_state],
        "comparable": effects.comparable,
        "confidence": effects.level,
    }


def gains_from_json(page: Any, num_states: int) -> CallGains:
    """The gains; what ``gains_to_json`` cannot have written is refused."""
    if not isinstance(page, dict) or set(page) != ENTRIES:
        raise InvalidInputError(f"gains has missing or unknown entries: {shown(page)}.")
    by_state = page["by_state"]
    if not isinstance(by_state, list) or not 1 <= len(by_state) <= num_states:
        raise InvalidInputError(f"gains must hold 1 to {num_states} effects by state, not {shown(by_state)}.")
    levels = _whole_numbers("levels", page["levels"], num_states, len(by_state) - 1)
    effects = CallEffects(
        _effect("everyone", page["overall"]),
        tuple(_state_effect(each, num_states) for each in by_state),
        {},
        _number("comparable", page["comparable"], 0.0, 2.0**63),
        _number("confidence", page["confidence"], 0.5, 0.9999),
    )
    if not effects.is_enough:
        if page["gains"] is not None or page["covariance"] is not None:
            raise InvalidInputError("gains are given although there were too few calls to tell.")
        return CallGains(np.full(num_states, np.nan), np.full((num_states, num_states), np.nan), levels, effects)
    return CallGains(_array("gains", page["gains"], 1, num_states), _covariance(page, num_states), levels, effects)


def _effect_to_json(effect: CallEffect) -> list[Any]:
    return [effect.num_calls, None if math.isnan(effect.effect.value) else list(effect.effect)]


def _states(name: str) -> list[int]:
    """The states in the name of an effect: "state 0", or "states 2 to 3"."""
    return [int(each) for each in re.findall(r"\d+", name)]


def _state_effect(page: Any, num_states: int) -> CallEffect:
    if not isinstance(page, list) or len(page) != 3:
        raise InvalidInputError(f"the effect in a state must be states, calls and an interval, not {shown(page)}.")
    number = len(page[0]) if isinstance(page[0], list) and len(page[0]) == 2 else 1
    states = _whole_numbers("states", page[0], number, num_states - 1).tolist()
    return _effect(f"state{'s' * (number - 1)} {' to '.join(map(str, states))}", page[1:])


def _effect(name: str, page: Any) -> CallEffect:
    if not isinstance(page, list) or len(page) != 2:
        raise InvalidInputError(f"an effect must be a number of calls and an interval, not {shown(page)}.")
    calls = int(_whole_numbers("calls", page[:1], 1, 2**63 - 1)[0])
    if page[1] is None:
        return CallEffect(name, calls, NOTHING)
    value, low, high = _array("an effect", page[1], 1, 3).tolist()
    if not low <= value <= high:
        raise InvalidInputError(f"an effect must lie in its interval, not {shown(page[1])}.")
    return CallEffect(name, calls, Estimate(value, low, high))


def _covariance(page: dict[str, Any], num_states: int) -> np.ndarray:
    covariance = _array("covariance", page["covariance"], 2, num_states)
    size = np.abs(covariance).max()
    if not np.array_equal(covariance, covariance.T) or np.linalg.eigvalsh(covariance).min() < -1e-6 * size:
        raise InvalidInputError(f"covariance must be one of errors, not {shown(page['covariance'])}.")
    return covariance


def _whole_numbers(name: str, page: Any, length: int, largest: int) -> np.ndarray:
    numbers = page if isinstance(page, list) else []
    if len(numbers) != length or not all(type(each) is int and 0 <= each <= largest for each in numbers):
        raise InvalidInputError(f"{name} must be {length} whole numbers from 0 to {largest}, not {shown(page)}.")
    return np.asarray(numbers, dtype=np.int64)


def _number(name: str, page: Any, lowest: float, largest: float) -> float:
    if type(page) not in (int, float) or not lowest <= page <= largest:
        raise InvalidInputError(f"{name} must be a number from {lowest:g} to {largest:g}, not {shown(page)}.")
    return float(page)


def _array(name: str, page: Any, dimensions: int, size: int) -> np.ndarray:
    """Finite numbers of one shape, ``[size]`` or ``[size, size]``."""
    rows = [page] if dimensions == 1 else page
    fits = isinstance(rows, list) and all(isinstance(row, list) and len(row) == size for row in rows)
    if not fits or len(rows) != (1 if dimensions == 1 else size):
        raise InvalidInputError(f"{name} must hold {size} numbers in each row, not {shown(page)}.")
    values = [[_number(name, each, -LARGEST, LARGEST) for each in row] for row in rows]
    return np.asarray(values[0] if dimensions == 1 else values, dtype=float)
