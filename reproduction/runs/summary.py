"""From runs to the numbers of a table: hyperparameters by validation loss, then mean ± standard error of the mean.

Everything is computed from the CSV rows, so that it can be redone without training anything.
"""

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from reproduction.runs.records import RunRow, group_by
from reproduction.runs.selection import choose


@dataclasses.dataclass(frozen=True)
class Summary:
    """One cell of a table: the runs of one domain, model and loss after selection.

    Attributes:
        learning_rate: the one chosen for all runs; None if each run has its own.
        temperature: likewise; None also where the loss has none.
        num_runs: how many the averages are over.
        joint: mean normalised joint test quality.
        joint_error: its standard error over the runs, as the paper's is. Runs of one split share their cohorts, so
            that it is too small if splits differ much; ``joint_error_of_splits`` takes each split's mean as one.
        decomposed: mean normalised decomposed test quality, with its errors alike.
        by_cohort: the mean joint quality when each cohort is normalised alone.
        protocol: splits, initialisations, learning rates, temperatures and epochs that were run.
    """

    domain: str
    variant: str
    model: str
    loss: str
    learning_rate: float | None
    temperature: float | None
    num_runs: int
    joint: float
    joint_error: float
    joint_error_of_splits: float
    decomposed: float
    decomposed_error: float
    decomposed_error_of_splits: float
    by_cohort: float
    protocol: tuple[int, int, int, int, int]
    hardware: str


def select(rows: Sequence[RunRow], *, shared: bool = True) -> list[RunRow]:
    """The run to report for each split and initialisation of one job, chosen by validation loss.

    Args:
        rows: all runs of one domain, variant, model and loss.
        shared: one learning rate and temperature for all, as in the paper; or each split and initialisation its own.
    """
    if shared:
        return choose(rows)
    return [choose(runs)[0] for runs in group_by(rows, "split", "initialisation").values()]


def summarise(rows: Iterable[RunRow], *, shared: bool = True) -> list[Summary]:
    """Every job's runs as one line each, in the order of the rows."""
    jobs = group_by(rows, "domain", "variant", "model", "loss").values()
    return [_summary(select(job, shared=shared)) for job in jobs]


def paired_difference(one: Sequence[RunRow], other: Sequence[RunRow]) -> tuple[float, float]:
    """Mean and standard error of the difference in joint quality on the same splits and first weights.

    Splits are what is paired, so the error is over the splits' mean differences; NaN where fewer than two are shared.
    """
    values = [{(run.split, run.initialisation): run.joint_quality for run in runs} for runs in (one, other)]
    by_split: dict[int, list[float]] = {}
    for place in sorted(values[0].keys() & values[1].keys()):
        by_split.setdefault(place[0], []).append(values[0][place] - values[1][place])
    means = [float(np.mean(differences)) for differences in by_split.values()]
    return (float(np.mean(means)) if means else float("nan")), standard_error(means)


def standard_error(values: Sequence[float]) -> float:
    """Of the mean; NaN for fewer than two values."""
    return float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else float("nan")


def _summary(runs: Sequence[RunRow]) -> Summary:
    first = runs[0]
    rates, temperatures = {run.learning_rate for run in runs}, {run.temperature for run in runs}
    joint, decomposed = [run.joint_quality for run in runs], [run.decomposed_quality for run in runs]
    splits = group_by(runs, "split").values()
    return Summary(
        domain=first.domain,
        variant=first.variant,
        model=first.model,
        loss=first.loss,
        learning_rate=rates.pop() if len(rates) == 1 else None,
        temperature=temperatures.pop() if len(temperatures) == 1 else None,
        num_runs=len(runs),
        joint=float(np.mean(joint)),
        joint_error=standard_error(joint),
        joint_error_of_splits=standard_error([float(np.mean([run.joint_quality for run in own])) for own in splits]),
        decomposed=float(np.mean(decomposed)),
        decomposed_error=standard_error(decomposed),
        decomposed_error_of_splits=standard_error(
            [float(np.mean([run.decomposed_quality for run in own])) for own in splits]
        ),
        by_cohort=float(np.mean([run.joint_by_cohort for run in runs])),
        protocol=(
            first.num_splits,
            first.num_initialisations,
            first.num_learning_rates,
            first.num_temperatures,
            first.num_epochs,
        ),
        hardware=first.hardware,
    )
