"""Write a small sample programme to start from. All its files are simulated; nobody in them is real."""

import os
from datetime import date, timedelta
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from armwise.data import Programme as SimulatedProgramme
from armwise.data import simulated_programme
from armwise.errors import OutputError
from armwise.io.reading import PathLike
from armwise.io.writing import write_folder

FIRST_DAY = date(2024, 1, 1)
CATEGORIES = {
    "language": ("english", "hindi", "marathi", "urdu"),
    "phone_owner": ("woman", "husband", "family"),
    "schooling": ("none", "primary", "secondary", "higher"),
    "first_pregnancy": ("no", "yes"),
}
AGE_BANDS = 5
DISTRICTS = ("centre", "north", "south")
# The calls per district and week in sample_programme.toml.
SAMPLE_CALLS = 4
# Changes to the defaults of simulated_programme: features explain little, and some weeks are not observed. The note in
# sample_programme.toml explains what this means.
ASSUMED: dict[str, Any] = {"explained": 0.02, "unobserved": 0.15}
STATUSES = ("active", "opted out", "moved away")


class Sample(NamedTuple):
    """The simulated files by name, and the simulation they were written from."""

    contents: dict[str, str]
    simulated: SimulatedProgramme


def init_programme(folder: PathLike, *, seed: int = 0, dry_run: bool = False) -> tuple[Path, ...]:
    """Write a commented ``programme.toml`` and a simulated programme's three tables into a new folder.

    Args:
        folder: the folder to create; it must not exist yet.
        seed: the seed of the simulation.
        dry_run: whether to write nothing and only return the files that would be written.

    Returns:
        The paths of the files.
    """
    target = Path(folder)
    # Not Path.exists, which raises if a folder above may not be entered; write_folder has a clear message for that.
    if os.path.lexists(target):
        raise OutputError(f"{target} exists already. Give the name of a new folder.")
    contents = sample_programme(seed).contents
    if not dry_run:
        write_folder(target, contents)
    return tuple(target / name for name in contents)


def sample_programme(
    seed: Any = 0, num_people: int = 300, num_weeks: int = 8, calls_per_group: int = SAMPLE_CALLS, **assumed: Any
) -> Sample:
    """Make the sample's files: attempts, seconds and dates that lead to the states of ``simulated_programme``.

    Args:
        seed: a whole number.
        num_people: beneficiaries.
        num_weeks: weeks of calls.
        calls_per_group: calls that can be made in a week in each district.
        assumed: arguments of ``simulated_programme`` that differ from those of the sample.
    """
    levels = (*(len(words) for words in CATEGORIES.values()), AGE_BANDS)
    simulated = simulated_programme(
        seed, num_people=num_people, num_weeks=num_weeks, levels=levels, **ASSUMED | assumed
    )
    rng = np.random.default_rng([seed, 1])
    ids = np.array([f"{number:06d}" for number in rng.permutation(num_people * 7)[:num_people]])
    ids = np.sort(ids)
    tables = {
        "beneficiaries.csv": _beneficiaries(rng, ids, np.asarray(simulated.features.codes)),
        "engagement.csv": _engagement(rng, ids, simulated),
        "interventions.csv": _interventions(rng, ids, simulated),
    }
    settings = resources.files("armwise.programme").joinpath("sample_programme.toml").read_text(encoding="utf-8")
    settings = _with_budget(settings, calls_per_group)
    # Shuffle the rows, because no result may depend on their order.
    shuffled = {name: table[rng.permutation(table.height)].write_csv() for name, table in tables.items()}
    return Sample({"programme.toml": settings, **shuffled}, simulated)


def _with_budget(settings: str, calls_per_group: int) -> str:
    numbers = {"total": len(DISTRICTS), **dict.fromkeys(DISTRICTS, 1)}
    for name, groups in numbers.items():
        old, new = f"\n{name} = {groups * SAMPLE_CALLS}", f"\n{name} = {groups * calls_per_group}"
        assert old in settings, old
        settings = settings.replace(old, new)
    return settings


def _beneficiaries(rng: np.random.Generator, ids: np.ndarray, codes: np.ndarray) -> pl.DataFrame:
    words = {name: np.array(levels)[codes[:, place]] for place, (name, levels) in enumerate(CATEGORIES.items())}
    age = 18 + 5 * codes[:, -1] + rng.integers(0, 5, len(ids))
    enrolled = [str(FIRST_DAY - timedelta(days=int(days))) for days in rng.integers(1, 60, len(ids))]
    return pl.DataFrame(
        {
            "id": ids,
            "age": age,
            **words,
            "district": rng.choice(DISTRICTS, len(ids)),
            "status": rng.choice(STATUSES, len(ids), p=[0.95, 0.03, 0.02]),
            "enrolled": enrolled,
        }
    )


def _engagement(rng: np.random.Generator, ids: np.ndarray, simulated: SimulatedProgramme) -> pl.DataFrame:
    """Up to three attempts a week. The longest connected call gives the simulated state; unobserved weeks have none."""
    rows = []
    states, observed = (np.asarray(each) for each in (simulated.trajectories.states, simulated.trajectories.observed))
    for person, week in np.ndindex(*states.shape):
        days = np.sort(rng.choice(7, size=rng.integers(1, 4), replace=False))
        connects = observed[person, week]
        longest = int(rng.integers(31, 120)) if states[person, week] else int(rng.integers(0, 31))
        for number, day in enumerate(days):
            last = number == len(days) - 1
            # Shorter calls may have connected before the longest one.
            answered = connects and (last or rng.random() < 0.2)
            seconds = longest if last else int(rng.integers(0, longest + 1))
            when = FIRST_DAY + timedelta(days=int(7 * week + day))
            rows.append((ids[person], str(when), "yes" if answered else "no", seconds if answered else None))
    return pl.DataFrame(rows, schema=["id", "date", "connected", "seconds"], orient="row")


def _interventions(rng: np.random.Generator, ids: np.ndarray, simulated: SimulatedProgramme) -> pl.DataFrame:
    # All calls, including those in unobserved weeks, which the trajectories leave out.
    calls = simulated.calls
    made = [(ids[person], _day(rng, week), "delivered") for person, week in np.argwhere(calls)]
    not_made = [
        (ids[person], _day(rng, rng.integers(calls.shape[1])), str(rng.choice(["planned", "missed"])))
        for person in rng.choice(len(ids), size=len(ids) // 15, replace=False)
    ]
    return pl.DataFrame(made + not_made, schema=["id", "date", "status"], orient="row")


def _day(rng: np.random.Generator, week: Any) -> str:
    return str(FIRST_DAY + timedelta(days=int(7 * week + rng.integers(7))))
