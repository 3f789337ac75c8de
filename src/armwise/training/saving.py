"""Save a trained model to a folder and load it: weights, and a JSON file that a person can read.

``weights.npz`` holds arrays only, never a pickle, so that opening a model cannot run code. ``model.json`` describes
them: version, model, features and their levels, problem, loss, settings, a hash of the training data, and metrics of
how well the model did. Loading refuses everything that it does not understand.
"""

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from armwise.data import Features
from armwise.errors import InvalidInputError
from armwise.io.writing import write_folder
from armwise.losses import Loss
from armwise.models import Ensemble, Linear, MultiLayerPerceptron
from armwise.rmab import Problem
from armwise.training.arrays import most_bytes, packed, unpacked
from armwise.training.config import PRECISIONS, TrainConfig
from armwise.training.description import build, check_entries, describe
from armwise.training.untrusted import naming, parse_json, read_limited, shown

FORMAT, VERSION = "armwise-model", 1
PAGE, WEIGHTS = "model.json", "weights.npz"
_LARGEST, _MOST_COLUMNS = 10**6, 10**5
_SIZES = {"numeric": (0, _LARGEST), "num_states": (1, 1000), "num_actions": (1, 1000)}
_NETWORK_SIZES = {"width": (1, _LARGEST), "depth": (1, 100)}
_KEYS = ("format", "version", "armwise", "model", "features", "problem", "loss", "config", "data", "metrics", "weights")


class SavedModel(NamedTuple):
    """A trained model, and what is needed to use and to judge it.

    Attributes:
        model: maps features to transitions.
        problem: the rewards, discount, first states and costs that it was trained for.
        loss: that it was trained with.
        config: the settings of its training.
        features: a description of the columns that can be written as JSON.
        data: the fingerprint of the training data.
        metrics: numbers that say how well it did, by name.
    """

    model: Any
    problem: Problem
    loss: Loss
    config: TrainConfig
    features: Any = None
    data: str = ""
    metrics: Mapping[str, float] = {}


def save_model(folder: str | os.PathLike[str], saved: SavedModel) -> None:
    """Write a model as a new folder, completely or not at all.

    Args:
        folder: to create; it must not exist yet.
        saved: the model and what belongs to it. A model that is not from ``armwise.models`` can be saved too; load it
            with ``like``.
    """
    write_folder(folder, pack_model(saved))


def pack_model(saved: SavedModel) -> dict[str, bytes]:
    """What ``save_model`` writes: the name and the content of each file."""
    weights = packed(saved.model)
    page = _page(saved, hashlib.sha256(weights).hexdigest())
    return {PAGE: (json.dumps(page, indent=2, ensure_ascii=False) + "\n").encode(), WEIGHTS: weights}


def load_model(folder: str | os.PathLike[str], like: Any = None) -> SavedModel:
    """Read a model that ``save_model`` wrote.

    Args:
        folder: of the model.
        like: a model of the same structure, needed for models that armwise does not know. Its weights do not matter.
    """
    inside = Path(folder)
    page, where = read_limited(inside / PAGE), str(inside / PAGE)
    most = most_bytes(_structure(parse_page(page, where), where, like))
    return unpack_model({PAGE: page, WEIGHTS: read_limited(inside / WEIGHTS, most)}, str(inside), like)


def unpack_model(contents: Mapping[str, bytes], place: str, like: Any = None) -> SavedModel:
    """The model in files with these contents.

    Args:
        contents: of each file, by its name, as from ``pack_model``.
        place: the folder or file that they come from, for messages; with "", messages name only the parts.
        like: as in ``load_model``.
    """
    where, where_weights = (os.path.join(place, name) for name in (PAGE, WEIGHTS))
    page, weights = parse_page(contents[PAGE], where), contents[WEIGHTS]
    if hashlib.sha256(weights).hexdigest() != page["weights"]:
        raise InvalidInputError(f"{where_weights} is not the file that model.json speaks of. Train anew.")
    with naming(where):
        problem, loss = _problem(page["problem"], where), build(page["loss"], where)
        config = TrainConfig(**_fields(page["config"], TrainConfig, where))
        if not isinstance(loss, Loss):
            raise InvalidInputError(f"{where}: {shown(page['loss'])} is no loss of armwise.")
    model = unpacked(weights, where_weights, _structure(page, where, like))
    return SavedModel(model, problem, loss, config, page["features"], page["data"], page["metrics"])


def _structure(page: dict[str, Any], where: str, like: Any) -> Any:
    if like is not None:
        return like
    with naming(where):
        return _empty_model(page["model"], where)


def parse_page(content: bytes, where: str) -> dict[str, Any]:
    """Read ``model.json``: JSON that must have exactly the expected entries."""
    try:
        page = parse_json(content, where)
    except InvalidInputError as error:
        raise InvalidInputError(f"{where} cannot be read as a model's description: {error}") from error
    if not isinstance(page, dict) or page.get("format") != FORMAT:
        raise InvalidInputError(f"{where} does not describe an armwise model.")
    if type(page.get("version")) is not int or page["version"] != VERSION:
        raise InvalidInputError(
            f"{where} is of version {shown(page.get('version'))}; armwise {version('armwise')} reads version "
            f"{VERSION}. Use the armwise that wrote it, or train anew."
        )
    if set(page) != set(_KEYS):
        raise InvalidInputError(
            f"{where} has missing or unknown entries: {shown(', '.join(sorted(set(page) ^ set(_KEYS))))}."
        )
    for name in ("armwise", "data", "weights"):
        if not isinstance(page[name], str):
            raise InvalidInputError(f"{where}: {name} must be text, not {shown(page[name])}.")
    _check_metrics(page["metrics"], where)
    return page


def _page(saved: SavedModel, weights: str) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "armwise": version("armwise"),
        "model": _describe_model(saved.model),
        "features": saved.features,
        "problem": {
            field.name: np.asarray(getattr(saved.problem, field.name)).tolist()
            for field in dataclasses.fields(saved.problem)
        },
        "loss": describe(saved.loss),
        "config": dataclasses.asdict(saved.config),
        "data": saved.data,
        "metrics": {name: float(value) for name, value in saved.metrics.items()},
        "weights": weights,
    }


def _describe_model(model: Any) -> dict[str, Any]:
    kind = {"kind": type(model).__name__}
    if isinstance(model, Ensemble):
        member = jax.tree.map(lambda leaf: leaf[0] if eqx.is_array(leaf) else leaf, model.members)
        number = len(jax.tree.leaves(eqx.filter(model, eqx.is_array))[0])
        return kind | {"number": number, "member": _describe_model(member)}
    if not isinstance(model, Linear | MultiLayerPerceptron):
        return kind
    precision = str(model.layer.bias.dtype)
    shape = {"numeric": model.layer.weights.shape[0], "levels": list(model.layer.levels), "precision": precision}
    chain = {"num_states": model.num_states, "num_actions": model.num_actions}
    if isinstance(model, MultiLayerPerceptron):
        return kind | shape | chain | {"width": model.layer.bias.shape[0], "depth": len(model.hidden) + 1}
    return kind | shape | chain


def _empty_model(page: Any, where: str) -> Any:
    """The described model with ``jax.ShapeDtypeStruct`` for its weights, so that no claimed size uses memory yet."""
    arguments = dict(page) if isinstance(page, dict) else {}
    kind = arguments.pop("kind", None)
    if kind == "Ensemble":
        return _empty_ensemble(arguments, where)
    if kind not in ("Linear", "MultiLayerPerceptron"):
        raise InvalidInputError(
            f"{where}: the model is a {shown(repr(kind))}, which armwise does not know. Pass like=, a model of the "
            "same structure."
        )
    try:
        _check_sizes(arguments, kind)
        numeric, levels, dtype = (arguments.pop(name) for name in ("numeric", "levels", "precision"))
        features = Features(np.zeros((1, numeric)), np.zeros((1, len(levels)), dtype=int), levels)
        make = Linear if kind == "Linear" else MultiLayerPerceptron
        model = eqx.filter_eval_shape(make, jax.random.key(0), features, **arguments)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise InvalidInputError(
            f"{where}: the model's description is not one of a {kind}: {shown(str(error))}."
        ) from error
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, jnp.dtype(dtype)), model)


def _check_sizes(page: dict[str, Any], kind: str) -> None:
    """Refuse values that are not sizes, and sizes far beyond any model, which could take too long to process."""
    sizes = _SIZES | (_NETWORK_SIZES if kind == "MultiLayerPerceptron" else {})
    odd = set(page) ^ {*sizes, "levels", "precision"}
    if odd:
        raise InvalidInputError(f"{', '.join(sorted(odd))} missing or unknown")
    for name, (least, most) in sizes.items():
        _check_size(name, page[name], least, most)
    if not isinstance(page["levels"], list) or len(page["levels"]) > _MOST_COLUMNS:
        raise InvalidInputError(f"levels must be a list of numbers, not {shown(page['levels'])}")
    for levels in page["levels"]:
        _check_size("levels", levels, 1, _LARGEST)
    if page["precision"] not in ("float16", *PRECISIONS):
        raise InvalidInputError(f"precision is {shown(page['precision'])}")
    if page["precision"] == "float64" and not jax.config.read("jax_enable_x64"):
        raise InvalidInputError(
            'precision is float64, for which JAX must be told at the start: jax.config.update("jax_enable_x64", True)'
        )


def _check_size(name: str, value: Any, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        raise InvalidInputError(f"{name} must be a whole number from {least} to {most:,}, not {shown(value)}")


def _empty_ensemble(page: dict[str, Any], where: str) -> Ensemble:
    number, member = page.get("number"), page.get("member")
    if set(page) != {"number", "member"} or type(number) is not int or not 1 <= number <= 1000:
        raise InvalidInputError(f"{where}: the model's description is not one of an Ensemble: {shown(page)}.")
    if isinstance(member, dict) and member.get("kind") == "Ensemble":
        raise InvalidInputError(f"{where}: the model's description is not one of an Ensemble: its member is another.")
    like = _empty_model(member, where)
    return Ensemble(jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((number, *leaf.shape), leaf.dtype), like))


def _check_metrics(page: Any, where: str) -> None:
    if not isinstance(page, dict) or not all(type(value) in (int, float) for value in page.values()):
        raise InvalidInputError(f"{where}: metrics must be numbers by name, not {shown(page)}.")


def _problem(page: Any, where: str) -> Problem:
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in _fields(page, Problem, where).items()}
    return Problem(**arrays)


def _fields(page: Any, of: type, where: str) -> dict[str, Any]:
    if not isinstance(page, dict):
        raise InvalidInputError(f"{where}: {of.__name__} has missing or unknown entries: {shown(page)}.")
    check_entries(page, of, where)
    return page
