"""From a programme's own files to clean arrays, or to a list of everything that is wrong with them."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import jax
import numpy as np
import polars as pl
from jaxtyping import Bool, Float, Int

from armwise.data import Trajectories
from armwise.errors import ExitCode, InvalidProgrammeError, OutageError
from armwise.planning.findings import Findings, Report
from armwise.planning.inputs import Input
from armwise.planning.last_list import note_missing_outcomes
from armwise.planning.outages import find_outages
from armwise.planning.people import People, read_people
from armwise.planning.presence import add_absent, count_present
from armwise.planning.programme import Outage, PathLike, ProgrammeSettings
from armwise.planning.programme_file import Draft, complete, draft_programme
from armwise.planning.records import Records, read_engagement, read_interventions
from armwise.planning.rules import FINISHED, NOT_ENROLLED
from armwise.planning.steps import Calendar, make_calendar, rows_of_attempts, rows_of_calls

NEVER = -1


@dataclass(frozen=True)
class DataQuality:
    """What the tables hold, in numbers and without anybody's data.

    Attributes:
        num_people: beneficiaries.
        num_steps: steps before the planned one.
        planned_step: the one that is planned, in words.
        num_attempts: rows of the engagement table.
        num_left_out: of them, those outside the steps or the time in which the person took part.
        observed_shares: of the people who took part in each step, the share of whom a call connected.
        outages: steps in which that share fell suddenly, counted from 0.
        num_never_observed: of the people who take part in the planned step, those of whom no call ever connected.
        num_calls: interventions that count.
        num_excluded: of the people who take part in the planned step, those who are never called.
        num_finished: people who take part no longer.
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
    """A programme's tables as arrays, people in the order of their ids; the order of rows changes nothing.

    Attributes:
        programme: the settings they were read by.
        ids: text.
        features: a column for each feature: Float64 for numbers, text for categories, null where empty.
        trajectories: one state and action per person and step before the planned one.
        last_states: the state last observed, −1 if none ever was.
        steps_since_observed: 1 if that was in the step before the planned one; −1 if never.
        num_calls: calls by health workers so far, those before the first step included.
        steps_since_call: 1 if the last was in the step before the planned one, 0 in the planned one; −1 if never.
        groups: text; none if the programme has no groups.
        exclusions: why a person is not called in the planned step: "finished", "not enrolled yet", or by which value
            never; null for those who may be.
        quality: what the tables hold, in numbers.
        without_outcome: the people on the last list of whom no outcome has been entered, if these are most of it.
        hashes: the SHA-256 of the settings and of each table, of the very bytes that were read, by path.
    """

    programme: ProgrammeSettings
    ids: pl.Series
    features: pl.DataFrame
    trajectories: Trajectories
    last_states: Int[np.ndarray, " people"]
    steps_since_observed: Int[np.ndarray, " people"]
    num_calls: Int[np.ndarray, " people"]
    steps_since_call: Int[np.ndarray, " people"]
    groups: pl.Series | None
    exclusions: pl.Series
    quality: DataQuality
    without_outcome: frozenset[str] = frozenset()
    hashes: Mapping[Path, str] = field(default_factory=dict)

    @property
    def inputs(self) -> dict[str, Input]:
        """The files by what they are."""
        return {name: Input(path.name, self.hashes[path]) for name, path in self.programme.files.items()}

    @property
    def taking_part(self) -> Bool[np.ndarray, " people"]:
        """Who takes part in the planned step."""
        return ~self.exclusions.is_in([FINISHED, NOT_ENROLLED]).fill_null(False).to_numpy()

    def of_those_taking_part(self) -> "ProgrammeData":
        """The same without the people who do not take part in the planned step; ``quality`` stays."""
        rows = np.flatnonzero(self.taking_part)
        if len(rows) == len(self.ids):
            return self
        names = ("ids", "features", "last_states", "steps_since_observed", "num_calls", "steps_since_call")
        return dataclasses.replace(
            self,
            **{name: getattr(self, name)[rows] for name in names},
            trajectories=jax.tree.map(lambda leaf: leaf[rows], self.trajectories),
            groups=None if self.groups is None else self.groups[rows],
            exclusions=self.exclusions[rows],
        )


def check_programme(path: PathLike, *, despite_outage: bool = False) -> Report:
    """Every problem of ``programme.toml`` and of its tables at once; nothing is written.

    Args:
        path: of ``programme.toml``.
        despite_outage: whether a sudden drop in the last step is only a warning.
    """
    return examine_programme(path, despite_outage=despite_outage)[0]


def load_programme(path: PathLike, *, despite_outage: bool = False) -> ProgrammeData:
    """The programme's data as clean arrays, with its settings.

    Args:
        path: of ``programme.toml``.
        despite_outage: whether to go on if the last step was hardly observed.

    Raises:
        InvalidProgrammeError: with every finding, if there is any error.
        OutageError: if far fewer people than usual were observed in the last step.
    """
    return load_with_findings(path, despite_outage=despite_outage)[1]


def load_with_findings(path: PathLike, *, despite_outage: bool = False) -> tuple[Report, ProgrammeData]:
    """The data as ``load_programme`` gives them, and before them the warnings."""
    report, data = examine_programme(path, despite_outage=despite_outage)
    if report.exit_code == ExitCode.OUTAGE:
        raise OutageError(report)
    if data is None:
        raise InvalidProgrammeError(report)
    return report, data


def examine_programme(path: PathLike, *, despite_outage: bool = False) -> tuple[Report, ProgrammeData | None]:
    """Both the report and, if there is no error, the data."""
    findings = Findings()
    draft = draft_programme(Path(path), findings)
    data = None if draft is None else _examine_tables(draft, despite_outage, findings)
    return findings.report(), None if findings.any_errors else data


def _examine_tables(draft: Draft, despite_outage: bool, findings: Findings) -> ProgrammeData | None:
    people = engagement = interventions = calendar = None
    if draft.beneficiaries is not None:
        people = read_people(draft.beneficiaries, draft.time, draft.budget, draft.rules, draft.path.name, findings)
    if draft.engagement is not None:
        engagement = read_engagement(draft.engagement, draft.time, people, findings)
    if draft.interventions is not None:
        interventions = read_interventions(draft.interventions, draft.time, people, findings)
    if engagement is not None:
        calendar = make_calendar(draft.time, engagement, findings)
    programme = complete(draft)
    if people is None or engagement is None or interventions is None or calendar is None or programme is None:
        return None
    return _combine(programme, people, engagement, interventions, calendar, despite_outage, findings)


def _combine(
    programme: ProgrammeSettings,
    people: People,
    engagement: Records,
    interventions: Records,
    calendar: Calendar,
    despite_outage: bool,
    findings: Findings,
) -> ProgrammeData | None:
    attempts, left_out = rows_of_attempts(engagement, calendar, programme.time, people, findings)
    calls = rows_of_calls(interventions, calendar, programme.time, people, findings)
    if interventions.table.frame.height and not interventions.rows["counts"].any():
        findings.add("table-no-calls", interventions.table.file)
    # The arrays are only worth building from rows that are all sound; outages would be false alarms otherwise.
    if findings.any_errors:
        return None
    states = _by_step(attempts, len(people.ids), calendar.num_steps)
    if not (states >= 0).any():
        findings.add("nothing-observed", engagement.table.file)
        return None
    present = count_present(states >= 0, people, calendar)
    shares = np.where(present > 0, (states >= 0).sum(axis=0) / np.maximum(present, 1), 1.0)
    outages = find_outages(shares, present, programme.outage)
    _note_outages(outages, shares, calendar, programme.outage, despite_outage, engagement, findings)
    people = dataclasses.replace(people, exclusions=add_absent(people, calendar))
    if people.exclusions.is_in([FINISHED, NOT_ENROLLED]).fill_null(False).all():
        findings.add("nobody-left", programme.beneficiaries.source.name)
    quality = _quality(people, engagement, calendar, left_out, shares, outages, states, calls)
    lacking = note_missing_outcomes(programme.path.parent, people.ids, interventions, calendar, findings)
    data = _assemble(people, states, calls, calendar, programme, quality, findings.hashes)
    return dataclasses.replace(data, without_outcome=lacking)


def _by_step(attempts: pl.DataFrame, num_people: int, num_steps: int) -> Int[np.ndarray, "people steps"]:
    """The highest state of each person's connected calls in each step, −1 where none connected."""
    seen = attempts.drop_nulls("state")
    cells = seen["person"].cast(pl.Int64).to_numpy() * num_steps + seen["step"].to_numpy()
    states = np.full(num_people * num_steps, NEVER, dtype=np.int16)
    np.maximum.at(states, cells, seen["state"].to_numpy())
    return states.reshape(num_people, num_steps)


def _note_outages(
    outages: tuple[int, ...],
    shares: Float[np.ndarray, " steps"],
    calendar: Calendar,
    rule: Outage,
    despite_outage: bool,
    engagement: Records,
    findings: Findings,
) -> None:
    for step in outages:
        usual = float(np.median(shares[max(0, step - rule.window) : step]))
        what = f"In {calendar.label(step)}, {shares[step]:.0%} of people were observed, usually {usual:.0%}."
        last = step == calendar.num_steps - 1 and not despite_outage
        findings.add(
            "outage-now" if last else "outage", engagement.table.file, column=engagement.when_column, what=what
        )


def _assemble(
    people: People,
    states: Int[np.ndarray, "people steps"],
    calls: pl.DataFrame,
    calendar: Calendar,
    programme: ProgrammeSettings,
    quality: DataQuality,
    hashes: Mapping[Path, str],
) -> ProgrammeData:
    observed = states >= 0
    # An action leads from its step's state to the next one's: a call that shows at once belongs to the step before.
    steps = calls["step"] - int(programme.interventions.at_once)
    inside = steps.is_between(0, calendar.num_steps - 1)
    actions = np.zeros(states.shape, dtype=np.int16)
    actions[calls.filter(inside)["person"].to_numpy(), steps.filter(inside).to_numpy()] = 1
    since = observed[:, ::-1].argmax(axis=1) + 1
    ever = observed.any(axis=1)
    last = np.take_along_axis(states, (calendar.num_steps - since)[:, None], axis=1)[:, 0]
    num_calls, since_call = _calls_by_person(calls, len(people.ids), calendar.num_steps)
    return ProgrammeData(
        programme=programme,
        ids=people.ids,
        features=people.features,
        trajectories=Trajectories.from_arrays(states, actions, observed, programme.engagement.num_states),
        last_states=np.where(ever, last, NEVER).astype(np.int32),
        steps_since_observed=np.where(ever, since, NEVER).astype(np.int32),
        num_calls=num_calls,
        steps_since_call=since_call,
        groups=people.groups,
        exclusions=people.exclusions,
        quality=quality,
        hashes=dict(hashes),
    )


def _calls_by_person(
    calls: pl.DataFrame, num_people: int, num_steps: int
) -> tuple[Int[np.ndarray, " people"], Int[np.ndarray, " people"]]:
    person, step = calls["person"].to_numpy(), calls["step"].to_numpy()
    number = np.bincount(person, minlength=num_people).astype(np.int32)
    last = np.full(num_people, np.iinfo(np.int32).min, dtype=np.int64)
    np.maximum.at(last, person, step)
    return number, np.where(number > 0, num_steps - last, NEVER).astype(np.int32)


def _quality(
    people: People,
    engagement: Records,
    calendar: Calendar,
    left_out: int,
    shares: Float[np.ndarray, " steps"],
    outages: tuple[int, ...],
    states: Int[np.ndarray, "people steps"],
    calls: pl.DataFrame,
) -> DataQuality:
    exclusions = people.exclusions
    taking_part = ~exclusions.is_in([FINISHED, NOT_ENROLLED]).fill_null(False)
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
