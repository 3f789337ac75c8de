"""Compiled libraries on disk: a folder of the user's own, each file under the checksum of its content.

A library in the cache is code that will run, so it is only used if nobody else can have written it (folder and file
belong to the user, and no one else may write to them), and if its content is what was built: a file that was cut short
ends the process when it is loaded. What is not sound is removed, and then built again.
"""

import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

BUILD_PREFIX = "armwise-build-"
_LARGEST = 2**26  # bytes; a library of ours has some 50,000
_ABANDONED = 3600  # seconds after which a build is known to have been killed


def cache_folder() -> Path | None:
    """The user's cache; None where there is none, or someone else may write to it."""
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(home, "armwise")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder if _is_ours(folder) and folder.is_dir() else None
    except (OSError, RuntimeError):
        return None


def sound_libraries(folder: Path, stem: str) -> list[Path]:
    """The libraries of a name that may be loaded; others of that name are removed."""
    found = sorted(folder.glob(f"{stem}-*.so"))
    sound = [path for path in found if _is_sound(path)]
    for path in set(found) - set(sound):
        _remove(path)
    return sound


def keep(library: Path, folder: Path, stem: str) -> None:
    """Move a library into the cache, whole or not at all, under the checksum of its content."""
    library.chmod(0o700)
    with library.open("rb") as stream:
        os.fsync(stream.fileno())
        checksum = hashlib.sha256(stream.read()).hexdigest()
    os.replace(library, folder / f"{stem}-{checksum}.so")


@contextmanager
def build_folder(folder: Path | None) -> Iterator[Path]:
    """A temporary folder, in the cache if it can be written to; clears what builds that were killed have left."""
    usable = folder if folder is not None and os.access(folder, os.W_OK | os.X_OK) else None
    parent = usable or Path(tempfile.gettempdir())
    for left in parent.glob(f"{BUILD_PREFIX}*"):
        if _is_abandoned(left):
            _remove(left)
    with tempfile.TemporaryDirectory(prefix=BUILD_PREFIX, dir=parent, ignore_cleanup_errors=True) as inside:
        yield Path(inside)


def _is_sound(path: Path) -> bool:
    try:
        status = path.lstat()
        # A pipe would be waited for, and a link leads to what someone else may write.
        if not (_is_ours(path) and stat.S_ISREG(status.st_mode) and status.st_size <= _LARGEST):
            return False
        return path.stem.endswith("-" + hashlib.sha256(path.read_bytes()).hexdigest())
    except OSError:
        return False


def _is_ours(path: Path) -> bool:
    """Whether no other user can have put it there."""
    status = path.lstat()
    others_may_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid == os.getuid() and not others_may_write and not stat.S_ISLNK(status.st_mode)


def _is_abandoned(path: Path) -> bool:
    try:
        return _is_ours(path) and time.time() - path.lstat().st_mtime > _ABANDONED
    except OSError:
        return False


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):  # another process was faster, or the folder is read-only: it is not loaded in any case
        path.unlink()
