"""A measurement in a process of its own: its peak of memory is its own, and what does not fit harms nothing else."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

OUT_OF_MEMORY = 77  # exit status by which a measurement says that an allocation failed
SHARE = 0.8  # of the memory that is free when a measurement starts; beyond it the measurement is ended


def free_memory() -> float:
    """Bytes that a new process can have without swapping."""
    line = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable"))
    return int(line.split()[1]) * 1024.0


def measure_apart(module: str, *arguments: str, time_limit: float) -> dict[str, Any] | str:
    """The JSON that ``python -m module arguments`` prints last; or, where it did not come to that, why.

    The process is watched: it is ended when it holds more than its share of the memory or has had its processor time,
    which a busy machine does not lengthen; and the kernel is told to end it before any other.
    """
    limit = SHARE * free_memory()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen([sys.executable, "-m", module, *arguments], stdout=output, stderr=subprocess.DEVNULL)
        Path(f"/proc/{process.pid}/oom_score_adj").write_text("1000")
        reason = _watch(process, limit, time_limit)
        if reason:
            process.kill()
            process.wait()
            return reason.format(limit=f"{limit / 1e9:.0f} GB", time=f"{time_limit:.0f} s of processor time")
        output.seek(0)
        result: dict[str, Any] = json.loads(output.read().splitlines()[-1])
        return result


def _watch(process: "subprocess.Popen[bytes]", limit: float, time_limit: float) -> str:
    """Wait for the process; empty if it ended well."""
    while process.poll() is None:
        if _held(process.pid) > limit:
            return "does not fit in {limit}"
        if _spent(process.pid) > time_limit:
            return "not done in {time}"
        time.sleep(0.05)
    # A failed allocation ends the process with an error, the kernel's killer with a signal; other errors are ours.
    if process.returncode == OUT_OF_MEMORY or process.returncode == -9:
        return "does not fit in {limit}"
    if process.returncode:
        raise RuntimeError(f"{' '.join(map(str, process.args))} ended with {process.returncode}.")  # type: ignore[arg-type]
    return ""


def _held(pid: int) -> float:
    """Bytes in memory."""
    fields = _fields(pid, "statm")
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") if fields else 0.0


def _spent(pid: int) -> float:
    """Seconds of processor time."""
    fields = _fields(pid, "stat")
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def _fields(pid: int, name: str) -> list[str]:
    """What the kernel says of a process; nothing once it has ended."""
    try:
        return Path(f"/proc/{pid}/{name}").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return []
