"""Where results come from: the command, the commit, the machine."""

import os
import platform
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax

from armwise._hardware import on_cpu


def hardware() -> str:
    """The device that computes, in words."""
    if not on_cpu():
        return jax.devices()[0].device_kind
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    name = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    return f"CPU {name}, {os.cpu_count()} cores"


def provenance(wall_seconds: float) -> dict[str, Any]:
    """What to keep beside a result."""
    return {
        "command": " ".join(["python -m reproduction", *sys.argv[1:]]),
        "commit": _commit(),
        "machine": hardware(),
        "python": platform.python_version(),
        "jax": version("jax"),
        "armwise": version("armwise"),
        "date": datetime.now(UTC).date().isoformat(),
        "wall_seconds": round(wall_seconds, 1),
    }


def _commit() -> str:
    """The commit of the source, with a + if it was changed since; ARMWISE_COMMIT where there is no repository."""
    given = os.environ.get("ARMWISE_COMMIT", "")
    if given or shutil.which("git") is None:
        return given
    commit = _git("rev-parse", "--short", "HEAD")
    return commit + ("+" if commit and _git("status", "--porcelain", "--", ":/src", ":/reproduction") else "")


def _git(*arguments: str) -> str:
    where = str(Path(__file__).parent)
    return subprocess.run(["git", "-C", where, *arguments], capture_output=True, text=True, check=False).stdout.strip()
