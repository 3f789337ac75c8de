"""``armwise fit``: train a planner on a programme's own files."""

from collections.abc import Callable

import polars as pl

from armwise.errors import InvalidInputError
from armwise.io.reading import PathLike
from armwise.planner.cohort_shape import cohort_shape
from armwise.planner.correction import MODELS
from armwise.planner.outreach_planner import OutreachPlanner
from armwise.programme.loading import load_programme
from armwise.programme.programme_data import ProgrammeData
from armwise.weekly.expected_time import expected_chain_time, expected_time

MODEL_FILE, CALLS_FILE = "model.armwise", "call-list.csv"
# Each person's own chain. The other kinds of model correct it with her features and her history.
CHAINS = "chains"
KINDS = (CHAINS, *MODELS)
# A name that no column of a programme has.
ID = "armwise:id"


def fit_programme(
    path: PathLike,
    *,
    seed: int = 0,
    kind: str = CHAINS,
    despite_outage: bool = False,
    progress: bool | None = False,
    started: Callable[[str], None] | None = None,
) -> OutreachPlanner:
    """Train a planner on a programme's own files.

    Args:
        path: the path of ``programme.toml``.
        seed: the same seed gives the same planner.
        kind: the kind of model: "chains" for each person's own chain; "linear", "medium" or "large" for a model that
            corrects the chains with features and history, trained by the recommended recipe.
        despite_outage: whether to go on if the last step was hardly observed.
        progress: whether to show a bar on stderr; None shows it on a terminal.
        started: called before learning starts, with a sentence on how long it will take.
    """
    data = load_programme(path, despite_outage=despite_outage)
    planner = make_planner(data, seed, kind)
    _announce(planner, len(data.ids), data.trajectories.num_steps, started)
    return planner.fit(table_of(data), data.trajectories, progress=progress)


def _announce(planner: OutreachPlanner, num_people: int, num_steps: int, started: Callable[[str], None] | None) -> None:
    if started is None:
        return
    if planner.model is None:
        started(expected_chain_time(num_people, num_steps))
        return
    shape = cohort_shape(num_people, planner.budget_share, planner.cohort_size, planner.max_cohorts)
    started(expected_time(num_people, shape.size, shape.number, planner.model))


def table_of(data: ProgrammeData) -> pl.DataFrame:
    """The features and ids in one table, as planners need them."""
    return data.features.with_columns(data.ids.alias(ID))


def make_planner(data: ProgrammeData, seed: int, kind: str) -> OutreachPlanner:
    """An untrained planner with a programme's budget, its columns and the kind of model."""
    if kind not in KINDS:
        raise InvalidInputError(f"The kind of model must be one of {', '.join(KINDS)}, not {kind!r}.")
    section, names = data.programme.beneficiaries, data.features.columns
    if not data.programme.budget.total:
        raise InvalidInputError(
            f"[budget.per_group] in {data.programme.path} gives every group 0 calls, so that there is nothing to "
            "learn. Give at least one group a call."
        )
    share = min(1.0, data.programme.budget.total / max(1, int(data.taking_part.sum())))
    return OutreachPlanner(
        model=None if kind == CHAINS else kind,
        budget_share=share,
        numeric=tuple(name for name in names if name in section.numbers),
        categorical=tuple(name for name in names if name not in section.numbers),
        id_column=ID,
        random_state=seed,
    )
