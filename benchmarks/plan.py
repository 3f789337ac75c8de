"""A plan for millions: from a Parquet file of people to a written call list; time by its parts, and peak memory.

Run with ``make bench``. People, features and model are made up. Each size runs in a process of its own, so that the
peak of memory is its own; "start-up" is what comes before the file is opened: imports, loading the planner, and
compiling, by a plan for a few people. The parts: reading the file; scoring (features to codes, codes to chains and
indices); ranking (the best so far under all budgets); writing the list; and what remains, mostly checking where each
person stands and that nobody is there twice.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import armwise as aw
from armwise.data import Encoder
from armwise.planner import plan_builder
from armwise.planner.roster import Roster
from armwise.planner.shortlist import Shortlist
from benchmarks.harness import Row, Timing, arguments, gigabytes, peak_memory, report, seconds

SIZES = (30_000, 300_000, 3_000_000)
PARTS = ("reading", "scoring", "ranking", "writing")
COLUMNS, ROWS_AT_A_TIME, BUDGET, DISTRICTS = 44, 100_000, 10_000, 20
STANDING: dict[str, Any] = {
    "states": "state",
    "steps_since_observed": "weeks_since_observed",
    "num_calls": "calls",
    "steps_since_call": "weeks_since_call",
    "groups": "district",
    "exclusions": "excluded",
}
RULES = aw.CallRules(
    budget=BUDGET,
    group_budgets={f"district {number}": BUDGET // 10 for number in range(DISTRICTS)},
    cool_down=4,
    max_calls=5,
)


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


class Parts:
    """Seconds spent in each part of a plan, by clocks put around the functions that do it."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(PARTS, 0.0)

    def clocked(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, its time counted as that part's."""

        def call(*arguments: Any, **options: Any) -> Any:
            start = time.perf_counter()
            result = function(*arguments, **options)
            self.seconds[part] += time.perf_counter() - start
            return result

        return call

    def clocked_stream(self, part: str, function: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
        """The same for a function that yields: what its caller does in between is not counted."""

        def call(*arguments: Any, **options: Any) -> Iterator[Any]:
            stream = function(*arguments, **options)
            following = self.clocked(part, lambda: next(stream, None))
            while (frame := following()) is not None:
                yield frame

        return call

    def install(self) -> None:
        """Put the clocks in place, in this process."""
        Roster.batches = self.clocked_stream("reading", Roster.batches)  # type: ignore[method-assign]
        Encoder.transform = self.clocked("scoring", Encoder.transform)  # type: ignore[method-assign]
        vars(plan_builder)["score"] = self.clocked("scoring", vars(plan_builder)["score"])
        Shortlist.add = self.clocked("ranking", Shortlist.add)  # type: ignore[method-assign]


def measure(folder: Path) -> None:
    """In a process of its own: start up, plan, write the list; print seconds and bytes."""
    planner = aw.OutreachPlanner.load(folder / "model.armwise")
    planner.plan(some_people(np.random.default_rng(9), 0, 100), **STANDING, rules=RULES)
    start_up, parts = peak_memory(), Parts()
    parts.install()
    start = time.perf_counter()
    plan = planner.plan(folder / "people.parquet", **STANDING, rules=RULES)
    parts.clocked("writing", plan.write)(folder / "call-list.csv")
    total = time.perf_counter() - start
    parts.seconds["the rest"] = total - sum(parts.seconds.values())
    result = {"seconds": total, "peak": peak_memory(), "start_up": start_up, "calls": len(plan)}
    print(json.dumps(result | {"parts": parts.seconds}))


def rows(folder: Path, number: int, repeats: int = 3) -> Iterator[Row]:
    """The whole, then its parts."""
    write_people(folder / "people.parquet", number)
    command = [sys.executable, "-m", "benchmarks.plan", "--measure", str(folder)]
    runs = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(repeats)]
    timing, peak = Timing.of([run["seconds"] for run in runs]), max(run["peak"] for run in runs)
    size = f"{number:,} people × {COLUMNS} categories"
    parts = {name: [run["parts"][name] for run in runs] for name in (*PARTS, "the rest")}
    split = ", ".join(f"{name} {seconds(statistics.median(times))}" for name, times in parts.items())
    figure = f"peak {gigabytes(peak)}, of it start-up {gigabytes(runs[0]['start_up'])}; {split}"
    yield Row("plan, file to written list", size, timing, figure, number == SIZES[-1], {"people": number, "peak": peak})
    for name, times in parts.items():
        share = statistics.median(times) / timing.median
        yield Row(f"of it {name}", size, Timing.of(times), f"{share:.0%}", numbers={"share": share})


def all_rows(sizes: tuple[int, ...]) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_planner(folder / "model.armwise")
        for number in sizes:
            yield from rows(folder, number)


def main() -> None:
    given = arguments(__doc__, people={"type": int, "nargs": "*", "default": SIZES}, measure={"type": Path})
    if given.measure:
        measure(given.measure)
    else:
        report("plan", all_rows(tuple(given.people)), packages=("polars",))


if __name__ == "__main__":
    main()
