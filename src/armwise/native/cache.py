"""A cache of compiled libraries: a folder that only the user can write to, each file named by its checksum.

A library in the cache is code that will run. So it is used only if nobody else can have written it (folder and file
belong to the user, and no one else may write to them), and if its content matches its checksum: loading a truncated
file ends the process. A library that fails these checks is removed and then built again.
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
_LARGEST = 2**26  # bytes; our libraries have about 50,000
_ABANDONED = 3600  # seconds; an older build folder is from a build that was killed


def cache_folder() -> Path | None:
    """The user's cache folder; None if it cannot be made or someone else may write to it."""
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(home, "armwise")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder if _is_ours(folder) and folder.is_dir() else None
    except (OSError, RuntimeError):
        return None


def sound_libraries(folder: Path, stem: str) -> list[Path]:
    """The libraries of a name that are safe to load; removes the others of that name."""
    found = sorted(folder.glob(f"{stem}-*.so"))
    sound = [path for path in found if _is_sound(path)]
    for path in set(found) - set(sound):
        _remove(path)
    return sound


def keep(library: Path, folder: Path, stem: str) -> None:
    """Move a library into the cache in one step, named by the checksum of its content."""
    library.chmod(0o700)
    with library.open("rb") as stream:
        os.fsync(stream.fileno())
        checksum = hashlib.sha256(stream.read()).hexdigest()
    os.replace(library, folder / f"{stem}-{checksum}.so")


@contextmanager
def build_folder(folder: Path | None) -> Iterator[Path]:
    """A temporary folder, in the cache if that is writable; also removes the folders of killed builds."""
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
        # Reading a pipe could wait for ever, and a link may lead to a file that someone else can write.
        if not (_is_ours(path) and stat.S_ISREG(status.st_mode) and status.st_size <= _LARGEST):
            return False
        return path.stem.endswith("-" + hashlib.sha256(path.read_bytes()).hexdigest())
    except OSError:
        return False


def _is_ours(path: Path) -> bool:
    """Whether the path belongs to this user and no other user can have written it."""
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
    with suppress(OSError):  # another process removed it, or the folder is read-only; in both cases it is not loaded
        path.unlink()
