"""A planner on disk: one file, a zip of plain arrays and pages of JSON, written whole or not at all; never a pickle."""

import dataclasses
import io
import json
import zipfile
from typing import Any, NamedTuple

import numpy as np

from armwise.errors import InvalidInputError
from armwise.losses import Loss
from armwise.planning.programme import PathLike
from armwise.reading import read_file
from armwise.training import SavedModel, TrainConfig
from armwise.training.description import build, describe
from armwise.training.saving import pack_model, unpack_model
from armwise.writing import write_file

FORMAT, VERSION = "armwise-planner", 1
PAGE, MODEL = "planner.json", ("model.json", "weights.npz")
# A planner is some kilobytes; what claims to be far larger is not one.
LARGEST = 2**30


class SavedPlanner(NamedTuple):
    """What is kept of a planner: parameters; model, encoder, problem, loss and settings; everyone's counts."""

    parameters: dict[str, Any]
    saved: SavedModel
    pool: np.ndarray


def write_planner(path: PathLike, planner: SavedPlanner) -> None:
    """Write the file; the same planner gives the same bytes."""
    page = {"format": FORMAT, "version": VERSION, "parameters": _to_json(planner.parameters)}
    page["pool"] = planner.pool.tolist()
    parts = {PAGE: (json.dumps(page, indent=2, ensure_ascii=False) + "\n").encode(), **pack_model(planner.saved)}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in parts.items():
            # Without a date of its own, so that time is not part of the bytes.
            archive.writestr(zipfile.ZipInfo(name), content)
    write_file(path, stream.getvalue())


def read_content(path: PathLike) -> bytes:
    """The bytes of a planner's file."""
    try:
        return read_file(path)
    except FileNotFoundError:
        remedy = "Fit a planner first: armwise fit, or OutreachPlanner().fit."
        raise InvalidInputError(f"{path} does not exist. {remedy}") from None
    except OSError as error:
        remedy = "Check that it is a file and that you may read it."
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}. {remedy}") from error


def read_planner(content: bytes, path: PathLike) -> SavedPlanner:
    """The planner whose file has this content; what ``write_planner`` did not write is refused, naming the path."""
    parts = _parts(content, path)
    page = _page(path, parts[PAGE])
    saved = unpack_model({name: parts[name] for name in MODEL}, str(path))
    pool, states = np.asarray(page.get("pool")), saved.problem.num_states
    if pool.shape != (states, 2, states) or pool.dtype.kind not in "iu":
        raise InvalidInputError(f"{path} is damaged: its counts are not those of {states} states. Fit anew.")
    return SavedPlanner(_from_json(page["parameters"], str(path)), saved, pool)


def _parts(content: bytes, path: PathLike) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            large = [entry.filename for entry in archive.infolist() if entry.file_size > LARGEST]
            if large:
                raise InvalidInputError(f"{path} is not a planner: {large[0]} is too large for one.")
            return {name: archive.read(name) for name in (PAGE, *MODEL)}
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise InvalidInputError(f"{path} is not a planner, or it is damaged: {error}. Fit anew.") from error


def _page(path: PathLike, content: bytes) -> dict[str, Any]:
    try:
        page = json.loads(content)
    except ValueError as error:
        raise InvalidInputError(f"{path} is damaged: {error}. Fit anew.") from error
    if not isinstance(page, dict) or (page.get("format"), page.get("version")) != (FORMAT, VERSION):
        raise InvalidInputError(
            f"{path} is not a planner of version {VERSION}. Use the armwise that wrote it, or fit anew."
        )
    return page


def _to_json(parameters: dict[str, Any]) -> dict[str, Any]:
    plain = dict(parameters)
    if callable(plain["model"]):
        raise InvalidInputError("A planner with a model of your own cannot be saved; save_model keeps the model alone.")
    plain["loss"] = None if plain["loss"] is None else describe(plain["loss"])
    plain["config"] = None if plain["config"] is None else dataclasses.asdict(plain["config"])
    return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}


def _from_json(page: Any, where: str) -> dict[str, Any]:
    if not isinstance(page, dict) or not {"loss", "config", "model"} <= set(page):
        raise InvalidInputError(f"{where} is not a planner: its parameters are missing. Fit anew.")
    loss: Loss | None = None if page["loss"] is None else build(page["loss"], where)
    config = None if page["config"] is None else TrainConfig(**page["config"])
    return {**page, "loss": loss, "config": config}
