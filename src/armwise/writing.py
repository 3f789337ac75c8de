"""Writing results whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from armwise.errors import OutputError


def write_file(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write a file so that a reader sees the old content or all of the new, even after a power failure.

    Args:
        path: replaced if it exists; its folder must exist.
        content: text is written as UTF-8.
    """
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            _fill(handle, content)
            Path(temporary).chmod(0o666 & ~_mask())
            os.replace(temporary, target)
        finally:
            Path(temporary).unlink(missing_ok=True)
        _sync_folder(target.parent)
    except OSError as error:
        raise _not_written(target, error) from error


def write_folder(path: str | os.PathLike[str], contents: Mapping[str, bytes | str]) -> None:
    """Write a new folder of files; it appears complete or not at all.

    Args:
        path: must not exist; the folder above it must.
        contents: file names (no folders) and what each holds.
    """
    target = Path(path)
    # rename() would replace an empty folder, under the feet of a shell that stands in it.
    if os.path.lexists(target):
        raise OutputError(f"{target} exists already, and nothing was written. Give the name of a new folder.")
    try:
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.resolve().parent))
        try:
            for name, content in contents.items():
                write_file(temporary / name, content)
            temporary.chmod(0o777 & ~_mask())
            os.rename(temporary, target.resolve())
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        _sync_folder(target.resolve().parent)
    except OSError as error:
        raise error if isinstance(error, OutputError) else _not_written(target, error) from error


def make_folder(path: str | os.PathLike[str]) -> None:
    """Make a folder unless it is there; the folder above it must be."""
    try:
        Path(path).mkdir(exist_ok=True)
    except OSError as error:
        raise _not_written(Path(path), error) from error


def _fill(handle: int, content: bytes | str) -> None:
    with os.fdopen(handle, "wb") as stream:
        stream.write(content.encode() if isinstance(content, str) else content)
        stream.flush()
        os.fsync(stream.fileno())


def _sync_folder(folder: Path) -> None:
    """Make a rename survive a power failure; Windows cannot open folders and needs no such call."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _mask() -> int:
    """The rights that new files are not to have; mkstemp gives none to others, whatever the user has set."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _not_written(path: Path, error: OSError) -> OutputError:
    remedy = "Check that the folder exists, that you may write there, and that the disk is not full."
    return OutputError(f"{path} could not be written, and nothing was: {error.strerror}. {remedy}")
