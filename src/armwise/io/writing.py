"""Write results whole or not at all.

A result is first written to a temporary file in the target's folder, and then renamed. A process that is killed in
between leaves the temporary file; the next process that writes into the same folder removes it. It removes a file only
if the name ends in the machine's name and ``armwise-tmp``, the file belongs to the same user, and no process holds a
lock on it. A writer holds such a lock, and the system releases it when the process ends for any reason.
"""

import errno
import os
import platform
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from armwise.errors import OutputError

# Windows has no such locks, so temporary files are never removed there as abandoned.
CAN_LOCK = os.name != "nt"
if CAN_LOCK:
    import fcntl

_ATTEMPTS = 100


def write_file(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write a file so that a reader sees the old content or all of the new, even after a power failure.

    Args:
        path: a file that exists there is replaced; the folder must exist. A symbolic link stays, and the file that it
            leads to is replaced.
        content: bytes, or text that is written as UTF-8.
    """
    try:
        target = _ordinary(path)
        _remove_abandoned(target.parent)
        with _temporary_file(target) as (handle, temporary):
            _fill(handle, content)
            temporary.chmod(0o666 & ~_mask())
            os.replace(temporary, target)
        _sync_folder(target.parent)
    except OSError as error:
        raise _not_written(Path(path), error) from error


def write_folder(path: str | os.PathLike[str], contents: Mapping[str, bytes | str]) -> None:
    """Write a new folder of files. It appears complete or not at all.

    Args:
        path: the new folder. It must not exist yet; the folder above it must exist.
        contents: the content of each file by its name; names without folders.
    """
    target = Path(path)
    # rename() would replace an empty folder, even if it is the current folder of a shell.
    if os.path.lexists(target):
        raise OutputError(f"{target} exists already, and nothing was written. Give the name of a new folder.")
    try:
        parent = target.resolve().parent
        _remove_abandoned(parent)
        with _temporary_folder(parent, target.name) as temporary:
            for name, content in contents.items():
                write_file(temporary / name, content)
            temporary.chmod(0o777 & ~_mask())
            os.rename(temporary, target.resolve())
        _sync_folder(parent)
    except OSError as error:
        raise error if isinstance(error, OutputError) else _not_written(target, error) from error


def make_folder(path: str | os.PathLike[str]) -> None:
    """Make a folder unless it exists; the folder above it must exist."""
    try:
        Path(path).mkdir(exist_ok=True)
    except OSError as error:
        raise _not_written(Path(path), error) from error


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a path that ``write_file`` could not write to, before any long work. It leaves no file there."""
    try:
        with _temporary_file(_ordinary(path)):
            pass
    except OSError as error:
        raise _not_written(Path(path), error) from error


def _ordinary(path: str | os.PathLike[str]) -> Path:
    """The path to write to, with links followed. A folder, a pipe or a device is refused."""
    target = Path(os.path.realpath(path))
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return target
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "It is not an ordinary file")
    return target


def _name_parts(name: str) -> tuple[str, str]:
    """The beginning and the end of temporary names.

    Several machines may share a folder, and a lock of one machine may not hold on another. So the name holds the
    machine's name. Both parts are cut, because the length of a file's name is limited.
    """
    machine = re.sub(r"[^A-Za-z0-9-]", "-", platform.node())[:40]
    return f".{name[:30]}.", f".{machine}.armwise-tmp"


@contextmanager
def _temporary_file(target: Path) -> Iterator[tuple[int, Path]]:
    """A new file in the target's folder, open and locked. It is removed afterwards unless it was renamed."""
    start, end = _name_parts(target.name)
    handle, temporary = _make_locked(lambda: tempfile.mkstemp(dir=target.parent, prefix=start, suffix=end))
    try:
        yield handle, temporary
    finally:
        with suppress(OSError):  # on Windows, _fill has closed it
            os.close(handle)
        temporary.unlink(missing_ok=True)


@contextmanager
def _temporary_folder(parent: Path, name: str) -> Iterator[Path]:
    """A new folder, locked. It is removed afterwards unless it was renamed."""
    start, end = _name_parts(name)

    def make() -> tuple[int, str]:
        path = tempfile.mkdtemp(dir=parent, prefix=start, suffix=end)
        return (os.open(path, os.O_RDONLY) if CAN_LOCK else -1), path

    handle, temporary = _make_locked(make)
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if handle >= 0:
            os.close(handle)


def _make_locked(make: Callable[[], tuple[int, str]]) -> tuple[int, Path]:
    """Make a file or folder, and lock it. Try again if another process found it before the lock and removed it."""
    for _ in range(_ATTEMPTS):
        handle, path = make()
        if _lock(handle) and (handle < 0 or os.fstat(handle).st_nlink):
            return handle, Path(path)
        os.close(handle)
    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def _lock(handle: int) -> bool:
    """Take the lock, and say whether nobody else holds it. On a file system without locks, nobody does."""
    if CAN_LOCK:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True
    return True


def _remove_abandoned(folder: Path) -> None:
    """Remove temporary files and folders that killed processes of this user and machine have left in a folder."""
    if not CAN_LOCK:
        return
    end = _name_parts("")[1]
    with suppress(OSError), os.scandir(folder) as entries:
        for path in [Path(entry.path) for entry in entries if entry.name.startswith(".") and entry.name.endswith(end)]:
            with suppress(OSError):  # its writer is alive, or another process was faster
                _remove_unless_locked(path)


def _remove_unless_locked(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(handle)
        if status.st_uid != os.geteuid():
            return
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if stat.S_ISDIR(status.st_mode):
            shutil.rmtree(path)
        else:
            path.unlink()
    finally:
        os.close(handle)


def _fill(handle: int, content: bytes | str) -> None:
    # Windows cannot rename an open file; elsewhere the lock must last until the rename.
    with os.fdopen(handle, "wb", closefd=os.name == "nt") as stream:
        stream.write(content.encode() if isinstance(content, str) else content)
        stream.flush()
        os.fsync(stream.fileno())


def _sync_folder(folder: Path) -> None:
    """Make a rename survive a power failure. Windows cannot open folders and does not need this."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _mask() -> int:
    """The user's umask: the rights that new files must not have. mkstemp would give others no rights at all."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _not_written(path: Path, error: OSError) -> OutputError:
    remedy = "Check that the folder exists, that you may write there, and that the disk is not full."
    return OutputError(f"{path} could not be written, and nothing was: {error.strerror}. {remedy}")
