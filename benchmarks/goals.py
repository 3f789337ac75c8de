"""Every goal that a benchmark measures: what was asked, what was measured, whether it was reached.

The goals are those the project set itself before it was measured, in the order of its parts; the numbers come from
``benchmarks/results``. ``benchmarks.pages`` puts the table into docs/performance.md.
"""

import operator
from collections.abc import Callable, Iterator
from typing import NamedTuple

from benchmarks.chains import PLAN
from benchmarks.epochs import FAST, SHAPES, size_of
from benchmarks.harness import RESULTS, Row, gigabytes, line, load, rows_of, seconds

BUSY = 4.0  # the load before a benchmark above which it was not alone: its predecessor in ``make bench`` leaves about 2
BENCH = ("rmab", "mixtures", "losses", "training", "growth", "plan", "startup", "history")


class Goal(NamedTuple):
    """A limit on a measured value, which is None where it was not measured."""

    text: str
    value: float | None
    holds: Callable[[float, float], bool]
    limit: float
    written: Callable[[float], str]

    @property
    def outcome(self) -> str:
        """Reached, missed, or not measured."""
        if self.value is None:
            return "not measured"
        return "reached" if self.holds(self.value, self.limit) else "**missed**"

    def cells(self) -> tuple[str, str, str]:
        """Its line in the table."""
        return self.text, "–" if self.value is None else self.written(self.value), self.outcome


def times(value: float) -> str:
    return f"{value:,.0f} ×" if value >= 100 else f"{value:.2f} ×"


def found(benchmark: str, what: str, size: str = "") -> list[Row]:
    """The measured rows whose names begin like these; none if the benchmark has not been run."""
    if not (RESULTS / f"{benchmark}.json").exists():
        return []
    rows = rows_of(load(benchmark))
    return [row for row in rows if row.timing and row.what.startswith(what) and row.size.startswith(size)]


def median(benchmark: str, what: str, size: str = "") -> float | None:
    rows = found(benchmark, what, size)
    return rows[0].timing.median if rows and rows[0].timing else None


def number(name: str, rows: list[Row], choose: Callable[[list[float]], float] = min) -> float | None:
    """One of the rows' numbers of that name; the least by default."""
    values = [row.numbers[name] for row in rows if name in row.numbers]
    return choose(values) if values else None


def core_goals() -> Iterator[Goal]:
    for states, limit in ((2, 0.3), (5, 5.0)):
        text = f"Whittle indices of 1,000,000 arms, {states} states: under {seconds(limit)}"
        value = median("rmab", "Whittle indices", f"1,000,000 arms × {states}")
        yield Goal(text, value, operator.lt, limit, seconds)
    for states in (2, 5):
        value = number("to_ours", found("rmab", "markovianbandit-pkg, per arm", f"1 arm × {states}"))
        text = f"the same against markovianbandit-pkg, per arm, {states} states: over 1,000 ×"
        yield Goal(text, value, operator.gt, 1000, times)
    rows = found("rmab", "simulation")
    yield Goal(
        "simulation, 2 and 5 states: over 50 million arm-steps a second",
        number("arm_steps_a_second", rows),
        operator.gt,
        5e7,
        lambda value: f"{value / 1e6:,.0f} million",
    )


def mixture_goals() -> Iterator[Goal]:
    for name, limit in (("entropy", 500), ("l2", 50)):
        value = number("to_ours", found("mixtures", f"{name}, cvxpylayers"))
        text = f"{name} layer against cvxpylayers, slowest of two sizes and two solvers: over {limit} ×"
        yield Goal(text, value, operator.gt, limit, times)
    rows = found("mixtures", "entropy, forward and backward, float32", "100 × 4")
    million = number("per_arm", found("mixtures", "entropy, forward and backward, float32", "1,000,000 × 4"))
    hundred = number("per_arm", rows)
    growth = million / hundred if million and hundred else None
    yield Goal("entropy layer: an arm of 1,000,000 no dearer than of 100", growth, operator.le, 1, times)


def epoch_goals() -> Iterator[Goal]:
    for name, limits in zip(SHAPES, ((1.5, 1.3), (1.5, 1.3), (3.0, 2.0)), strict=True):
        value = next(iter(ratio_to_mse(name)), None)
        for which, limit in zip(("first", "second"), limits, strict=True):
            text = f"epoch of Fast DEC-DFL, {name}: at most {limit:g} × MSE ({which} goal)"
            yield Goal(text, value, operator.le, limit, times)
    value = number("to_fast", found("training", "DEC-DFL (entropy, cvxpylayers"))
    text = "the same against cvxpylayers' entropy, all shapes and solvers: over 1,000 ×"
    yield Goal(text, value, operator.ge, 1000, times)
    value = number("to_fast", found("training", "SIM-DFL (1,000"))
    yield Goal("the same against SIM-DFL (1,000), all shapes: over 100 ×", value, operator.ge, 100, times)
    million = number("per_unit", found("growth", FAST, "one cohort of 1,000,000"))
    less = number("per_unit", found("growth", FAST, "one cohort of 10,000 arms"))
    growth = million / less if million and less else None
    yield Goal("one cohort: an arm of 1,000,000 no dearer than of 10,000", growth, operator.le, 1, times)


def ratio_to_mse(name: str) -> list[float]:
    return [row.numbers["to_mse"] for row in found("training", FAST, size_of(name)) if row.what == FAST]


def programme_goals() -> Iterator[Goal]:
    rows = found("plan", "plan", "3,000,000")
    value = rows[0].timing.median if rows and rows[0].timing else None
    yield Goal("week's plan for 3,000,000 people, by features alone: under 20 s", value, operator.lt, 20, seconds)
    yield Goal("the same: under 4 GB", number("peak", rows), operator.lt, 4e9, gigabytes)
    value = median("chains", PLAN, "3,000,000")
    yield Goal("the same by everyone's 26 weeks, in memory: under 20 s", value, operator.lt, 20, seconds)
    rows = found("chains", "fit", "100,000")
    value = rows[0].timing.median if rows and rows[0].timing else None
    yield Goal("model of chains, fit of 100,000 people × 52 weeks: under 60 s", value, operator.lt, 60, seconds)
    yield Goal("the same: under 4 GB", number("peak", rows), operator.lt, 4e9, gigabytes)
    value = median("startup", "armwise --help")
    yield Goal("`armwise --help`: under half a second", value, operator.lt, 0.5, seconds)
    value = median("startup", "armwise demo, first useful")
    yield Goal("first useful output of `armwise demo`: under 10 s", value, operator.lt, 10, seconds)
    text = "accelerator, loss and gradient of 3,000,000 arms: within 2 × of the bandwidth limit"
    value = number("times_limit", found("accelerator", f"{FAST}, loss", "3,000,000"))
    yield Goal(text, value, operator.le, 2, times)
    yield Goal("`make bench`: under 15 minutes", bench_seconds(), operator.lt, 900, minutes)


def bench_seconds() -> float | None:
    """All of ``make bench``, if all of it was run, and nothing more."""
    if not all((RESULTS / f"{name}.json").exists() for name in BENCH):
        return None
    contents = [load(name) for name in BENCH]
    if any(content["command"] != "make bench" or "seconds" not in content for content in contents):
        return None
    return float(sum(content["seconds"] for content in contents))


def minutes(value: float) -> str:
    return f"{value / 60:.1f} min"


def busy() -> list[str]:
    """The benchmarks that were run while the machine did much else; their ratios, too, may be off."""
    names = [name for name in BENCH if (RESULTS / f"{name}.json").exists()]
    return [name for name in names if float(load(name)["machine"].get("load before", 0)) > BUSY]


def table() -> str:
    """The goals as Markdown, with a warning where the machine was busy."""
    goals = [*core_goals(), *mixture_goals(), *epoch_goals(), *programme_goals()]
    lines = [line(("goal", "measured", "")), "|---|---|---|", *(line(goal.cells()) for goal in goals)]
    if busy():
        lines += ["", f"Preliminary: {', '.join(busy())} ran while the machine was busy with other work."]
    return "\n".join(lines) + "\n"
