"""The model of each person's chain: fit, posterior, update and plan, from 10,000 to 3,000,000 people; time and memory.

Run with ``python -m benchmarks.chains``. People, their features and weeks are made up and lie on disk, a byte for each
week; each size is measured in a process of its own, so that the peak of memory is its own. A fit learns from at most
100,000 people. The posterior, and each person's chain from it, is computed part by part and takes all her weeks; the
update takes one more week. A plan is ``OutreachPlanner.plan`` from everyone's weeks in memory, for a hundredth of the
people, with 100 posterior draws of each; its planner has learned from 5,000. The fit's first call compiles; a second
one tells how much of it that is. Processor time is that of all cores, and does not grow when the machine is busy with
something else.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import Row, Timing, arguments, gigabytes, peak_memory, report, seconds

# People, and how many weeks of each.
SIZES = {10_000: 52, 100_000: 52, 1_000_000: 26, 3_000_000: 26}
# Sizes that are measured more than once.
REPEATED, REPEATS = 10_000, 3
TAUGHT = 5000
LEVELS, PART, SHARE_CALLED, SHARE_UNSEEN = (2, 4, 6, 10), 65_536, 0.05, 0.02
WAYS, PLAN = ("fit", "posterior and chains", "update by a week"), "plan from everyone's weeks"


HEADLINES = (("fit", 100_000), ("update by a week", max(SIZES)), (PLAN, max(SIZES)))


class Weeks(NamedTuple):
    """What lies on disk: features ``[people, columns]``, and states, −1 where not observed, and calls by week."""

    codes: np.ndarray
    states: np.ndarray
    calls: np.ndarray


def open_weeks(folder: Path, mode: Any = "r", people: int = 0, weeks: int = 0) -> Weeks:
    """The files of a folder, mapped into memory."""
    shapes = {"codes": (people, len(LEVELS)), "states": (people, weeks), "calls": (people, weeks)}
    files = {}
    for name, shape in shapes.items():
        path, kind = folder / f"{name}.npy", np.dtype(np.uint8 if name == "codes" else np.int8)
        made = np.lib.format.open_memmap(path, mode, kind, shape) if mode == "w+" else np.load(path, mmap_mode=mode)
        files[name] = made
    return Weeks(**files)


def write_weeks(folder: Path, people: int, weeks: int) -> None:
    """A made-up programme, written a part at a time."""
    files = open_weeks(folder, "w+", people, weeks)
    for number, start in enumerate(range(0, people, PART)):
        rows = slice(start, min(start + PART, people))
        for file, part in zip(files, some_people(number, rows.stop - start, weeks), strict=True):
            file[rows] = part


def some_people(seed: int, people: int, weeks: int) -> Weeks:
    """People who differ in both states and in what a call does, and who tire a little."""
    rng = np.random.default_rng([seed, 3])
    codes = np.stack([rng.integers(0, level, people) for level in LEVELS], axis=1).astype(np.uint8)
    trait, effect = rng.normal(0, 1, people) + 0.4 * codes[:, 0], rng.normal(0.6, 0.4, people)
    calls = (rng.random((people, weeks)) < SHARE_CALLED).astype(np.int8)
    states = np.empty((people, weeks), np.int8)
    states[:, 0] = rng.random(people) < 0.6
    for week in range(weeks - 1):
        odds = np.where(states[:, week] == 1, 1.0, -1.0) + trait + effect * calls[:, week] - 0.02 * week
        states[:, week + 1] = rng.random(people) < 1 / (1 + np.exp(-odds))
    states[rng.random((people, weeks)) < SHARE_UNSEEN] = -1
    return Weeks(codes, states, calls)


class Clock:
    """Seconds and processor seconds of each thing that is measured."""

    def __init__(self) -> None:
        self.spent = {name: [0.0, 0.0] for name in (*WAYS, "fit again", PLAN)}
        self._now = (0.0, 0.0)

    def start(self) -> None:
        """Begin to count."""
        self._now = (time.perf_counter(), time.process_time())

    def stop(self, name: str) -> None:
        """Count what has passed since ``start``."""
        ends = (time.perf_counter(), time.process_time())
        for which in (0, 1):
            self.spent[name][which] += ends[which] - self._now[which]


def as_data(codes: np.ndarray, states: np.ndarray, calls: np.ndarray) -> tuple[Any, Any]:
    """Features and histories of some people."""
    from armwise.data import Features, Trajectories

    history = Trajectories.from_arrays(np.maximum(states, 0), calls, states >= 0, num_states=2)
    return Features(codes=codes, levels=LEVELS), history


def measure(folder: Path) -> None:
    """In a process of its own: fit twice, then everyone's posterior and update; print seconds and bytes."""
    from armwise.models.chains import fit_chains

    files, clock, turns = open_weeks(folder), Clock(), [0]
    number = len(files.codes)
    rows = np.sort(np.random.default_rng(0).choice(number, min(number, 100_000), replace=False))
    for name in ("fit", "fit again"):
        clock.start()
        turns[0] = 0
        data = as_data(*(np.asarray(file[rows]) for file in files))
        model = fit_chains(*data, advance=lambda: turns.__setitem__(0, turns[0] + 1))
        clock.stop(name)
    after_fit = peak_memory()
    del data
    _compile(model, files)
    for start in range(0, number, PART):
        part = [np.asarray(file[start : start + PART]) for file in files]
        clock.start()
        known = model.posterior(*as_data(*part))
        known.transitions()
        clock.stop("posterior and chains")
        new = np.random.default_rng(start).integers(0, 2, len(part[0]))
        clock.start()
        known.update(new, part[2][:, -1], np.ones(len(new), bool)).transitions()
        clock.stop("update by a week")
    print(json.dumps({"spent": clock.spent, "turns": turns[0], "fit_peak": after_fit, "peak": peak_memory()}))


def _compile(model: Any, files: Weeks) -> None:
    known = model.posterior(*as_data(*(np.asarray(file[:10]) for file in files)))
    known.transitions()
    known.update(np.zeros(10, int), np.zeros(10, int), np.ones(10, bool))


def measure_plan(folder: Path) -> None:
    """In a process of its own: a plan for everyone; print seconds and bytes."""
    import polars as pl

    import armwise as aw

    files, clock = open_weeks(folder), Clock()

    def table(number: int) -> tuple[pl.DataFrame, Any]:
        codes = np.asarray(files.codes[:number])
        words = {f"feature {column}": pl.Series(codes[:, column]).cast(pl.String) for column in range(len(LEVELS))}
        ids = pl.Series("id", np.arange(number)).cast(pl.String).str.zfill(9)
        return pl.DataFrame({"id": ids, **words}), as_data(*(np.asarray(file[:number]) for file in files))[1]

    planner = aw.OutreachPlanner().fit(*table(TAUGHT))
    planner.plan(*table(100), budget=5)
    people, history = table(len(files.codes))
    clock.start()
    planner.plan(people, history, budget=people.height // 100)
    clock.stop(PLAN)
    print(json.dumps({"spent": clock.spent, "peak": peak_memory()}))


def rows(folder: Path, people: int, weeks: int) -> Iterator[Row]:
    """One row for each thing that is measured."""
    write_weeks(folder, people, weeks)
    repeats = REPEATS if people <= REPEATED else 1
    of_model, of_plan = ([_run(option, folder) for _ in range(repeats)] for option in ("--measure", "--plan"))
    for name in (*WAYS, PLAN):
        runs = of_plan if name == PLAN else of_model
        times, cpu = ([run["spent"][name][which] for run in runs] for which in (0, 1))
        numbers = {"people": people, "weeks": weeks, "cpu": statistics.median(cpu)}
        figure = f"{seconds(numbers['cpu'])} of processor time"
        if name == "fit":
            again = statistics.median(run["spent"]["fit again"][0] for run in runs)
            numbers |= {"again": again, "turns": runs[0]["turns"], "peak": max(run["fit_peak"] for run in runs)}
            figure += f", {seconds(again)} once compiled, {runs[0]['turns']} turns"
        else:
            numbers["peak"] = max(run["peak"] for run in runs)
        figure += f", peak {gigabytes(numbers['peak'])}"
        size = f"{people:,} people × {weeks} weeks, {len(LEVELS)} categories"
        yield Row(name, size, Timing.of(times), figure, (name, people) in HEADLINES, numbers)


def _run(option: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.chains", option, str(folder)]
    result: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return result


def all_rows(sizes: dict[int, int]) -> Iterator[Row]:
    for people, weeks in sizes.items():
        with tempfile.TemporaryDirectory() as name:
            yield from rows(Path(name), people, weeks)


def main() -> None:
    sizes = {"type": int, "nargs": "*", "default": tuple(SIZES)}
    given = arguments(__doc__, people=sizes, measure={"type": Path}, plan={"type": Path})
    if given.measure:
        measure(given.measure)
    elif given.plan:
        measure_plan(given.plan)
    else:
        report("chains", all_rows({each: SIZES.get(each, 26) for each in given.people}), "python -m benchmarks.chains")


if __name__ == "__main__":
    main()
