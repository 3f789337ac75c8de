"""A measurement in a process of its own: its peak of memory is its own, and what does not fit harms nothing else."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SHARE = 0.8  # of the memory that is free when a measurement starts; beyond it the measurement is ended


def free_memory() -> float:
    """Bytes that a new process can have without swapping."""
    line = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable"))
    return int(line.split()[1]) * 1024.0


def measure_apart(module: str, *arguments: str, time_limit: float) -> dict[str, Any] | str:
    """The JSON that ``python -m module arguments`` prints last; or, where it did not come to that, why.

    The process is watched: it is ended when it holds more than its share of the memory or takes longer than its time,
    and the kernel is told to end it before any other.
    """
    limit = SHARE * free_memory()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen([sys.executable, "-m", module, *arguments], stdout=output, stderr=subprocess.DEVNULL)
        Path(f"/proc/{process.pid}/oom_score_adj").write_text("1000")
        reason = _watch(process, limit, time.monotonic() + time_limit)
        if reason:
            process.kill()
            process.wait()
            return reason.format(limit=f"{limit / 1e9:.0f} GB", time=f"{time_limit:.0f} s")
        output.seek(0)
        result: dict[str, Any] = json.loads(output.read().splitlines()[-1])
        return result


def _watch(process: "subprocess.Popen[bytes]", limit: float, deadline: float) -> str:
    """Wait for the process; empty if it ended well."""
    while process.poll() is None:
        if _held(process.pid) > limit:
            return "does not fit in {limit}"
        if time.monotonic() > deadline:
            return "not done in {time}"
        time.sleep(0.05)
    # A failed allocation ends the process with an error, the kernel's killer with a signal; other errors are ours.
    if process.returncode == OUT_OF_MEMORY or process.returncode == -9:
        return "does not fit in {limit}"
    if process.returncode:
        raise RuntimeError(f"{' '.join(map(str, process.args))} ended with {process.returncode}.")  # type: ignore[arg-type]
    return ""


OUT_OF_MEMORY = 77  # exit status by which a measurement says that an allocation failed


def _held(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096.0
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return 0.0
