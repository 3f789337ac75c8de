"""A trained model on disk: a folder with its weights and a page of JSON that a person can read.

``weights.npz`` holds arrays only, never a pickle, so that opening a model cannot run code. ``model.json`` says what
they are: version, model, features and their levels, problem, loss, settings, what data it learned from (as a hash) and
how well it did. Loading refuses what it does not understand.
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
from armwise.losses import Loss
from armwise.models import Ensemble, Linear, MultiLayerPerceptron
from armwise.reading import read_file
from armwise.rmab import Problem
from armwise.training.checkpoint import packed, unpacked
from armwise.training.config import TrainConfig
from armwise.training.description import build, check_entries, describe
from armwise.writing import write_folder

FORMAT, VERSION = "armwise-model", 1
PAGE, WEIGHTS = "model.json", "weights.npz"
_KEYS = ("format", "version", "armwise", "model", "features", "problem", "loss", "config", "data", "metrics", "weights")


class SavedModel(NamedTuple):
    """A trained model and what it needs to be used and judged by.

    Attributes:
        model: features to transitions.
        problem: rewards, discount, first states and costs it was trained for.
        loss: what it was trained by.
        config: how it was trained.
        features: what the columns are, as JSON: whatever ``save_model`` was given.
        data: the fingerprint of what it learned from.
        metrics: how well it did, by name.
    """

    model: Any
    problem: Problem
    loss: Loss
    config: TrainConfig
    features: Any = None
    data: str = ""
    metrics: Mapping[str, float] = {}


def save_model(folder: str | os.PathLike[str], saved: SavedModel) -> None:
    """Write a model as a new folder, whole or not at all.

    Args:
        folder: where; it must not exist yet.
        saved: the model and its surroundings. Models other than those of ``armwise.models`` can be saved, and loaded
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
        folder: where it is.
        like: a model of the same structure, for models that armwise does not know; its weights do not matter.
    """
    inside = Path(folder)
    try:
        contents = {name: read_file(inside / name) for name in (PAGE, WEIGHTS)}
    except OSError as error:
        raise InvalidInputError(f"{folder} cannot be read as a model: {error}.") from error
    return unpack_model(contents, str(inside), like)


def unpack_model(contents: Mapping[str, bytes], place: str, like: Any = None) -> SavedModel:
    """The model whose files have these contents.

    Args:
        contents: by name, as ``pack_model`` gives them.
        place: the folder or file they are from, for messages.
        like: as in ``load_model``.
    """
    where = os.path.join(place, PAGE)
    page, weights = _read_page(contents[PAGE], where), contents[WEIGHTS]
    if hashlib.sha256(weights).hexdigest() != page["weights"]:
        name = os.path.join(place, WEIGHTS)
        raise InvalidInputError(f"{name} is not the file that model.json speaks of. Train anew.")
    empty = _empty_model(page["model"], where) if like is None else like
    return SavedModel(
        model=unpacked(weights, empty, os.path.join(place, WEIGHTS)),
        problem=_problem(page["problem"], where),
        loss=build(page["loss"], where),
        config=TrainConfig(**_fields(page["config"], TrainConfig, where)),
        features=page["features"],
        data=page["data"],
        metrics=page["metrics"],
    )


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
    """A model of the described shape, with any weights."""
    kinds = {"Linear": Linear, "MultiLayerPerceptron": MultiLayerPerceptron}
    arguments = dict(page) if isinstance(page, dict) else {}
    kind = arguments.pop("kind", None)
    if kind == "Ensemble":
        return _empty_ensemble(arguments, where)
    if kind not in kinds:
        raise InvalidInputError(
            f"{where}: the model is a {kind!r}, which armwise does not know. Pass like=, a model of the same structure."
        )
    try:
        numeric, levels, dtype = (
            arguments.pop("numeric"),
            arguments.pop("levels"),
            jnp.dtype(arguments.pop("precision")),
        )
        features = Features(np.zeros((1, numeric)), np.zeros((1, len(levels)), dtype=int), levels)
        model = eqx.filter_eval_shape(kinds[kind], jax.random.key(0), features, **arguments)
    except (KeyError, TypeError, InvalidInputError) as error:
        raise InvalidInputError(f"{where}: the model's description is not one of a {kind}: {error}.") from error
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, dtype), model)


def _empty_ensemble(page: dict[str, Any], where: str) -> Ensemble:
    number = page.get("number")
    if set(page) != {"number", "member"} or type(number) is not int or not 1 <= number <= 1000:
        raise InvalidInputError(f"{where}: the model's description is not one of an Ensemble: {page!r}.")
    member = _empty_model(page["member"], where)
    return Ensemble(jax.tree.map(lambda leaf: jnp.zeros((number, *leaf.shape), leaf.dtype), member))


def _problem(page: Any, where: str) -> Problem:
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in _fields(page, Problem, where).items()}
    return Problem(**arrays)


def _fields(page: Any, of: type, where: str) -> dict[str, Any]:
    if not isinstance(page, dict):
        raise InvalidInputError(f"{where}: {of.__name__} has missing or unknown entries: {page!r}.")
    check_entries(page, of, where)
    return page


def _read_page(content: bytes, path: str) -> dict[str, Any]:
    try:
        page = json.loads(content.decode())
    except ValueError as error:
        raise InvalidInputError(f"{path} cannot be read as a model's description: {error}.") from error
    if not isinstance(page, dict) or page.get("format") != FORMAT:
        raise InvalidInputError(f"{path} does not describe an armwise model.")
    if page.get("version") != VERSION:
        raise InvalidInputError(
            f"{path} is of version {page.get('version')!r}; armwise {version('armwise')} reads version {VERSION}. "
            "Use the armwise that wrote it, or train anew."
        )
    if set(page) != set(_KEYS):
        odd = ", ".join(sorted(set(page) ^ set(_KEYS)))
        raise InvalidInputError(f"{path} has missing or unknown entries: {odd}.")
    return page
