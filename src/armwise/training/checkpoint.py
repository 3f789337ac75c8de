"""A folder in which long work leaves what it has finished, so that a later call can go on from there.

Each file is written whole or not at all, and the folder remembers what it belongs to: other data, another loss or
another setting is refused instead of continued.
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
    """Named pytrees in a folder, all of one piece of work.

    Args:
        folder: where; made if it is not there.
        fingerprint: of everything that the results depend on, from ``fingerprint``.
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
        """Keep the arrays of a pytree under a name, in place of what was there."""
        save_arrays(self.folder / f"{name}.npz", tree)

    def load(self, name: str, like: Any) -> Any | None:
        """The pytree under a name, shaped like a given one; None if there is none."""
        path = self.folder / f"{name}.npz"
        return load_arrays(path, like) if path.exists() else None


def save_arrays(path: Path, tree: Any) -> None:
    """Write the arrays of a pytree to an .npz file, whole or not at all."""
    write_file(path, packed(tree))


def load_arrays(path: Path, like: Any) -> Any:
    """Read what ``save_arrays`` wrote into a pytree of the given structure; anything else is refused."""
    return unpacked(read_limited(path, most_bytes(like)), str(path), like)


def fingerprint(*parts: Any) -> str:
    """A hash of arrays, settings and structure: equal if and only if (but for chance) everything in them is."""
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
    """A leaf that is no array in words.

    A function's repr tells where it lies in memory, and is another in every process. So one that can be imported goes
    by its name, and one that is nothing but its code, such as ``lambda x: x``, by that; what cannot be told for sure to
    be the same goes by its repr, and is not continued.
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
