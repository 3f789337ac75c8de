"""Three randomised trials of treatment for opioid use disorder: weekly attendance of each person."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from armwise._validation import check_count
from armwise.data.cohorts import partition
from armwise.data.counts import estimate_transitions, transition_counts
from armwise.data.domains.domain import Domain, left_over_note, split_sizes
from armwise.data.encoding import encode
from armwise.data.files import Folder, read_table
from armwise.data.trajectories import Trajectories, first_state_shares
from armwise.errors import InvalidInputError
from armwise.rmab import Problem

STATES_FILE, FEATURES_FILE = "weekly_states.csv.gz", "features.csv.gz"

# The arm of each trial that is action 1.
ACTIVE_ARM = {"27": "Methadone", "30": "Outpatient BUP + EMM", "51": "Inpatient BUP"}
CODES = ("-", "+", "*", "o", "_")
OUTCOMES = {"engaged": ("-", "+", "*"), "negative": ("-",)}

CATEGORICAL = (
    *("site_masked", "race_ethnicity", "is_male", "job", "is_living_stable", "education", "marital", "used_iv"),
    *("has_schizophrenia", "has_major_dep", "has_bipolar", "has_anx_pan", "has_brain_damage", "has_epilepsy"),
    *("depression", "anxiety", "schizophrenia", "has_alcol_dx", "has_amphetamines_dx", "has_cannabis_dx"),
    *("has_cocaine_dx", "has_sedatives_dx", "is_smoker", "per_day", "pain", "is_homeless", "iv_shared"),
)
NUMERIC = (
    *("age", "ftnd", "rbs_days_cocaine", "rbs_days_heroin", "rbs_days_opioid", "rbs_days_speed"),
    *("rbs_days_speedball", "iv_days", "iv_max", "iv_amount"),
)


def ctn0094(
    path: Folder,
    seed: Any = 0,
    *,
    trial: str = "27",
    phase: int = 1,
    outcome: str = "engaged",
    num_bins: int = 4,
    size: int = 50,
    budget: int = 5,
    prior_strength: float = 5.0,
    discount: float = 0.9,
) -> Domain:
    """One of the three trials harmonised as CTN-0094 (Balise, Odom, Calderon et al., MIT licence); all data are real.

    The state is whether the person gave the scheduled weekly sample. A week without a scheduled sample ("_", or no
    row) is not observed. The action is the randomised arm, which is the same for a person in all weeks of a phase. So
    every person shows only one action, and the row of the other action is the pool's. Compare actions with care: after
    the first week, the people in a given state differ between arms.

    Features: the intake columns as categories, with numbers cut at quantiles and a separate level for missing values.
    Columns that do not vary within the trial, and the free-form baseline patterns, are left out.

    Args:
        path: the folder that holds ``weekly_states.csv.gz`` and ``features.csv.gz``.
        seed: the seed of the cohorts; a whole number or a JAX key.
        trial: "27" (action 1: methadone), "30" (enhanced medical management) or "51" (buprenorphine).
        phase: 1, or 2 for the re-randomised second phase of trial 30.
        outcome: "engaged" (sample given) or "negative" (sample given and free of opioids) is state 1.
        num_bins: quantile levels of each numeric column.
        size: people in a cohort.
        budget: people per cohort who can have action 1 in a week.
        prior_strength: the number of observations that the pool counts for.
        discount: weight of next week's reward.
    """
    _check_choices(trial, phase, outcome)
    trajectories, ids = _trajectories(Path(path) / STATES_FILE, trial, phase, outcome)
    table = _intake(Path(path) / FEATURES_FILE, ids)
    features = encode(table, CATEGORICAL, NUMERIC, check_count("num_bins", num_bins, minimum=2))
    counts = transition_counts(trajectories)
    transitions = estimate_transitions(counts, prior_strength)
    people = partition(seed, features, transitions, counts, size, budget, ids)
    problem = Problem(discount=discount, initial=first_state_shares(trajectories))
    note = (
        f"Real: {len(ids):,} people of trial CTN-00{trial}, phase {phase}; action 1 is {ACTIVE_ARM[trial]}, randomised "
        f"per person, not per week. {left_over_note(people.left_over, size)}"
    )
    sizes = split_sizes(people.cohorts.num_cohorts)
    return Domain(people.cohorts, problem, sizes, f"CTN-00{trial} ({outcome})", note)


def _check_choices(trial: str, phase: int, outcome: str) -> None:
    for name, value, known in (("trial", trial, ACTIVE_ARM), ("outcome", outcome, OUTCOMES)):
        if value not in known:
            raise InvalidInputError(f"{name} must be one of {', '.join(map(repr, known))}, not {value!r}.")
    if phase not in ((1, 2) if trial == "30" else (1,)):
        raise InvalidInputError(f"phase must be 1, or 2 in trial '30' alone, not {phase!r} in trial {trial!r}.")


def _trajectories(path: Path, trial: str, phase: int, outcome: str) -> tuple[Trajectories, np.ndarray]:
    columns = {"who": int, "project": str, "arm": str, "phase": int, "week": int, "uds_code": str}
    table = read_table(path, columns)
    _check_codes(path, table["uds_code"])
    seen = table.filter(project=trial, phase=phase).filter(pl.col("uds_code") != "_")
    if not seen.height:
        raise InvalidInputError(
            f"{path} has no rows of trial {trial!r}, phase {phase}. Choose another, or copy it again."
        )
    long = seen.select(
        pl.col("who").alias("id"),
        pl.col("week").alias("step"),
        pl.col("uds_code").is_in(OUTCOMES[outcome]).cast(int).alias("state"),
        (pl.col("arm") == ACTIVE_ARM[trial]).cast(int).alias("action"),
    )
    return Trajectories.from_table(long)


def _check_codes(path: Path, codes: pl.Series) -> None:
    unknown = ~codes.is_in(CODES)
    if unknown.any():
        row, value = unknown.arg_max() or 0, codes.filter(unknown)[0]
        raise InvalidInputError(
            f"{path}, line {row + 2}, column 'uds_code' has {value!r}; known are {' '.join(CODES)}. Recode it."
        )


def _intake(path: Path, ids: np.ndarray) -> pl.DataFrame:
    """The intake columns of the people with trajectories, in the order of their ids."""
    columns = {"who": int, **dict.fromkeys(CATEGORICAL, str), **dict.fromkeys(NUMERIC, float)}
    table = read_table(path, columns, frozenset([*CATEGORICAL, *NUMERIC]))
    found = table.filter(pl.col("who").is_in(ids.tolist())).sort("who")
    if found["who"].to_list() != ids.tolist():
        raise InvalidInputError(
            f"{path} must have one line for each person of {STATES_FILE}: it has {found.height} lines for {len(ids)} "
            "people. Copy both files from the same source."
        )
    return found
