"""A folder in which long work leaves what it has finished, so that a later call can go on from there.

Each file is written whole or not at all, and the folder remembers what it belongs to: other data, another loss or
another setting is refused instead of continued.
"""

import hashlib
import io
import json
import os
import sys
import types
import zipfile
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from armwise.errors import InvalidInputError
from armwise.writing import write_file

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
                f"{folder} holds checkpoints of another training: the data, loss, model, settings or key differ. "
                "Name another folder, or delete this one."
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


def packed(tree: Any) -> bytes:
    """The content of an .npz file of a pytree's arrays, each under its place in the tree; no pickle."""
    arrays: dict[str, Any] = {name: _plain(leaf) for name, leaf in _named_arrays(tree)}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def load_arrays(path: Path, like: Any) -> Any:
    """Read what ``save_arrays`` wrote into a pytree of the given structure; anything else is refused."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidInputError(f"{path} is not a file of arrays, or it is damaged: {error}.") from error
    return unpacked(content, like, str(path))


def unpacked(content: bytes, like: Any, path: str) -> Any:
    """The pytree of the given structure whose arrays ``packed`` made into this content; ``path`` is for messages."""
    expected = _named_arrays(like)
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            stored = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise InvalidInputError(f"{path} is not a file of arrays, or it is damaged: {error}.") from error
    if set(stored) != {name for name, _ in expected}:
        odd = sorted(set(stored) ^ {name for name, _ in expected})
        raise InvalidInputError(f"{path} does not hold the arrays expected: {', '.join(odd)} missing or unknown.")
    arrays = [_restore(path, name, stored[name], leaf) for name, leaf in expected]
    leaves, structure = jax.tree.flatten(eqx.filter(like, eqx.is_array))
    assert len(leaves) == len(arrays)
    return eqx.combine(jax.tree.unflatten(structure, arrays), like)


def fingerprint(*parts: Any) -> str:
    """A hash of arrays, settings and structure: equal if and only if (but for chance) everything in them is."""
    digest = hashlib.sha256()
    leaves, structure = jax.tree.flatten(parts)
    digest.update(str(structure).encode())
    for leaf in leaves:
        if eqx.is_array(leaf):
            plain = np.ascontiguousarray(_plain(leaf))
            digest.update(f"{plain.dtype}{plain.shape}".encode())
            digest.update(plain.tobytes())
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


def _named_arrays(tree: Any) -> list[tuple[str, Any]]:
    paths, _ = jax.tree_util.tree_flatten_with_path(eqx.filter(tree, eqx.is_array))
    return [(jax.tree_util.keystr(path, simple=True, separator="."), leaf) for path, leaf in paths]


def _plain(leaf: Any) -> np.ndarray:
    is_key = isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf)


def _restore(path: str, name: str, stored: np.ndarray, leaf: Any) -> jax.Array:
    plain = _plain(leaf)
    if stored.shape != plain.shape or stored.dtype != plain.dtype:
        raise InvalidInputError(
            f"{path}: {name} is {stored.dtype}{list(stored.shape)}, expected {plain.dtype}{list(plain.shape)}."
        )
    is_key = isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return jax.random.wrap_key_data(jnp.asarray(stored)) if is_key else jnp.asarray(stored)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{path} cannot be read: {error}. Delete the folder to begin anew.") from error
