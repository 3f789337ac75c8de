"""Read an ordinary file once and whole. A pipe or a device is refused, because reading it may never end."""

import errno
import os
import stat
import sys


def read_file(path: str | os.PathLike[str], most: int = sys.maxsize - 1) -> bytes:
    """The content of an ordinary file.

    Args:
        path: the path of the file.
        most: a file with more bytes than this is refused before it is read.

    Raises:
        OSError: if it cannot be read. A pipe or a device is refused too: reading one may never end.
    """
    # Without O_NONBLOCK, opening a pipe waits until someone writes into it. Windows has no such pipes.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "This is not an ordinary file", os.fspath(path))
        if os.fstat(handle).st_size > most:
            raise OSError(errno.EFBIG, f"It is larger than {most:,} bytes", os.fspath(path))
        with os.fdopen(handle, "rb", closefd=False) as stream:
            return stream.read()
    finally:
        os.close(handle)


PathLike = str | os.PathLike[str]
