"""A programme's checked tables as arrays: the people, what happened to them in each step, and summary numbers."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import jax
import numpy as np
import polars as pl
from jaxtyping import Bool, Float, Int

from armwise.data import Trajectories
from armwise.programme.inputs import Input
from armwise.programme.people import People
from armwise.programme.records import Records
from armwise.programme.settings import ProgrammeSettings
from armwise.programme.steps import Calendar

FINISHED, NOT_ENROLLED = "finished", "not enrolled yet"


@dataclass(frozen=True)
class DataQuality:
    """What the tables hold, as totals and shares. It contains no person's data.

    Attributes:
        num_people: beneficiaries.
        num_steps: steps before the planned one.
        planned_step: the planned step, in words.
        num_attempts: rows of the engagement table.
        num_left_out: attempts outside the steps, or outside the time in which the person took part.
        observed_shares: for each step, the share of its participants with a call that connected.
        outages: steps in which that share fell suddenly, counted from 0.
        num_never_observed: participants of the planned step with no call that ever connected.
        num_calls: interventions that count.
        num_excluded: participants of the planned step who are never called.
        num_finished: people who no longer take part.
        num_not_enrolled: people who do not take part yet.
        missing_features: for each feature, how many people lack it.
    """

    num_people: int
    num_steps: int
    planned_step: str
    num_attempts: int
    num_left_out: int
    observed_shares: tuple[float, ...]
    outages: tuple[int, ...]
    num_never_observed: int
    num_calls: int
    num_excluded: int
    num_finished: int
    num_not_enrolled: int
    missing_features: tuple[tuple[str, int], ...]


@dataclass(frozen=True, eq=False)
class ProgrammeData:
    """A programme's checked tables, with people in the order of their ids. The files' row order has no effect.

    Attributes:
        programme: the settings with which the tables were read.
        roster: one row per person, as known before the planned step. Null means never, or not known.

            - id: text.
            - state: the state last observed.
            - since_observed: steps since then; 1 if it was in the step before the planned one.
            - observed: the number of steps in which she was observed.
            - calls: calls by health workers so far, including those before the first step.
            - since_call: steps since the last such call; 1 if it was in the step before the planned one, 0 if it was
              in the planned one.
            - exclusion: why she is not called in the planned step: "finished", "not enrolled yet", or the column and
              value that exclude her; null for people who may be called.
            - group: text; there is no such column if the programme has no groups.
        features: a column for each feature: Float64 for numbers, text for categories, null where empty.
        trajectories: one state and action per person and step before the planned one.
        quality: what the tables hold, in numbers.
        without_outcome: the people on the last list without an outcome, if they are more than half of the list.
        hashes: for each path, the SHA-256 of the bytes that were read: the settings and each table.
    """

    programme: ProgrammeSettings
    roster: pl.DataFrame
    features: pl.DataFrame
    trajectories: Trajectories
    quality: DataQuality
    without_outcome: frozenset[str] = frozenset()
    hashes: Mapping[Path, str] = field(default_factory=dict)

    @property
    def inputs(self) -> dict[str, Input]:
        """The files that were read, by role: "settings", "beneficiaries" and so on."""
        return {name: Input(path.name, self.hashes[path]) for name, path in self.programme.files.items()}

    @property
    def ids(self) -> pl.Series:
        """Everyone's ids."""
        return self.roster["id"]

    @property
    def groups(self) -> pl.Series | None:
        """Everyone's groups; none if the programme has no groups."""
        return self.roster["group"] if "group" in self.roster.columns else None

    @property
    def taking_part(self) -> Bool[np.ndarray, " people"]:
        """Who takes part in the planned step."""
        return ~is_absent(self.roster["exclusion"]).to_numpy()

    def of_those_taking_part(self) -> "ProgrammeData":
        """The same data with only the people who take part in the planned step; ``quality`` does not change."""
        rows = np.flatnonzero(self.taking_part)
        if len(rows) == self.roster.height:
            return self
        return dataclasses.replace(
            self,
            roster=self.roster[rows],
            features=self.features[rows],
            trajectories=jax.tree.map(lambda leaf: leaf[rows], self.trajectories),
        )


def assemble(
    people: People,
    states: Int[np.ndarray, "people steps"],
    calls: pl.DataFrame,
    calendar: Calendar,
    programme: ProgrammeSettings,
    quality: DataQuality,
    hashes: Mapping[Path, str],
) -> ProgrammeData:
    """Build the data from tables without errors: what was observed and done in each step, and each person's row."""
    observed = states >= 0
    # An action leads from its step's state to the next step's state. So a call that takes effect in its own step is
    # an action of the step before.
    steps = calls["step"] - int(programme.interventions.at_once)
    inside = steps.is_between(0, calendar.num_steps - 1)
    actions = np.zeros(states.shape, dtype=np.int16)
    actions[calls.filter(inside)["person"].to_numpy(), steps.filter(inside).to_numpy()] = 1
    return ProgrammeData(
        programme=programme,
        roster=_roster(people, states, calls),
        features=people.features,
        trajectories=Trajectories.from_arrays(states, actions, observed, programme.engagement.num_states),
        quality=quality,
        hashes=dict(hashes),
    )


def _roster(people: People, states: Int[np.ndarray, "people steps"], calls: pl.DataFrame) -> pl.DataFrame:
    observed, num_steps = states >= 0, states.shape[1]
    since = observed[:, ::-1].argmax(axis=1) + 1
    last = np.take_along_axis(states, (num_steps - since)[:, None], axis=1)[:, 0]
    stands = {"state": last, "since_observed": since, "observed": observed.sum(axis=1)}
    ever, whole = pl.Series(observed.any(axis=1)), dict.fromkeys(stands, pl.Int32)
    roster = pl.DataFrame({"id": people.ids, **stands}, schema_overrides=whole).with_columns(
        pl.when(ever).then(pl.col("state", "since_observed"))
    )
    rows = calls.group_by(pl.col("person").cast(pl.UInt32).alias("row")).agg(
        calls=pl.len().cast(pl.Int32), since_call=(num_steps - pl.col("step").max()).cast(pl.Int32)
    )
    roster = roster.with_row_index("row").join(rows, on="row", how="left", maintain_order="left").drop("row")
    roster = roster.with_columns(pl.col("calls").fill_null(0), exclusion=people.exclusions)
    return roster if people.groups is None else roster.with_columns(group=people.groups)


def is_absent(exclusions: pl.Series) -> pl.Series:
    """Who does not take part in the planned step, according to the exclusions."""
    return exclusions.is_in([FINISHED, NOT_ENROLLED]).fill_null(False)


def measure_quality(
    people: People,
    engagement: Records,
    calendar: Calendar,
    left_out: int,
    shares: Float[np.ndarray, " steps"],
    outages: tuple[int, ...],
    states: Int[np.ndarray, "people steps"],
    calls: pl.DataFrame,
) -> DataQuality:
    """Count what the tables hold."""
    exclusions = people.exclusions
    taking_part = ~is_absent(exclusions)
    return DataQuality(
        num_people=len(people.ids),
        num_steps=calendar.num_steps,
        planned_step=calendar.label(calendar.num_steps),
        num_attempts=engagement.rows.height,
        num_left_out=left_out,
        observed_shares=tuple(float(share) for share in shares),
        outages=outages,
        num_never_observed=int(((states < 0).all(axis=1) & taking_part.to_numpy()).sum()),
        num_calls=calls.height,
        num_excluded=int((exclusions.is_not_null() & taking_part).sum()),
        num_finished=int((exclusions == FINISHED).sum()),
        num_not_enrolled=int((exclusions == NOT_ENROLLED).sum()),
        missing_features=tuple((column.name, column.null_count()) for column in people.features),
    )


def count_present(
    observed: Bool[np.ndarray, "people steps"], people: People, calendar: Calendar
) -> Int[np.ndarray, " steps"]:
    """How many people take part in each step. A person who leaves in a step counts in it only if she was observed."""
    steps = np.arange(calendar.num_steps)
    present = np.full(calendar.num_steps, len(people.ids))
    if people.enrolled is not None:
        present = np.searchsorted(np.sort(calendar.steps(people.enrolled).to_numpy()), steps, side="right")
    if people.left is not None:
        left = calendar.steps(people.left).fill_null(calendar.num_steps).to_numpy()
        inside = np.flatnonzero((left >= 0) & (left < calendar.num_steps))
        seen = np.bincount(left[inside][observed[inside, left[inside]]], minlength=calendar.num_steps)
        present = present - np.searchsorted(np.sort(left), steps, side="right") + seen
    return present


def add_absent(people: People, calendar: Calendar) -> pl.Series:
    """Add the people who do not take part in the planned step to the exclusions.

    A person who leaves during the planned step also counts as finished, because the call might come after she left.
    """
    reasons = people.exclusions
    if people.enrolled is not None:
        reasons = reasons.set(calendar.steps(people.enrolled) > calendar.num_steps, NOT_ENROLLED)
    if people.left is not None:
        reasons = reasons.set((calendar.steps(people.left) <= calendar.num_steps).fill_null(False), FINISHED)
    return reasons
