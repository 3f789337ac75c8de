"""The parts of a planner's file: a model of chains, and what calls gain, as JSON and plain arrays; never a pickle."""

import dataclasses
import hashlib
import json
import math
import re
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from armwise.errors import InvalidInputError
from armwise.evaluation import CallEffect, CallEffects, Estimate
from armwise.evaluation.effects import NOTHING
from armwise.models.chains import ChainModel, Population
from armwise.models.chains.memory import NUM_COVARIATES
from armwise.models.chains.population import num_columns
from armwise.planner.call_gains import CallGains
from armwise.rmab import Problem
from armwise.training.arrays import packed, unpacked
from armwise.training.config import PRECISIONS
from armwise.training.description import check_entries
from armwise.training.saving import FORMAT, PAGE, VERSION, WEIGHTS, SavedModel, parse_page
from armwise.training.untrusted import naming, shown

KIND = "ChainModel"
MOST_STATES, MOST_LEVELS, MOST_COLUMNS = 1000, 10**6, 10**5
# No population has more weights than this, a quarter of a gigabyte in single precision.
MOST_NUMBERS = 2**26
ENTRIES = {"gains", "covariance", "levels", "overall", "by_state", "comparable", "confidence"}
# No gain over 12 steps comes near this number, and it is finite in every precision.
LARGEST = 1e6


def pack_chains(saved: SavedModel) -> dict[str, bytes]:
    """The name and the content of each part."""
    weights = packed(saved.model)
    page = {
        "format": FORMAT,
        "version": VERSION,
        "armwise": version("armwise"),
        "model": _describe(saved.model.population),
        "features": saved.features,
        "problem": {
            field.name: np.asarray(getattr(saved.problem, field.name)).tolist()
            for field in dataclasses.fields(saved.problem)
        },
        "loss": None,
        "config": None,
        "data": saved.data,
        "metrics": {name: float(value) for name, value in saved.metrics.items()},
        "weights": hashlib.sha256(weights).hexdigest(),
    }
    return {PAGE: (json.dumps(page, indent=2, ensure_ascii=False) + "\n").encode(), WEIGHTS: weights}


def unpack_chains(contents: Mapping[str, bytes]) -> SavedModel:
    """Read a model from its parts. Parts that ``pack_chains`` did not write are refused."""
    page, weights = parse_page(contents[PAGE], PAGE), contents[WEIGHTS]
    if hashlib.sha256(weights).hexdigest() != page["weights"]:
        raise InvalidInputError(f"{WEIGHTS} is not the file that {PAGE} speaks of. Fit again.")
    if page["loss"] is not None or page["config"] is not None:
        raise InvalidInputError(f"{PAGE}: a model of chains has no loss and no config.")
    with naming(PAGE):
        like, problem = ChainModel(_structure(page["model"])), _problem(page["problem"])
    model = unpacked(weights, WEIGHTS, like)
    # The fields for a loss and settings stay empty: chains are learned without them.
    return SavedModel(model, problem, None, None, page["features"], page["data"], page["metrics"])  # type: ignore[arg-type]


def check_chains(model: ChainModel, num_states: int, levels: tuple[int, ...]) -> None:
    """Refuse parameters that do not fit the problem or the columns, or that no population can have."""
    population = model.population
    if population.levels != levels or len(population.numeric_means):
        raise InvalidInputError(f"the model is for levels {shown(population.levels)}, its columns are not.")
    if population.num_states != num_states:
        raise InvalidInputError(f"the model is for {population.num_states} states, and the problem is another.")
    if not all(np.isfinite(np.asarray(leaf)).all() for leaf in jax.tree.leaves(model)):
        raise InvalidInputError("some weights are not finite numbers.")
    covariance = np.asarray(population.covariance, dtype=float)
    if not np.allclose(covariance, covariance.T) or np.linalg.eigvalsh(covariance).min() <= 0:
        raise InvalidInputError("the covariance between people is none.")
    scales, shares = np.asarray(population.scales), np.asarray(population.first_shares, dtype=float)
    if (scales <= 0).any() or (shares < 0).any() or abs(shares.sum() - 1) > 1e-3 or population.last_age < 0:
        raise InvalidInputError("some scales or shares cannot be.")


def _describe(population: Population) -> dict[str, Any]:
    shape = {"num_states": population.num_states, "numeric": len(population.numeric_means)}
    return {"kind": KIND, **shape, "levels": list(population.levels), "precision": str(population.weights.dtype)}


def _structure(page: dict[str, Any]) -> Population:
    """The population's shapes as ``jax.ShapeDtypeStruct``: sizes in a file are checked before memory is used."""
    if page.get("kind") != KIND:
        raise InvalidInputError(f"the model is no model of chains: {shown(page.get('kind'))}.")
    if set(page) != {"kind", "num_states", "numeric", "levels", "precision"}:
        raise InvalidInputError(f"the model's description has missing or unknown entries: {shown(list(page))}.")
    _check_size("num_states", page["num_states"], 2, MOST_STATES)
    _check_size("numeric", page["numeric"], 0, MOST_COLUMNS)
    if not isinstance(page["levels"], list) or len(page["levels"]) > MOST_COLUMNS:
        raise InvalidInputError(f"levels must be a list of numbers, not {shown(page['levels'])}.")
    for level in page["levels"]:
        _check_size("levels", level, 1, MOST_LEVELS)
    if page["precision"] not in PRECISIONS:
        raise InvalidInputError(f"precision is {shown(page['precision'])}.")
    if page["precision"] == "float64" and not jax.config.read("jax_enable_x64"):
        raise InvalidInputError(
            'precision is float64, for which JAX must be told at the start: jax.config.update("jax_enable_x64", True).'
        )
    return _shapes(page["num_states"], page["numeric"], tuple(page["levels"]), jnp.dtype(page["precision"]))


def _shapes(states: int, numeric: int, levels: tuple[int, ...], dtype: Any) -> Population:
    columns = num_columns(levels, numeric, states)
    if 2 * states * columns > MOST_NUMBERS:
        raise InvalidInputError(f"the model's description claims {2 * states * columns:,} weights.")
    shapes = {
        "weights": (2 * states, columns),
        "covariance": (2 * states, 2 * states),
        "slopes": (states, NUM_COVARIATES),
        "cuts": (states, states - 1),
        "means": (states, NUM_COVARIATES),
        "scales": (states, NUM_COVARIATES),
        "first_shares": (states,),
        "numeric_means": (numeric,),
        "numeric_scales": (numeric,),
        "last_age": (),
    }

    def make() -> Population:
        return Population(**{name: jnp.zeros(shape, dtype) for name, shape in shapes.items()}, levels=levels)

    structure: Population = eqx.filter_eval_shape(make)
    return structure


def _check_size(name: str, value: Any, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        raise InvalidInputError(f"{name} must be a whole number from {least} to {most:,}, not {shown(value)}.")


def _problem(page: Any) -> Problem:
    if not isinstance(page, dict):
        raise InvalidInputError(f"Problem has missing or unknown entries: {shown(page)}.")
    check_entries(page, Problem, PAGE)
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in page.items()}
    return Problem(**arrays)


def gains_to_json(gains: CallGains) -> dict[str, Any]:
    """The JSON entry of gains. The same gains give the same text."""
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
    """Read gains from their JSON entry. An entry that ``gains_to_json`` cannot have written is refused."""
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
