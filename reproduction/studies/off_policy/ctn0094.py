"""CTN-0094: who should get which treatment, judged on treatments given by lot, once for each person."""

from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

import armwise as aw
from reproduction.markdown import Row
from reproduction.studies.off_policy.choices import Scores, cross_fitted_scores, folds_of, top_share
from reproduction.studies.off_policy.heartsteps import as_row

# The package also has a function of this name.
_files = import_module("armwise.data.domains.ctn0094")

TRIALS = {"27": "methadone", "51": "buprenorphine", "30": "extra counselling"}
BUDGETS = (0.3, 0.5)


class Trial(NamedTuple):
    """People of one trial, their weeks, and the arm each was given."""

    people: pl.DataFrame
    history: aw.Trajectories
    arm: np.ndarray
    engaged: np.ndarray


def read_trial(folder: Path, trial: str) -> Trial:
    """Phase 1; a person's outcome is the share of scheduled weeks in which she came."""
    history, ids = _files._trajectories(folder / _files.STATES_FILE, trial, 1, "engaged")
    people = _files._intake(folder / _files.FEATURES_FILE, ids)
    people = people.select("who", *_files.CATEGORICAL, *_files.NUMERIC)
    states, actions, observed = (np.asarray(part) for part in (history.states, history.actions, history.observed))
    engaged = (states * observed).sum(axis=1) / observed.sum(axis=1)
    return Trial(people, history, (actions * observed).max(axis=1), engaged)


def value_choices(folder: Path) -> list[Row]:
    """One row per trial, budget and way to choose."""
    rows: list[Row] = []
    for number, treatment in TRIALS.items():
        trial = read_trial(folder, number)
        setting = f"CTN-00{number}, {treatment}"
        folds = folds_of(len(trial.arm))
        scores = cross_fitted_scores(trial.people, trial.history, folds, _planner)
        rows.append(_row(trial, setting, "everyone", "never", np.ones((len(trial.arm), 1)), 0.0))
        for budget in BUDGETS:
            for name, score in _ways(scores).items():
                policy = top_share(score[:, None], np.ones((len(trial.arm), 1), bool), folds, budget)
                rows.append(_row(trial, setting, name, "random", policy, budget))
    return rows


def _ways(scores: Scores) -> dict[str, np.ndarray]:
    # At the start nobody's state is known: the average over the states that people are first seen in.
    expected = {
        name: (getattr(scores, name) * scores.first_states).sum(axis=1) for name in ("whittle", "effect", "risk")
    }
    return {
        "armwise, by index": expected["whittle"],
        "armwise, by predicted effect": expected["effect"],
        "least likely to come": expected["risk"],
    }


def _planner() -> aw.OutreachPlanner:
    return aw.OutreachPlanner(
        aw.recommended_loss(),
        id_column="who",
        categorical=list(_files.CATEGORICAL),
        numeric=list(_files.NUMERIC),
    )


def _row(trial: Trial, setting: str, way: str, against: str, policy: np.ndarray, reference: float) -> Row:
    # One decision for each person: the arm. Nothing is known before it, so there is one state.
    once = aw.Trajectories.from_arrays(np.zeros((len(trial.arm), 1), int), trial.arm[:, None])
    share = float(trial.arm.mean())
    found = aw.off_policy_value(once, policy, propensities=share, reference=reference, outcomes=trial.engaged[:, None])
    return {"setting": setting, "way": way, "against": against, **as_row(found)}
