"""A folder of checkpoints: long work saves what it has finished there, so that a later call can continue.

Each file is written completely or not at all. The folder records what it belongs to: a call with other data, another
loss or another setting gets an error instead of continuing.
"""

import hashlib
import json
import os
import sys
import types
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from armwise.errors import InvalidInputError
from armwise.io.writing import write_file
from armwise.training.arrays import most_bytes, packed, plain, unpacked
from armwise.training.untrusted import parse_json, read_limited

_VERSION = 1


class Checkpoints:
    """Named pytrees in a folder that belongs to one piece of work.

    Args:
        folder: created if it does not exist.
        fingerprint: of everything that the results depend on, from the function ``fingerprint``.
    """

    def __init__(self, folder: str | os.PathLike[str], fingerprint: str):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        owner = self.folder / "training.json"
        here = {"format": "armwise-checkpoints", "version": _VERSION, "fingerprint": fingerprint}
        if not owner.exists():
            if any(self.folder.iterdir()):
                raise InvalidInputError(f"{folder} holds other files. Name an empty folder, or one that is not there.")
            write_file(owner, json.dumps(here, indent=2))
        elif _read_json(owner) != here:
            raise InvalidInputError(
                f"{folder} holds checkpoints of another training: the data, loss, model, optimizer, settings or key "
                "differ. Name another folder, or delete this one."
            )

    def save(self, name: str, tree: Any) -> None:
        """Save the arrays of a pytree under a name, replacing an earlier one."""
        save_arrays(self.folder / f"{name}.npz", tree)

    def load(self, name: str, like: Any) -> Any | None:
        """Load the pytree saved under a name, with the structure of ``like``; None if there is none."""
        path = self.folder / f"{name}.npz"
        return load_arrays(path, like) if path.exists() else None


def save_arrays(path: Path, tree: Any) -> None:
    """Write the arrays of a pytree to an .npz file, completely or not at all."""
    write_file(path, packed(tree))


def load_arrays(path: Path, like: Any) -> Any:
    """Read what ``save_arrays`` wrote into a pytree of the given structure. Anything else is refused."""
    return unpacked(read_limited(path, most_bytes(like)), str(path), like)


def fingerprint(*parts: Any) -> str:
    """A hash of arrays, settings and structure. Except by chance, equal hashes mean that everything is equal."""
    digest = hashlib.sha256()
    leaves, structure = jax.tree.flatten(parts)
    digest.update(str(structure).encode())
    for leaf in leaves:
        if eqx.is_array(leaf):
            values = np.ascontiguousarray(plain(leaf))
            digest.update(f"{values.dtype}{values.shape}".encode())
            digest.update(values.tobytes())
        else:
            digest.update(_described(leaf).encode())
    return digest.hexdigest()


def _described(leaf: Any) -> str:
    """A text that stands for a leaf that is not an array.

    A function's repr contains its memory address, which differs in every process. So a function that can be imported
    is described by its name. A function that uses nothing from outside, such as ``lambda x: x``, is described by its
    code. Everything else is described by its repr, so a later process does not continue work that depends on it.
    """
    module, name = getattr(leaf, "__module__", None), getattr(leaf, "__qualname__", None)
    if module and name and module != "__main__":
        found: Any = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is leaf:
            return f"{module}.{name}"
    if isinstance(leaf, types.FunctionType):
        code = leaf.__code__
        is_whole = not (leaf.__closure__ or leaf.__defaults__ or leaf.__kwdefaults__ or code.co_names)
        if is_whole and not any(isinstance(each, types.CodeType) for each in code.co_consts):
            return f"{code.co_code!r} {code.co_consts!r}"
    return repr(leaf)


def _read_json(path: Path) -> Any:
    try:
        return parse_json(read_limited(path), str(path))
    except InvalidInputError as error:
        raise InvalidInputError(f"{error} Delete the folder to begin anew.") from error
