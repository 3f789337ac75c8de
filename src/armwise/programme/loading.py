"""Read a programme's own files. The result is clean arrays, or a list of everything that is wrong with the files."""

import dataclasses
from pathlib import Path

import numpy as np
import polars as pl
from jaxtyping import Float, Int

from armwise.errors import ExitCode, InvalidProgrammeError, OutageError
from armwise.io.reading import PathLike
from armwise.programme.findings import Findings, Report
from armwise.programme.last_list import note_missing_outcomes
from armwise.programme.people import People, read_people
from armwise.programme.programme_data import (
    ProgrammeData,
    add_absent,
    assemble,
    count_present,
    is_absent,
    measure_quality,
)
from armwise.programme.records import Records, read_engagement, read_interventions
from armwise.programme.settings import Outage, ProgrammeSettings
from armwise.programme.settings_file import Draft, complete, draft_programme
from armwise.programme.steps import Calendar, make_calendar, rows_of_attempts, rows_of_calls

# An outage is a share below the usual one. One earlier step does not show what is usual, and with few people the
# shares jump by chance.
FEWEST_STEPS, FEWEST_PEOPLE = 2, 20
# Lower than every state, so that the maximum of a step's states ignores it.
UNOBSERVED = -1


def check_programme(path: PathLike, *, despite_outage: bool = False) -> Report:
    """Find every problem of ``programme.toml`` and of its tables in one run; nothing is written.

    Args:
        path: the path of ``programme.toml``.
        despite_outage: whether a sudden drop in the last step is only a warning.
    """
    return examine_programme(path, despite_outage=despite_outage)[0]


def load_programme(path: PathLike, *, despite_outage: bool = False) -> ProgrammeData:
    """Load the programme's data as clean arrays, with its settings.

    Args:
        path: the path of ``programme.toml``.
        despite_outage: whether to go on if the last step was hardly observed.

    Raises:
        InvalidProgrammeError: with every finding, if there is any error.
        OutageError: if far fewer people than usual were observed in the last step.
    """
    return load_with_findings(path, despite_outage=despite_outage)[1]


def load_with_findings(path: PathLike, *, despite_outage: bool = False) -> tuple[Report, ProgrammeData]:
    """Load the data as ``load_programme`` does; return the report with the warnings first, then the data."""
    report, data = examine_programme(path, despite_outage=despite_outage)
    if report.exit_code == ExitCode.OUTAGE:
        raise OutageError(report)
    if data is None:
        raise InvalidProgrammeError(report)
    return report, data


def examine_programme(path: PathLike, *, despite_outage: bool = False) -> tuple[Report, ProgrammeData | None]:
    """Check and read the programme. Returns the report, and the data if there is no error."""
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
    # Stop if any row is wrong: missing rows would look like outages.
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
    if is_absent(people.exclusions).all():
        findings.add("nobody-left", programme.beneficiaries.source.name)
    quality = measure_quality(people, engagement, calendar, left_out, shares, outages, states, calls)
    lacking = note_missing_outcomes(programme.path.parent, people.ids, interventions, calendar, findings)
    data = assemble(people, states, calls, calendar, programme, quality, findings.hashes)
    return dataclasses.replace(data, without_outcome=lacking)


def _by_step(attempts: pl.DataFrame, num_people: int, num_steps: int) -> Int[np.ndarray, "people steps"]:
    """The highest state of each person's connected calls in each step; −1 where no call connected."""
    seen = attempts.drop_nulls("state")
    cells = seen["person"].cast(pl.Int64).to_numpy() * num_steps + seen["step"].to_numpy()
    states = np.full(num_people * num_steps, UNOBSERVED, dtype=np.int16)
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


def find_outages(
    shares: Float[np.ndarray, " steps"], num_people: int | Int[np.ndarray, " steps"], rule: Outage
) -> tuple[int, ...]:
    """Find the steps whose observed share is below (1 − drop) × the median share of up to ``window`` steps before.

    ``num_people`` is how many take part: one number for all steps, or one for each step. Earlier outages stay in the
    median. So a lasting change is an outage at first, and later the usual share.

    Example:
        >>> find_outages(np.array([0.8, 0.8, 0.3, 0.8]), 100, Outage(drop=0.5, window=4))
        (2,)
    """
    enough = np.broadcast_to(np.asarray(num_people) >= FEWEST_PEOPLE, shares.shape)
    return tuple(
        step
        for step in range(FEWEST_STEPS, len(shares))
        if enough[step] and shares[step] < (1 - rule.drop) * np.median(shares[max(0, step - rule.window) : step])
    )
