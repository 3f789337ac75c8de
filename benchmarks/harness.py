"""How every benchmark measures and reports: medians with their spread, compilation apart, the machine beside them."""

import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax

RESULTS = Path(__file__).parent / "results"
README = Path(__file__).parents[1] / "README.md"
UNITS = (("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9))


@dataclass(frozen=True)
class Timing:
    """Seconds: the median of the repeats, the fastest and the slowest, and what the first call took beyond them."""

    median: float
    fastest: float
    slowest: float
    compile: float


@dataclass(frozen=True)
class Row:
    """One line of a table: what was measured, how large it was, how long it took, and what follows from that."""

    what: str
    size: str
    timing: Timing
    figure: str = ""
    headline: bool = True  # whether the README shows it too


def measure(function: Callable[..., Any], *arguments: Any, repeats: int = 7) -> Timing:
    """Call the function once to compile it, then time it ``repeats`` times."""

    def once() -> float:
        start = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        return time.perf_counter() - start

    first = once()
    times = [once() for _ in range(repeats)]
    median = statistics.median(times)
    return Timing(median, min(times), max(times), max(0.0, first - median))


def machine() -> dict[str, str]:
    """Where and with what a result was measured."""
    model = next(
        (line.split(":")[1].strip() for line in _read("/proc/cpuinfo").splitlines() if "model name" in line),
        platform.processor(),
    )
    commit = _git("rev-parse", "--short", "HEAD") + ("+" if _git("status", "--porcelain", "--", "src") else "")
    return {
        "device": f"{jax.devices()[0].device_kind}, {model}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "jax": version("jax"),
        "commit": commit,
        "date": datetime.now(UTC).date().isoformat(),
    }


def _read(path: str) -> str:
    return Path(path).read_text() if Path(path).exists() else ""


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=False).stdout.strip()


def seconds(value: float) -> str:
    """A duration in the unit in which it is a small number."""
    unit, scale = next((pair for pair in UNITS if value * pair[1] >= 1), UNITS[-1])
    return f"{value * scale:.3g} {unit}"


def table(rows: list[Row], where: dict[str, str], command: str) -> str:
    """The rows as Markdown, with the command and the machine under them."""
    lines = ["| what | size | median | range | compile | |", "|---|---|---|---|---|---|"]
    for row in rows:
        timing = row.timing
        spread = f"{seconds(timing.fastest)} – {seconds(timing.slowest)}"
        cells = (row.what, row.size, seconds(timing.median), spread, seconds(timing.compile), row.figure)
        lines.append("| " + " | ".join(cells) + " |")
    where_text = ", ".join(f"{name} {value}" for name, value in where.items())
    return "\n".join([*lines, "", f"`{command}`; {where_text}."]) + "\n"


def report(name: str, rows: list[Row], command: str) -> None:
    """Write the results as JSON and Markdown, print them, and put the headlines into the README's section."""
    where = machine()
    content = {"machine": where, "command": command, "rows": [asdict(row) for row in rows]}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    text = table(rows, where, command)
    (RESULTS / f"{name}.md").write_text(text)
    README.write_text(with_section(README.read_text(), name, headlines(name)))
    print(text)


def headlines(name: str) -> str:
    """The README's table of a benchmark, from its stored results."""
    content = json.loads((RESULTS / f"{name}.json").read_text())
    rows = [Row(**(row | {"timing": Timing(**row["timing"])})) for row in content["rows"] if row["headline"]]
    return table(rows, content["machine"], content["command"])


def with_section(document: str, name: str, text: str) -> str:
    """The document with the text between the markers ``<!-- name -->`` and ``<!-- /name -->``, if it has them."""
    start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    if start not in document:
        return document
    before, rest = document.split(start, 1)
    return before + start + text + end + rest.split(end, 1)[1]
