"""A C++ source as a loaded library: compiled by the machine's own compiler, kept in the user's cache.

A library in the cache is code that will run, so it is only loaded if nobody else can have written it: folder and file
belong to the user, and no one else may write to them.
"""

import ctypes
import hashlib
import logging
import os
import platform
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path

import jax

SWITCH = "ARMWISE_NATIVE"  # in the environment; 0 turns all of this off
_OPTIONS = ("-std=c++17", "-O3", "-march=native", "-fPIC", "-shared", "-w")
_TIMEOUT = 120  # seconds for a compilation that takes one

_log = logging.getLogger("armwise")


def source(name: str) -> str:
    """The text of a source of this package."""
    return resources.files("armwise.native").joinpath(name).read_text(encoding="utf-8")


@cache
def load(name: str, definitions: tuple[tuple[str, str], ...]) -> ctypes.CDLL | None:
    """The library that a source makes under these definitions, or nothing, with a line in the log, if it makes none."""
    compiler = shutil.which(os.environ.get("CXX") or "c++")
    if os.environ.get(SWITCH) == "0" or os.name != "posix" or compiler is None:
        return None
    try:
        return ctypes.CDLL(str(_library(name, dict(definitions), compiler)))
    except (OSError, subprocess.SubprocessError) as error:
        _log.info("%s is computed with JAX, because its C++ version could not be built: %s", name, error)
        return None


def _library(name: str, definitions: Mapping[str, str], compiler: str) -> Path:
    """The compiled library, from the cache if it is there."""
    options = [*_OPTIONS, *(f"-D{key}={value}" for key, value in definitions.items())]
    key = _fingerprint(source(name), *options, compiler, _version(compiler), _processor(), jax.__version__)
    folder = _cache_folder()
    path = folder / f"{Path(name).stem}-{key}.so"
    if path.exists():
        _check_is_ours(path)
    else:
        _compile(source(name), [compiler, *options], path)
    return path


def _compile(text: str, command: list[str], path: Path) -> None:
    """Written beside its place and then moved there, so that another process sees no library or all of it."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        code, result = Path(folder, "source.cpp"), Path(folder, "library.so")
        code.write_text(text, encoding="utf-8")
        command = [*command, f"-I{jax.ffi.include_dir()}", str(code), "-o", str(result), "-lm"]
        subprocess.run(command, check=True, capture_output=True, timeout=_TIMEOUT)
        result.chmod(0o700)
        os.replace(result, path)


def _cache_folder() -> Path:
    """The user's cache, or where that cannot be written to, a folder of this process alone."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home, "armwise")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_is_ours(folder)
        if os.access(folder, os.W_OK):
            return folder
    except (OSError, RuntimeError):
        pass
    return _own_folder()


@cache
def _own_folder() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="armwise-")
    _kept.append(folder)  # until the process ends
    return Path(folder.name)


_kept: list[tempfile.TemporaryDirectory[str]] = []


def _check_is_ours(path: Path) -> None:
    """Refuse what another user may have put there."""
    status = path.lstat()
    others_may_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if status.st_uid != os.getuid() or others_may_write or stat.S_ISLNK(status.st_mode):
        raise PermissionError(f"{path} belongs to someone else, or others may write to it; remove it or its rights.")


def _version(compiler: str) -> str:
    return subprocess.run([compiler, "--version"], check=True, capture_output=True, text=True, timeout=_TIMEOUT).stdout


def _processor() -> str:
    """The kind of processor: a home folder may be shared by machines that do not have the same instructions."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine() + platform.processor()
    return "".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))


def _fingerprint(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
