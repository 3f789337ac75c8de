"""Read files from untrusted sources, with limits and with one kind of error.

A model may come by e-mail or from a shared folder. Reading it must never run code or fill the memory, no matter what it
contains. It must end either with the result or with an ``InvalidInputError``.
"""

import io
import json
import os
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from armwise.errors import InvalidInputError
from armwise.io.reading import read_file

# A model takes some kilobytes, a large one some megabytes.
MOST_BYTES, MOST_JSON_BYTES = 2**28, 2**24
MOST_DEPTH = 32  # of lists and objects within each other; a model's description has 6
MOST_PARTS = 10_000
_DIRECTORY_ENTRY = b"PK\x01\x02"


def read_limited(path: str | os.PathLike[str], most: int = MOST_BYTES) -> bytes:
    """The content of a file. An error says if it is not a file, cannot be read or is too large."""
    try:
        return read_file(path, most)
    except OSError as error:
        remedy = "Check that it is a file that armwise wrote and that you may read it."
        raise InvalidInputError(f"{os.fspath(path)} cannot be read: {error.strerror}. {remedy}") from error


def parse_json(content: bytes, where: str) -> Any:
    """Parse JSON within limits of length and depth. Repeated names and invalid Unicode are refused."""
    if len(content) > MOST_JSON_BYTES:
        raise InvalidInputError(f"{where} is larger than {MOST_JSON_BYTES:,} bytes.")
    try:
        page = json.loads(content, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{where} cannot be read as JSON: {shown(str(error))}.") from error
    _check_json(page, where, MOST_DEPTH)
    return page


def read_parts(content: bytes, where: str) -> dict[str, bytes]:
    """The parts of a zip file by name. Compressed parts are refused, because they could expand without limit."""
    if content.count(_DIRECTORY_ENTRY) > MOST_PARTS:
        raise InvalidInputError(f"{where} has more than {MOST_PARTS:,} parts.")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_directory(archive.infolist(), len(content), where)
            return {entry.filename: archive.read(entry) for entry in archive.infolist()}
    # zipfile raises these on damaged directories, on a wrong checksum and on features that it does not support.
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, RuntimeError, OverflowError, struct.error) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{where} is damaged: {shown(str(error))}.") from error


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Name the file in errors that its values cause when they are used. Wrong types count as errors of the file."""
    try:
        yield
    except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError) as error:
        said = str(error) if isinstance(error, InvalidInputError) else f"{type(error).__name__}: {shown(str(error))}"
        raise InvalidInputError(said if said.startswith(where) else f"{where}: {said}") from error


def shown(value: Any) -> str:
    """A value for a message: cut if it is long, on one line and without control characters."""
    text = value if isinstance(value, str) else repr(value)
    text = "".join(letter if letter.isprintable() else " " for letter in text[:200])
    return text if len(text) <= 100 else f"{text[:100]} …"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    whole = dict(pairs)
    if len(whole) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return whole


def _check_json(value: Any, where: str, depth: int) -> None:
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:  # half of a surrogate pair
            raise InvalidInputError(f"{where} holds text that is not valid Unicode.") from error
    if isinstance(value, list | dict):
        if not depth:
            raise InvalidInputError(f"{where} is nested more than {MOST_DEPTH} levels deep.")
        for part in (*value, *value.values()) if isinstance(value, dict) else value:
            _check_json(part, where, depth - 1)


def _check_directory(entries: list[zipfile.ZipInfo], length: int, where: str) -> None:
    names = [entry.filename for entry in entries]
    if len(set(names)) < len(names):
        raise InvalidInputError(f"{where} has two parts of one name.")
    if any(entry.flag_bits & 1 for entry in entries):
        raise InvalidInputError(f"{where} is encrypted.")
    if any(entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size for entry in entries):
        raise InvalidInputError(f"{where} is compressed, and armwise does not compress.")
    # Overlapping parts could together be far larger than the file.
    if sum(entry.file_size for entry in entries) > length:
        raise InvalidInputError(f"{where} claims parts that are larger than itself.")
