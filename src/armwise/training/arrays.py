"""Arrays of a pytree as the bytes of an .npz file, and back into a pytree of the same structure; never a pickle."""

import io
import math
import re
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from armwise.errors import InvalidInputError
from armwise.training.untrusted import read_parts, shown

_MAGIC = b"\x93NUMPY"
# What NumPy writes, to the letter; its own reader would evaluate an expression and believe any size.
_HEADER = re.compile(
    rb"\{'descr': '([<|][a-z]\d{1,2})', 'fortran_order': (True|False), 'shape': \(([\d, ]{0,100})\), \}\s*"
)
_KINDS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_FLOATS = ("float16", "float32", "float64", "complex64", "complex128")
_TYPES = {np.dtype(name).str: np.dtype(name) for name in (*_KINDS, *_FLOATS)}


def packed(tree: Any) -> bytes:
    """The content of an .npz file of a pytree's arrays, each under its place in the tree; no pickle."""
    arrays: dict[str, Any] = {name: plain(leaf) for name, leaf in _named_arrays(tree)}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def unpacked(content: bytes, where: str, like: Any) -> Any:
    """What ``packed`` packed, as a pytree of the given structure; anything else is refused.

    Args:
        content: of the file.
        where: its name in messages.
        like: arrays, or ``jax.ShapeDtypeStruct``, of the shapes and types to come.
    """
    expected = _named_arrays(like)
    try:
        parts = read_parts(content, where)
    except InvalidInputError as error:
        raise InvalidInputError(f"{where} is not a file of arrays, or it is damaged: {error}") from error
    stored = {name.removesuffix(".npy"): part for name, part in parts.items()}
    if set(stored) != {name for name, _ in expected}:
        odd = sorted(set(stored) ^ {name for name, _ in expected})
        raise InvalidInputError(
            f"{where} does not hold the arrays expected: {shown(', '.join(odd))} missing or unknown."
        )
    headers = {name: _header(f"{where}: {name}", part) for name, part in stored.items()}
    arrays = [_restore(f"{where}: {name}", stored[name], headers[name], leaf) for name, leaf in expected]
    _, structure = jax.tree.flatten(eqx.filter(like, _is_array))
    return eqx.combine(jax.tree.unflatten(structure, arrays), eqx.filter(like, _is_array, inverse=True))


def most_bytes(like: Any) -> int:
    """More than ``packed`` makes of arrays like these."""
    sizes = [math.prod(leaf.shape) * leaf.dtype.itemsize for _, leaf in _named_arrays(like)]
    return sum(sizes) + 4096 * (len(sizes) + 1)


def plain(leaf: Any) -> np.ndarray:
    """An array as NumPy's; random keys as their numbers."""
    return np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf)


class _Header(NamedTuple):
    """What an .npy file says of its array, and where the numbers begin."""

    dtype: np.dtype
    order: Literal["C", "F"]
    shape: list[int]
    end: int


def _header(where: str, content: bytes) -> _Header:
    start = 10 if content[6:7] == b"\1" else 12
    end = start + int.from_bytes(content[8:start], "little")
    header = _HEADER.fullmatch(content[start:end])
    if not content.startswith(_MAGIC) or header is None or header[1].decode() not in _TYPES:
        raise InvalidInputError(f"{where} is not a file of arrays, or it is damaged.")
    shape = [int(part) for part in header[3].replace(b",", b" ").split()]
    return _Header(_TYPES[header[1].decode()], "F" if header[2] == b"True" else "C", shape, end)


def _restore(where: str, content: bytes, header: _Header, leaf: Any) -> jax.Array:
    """The array in an .npy file, if its type and size are those expected; compared before anything is made."""
    like = leaf if isinstance(leaf, jax.ShapeDtypeStruct) else plain(leaf)
    if header.dtype != like.dtype or header.shape != list(like.shape):
        raise InvalidInputError(f"{where} is {header.dtype}{header.shape}, expected {like.dtype}{list(like.shape)}.")
    if len(content) - header.end != math.prod(like.shape) * like.dtype.itemsize:
        raise InvalidInputError(f"{where} is damaged: it is longer or shorter than its numbers.")
    numbers = np.frombuffer(content, header.dtype, offset=header.end).reshape(like.shape, order=header.order)
    return jax.random.wrap_key_data(jnp.asarray(numbers)) if _is_key(leaf) else jnp.asarray(numbers)


def _named_arrays(tree: Any) -> list[tuple[str, Any]]:
    paths, _ = jax.tree_util.tree_flatten_with_path(eqx.filter(tree, _is_array))
    return [(jax.tree_util.keystr(path, simple=True, separator="."), leaf) for path, leaf in paths]


def _is_array(leaf: Any) -> bool:
    return eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)


def _is_key(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
