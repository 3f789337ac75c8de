"""Results as tidy CSV, one row per run, with what made them beside it; written and read by the standard library."""

import csv
import dataclasses
import io
import json
import types
import typing
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from armwise.errors import InvalidInputError
from armwise.io.writing import write_file

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


def write_rows(path: Path, rows: Sequence[Any]) -> None:
    """Write rows of one kind as CSV, whole or not at all."""
    if not rows:
        raise InvalidInputError(f"There are no rows to write to {path}.")
    names = [field.name for field in dataclasses.fields(rows[0])]
    buffer = io.StringIO(newline="")
    table = csv.writer(buffer, lineterminator="\n")
    table.writerow(names)
    table.writerows([_text(getattr(row, name)) for name in names] for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, buffer.getvalue().encode())


def read_rows(path: Path, kind: type[RowType]) -> list[RowType]:
    """Read what ``write_rows`` wrote for this kind of row."""
    kinds = typing.get_type_hints(kind)
    with path.open(newline="", encoding="utf-8") as file:
        table = csv.reader(file)
        names = next(table, [])
        if names != list(kinds):
            odd = ", ".join(sorted(set(names) ^ set(kinds))) or "their order"
            raise InvalidInputError(f"{path} has other columns than {kind.__name__}: {odd}.")
        return [kind(*(_value(cell, kinds[name]) for name, cell in zip(names, row, strict=True))) for row in table]


def read_folder(folder: Path, kind: type[RowType], pattern: str = "*.csv") -> list[RowType]:
    """The rows of every part in a folder, in the order of their names."""
    return [row for path in sorted(folder.glob(pattern)) for row in read_rows(path, kind)]


def write_page(path: Path, page: dict[str, Any]) -> None:
    """Write what stands beside results, as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, (json.dumps(page, indent=2, ensure_ascii=False) + "\n").encode())


def read_page(path: Path) -> dict[str, Any]:
    """Read what ``write_page`` wrote."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"{path} cannot be read: {error}. Delete it and its CSV to run the job anew."
        ) from error


def group_by(rows: Iterable[RowType], *names: str) -> dict[tuple[Any, ...], list[RowType]]:
    """Rows by the values of some columns, in the order in which these first appear."""
    groups: dict[tuple[Any, ...], list[RowType]] = {}
    for row in rows:
        groups.setdefault(tuple(getattr(row, name) for name in names), []).append(row)
    return groups


def _text(value: Any) -> str:
    if value is None:
        return ""
    # Eight digits are more than float32 holds.
    return f"{value:.8g}" if isinstance(value, float) else str(value)


def _value(cell: str, kind: Any) -> Any:
    if isinstance(kind, types.UnionType):
        return None if cell == "" else float(cell)
    return kind(cell)
