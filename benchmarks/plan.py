"""A plan for millions: from a Parquet file of people to a written call list; time, and the peak of memory.

``python -m benchmarks.plan``, or with numbers of people after it. People, features and model are made up. Each size
runs in a process of its own, so that the peak of memory is its own; "start-up" is what comes before the file is opened:
imports, loading the planner, and compiling, by a plan for a few people.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import armwise as aw
from benchmarks.harness import Row, Timing, report

SIZES = (30_000, 300_000, 3_000_000)
COLUMNS, ROWS_AT_A_TIME, BUDGET, DISTRICTS = 44, 100_000, 10_000, 20
STANDING: dict[str, Any] = {
    "states": "state",
    "steps_since_observed": "weeks_since_observed",
    "num_calls": "calls",
    "steps_since_call": "weeks_since_call",
    "groups": "district",
    "exclusions": "excluded",
}
RULES: dict[str, Any] = {
    "budget": BUDGET,
    "group_budgets": {f"district {number}": BUDGET // 10 for number in range(DISTRICTS)},
    "cool_down": 4,
    "max_calls": 5,
}


def some_people(rng: np.random.Generator, first: int, number: int) -> pl.DataFrame:
    """People with 44 categories of 2 to 10 words each, and where they stand."""
    ids = pl.Series("id", np.arange(first, first + number) * 7919 % 10**9).cast(pl.String).str.zfill(9)
    words = {}
    for column in range(COLUMNS):
        levels = pl.Series([f"level {level}" for level in range(2 + column % 9)])
        words[f"feature {column}"] = levels.gather(rng.integers(0, len(levels), number))
    return pl.DataFrame(
        {
            "id": ids,
            **words,
            "state": np.where(rng.random(number) < 0.05, -1, rng.integers(0, 2, number)).astype(np.int8),
            "weeks_since_observed": rng.integers(1, 5, number).astype(np.int16),
            "calls": rng.poisson(1, number).astype(np.int16),
            "weeks_since_call": rng.integers(-1, 50, number).astype(np.int16),
            "district": pl.Series([f"district {each}" for each in range(DISTRICTS)]).gather(
                rng.integers(0, DISTRICTS, number)
            ),
            "excluded": rng.random(number) < 0.02,
        }
    )


def write_people(path: Path, number: int) -> None:
    """The file, written a part at a time."""
    with tempfile.TemporaryDirectory() as folder:
        for part, first in enumerate(range(0, number, ROWS_AT_A_TIME)):
            rows = min(ROWS_AT_A_TIME, number - first)
            people = some_people(np.random.default_rng([part, 1]), first, rows)
            people.write_parquet(Path(folder) / f"{part:05d}.parquet")
        pl.scan_parquet(f"{folder}/*.parquet").sink_parquet(path, row_group_size=ROWS_AT_A_TIME)


def write_planner(path: Path) -> None:
    """A planner that has learned a little from made-up history."""
    rng = np.random.default_rng(0)
    people = some_people(rng, 0, 5000).select("id", pl.col("^feature .*$"))
    states = rng.integers(0, 2, (5000, 7))
    history = aw.Trajectories.from_arrays(states, (rng.random((5000, 7)) < 0.2).astype(int))
    settings = aw.TrainConfig(num_epochs=3)
    aw.OutreachPlanner(aw.MeanSquaredError(), config=settings).fit(people, history).save(path)


def measure(folder: Path) -> None:
    """In a process of its own: start up, plan, write the list; print seconds and gigabytes."""
    planner = aw.OutreachPlanner.load(folder / "model.armwise")
    planner.plan(some_people(np.random.default_rng(9), 0, 100), **STANDING, **RULES)
    start_up = _peak()
    start = time.perf_counter()
    plan = planner.plan(folder / "people.parquet", **STANDING, **RULES)
    plan.write(folder / "call-list.csv")
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "peak": _peak(), "start_up": start_up, "calls": len(plan)}))


def _peak() -> float:
    """Gigabytes. Not from getrusage: Linux lets a new process begin with its parent's peak there."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 / 1e9


def row(folder: Path, number: int, repeats: int = 3) -> Row:
    write_people(folder / "people.parquet", number)
    command = [sys.executable, "-m", "benchmarks.plan", "--measure", str(folder)]
    runs = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(repeats)]
    times, peak = sorted(run["seconds"] for run in runs), max(run["peak"] for run in runs)
    megabytes = (folder / "people.parquet").stat().st_size / 1e6
    figure = f"peak memory {peak:.2f} GB, of it start-up {runs[0]['start_up']:.2f} GB"
    size = f"{number:,} people × {COLUMNS} categories, {megabytes:.0f} MB, to {runs[0]['calls']:,} calls"
    return Row("plan, file to written list", size, Timing(times[repeats // 2], times[0], times[-1], 0.0), figure)


def main(sizes: tuple[int, ...]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_planner(folder / "model.armwise")
        report("plan", [row(folder, number) for number in sizes], "python -m benchmarks.plan")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(Path(sys.argv[2]))
    else:
        main(tuple(int(each) for each in sys.argv[1:]) or SIZES)
