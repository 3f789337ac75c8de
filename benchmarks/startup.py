"""How long the command line takes to answer: ``armwise --help``, and the first findings of ``armwise demo``.

``python -m benchmarks.startup``.
"""

import resource
import statistics
import subprocess
import sys
import tempfile
import time

from benchmarks import page

COMMAND = "python -m benchmarks.startup"
FIRST_FINDING = "attempts and"


def help_seconds(repeats: int = 7) -> tuple[float, float]:
    """Median wall-clock and processor seconds."""
    walls, processors = [], []
    for _ in range(repeats):
        before, start = _processor_of_children(), time.perf_counter()
        subprocess.run([sys.executable, "-m", "armwise", "--help"], capture_output=True, check=True)
        walls.append(time.perf_counter() - start)
        processors.append(_processor_of_children() - before)
    return statistics.median(walls), statistics.median(processors)


def demo_seconds() -> tuple[float, float]:
    """Until the demonstration says what its files hold; it is stopped then."""
    with tempfile.TemporaryDirectory() as folder:
        before, start = _processor_of_children(), time.perf_counter()
        command = [sys.executable, "-m", "armwise", "demo", f"{folder}/demo"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
            assert process.stderr is not None
            next(line for line in process.stderr if FIRST_FINDING in line)
            wall = time.perf_counter() - start
            process.kill()
        return wall, _processor_of_children() - before


def _processor_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    raw = {"armwise --help": help_seconds(), "armwise demo, to its first findings": demo_seconds()}
    rows = [[what, f"{wall:.2f} s", f"{processor:.2f} s"] for what, (wall, processor) in raw.items()]
    page.keep("start-up", COMMAND, ["what", "wall clock", "processor time"], rows, raw)
    print(page.section("start-up"))


if __name__ == "__main__":
    main()
