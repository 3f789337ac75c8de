"""A C++ source as a loaded library: compiled by the machine's own compiler, kept in the user's cache (``cache.py``)."""

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

SWITCH = "ARMWISE_NATIVE"  # in the environment; 0 turns all of this off
_OPTIONS = ("-std=c++17", "-O3", "-march=native", "-fPIC", "-shared", "-w")
# Seconds. A compilation takes one or two, and some more on a busy machine.
_VERSION_TIME, _COMPILE_TIME = 5.0, 30.0

_log = logging.getLogger("armwise")
_given_up: set[str] = set()  # compilers that failed once: not tried again, and not spoken of again, in this process


def source(name: str) -> str:
    """The text of a source of this package."""
    return resources.files("armwise.native").joinpath(name).read_text(encoding="utf-8")


@cache
def load(name: str, definitions: tuple[tuple[str, str], ...], symbol: str | None = None) -> ctypes.CDLL | None:
    """The library that a source makes under these definitions; None, with a warning in the log, if it makes none.

    Args:
        name: of the source.
        definitions: of the preprocessor.
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
    """Build, load, and only then keep what was built; once loaded, its file is no longer needed."""
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
    """What a command prints; it and all that it started end with the time limit, or when we are interrupted."""
    environment = dict(os.environ) if temporary is None else {**os.environ, "TMPDIR": str(temporary)}
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(
        command, stdin=nothing, stdout=pipe, stderr=pipe, env=environment, start_new_session=True
    ) as process:
        try:
            output, problem = process.communicate(timeout=seconds)
        except BaseException:
            # A compiler's children hold its pipes open: waiting for the compiler alone could take for ever.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        raise subprocess.SubprocessError(f"exit code {process.returncode}: {problem.decode(errors='replace')[:500]}")
    return output


def _processor() -> bytes:
    """The kind of processor: a home folder may be shared by machines that do not have the same instructions."""
    try:
        lines = Path("/proc/cpuinfo").read_bytes().splitlines()
    except OSError:
        return (platform.machine() + platform.processor()).encode()
    return b"".join(sorted({line for line in lines if line.startswith((b"model name", b"flags", b"Features"))}))


def _fingerprint(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:24]
