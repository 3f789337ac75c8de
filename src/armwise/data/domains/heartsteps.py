"""HeartSteps: 37 people, with a walking suggestion randomised five times a day."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from armwise._validation import check_count
from armwise.data.cohorts import partition
from armwise.data.counts import count_index, estimate_transitions
from armwise.data.domains.domain import Domain, left_over_note, split_sizes
from armwise.data.encoding import encode
from armwise.data.files import Folder, read_table
from armwise.data.trajectories import discretise
from armwise.errors import InvalidInputError
from armwise.rmab import Problem

DECISIONS_FILE, USERS_FILE = "heartsteps_decisions.csv.gz", "users.csv"
BEFORE, AFTER = "jbsteps30pre", "jbsteps30"

CATEGORICAL = ("gender", "marital", "education", "fitapp", "fittracker")
NUMERIC = ("age", "household.size", "children", "consc", "selfeff.intake", "walk.intake", "metmins.intake")


def heartsteps(
    path: Folder,
    seed: Any = 0,
    *,
    thresholds: Any = (0,),
    missing_is_zero: bool = False,
    num_bins: int = 3,
    size: int = 9,
    budget: int = 2,
    prior_strength: float = 5.0,
    discount: float = 0.9,
) -> Domain:
    """The HeartSteps V1 micro-randomised trial (Klasnja et al. 2019, CC BY 4.0): real and small.

    Each decision point at which a person was available is one transition. The state comes from the number of steps in
    the 30 minutes before. The action is whether a suggestion was sent. The next state comes from the steps in the 30
    minutes after. The next decision point is hours later and has its own state before it, so there are counts but no
    trajectories. Points with missing steps or actions are left out, because unobserved does not mean inactive. With 37
    people this is a check, not a main data set.

    Features: intake columns as categories, with numbers cut at quantiles and a separate level for missing values.

    Args:
        path: the folder that holds ``heartsteps_decisions.csv.gz`` and ``users.csv``.
        seed: the seed of the cohorts; a whole number or a JAX key.
        thresholds: steps in 30 minutes that a state must exceed; one threshold makes two states.
        missing_is_zero: whether missing steps count as no steps, as in the trial's own analysis.
        num_bins: quantile levels of each numeric column.
        size: people in a cohort.
        budget: suggestions per cohort and decision point.
        prior_strength: the number of observations that the pool counts for.
        discount: weight of the next decision point's reward.
    """
    table = _intake(Path(path) / USERS_FILE)
    ids = table["user.index"].to_numpy()
    features = encode(table, CATEGORICAL, NUMERIC, check_count("num_bins", num_bins, minimum=2))
    counts = _counts(Path(path) / DECISIONS_FILE, ids, thresholds, missing_is_zero)
    transitions = estimate_transitions(counts, prior_strength)
    people = partition(seed, features, transitions, counts, size, budget, ids)
    before = counts.sum(axis=(0, 2, 3))
    problem = Problem(discount=discount, initial=before / before.sum())
    note = (
        f"Real: {len(ids)} people, {counts.sum():,} randomised decision points. First states are the shares over all "
        f"decision points. {left_over_note(people.left_over, size)}"
    )
    return Domain(people.cohorts, problem, split_sizes(people.cohorts.num_cohorts), "HeartSteps V1", note)


def _intake(path: Path) -> pl.DataFrame:
    columns = {"user.index": int, **dict.fromkeys(CATEGORICAL, str), **dict.fromkeys(NUMERIC, float)}
    table = read_table(path, columns, frozenset([*CATEGORICAL, *NUMERIC])).sort("user.index")
    if table["user.index"].is_duplicated().any():
        twice = table.filter(table["user.index"].is_duplicated())["user.index"][0]
        raise InvalidInputError(f"{path}, column 'user.index' has {twice} more than once. Keep one line per person.")
    return table


def _counts(path: Path, ids: np.ndarray, thresholds: Any, missing_is_zero: bool) -> np.ndarray:
    columns = {"user.index": int, "avail": bool, "send": bool, BEFORE: float, AFTER: float}
    table = read_table(path, columns, frozenset(["send", BEFORE, AFTER]))
    stranger = table.filter(~pl.col("user.index").is_in(ids.tolist()))
    if stranger.height:
        who = stranger["user.index"][0]
        raise InvalidInputError(f"{path} has user.index {who}, who is not in {USERS_FILE}. Copy both files again.")
    steps = pl.col(BEFORE, AFTER)
    used = table.with_columns(steps.fill_null(0.0) if missing_is_zero else steps).filter("avail").drop_nulls()
    arm = np.searchsorted(ids, used["user.index"].to_numpy())
    states, after = (discretise(used[name].to_numpy(), thresholds)[0] for name in (BEFORE, AFTER))
    num_states = len(thresholds) + 1
    return count_index((arm, states, used["send"].to_numpy().astype(int), after), (len(ids), num_states, 2, num_states))
