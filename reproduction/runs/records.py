"""One training run, one epoch of a setting, one Whittle index: the rows of the results."""

import dataclasses
from collections.abc import Iterable
from typing import Any, TypeVar

RowType = TypeVar("RowType")


@dataclasses.dataclass(frozen=True)
class RunRow:
    """One training run, and what it is worth on the test cohorts of its split.

    The parts of a quality (``achieved``, ``never``, ``perfect``) are summed over the test cohorts, so that ratios of
    averages can be taken anew; ``quality`` is that ratio for the run, ``by_cohort`` the average of the cohorts' own
    ratios. NaN where it was not measured.
    """

    domain: str
    variant: str  # what differs from the domain's defaults, such as "discount=0.99"
    model: str
    loss: str
    temperature: float | None
    learning_rate: float
    split: int
    initialisation: int
    num_splits: int  # how much the job ran in all: these five
    num_initialisations: int
    num_learning_rates: int
    num_temperatures: int
    num_epochs: int
    best_epoch: int
    validation_loss: float
    validation_quality: float
    joint_quality: float
    joint_achieved: float
    joint_never: float
    joint_perfect: float
    joint_by_cohort: float
    decomposed_quality: float
    decomposed_achieved: float
    decomposed_never: float
    decomposed_perfect: float
    decomposed_by_cohort: float
    num_test_cohorts: int
    num_trajectories: int
    train_seconds: float  # of the whole job, all its runs together, compilation included
    evaluate_seconds: float
    hardware: str


@dataclasses.dataclass(frozen=True)
class HistoryRow:
    """Validation after one epoch: mean and standard error over the splits and initialisations of one setting."""

    domain: str
    variant: str
    model: str
    loss: str
    temperature: float | None
    learning_rate: float
    epoch: int
    num_runs: int
    validation_loss: float
    validation_loss_error: float
    validation_quality: float
    validation_quality_error: float


@dataclasses.dataclass(frozen=True)
class IndexRow:
    """The Whittle index of one state of one person in a test cohort, predicted and true."""

    domain: str
    variant: str
    model: str
    loss: str
    cohort: int
    arm: int
    state: int
    budget: int
    predicted_index: float
    true_index: float


def group_by(rows: Iterable[RowType], *names: str) -> dict[tuple[Any, ...], list[RowType]]:
    """Rows by the values of some columns, in the order in which these first appear."""
    groups: dict[tuple[Any, ...], list[RowType]] = {}
    for row in rows:
        groups.setdefault(tuple(getattr(row, name) for name in names), []).append(row)
    return groups
