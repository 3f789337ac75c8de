"""Compile a C++ source with the machine's own compiler, load it, and keep it in the user's cache (``cache.py``)."""

import ctypes
import hashlib
import logging
import os
import platform
import shutil
import signal
import subprocess
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path

import jax

from armwise.native.cache import build_folder, cache_folder, keep, sound_libraries

SWITCH = "ARMWISE_NATIVE"  # environment variable; 0 turns C++ off
_OPTIONS = ("-std=c++17", "-O3", "-march=native", "-fPIC", "-shared", "-w")
# In seconds. A compilation takes one or two, and longer on a busy machine.
_VERSION_TIME, _COMPILE_TIME = 5.0, 30.0

_log = logging.getLogger("armwise")
_given_up: set[str] = set()  # compilers that failed once: this process neither tries them nor warns again


def source(name: str) -> str:
    """The text of one of this package's C++ sources."""
    return resources.files("armwise.native").joinpath(name).read_text(encoding="utf-8")


@cache
def load(name: str, definitions: tuple[tuple[str, str], ...], symbol: str | None = None) -> ctypes.CDLL | None:
    """The library compiled from a source with these definitions; None if there is none.

    A build that fails logs a warning. There is no warning if C++ is turned off, if the platform is not POSIX, or if
    there is no compiler.

    Args:
        name: the name of the source.
        definitions: names and values for the preprocessor.
        symbol: a function that the library must have.
    """
    compiler = shutil.which(os.environ.get("CXX") or "c++")
    if os.environ.get(SWITCH) == "0" or os.name != "posix" or compiler is None or compiler in _given_up:
        return None
    try:
        return _cached_or_compiled(name, definitions, compiler, symbol)
    except (OSError, AttributeError, subprocess.SubprocessError) as error:
        _given_up.add(compiler)
        _log.warning(
            "Training is slower than it could be: a part of it is computed with JAX, because %s could not build the "
            "C++ version (%s). Repair the compiler; %s=0 in the environment turns it off.",
            compiler,
            error,
            SWITCH,
        )
        return None


def _cached_or_compiled(
    name: str, definitions: tuple[tuple[str, str], ...], compiler: str, symbol: str | None
) -> ctypes.CDLL:
    command = [compiler, *_OPTIONS, *(f"-D{key}={value}" for key, value in definitions)]
    version = _run([compiler, "--version"], _VERSION_TIME)
    key = _fingerprint(
        source(name).encode(), *map(os.fsencode, command), version, _processor(), jax.__version__.encode()
    )
    stem, folder = f"{Path(name).stem}-{key}", cache_folder()
    for path in sound_libraries(folder, stem) if folder else ():
        try:
            return _open(path, symbol)
        except (OSError, AttributeError) as error:
            _log.info("%s is built again: %s", path, error)
            path.unlink(missing_ok=True)
    return _compile(source(name), command, symbol, folder, stem)


def _compile(text: str, command: list[str], symbol: str | None, folder: Path | None, stem: str) -> ctypes.CDLL:
    """Build and load the library, then keep its file in the cache; the loaded library no longer needs the file."""
    with build_folder(folder) as inside:
        code, result = inside / "source.cpp", inside / "library.so"
        code.write_text(text, encoding="utf-8")
        _run([*command, f"-I{jax.ffi.include_dir()}", str(code), "-o", str(result), "-lm"], _COMPILE_TIME, inside)
        library = _open(result, symbol)
        if folder is not None and inside.parent == folder:
            try:
                keep(result, folder, stem)
            except OSError as error:
                _log.info("The next process builds %s again: %s", stem, error)
    return library


def _open(path: Path, symbol: str | None) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    if symbol is not None:
        getattr(library, symbol)
    return library


def _run(command: list[str], seconds: float, temporary: Path | None = None) -> bytes:
    """The output of a command; on a timeout or an interrupt, ends the command and all its child processes."""
    environment = dict(os.environ) if temporary is None else {**os.environ, "TMPDIR": str(temporary)}
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(
        command, stdin=nothing, stdout=pipe, stderr=pipe, env=environment, start_new_session=True
    ) as process:
        try:
            output, problem = process.communicate(timeout=seconds)
        except BaseException:
            # A compiler's child processes keep its pipes open. After ending only the compiler we could wait for ever.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        raise subprocess.SubprocessError(f"exit code {process.returncode}: {problem.decode(errors='replace')[:500]}")
    return output


def _processor() -> bytes:
    """The kind of processor; machines with different instruction sets may share a home folder."""
    try:
        lines = Path("/proc/cpuinfo").read_bytes().splitlines()
    except OSError:
        return (platform.machine() + platform.processor()).encode()
    return b"".join(sorted({line for line in lines if line.startswith((b"model name", b"flags", b"Features"))}))


def _fingerprint(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:24]
