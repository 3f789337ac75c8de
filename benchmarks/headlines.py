"""The README's six rows: what was measured that most readers ask for first."""

from benchmarks.chains import PLAN
from benchmarks.epochs import size_of
from benchmarks.goals import found, median, number, ratio_to_mse, times
from benchmarks.harness import RESULTS, Row, gigabytes, line, seconds
from reproduction.studies.demo_truth import mean_with_error, read_gains

SUMMARY = RESULTS.parents[1] / "results" / "demo" / "summary.csv"
ALL_ROWS = "[all rows](benchmarks/results/{}.md)"
MISSING = "not measured"


def table() -> str:
    """The six rows as Markdown."""
    rows = [gain_of_calls(), plan_by_features(), plan_by_weeks(), fit(), whittle(), epoch()]
    return "\n".join([line(("what", "measured", "more")), "|---|---|---|", *map(line, rows)]) + "\n"


def gain_of_calls() -> tuple[str, str, str]:
    """What calls are worth to people, judged by the true chains of simulated programmes."""
    gains = read_gains(SUMMARY)
    what = "weeks of engagement gained by 100 calls, on simulated programmes like the demo's"
    ways = ", ".join(f"{mean_with_error(gains[way])} {way}" for way in ("armwise", "disengaged first", "random"))
    return what, ways, "[planning.md](docs/planning.md#evaluation-and-its-limits)"


def plan_by_features() -> tuple[str, str, str]:
    """The weekly list of a large programme, as a command makes it, where people's weeks play no part."""
    what = "call list for 3,000,000 people by features alone, from file to file"
    return what, time_and_peak(found("plan", "plan", "3,000,000")), ALL_ROWS.format("plan")


def plan_by_weeks() -> tuple[str, str, str]:
    """The same by the default model, which uses everyone's weeks."""
    what = "call list for 3,000,000 people by everyone's own 26 weeks, in memory"
    return what, time_and_peak(found("chains", PLAN, "3,000,000")), ALL_ROWS.format("chains")


def fit() -> tuple[str, str, str]:
    """What is done once a month."""
    what = "learning the model from 100,000 people and 52 weeks"
    return what, time_and_peak(found("chains", "fit", "100,000")), ALL_ROWS.format("chains")


def whittle() -> tuple[str, str, str]:
    """The heart of every list."""
    value = median("rmab", "Whittle indices", "1,000,000 arms × 2")
    return "Whittle indices of 1,000,000 people, 2 states", written(value), ALL_ROWS.format("rmab")


def epoch() -> tuple[str, str, str]:
    """The paper's own question: what decision-focused training costs."""
    to_mse = next(iter(ratio_to_mse("real-world")), None)
    to_fast = number("to_fast", found("training", "DEC-DFL (entropy, cvxpylayers", size_of("real-world")))
    what = "an epoch of Fast DEC-DFL at the paper's real-world shape"
    if to_mse is None or to_fast is None:
        return what, MISSING, ALL_ROWS.format("training")
    measured = f"{times(to_mse)} the mean squared error's; with cvxpylayers at least {times(to_fast)} as long"
    return what, measured, ALL_ROWS.format("training")


def time_and_peak(rows: list[Row]) -> str:
    """The time of the first row, and its peak of memory where that was measured."""
    if not rows or rows[0].timing is None:
        return MISSING
    peak = number("peak", rows)
    return seconds(rows[0].timing.median) + (f", {gigabytes(peak)}" if peak else "")


def written(value: float | None) -> str:
    """A time, or that there is none."""
    return MISSING if value is None else seconds(value)
