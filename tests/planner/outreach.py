"""A small simulated programme and a planner that has learned from it: what the tests of plans start from."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import armwise as aw

GROUPS = ("centre", "north", "south")


class Small(NamedTuple):
    """People, their history as a long table, and where they stand."""

    people: pl.DataFrame
    weeks: pl.DataFrame
    planner: aw.OutreachPlanner


def make_people(rng: np.random.Generator, num_people: int, num_states: int = 2) -> pl.DataFrame:
    """People with features and everything that rules ask for."""
    observed = rng.integers(0, 4, num_people)
    calls = rng.integers(0, 5, num_people)
    return pl.DataFrame(
        {
            "id": [f"{number:05d}" for number in rng.permutation(num_people * 3)[:num_people]],
            "phone": rng.choice(["own", "shared", None], num_people).tolist(),
            "language": rng.choice(["hindi", "urdu", "marathi"], num_people),
            "age": rng.integers(18, 45, num_people),
            "state": np.where(observed > 0, rng.integers(0, num_states, num_people), -1),
            "since": np.where(observed > 0, rng.integers(1, 6, num_people), -1),
            "observed": observed,
            "calls": calls,
            "since_call": np.where(calls > 0, rng.integers(0, 9, num_people), -1),
            "group": rng.choice(GROUPS, num_people),
            "excluded": rng.choice([None, None, None, "opted out", "left"], num_people).tolist(),
        }
    )


def make_weeks(rng: np.random.Generator, people: pl.DataFrame, num_states: int = 2, num_weeks: int = 7) -> pl.DataFrame:
    """A history in which calls help those who own a phone."""
    owns = (people["phone"].fill_null("") == "own").to_numpy()
    state, rows = rng.integers(0, num_states, people.height), []
    for week in range(num_weeks):
        action = (rng.random(people.height) < 0.3).astype(int)
        rows.append(pl.DataFrame({"id": people["id"], "step": week, "state": state, "action": action}))
        up = rng.random(people.height) < 0.25 + action * 0.65 * owns
        state = np.clip(state + np.where(up, 1, -1), 0, num_states - 1)
    seen = pl.concat(rows)
    return seen.filter(pl.Series(rng.random(seen.height) < 0.9))


@cache
def small(model: str = "linear", num_states: int = 2) -> Small:
    """The same for every test that asks for it."""
    rng = np.random.default_rng([num_states, len(model)])
    people = make_people(rng, 120, num_states)
    weeks = make_weeks(rng, people, num_states)
    settings = aw.TrainConfig(num_epochs=20, learning_rate=0.05)
    planner = aw.OutreachPlanner(
        aw.MeanSquaredError(),
        model,
        settings,
        cohort_size=20,
        prior_strength=1,
        numeric=["age"],
        categorical=["phone", "language"],
    )
    return Small(people, weeks, planner.fit(people, weeks))


@cache
def known_people(num_states: int = 2) -> Small:
    """The same people with a planner that knows each of them by her own weeks: the default one."""
    case = small(num_states=num_states)
    planner = aw.OutreachPlanner(numeric=["age"], categorical=["phone", "language"], cohort_size=20)
    return Small(case.people, case.weeks, planner.fit(case.people, case.weeks))


def columns() -> dict[str, Any]:
    """The columns of ``make_people`` as arguments of ``plan``."""
    return {
        "states": "state",
        "steps_since_observed": "since",
        "num_observed": "observed",
        "num_calls": "calls",
        "steps_since_call": "since_call",
        "groups": "group",
        "exclusions": "excluded",
    }


def as_rules(given: dict[str, Any]) -> dict[str, Any]:
    """The budget and the rules among them as arguments of ``plan``; None stands for a rule that is not set."""
    said = {name: value for name, value in given.items() if value is not None}
    return {"rules": aw.CallRules(**said)}


def under_other_ids(case: Small) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The same people and history as if they were others, so that a planner that learned from them may be judged."""
    other = pl.concat_str(pl.lit("other-"), "id").alias("id")
    return case.people.with_columns(other), case.weeks.with_columns(other)
