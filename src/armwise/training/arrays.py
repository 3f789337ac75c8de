"""Convert the arrays of a pytree to the bytes of an .npz file and back. No pickle is ever used."""

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
# Exactly what NumPy writes. NumPy's own reader would evaluate an expression and accept any size.
_HEADER = re.compile(
    rb"\{'descr': '([<|][a-z]\d{1,2})', 'fortran_order': (True|False), 'shape': \(([\d, ]{0,100})\), \}\s*"
)
_KINDS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_FLOATS = ("float16", "float32", "float64", "complex64", "complex128")
_TYPES = {np.dtype(name).str: np.dtype(name) for name in (*_KINDS, *_FLOATS)}


def packed(tree: Any) -> bytes:
    """The content of an .npz file with a pytree's arrays, each named by its path in the tree. No pickle is used."""
    arrays: dict[str, Any] = {name: plain(leaf) for name, leaf in _named_arrays(tree)}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def unpacked(content: bytes, where: str, like: Any) -> Any:
    """Read the content that ``packed`` made into a pytree of the given structure. Anything else is refused.

    Args:
        content: of the file.
        where: its name in messages.
        like: a pytree of arrays, or of ``jax.ShapeDtypeStruct``, with the expected shapes and types.
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
    """An upper bound on the size of what ``packed`` makes of arrays like these, in bytes."""
    sizes = [math.prod(leaf.shape) * leaf.dtype.itemsize for _, leaf in _named_arrays(like)]
    return sum(sizes) + 4096 * (len(sizes) + 1)


def plain(leaf: Any) -> np.ndarray:
    """The array as a NumPy array. A random key becomes an array of its numbers."""
    return np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf)


class _Header(NamedTuple):
    """What an .npy file says about its array, and where the numbers begin."""

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
    """The array in an .npy file. Its type and size are checked before any memory is used for it."""
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
