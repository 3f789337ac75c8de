"""Start-up: how long a person waits for ``armwise --help``, and for the first thing that ``armwise demo`` tells.

Run with ``make bench``; each in new processes, the second in new folders. The first useful output of the demonstration
is the first figure on its files: what was announced has then been done. ``--full`` waits for its end too.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import Row, Timing, arguments, report

ARMWISE = [sys.executable, "-u", "-m", "armwise"]
SIGN = "attempts and"  # of the line with the first figure


def time_of_help() -> float:
    start = time.perf_counter()
    subprocess.run([*ARMWISE, "--help"], check=True, capture_output=True)
    return time.perf_counter() - start


def times_of_demo(whole: bool) -> tuple[float, float, float]:
    """Seconds to the first line, to the first figure, and to the end, or to where it was stopped."""
    with tempfile.TemporaryDirectory() as folder:
        command, start = [*ARMWISE, "demo", str(Path(folder) / "demo")], time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert process.stdout is not None
        first = figure = 0.0
        for text in process.stdout:
            now = time.perf_counter() - start
            first = first or now
            if SIGN in text:
                figure = now
                if not whole:
                    process.kill()
                    break
        process.stdout.read()
        process.wait()
        if not figure:
            raise RuntimeError(f"armwise demo ended with {process.returncode} and without {SIGN!r}.")
        return first, figure, time.perf_counter() - start


def all_rows(full: bool) -> Iterator[Row]:
    time_of_help()  # once, so that files are in the system's cache
    yield Row("armwise --help", "a new process", Timing.of([time_of_help() for _ in range(5)]))
    first, figure, whole = zip(*(times_of_demo(full) for _ in range(1 if full else 3)), strict=True)
    yield Row("armwise demo, first line", "a new process and folder", Timing.of(list(first)))
    yield Row("armwise demo, first useful output", "a new process and folder", Timing.of(list(figure)))
    if full:
        yield Row("armwise demo, to the end", "a new process and folder", Timing.of(list(whole)))


def main() -> None:
    report("startup", all_rows(arguments(__doc__).full))


if __name__ == "__main__":
    main()
