"""The domains of the experiments by name, and domains as files, so that they can be made here and used elsewhere."""

import dataclasses
import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from armwise.data import Cohorts, Domain, Features, ctn0094, mmitra_like, oulad, synthetic
from armwise.errors import InvalidInputError
from armwise.io.writing import write_file
from armwise.rmab import Problem

SEED = 0
_FORMAT = "armwise-domain-1"
_FEATURES = ("numeric", "codes")
_COHORTS = ("true_transitions", "counts", "budget", "ids")


@dataclasses.dataclass(frozen=True)
class DomainEntry:
    """How to make a domain, and which column of the paper's tables it stands beside."""

    column: str
    make: Callable[..., Domain]
    data: str | None = None  # the folder of public data that it is read from


DOMAINS: dict[str, DomainEntry] = {
    "mmitra_like": DomainEntry("real-world", lambda **knobs: mmitra_like(SEED, **knobs)),
    "oulad": DomainEntry("real-world", lambda path, **knobs: oulad(path, SEED, **knobs), "oulad"),
    "ctn0094": DomainEntry("real-world", lambda path, **knobs: ctn0094(path, SEED, **knobs), "ctn0094"),
    "synthetic-2": DomainEntry("synthetic-2", lambda **knobs: synthetic(SEED, num_states=2, **knobs)),
    "synthetic-5": DomainEntry("synthetic-5", lambda **knobs: synthetic(SEED, num_states=5, **knobs)),
}


def make_domain(name: str, data: str | os.PathLike[str] | None = None, **knobs: Any) -> Domain:
    """A domain of the experiments.

    Args:
        name: one of ``DOMAINS``.
        data: the folder that holds ``oulad`` and ``ctn0094``, each a folder of public files.
        knobs: passed on to the domain; ``initial`` (the distribution of the first state when decisions are made)
            is understood for all.

    Example:
        >>> make_domain("synthetic-2", num_cohorts=5, num_arms=4, budget=1, width=8).cohorts.num_cohorts
        5
    """
    entry = check_domain(name)
    initial = knobs.pop("initial", None)
    if entry.data is not None:
        knobs["path"] = _data_folder(name, entry.data, data)
    domain = entry.make(**knobs)
    if initial is None:
        return domain
    first = jnp.asarray(initial, domain.problem.initial.dtype)
    return domain._replace(problem=eqx.tree_at(lambda problem: problem.initial, domain.problem, first))


def check_domain(name: str) -> DomainEntry:
    """The entry of a domain, or a complaint that lists those there are."""
    if name not in DOMAINS:
        raise InvalidInputError(f"There is no domain {name!r}; there are {', '.join(DOMAINS)}.")
    return DOMAINS[name]


def available_domains(data: str | os.PathLike[str] | None) -> list[str]:
    """The domains that can be made here: all of them where the public data are."""
    return [
        name
        for name, entry in DOMAINS.items()
        if entry.data is None or (data is not None and (Path(data) / entry.data).is_dir())
    ]


def save_domain(path: str | os.PathLike[str], domain: Domain) -> None:
    """Write a domain as one .npz file of plain arrays: no pickle, and the same on any machine."""
    arrays: dict[str, Any] = {"format": np.array(_FORMAT), "levels": np.array(domain.cohorts.features.levels, int)}
    arrays |= {name: np.asarray(getattr(domain.cohorts.features, name)) for name in _FEATURES}
    arrays |= {name: np.asarray(getattr(domain.cohorts, name)) for name in _COHORTS}
    arrays |= {field.name: np.asarray(getattr(domain.problem, field.name)) for field in dataclasses.fields(Problem)}
    arrays |= {"sizes": np.array(domain.sizes), "name": np.array(domain.name), "note": np.array(domain.note)}
    if domain.behaviour is not None:
        arrays["behaviour"] = np.asarray(domain.behaviour)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    write_file(Path(path), buffer.getvalue())


def load_domain(path: str | os.PathLike[str]) -> Domain:
    """Read what ``save_domain`` wrote; anything else is refused."""
    try:
        with np.load(path, allow_pickle=False) as file:
            stored = {name: file[name] for name in file.files}
        return _domain(stored)
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise InvalidInputError(f"{path} is not a domain that armwise wrote, or it is damaged: {error}.") from error


def _domain(stored: dict[str, np.ndarray]) -> Domain:
    if str(stored["format"]) != _FORMAT:
        raise InvalidInputError(f"its format is {str(stored['format'])!r}, not {_FORMAT!r}")
    features = Features(stored["numeric"], stored["codes"], tuple(stored["levels"].tolist()))
    cohorts = Cohorts(features, *(stored[name] for name in _COHORTS))
    problem: dict[str, Any] = {field.name: stored[field.name] for field in dataclasses.fields(Problem)}
    train, validation, test = stored["sizes"].tolist()
    # Files from before domains kept their people's behaviour have none.
    behaviour = jnp.asarray(stored["behaviour"]) if "behaviour" in stored else None
    name, note = str(stored["name"]), str(stored["note"])
    return Domain(cohorts, Problem(**problem), (train, validation, test), name, note, behaviour)


def _data_folder(name: str, inside: str, data: str | os.PathLike[str] | None) -> Path:
    folder = Path("data" if data is None else data) / inside
    if not folder.is_dir():
        raise InvalidInputError(
            f"{name} is read from public data, but there is no folder {folder}. Name the folder that holds "
            f"{inside}/ with --data, or make the domain where the data are and carry the file that save_domain writes."
        )
    return folder
