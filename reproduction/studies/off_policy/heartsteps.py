"""HeartSteps: which suggestions to send, judged on suggestions that were sent by lot five times a day."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

import armwise as aw
from armwise.data.domains.heartsteps import AFTER, BEFORE, CATEGORICAL, DECISIONS_FILE, NUMERIC, USERS_FILE
from armwise.data.files import read_table
from reproduction.markdown import Row
from reproduction.studies.off_policy.choices import cross_fitted_scores, folds_of, top_share

SEND_PROBABILITY = 0.6
BUDGETS = (0.3, 0.6)
THRESHOLDS = (0, 250)
NUM_DIVISIONS = 5


class Log(NamedTuple):
    """Decisions at which a person was available, ``[people, steps]``, one column per decision point."""

    people: pl.DataFrame
    history: aw.Trajectories
    outcomes: np.ndarray


def read_log(folder: Path, threshold: int) -> Log:
    """The state is activity in the half hour before, the outcome activity in the half hour after."""
    columns = {"user.index": int, **dict.fromkeys(CATEGORICAL, str), **dict.fromkeys(NUMERIC, float)}
    people = read_table(folder / USERS_FILE, columns, frozenset([*CATEGORICAL, *NUMERIC])).sort("user.index")
    columns = {"user.index": int, "decision.index": int, "avail": bool, "send": bool, BEFORE: float, AFTER: float}
    rows = read_table(folder / DECISIONS_FILE, columns, frozenset(["send", BEFORE, AFTER])).filter("avail").drop_nulls()
    person = np.searchsorted(people["user.index"].to_numpy(), rows["user.index"].to_numpy())
    step = rows["decision.index"].to_numpy()
    shape = (people.height, int(step.max()) + 1)
    states, actions = np.zeros(shape, int), np.zeros(shape, int)
    observed, outcomes = np.zeros(shape, bool), np.full(shape, np.nan)
    states[person, step] = rows[BEFORE].to_numpy() > threshold
    actions[person, step] = rows["send"].to_numpy()
    observed[person, step] = True
    outcomes[person, step] = rows[AFTER].to_numpy() > threshold
    return Log(people, aw.Trajectories.from_arrays(states, actions, observed), outcomes)


def as_pairs(log: Log) -> aw.Trajectories:
    """A history to learn from: before, after, and a gap, because the next decision is hours later."""
    states, actions, observed = (
        np.asarray(part) for part in (log.history.states, log.history.actions, log.history.observed)
    )
    none = np.zeros_like(states)
    after = np.where(observed, np.nan_to_num(log.outcomes), 0).astype(int)

    def interleave(*parts: np.ndarray) -> np.ndarray:
        return np.stack(parts, axis=2).reshape(len(states), -1)

    return aw.Trajectories.from_arrays(
        interleave(states, after, none),
        interleave(actions, none, none),
        interleave(observed, observed, np.zeros_like(observed)),
    )


def value_divisions(folder: Path) -> list[Row]:
    """Armwise's choice by index again, for several divisions of the people into fifths."""
    return [
        {"division": division, **row}
        for division in range(NUM_DIVISIONS)
        for row in value_choices(folder, division)
        if row["way"] == "armwise, by index"
    ]


def value_choices(folder: Path, division: int = 0) -> list[Row]:
    """One row per threshold, budget and way to choose."""
    rows: list[Row] = []
    for threshold in THRESHOLDS:
        log = read_log(folder, threshold)
        folds = folds_of(log.people.height, division)
        scores = cross_fitted_scores(log.people, as_pairs(log), folds, _planner)
        states, used = np.asarray(log.history.states), np.asarray(log.history.observed)
        person = np.arange(len(states))[:, None]
        ways = {
            "armwise, by index": scores.whittle[person, states],
            "armwise, by predicted effect": scores.effect[person, states],
            "least likely to be active": scores.risk[person, states],
            "inactive first": 1.0 - states,
            "active first": 1.0 * states,
        }
        setting = f"HeartSteps, more than {threshold} steps"
        rows.append(_row(log, setting, "everyone", "never", np.ones(states.shape), 0.0))
        for budget in BUDGETS:
            for name, score in ways.items():
                policy = top_share(score, used, folds, budget)
                rows.append(_row(log, setting, name, "random", policy, budget))
    return rows


def _planner() -> aw.OutreachPlanner:
    return aw.OutreachPlanner(
        aw.recommended_loss(), id_column="user.index", categorical=list(CATEGORICAL), numeric=list(NUMERIC), num_bins=3
    )


def _row(log: Log, setting: str, way: str, against: str, policy: np.ndarray, reference: float) -> Row:
    found = aw.off_policy_value(
        log.history, policy, propensities=SEND_PROBABILITY, reference=reference, outcomes=log.outcomes
    )
    return {"setting": setting, "way": way, "against": against, **as_row(found)}


def as_row(found: aw.OffPolicyValue) -> Row:
    """A result as columns."""
    row: Row = {
        "share": round(found.call_share, 4),
        "people": found.num_people,
        "decisions": found.num_decisions,
        "effective": round(found.effective_sample_size, 1),
        "matching_calls": round(found.num_matching_calls, 1),
    }
    for name in ("inverse_probability", "self_normalised", "doubly_robust"):
        answer = getattr(found, name)
        for quantity in ("value", "difference"):
            one = getattr(answer, quantity)
            for part in ("value", "low", "high"):
                row[f"{name}_{quantity}_{part}"] = round(getattr(one, part), 5)
    return row
