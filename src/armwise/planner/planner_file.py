"""A planner on disk: one zip file of plain arrays and JSON documents, written whole or not at all; never a pickle."""

import dataclasses
import io
import json
import os
import zipfile
from typing import Any, NamedTuple

import jax
import numpy as np

from armwise._validation import check_not_negative, check_share
from armwise.data import Encoder
from armwise.errors import InvalidInputError
from armwise.io.reading import PathLike
from armwise.io.writing import write_file
from armwise.losses import Loss
from armwise.models import Ensemble
from armwise.models.chains import ChainModel
from armwise.models.corrections import CorrectedChains, Correction, num_history
from armwise.planner.call_gains import CallGains
from armwise.planner.planner_file_parts import check_chains, gains_from_json, gains_to_json, pack_chains, unpack_chains
from armwise.rmab.problem import Problem
from armwise.training import SavedModel, TrainConfig
from armwise.training.description import build, check_entries, describe
from armwise.training.saving import PAGE as MODEL
from armwise.training.saving import WEIGHTS, pack_model, unpack_model
from armwise.training.untrusted import naming, parse_json, read_limited, read_parts, shown

FORMAT, VERSION = "armwise-planner", 2
PAGE = "planner.json"
# This prefix marks the parts that hold the chains which a network corrects.
CORRECTED = "corrected-"


class SavedPlanner(NamedTuple):
    """What a file keeps: parameters; model, encoder, problem, loss and settings; everyone's counts; what calls gain."""

    parameters: dict[str, Any]
    saved: SavedModel
    pool: np.ndarray
    gains: CallGains


def write_planner(path: PathLike, planner: SavedPlanner) -> None:
    """Write the file. The same planner gives the same bytes."""
    page = {"format": FORMAT, "version": VERSION, "parameters": _to_json(planner.parameters)}
    page["pool"] = planner.pool.tolist()
    page["gains"] = gains_to_json(planner.gains)
    parts = {PAGE: (json.dumps(page, indent=2, ensure_ascii=False) + "\n").encode(), **_pack(planner.saved)}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in parts.items():
            # ZipInfo has a fixed date, so that the bytes do not depend on the time.
            archive.writestr(zipfile.ZipInfo(name), content)
    write_file(path, stream.getvalue())


def _pack(saved: SavedModel) -> dict[str, bytes]:
    """The parts of a model: its chains, and the network that corrects them if there is one."""
    if isinstance(saved.model, ChainModel):
        return pack_chains(saved)
    chains = pack_chains(saved._replace(model=saved.model.chains))
    network = pack_model(saved._replace(model=saved.model.correction.network))
    return {**network, **{CORRECTED + name: content for name, content in chains.items()}}


def _unpack(parts: dict[str, bytes]) -> SavedModel:
    if CORRECTED + MODEL not in parts:
        return unpack_chains(parts)
    with naming(CORRECTED + MODEL):
        chains = unpack_chains({name: parts[CORRECTED + name] for name in (MODEL, WEIGHTS)}).model
    saved = unpack_model(parts, "")
    return saved._replace(model=CorrectedChains(chains, Correction(saved.model, num_history(chains.num_states))))


def read_content(path: PathLike) -> bytes:
    """The bytes of a planner's file."""
    if not os.path.lexists(path):
        raise InvalidInputError(f"{path} does not exist. Fit a planner first: armwise fit, or OutreachPlanner().fit.")
    return read_limited(path)


def read_planner(content: bytes, path: PathLike) -> SavedPlanner:
    """Read a planner from the content of its file. Content that ``write_planner`` did not write is refused.

    The error names the path. The content is read in memory, and sizes are checked before any array is made.
    """
    try:
        return _parse(content)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"{path} is not a planner of this armwise, or it is damaged. {error} Take it from a copy, or fit again: "
            "armwise fit."
        ) from error


def _parse(content: bytes) -> SavedPlanner:
    parts = read_parts(content, "The file")
    if set(parts) - {CORRECTED + MODEL, CORRECTED + WEIGHTS} != {PAGE, MODEL, WEIGHTS} or len(parts) == 4:
        raise InvalidInputError(f"It holds {shown(', '.join(parts)) or 'nothing'}, not {PAGE}, {MODEL} and {WEIGHTS}.")
    page = _page(parts[PAGE])
    saved = _unpack(parts)
    with naming(PAGE):
        states = saved.problem.num_states
        pool, gains = _pool(page["pool"], states), gains_from_json(page["gains"], states)
        planner = SavedPlanner(_from_json(page["parameters"]), saved, pool, gains)
    with naming(MODEL):
        _check_fits(saved)
    return planner


def _page(content: bytes) -> dict[str, Any]:
    page = parse_json(content, PAGE)
    if not isinstance(page, dict) or page.get("format") != FORMAT:
        raise InvalidInputError(f"{PAGE} does not describe a planner.")
    if type(page.get("version")) is not int or page["version"] != VERSION:
        raise InvalidInputError(
            f"{PAGE} is of version {shown(page.get('version'))}, and this armwise reads version {VERSION}."
        )
    if set(page) != {"format", "version", "parameters", "pool", "gains"}:
        raise InvalidInputError(f"{PAGE} has missing or unknown entries.")
    return page


def _pool(page: Any, states: int) -> np.ndarray:
    """Everyone's counts: whole numbers of at least 0."""
    rows = page if isinstance(page, list) else []
    for _ in range(2):
        rows = [row for rows in rows if isinstance(rows, list) for row in rows]
    whole = all(type(count) is int and 0 <= count < 2**63 for count in rows)
    if not whole or len(rows) != 2 * states**2 or np.shape(page) != (states, 2, states):
        raise InvalidInputError(f"pool must hold counts of 0 or more, [{states}, 2, {states}], not {shown(page)}.")
    return np.asarray(page, dtype=np.int64)


def _check_fits(saved: SavedModel) -> None:
    """Refuse parts that do not fit together and weights that are not finite: plans would fail or be wrong."""
    encoder, problem = Encoder.from_dict(saved.features), saved.problem
    if not _is_shared(problem):
        raise InvalidInputError("the problem is not one that all people share.")
    corrected = isinstance(saved.model, CorrectedChains)
    check_chains(saved.model.chains if corrected else saved.model, problem.num_states, encoder.levels)
    if corrected:
        _check_network(saved.model.correction.network, problem.num_states, encoder.levels)
    people = saved.metrics.get("num_people")
    if people is None or not 1 <= people < 2**63 or people % 1:
        raise InvalidInputError(f"metrics must say how many people were learned from, not {shown(people)}.")


def _check_network(network: Any, num_states: int, levels: tuple[int, ...]) -> None:
    model = network.members if isinstance(network, Ensemble) else network
    numeric = model.layer.weights.shape[-2]
    if model.layer.levels != levels or numeric != num_history(num_states):
        known = shown(model.layer.levels)
        raise InvalidInputError(f"the model is for {numeric} numbers and levels {known}, its columns are not.")
    if (model.num_states, model.num_actions) != (num_states, 2):
        raise InvalidInputError(f"the model is for {model.num_states} states, and the problem is another.")
    if not all(np.isfinite(np.asarray(leaf)).all() for leaf in jax.tree.leaves(network)):
        raise InvalidInputError("some weights are not finite numbers.")


def _is_shared(problem: Problem) -> bool:
    return problem.rewards.ndim == problem.initial.ndim == 1 and problem.costs.shape == (2,)


def _to_json(parameters: dict[str, Any]) -> dict[str, Any]:
    plain = dict(parameters)
    if callable(plain["model"]):
        raise InvalidInputError("A planner with a model of your own cannot be saved; save_model keeps the model alone.")
    plain["loss"] = None if plain["loss"] is None else describe(plain["loss"])
    plain["config"] = None if plain["config"] is None else dataclasses.asdict(plain["config"])
    return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}


def _from_json(page: Any) -> dict[str, Any]:
    if not isinstance(page, dict) or not {"loss", "config", "model"} <= set(page):
        raise InvalidInputError(f"{PAGE}: the parameters of the planner are missing.")
    loss = None if page["loss"] is None else build(page["loss"], PAGE)
    if not isinstance(loss, Loss | None):
        raise InvalidInputError(f"{PAGE}: {shown(page['loss'])} is no loss of armwise.")
    config = page["config"]
    if config is not None:
        if not isinstance(config, dict):
            raise InvalidInputError(f"{PAGE}: config must be settings by name, not {shown(config)}.")
        check_entries(config, TrainConfig, PAGE)
        config = TrainConfig(**config)
    _check_parameters(page)
    return {**page, "loss": loss, "config": config}


def _check_parameters(page: dict[str, Any]) -> None:
    """Refuse values that the planner would refuse later, when it learns or plans."""
    for name in ("cohort_size", "max_cohorts", "num_bins", "num_states", "random_state"):
        value = page.get(name)
        if value is not None and (type(value) not in (int, float) or not 0 <= value < 2**63 or value % 1):
            raise InvalidInputError(f"{name} must be a whole number of at least 0, not {shown(value)}.")
    for name in ("budget_share", "validation_share", "discount"):
        check_share(name, page.get(name, 0.0))
    check_not_negative("prior_strength", page.get("prior_strength", 0.0))
    if not isinstance(page["model"], str | None):
        raise InvalidInputError(f"model must be text or nothing, not {shown(page['model'])}.")
    if not isinstance(page.get("id_column", ""), str):
        raise InvalidInputError(f"id_column must be text, not {shown(page['id_column'])}.")
    for name in ("categorical", "numeric"):
        names = page.get(name)
        if names is not None and not (isinstance(names, list) and all(isinstance(each, str) for each in names)):
            raise InvalidInputError(f"{name} must be a list of names, not {shown(names)}.")
