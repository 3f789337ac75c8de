"""How every benchmark measures and reports: medians with their spread, compilation apart, the machine beside them."""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax

RESULTS = Path(__file__).parent / "results"
UNITS = (("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9))


@dataclass(frozen=True)
class Timing:
    """Seconds: the median of the repeats, the fastest and the slowest, and what the first call took beyond them."""

    median: float
    fastest: float
    slowest: float
    compile: float = 0.0

    @classmethod
    def of(cls, times: list[float], first: float | None = None) -> "Timing":
        """From the time of each repeat and of a first call before them."""
        median = statistics.median(times)
        return cls(median, min(times), max(times), 0.0 if first is None else max(0.0, first - median))

    def per(self, number: float) -> "Timing":
        """The same of one of so many that were measured together; they were compiled once."""
        return Timing(self.median / number, self.fastest / number, self.slowest / number, self.compile)


@dataclass(frozen=True)
class Row:
    """One line of a table: what was measured, how large it was, how long it took, and what follows from that."""

    what: str
    size: str
    timing: Timing | None  # none where it could not be measured; the figure then says why
    figure: str = ""
    headline: bool = False  # whether docs/performance.md shows it too
    numbers: dict[str, float] = field(default_factory=dict)  # behind the figure, for goals and plots


def arguments(description: str | None, **options: Any) -> argparse.Namespace:
    """What every benchmark is called with, and the options of its own: ``name={settings of add_argument}``."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--full", action="store_true", help="also what takes minutes a row")
    for name, settings in options.items():
        parser.add_argument("--" + name.replace("_", "-"), **settings)
    return parser.parse_args()


def measure(function: Callable[..., Any], *arguments: Any, repeats: int = 7) -> Timing:
    """Call the function once to compile it, then time it ``repeats`` times."""
    return measure_in_turn({"": lambda: function(*arguments)}, repeats)[""]


def measure_in_turn(functions: dict[str, Callable[[], Any]], repeats: int = 7) -> dict[str, Timing]:
    """The same for several, one of each in turn: what else the machine does meets all of them, and ratios hold."""

    def once(function: Callable[[], Any]) -> float:
        start = time.perf_counter()
        jax.block_until_ready(function())
        return time.perf_counter() - start

    first = {name: once(function) for name, function in functions.items()}
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            times[name].append(once(function))
    return {name: Timing.of(times[name], first[name]) for name in functions}


def machine(*packages: str) -> dict[str, str]:
    """Where and with what a result was measured; the packages named beside ours are those it compares with."""
    model = next(
        (line.split(":")[1].strip() for line in _read("/proc/cpuinfo").splitlines() if "model name" in line),
        platform.processor(),
    )
    commit = _git("rev-parse", "--short", "HEAD") + ("+" if _git("status", "--porcelain", "--", "src") else "")
    return {
        "device": f"{jax.devices()[0].device_kind}, {model}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        **{package: version(package) for package in ("jax", *packages)},
        "commit": commit,
        "date": datetime.now(UTC).date().isoformat(),
    }


def peak_memory() -> float:
    """The most bytes this process ever held. Not from getrusage: on Linux a child's peak begins at its parent's."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024.0


def _read(path: str) -> str:
    return Path(path).read_text() if Path(path).exists() else ""


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=False).stdout.strip()


def seconds(value: float) -> str:
    """A duration in the unit in which it is a small number."""
    unit, scale = next((pair for pair in UNITS if value * pair[1] >= 1), UNITS[-1])
    return f"{value * scale:.3g} {unit}" if value < 1000 else f"{value:,.0f} s"


def gigabytes(value: float) -> str:
    return f"{value / 1e9:.2f} GB"


def cells(row: Row) -> tuple[str, ...]:
    """The row's part of a Markdown table."""
    timing = row.timing
    if timing is None:
        return row.what, row.size, "–", "–", "–"
    spread = f"{seconds(timing.fastest)} – {seconds(timing.slowest)}"
    compiled = seconds(timing.compile) if timing.compile else "–"
    return row.what, row.size, seconds(timing.median), spread, compiled


def has_paper(rows: list[Row]) -> bool:
    """Whether the paper has a figure for any of these."""
    return any("paper" in row.numbers for row in rows)


def paper_cell(row: Row, rows: list[Row]) -> tuple[str, ...]:
    """The paper's own figure, in a table that has such a column."""
    if not has_paper(rows):
        return ()
    return (seconds(row.numbers["paper"]) if "paper" in row.numbers else "–",)


def line(values: Iterable[str]) -> str:
    """One line of a Markdown table."""
    return "| " + " | ".join(values) + " |"


def origin(content: dict[str, Any]) -> str:
    """The command and the machine, under a table."""
    where = ", ".join(f"{name} {value}" for name, value in content["machine"].items())
    return f"`{content['command']}`; {where}."


def table(content: dict[str, Any]) -> str:
    """A benchmark's stored results as Markdown."""
    rows = rows_of(content)
    titles = ("what", "size", "median", "range", "compile", *(("paper",) if has_paper(rows) else ()), "")
    lines = [line(titles), "|" + "---|" * len(titles)]
    lines += [line((*cells(row), *paper_cell(row, rows), row.figure)) for row in rows]
    return "\n".join([*lines, "", origin(content)]) + "\n"


def rows_of(content: dict[str, Any]) -> list[Row]:
    """The rows of a benchmark's stored results."""
    return [Row(**(row | {"timing": Timing(**row["timing"]) if row["timing"] else None})) for row in content["rows"]]


def load(name: str) -> dict[str, Any]:
    """A benchmark's stored results."""
    content: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return content


def report(
    name: str, rows: Iterable[Row], command: str = "", packages: tuple[str, ...] = (), out: Path | None = None
) -> None:
    """Measure the rows one by one, say so on stderr, and write them as JSON and, in ``benchmarks/results``, Markdown.

    The README and docs follow with ``python -m benchmarks.pages``.
    """
    # Before anything is measured: neither our own load counts nor a commit made meanwhile.
    where = machine(*packages) | {"load before": f"{os.getloadavg()[0]:.1f}"}
    start = time.perf_counter()
    command = command or "make bench" + " FULL=1" * ("--full" in sys.argv)
    content: dict[str, Any] = {"machine": where, "command": command, "seconds": 0.0, "rows": []}
    for row in _spoken(name, rows):
        content["rows"].append(asdict(row))
        content["seconds"] = time.perf_counter() - start
        if out:  # elsewhere, time may run out before the rows do
            store(content, out)
    store(content, out or RESULTS / f"{name}.json")
    print(table(content))


def store(content: dict[str, Any], path: Path) -> None:
    """Write results as JSON, and those in ``benchmarks/results`` as Markdown beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    if path.parent == RESULTS:
        path.with_suffix(".md").write_text(table(content))


def _spoken(name: str, rows: Iterable[Row]) -> Iterator[Row]:
    start = time.perf_counter()
    for row in rows:
        middle = "–" if row.timing is None else seconds(row.timing.median)
        spent = time.perf_counter() - start
        print(f"{name}, {spent:.0f} s: {row.what}, {row.size}: {middle} {row.figure}", file=sys.stderr, flush=True)
        yield row
