"""The two call logs: attempts to reach people, and calls by health workers, by person and by day or step."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from armwise.data import discretise
from armwise.programme.cells import check_ids, to_flags, to_seconds, to_states, to_steps_or_days
from armwise.programme.findings import MOST_SHOWN, Findings, Table
from armwise.programme.ids import find_similar
from armwise.programme.people import People
from armwise.programme.settings import EngagementTable, InterventionsTable, Source, Time
from armwise.programme.table_file import read_table

MAKE_AGREE = "Write the id alike in both files: zeros, spaces, capitals, letters. Add people who are missing there."


@dataclass(frozen=True, eq=False)
class Records:
    """The rows of a call log that could be understood.

    Attributes:
        table: the table as read; findings about its rows need it.
        when_column: the name of the column of dates or weeks.
        rows: ``person`` (index in the order of ids; null if the id is unknown), ``when`` (day or step; null if it
            cannot be read), and ``state`` (null if the call did not connect) or ``counts`` (whether the call counts).
    """

    table: Table
    when_column: str
    rows: pl.DataFrame


def read_engagement(section: EngagementTable, time: Time, people: People | None, findings: Findings) -> Records | None:
    """Read every attempt to reach a person, with the state if the call connected."""
    columns = [name for name in (section.when, section.seconds, section.state, section.connected) if name]
    table = _read(section.source, section.id, columns, "table-empty", findings)
    if table is None:
        return None
    check_ids(table, findings)
    connected = None
    if section.connected is not None and section.connected in table.frame.columns:
        connected = to_flags(table, section.connected, ("yes", "no"), section.yes, section.no, findings)
    states = _states(table, section, connected, findings)
    return _records(table, section.when, time, people, findings, states)


def _states(table: Table, section: EngagementTable, connected: pl.Series | None, findings: Findings) -> pl.Series:
    """The state of each attempt. More seconds never give a lower state: a step's longest call has its highest state."""
    nothing = pl.Series("state", [None] * table.frame.height, dtype=pl.Int16)
    measure = section.seconds or section.state
    if measure not in table.frame.columns:
        return nothing
    if section.seconds is None:
        states = to_states(table, str(measure), section.num_states, connected, findings)
        return states.cast(pl.Int16).alias("state")
    seconds = to_seconds(table, section.seconds, connected, findings)
    levels, seen = discretise(seconds.cast(pl.Float64).to_numpy(), section.thresholds)
    return pl.Series("state", levels.astype(np.int16)).set(pl.Series(~seen), None)


def read_interventions(
    section: InterventionsTable, time: Time, people: People | None, findings: Findings
) -> Records | None:
    """Read the calls by health workers, with a mark for each that says whether it counts."""
    columns = [name for name in (section.when, section.status) if name]
    table = _read(section.source, section.id, columns, "table-no-calls", findings)
    if table is None:
        return None
    check_ids(table, findings)
    counts = pl.Series("counts", np.ones(table.frame.height, dtype=bool))
    if section.status is not None and section.status in table.frame.columns:
        words = section.delivered, section.planned
        delivered = to_flags(table, section.status, ("delivered", "planned"), *words, findings)
        counts = (delivered.fill_null(False) | section.count_planned).alias("counts")
    return _records(table, section.when, time, people, findings, counts)


def _read(source: Source, id_column: str, columns: list[str], if_empty: str, findings: Findings) -> Table | None:
    table = read_table(source, id_column, tuple(columns), findings)
    if table is not None and table.frame.height == 0 and table.complete:
        findings.add(if_empty, table.file)
    return table


def _records(
    table: Table, when_column: str, time: Time, people: People | None, findings: Findings, value: pl.Series
) -> Records | None:
    if when_column not in table.frame.columns:
        _places(table, people, findings)
        return None
    when = to_steps_or_days(table, when_column, time, findings).cast(pl.Int32).alias("when")
    person = _places(table, people, findings)
    return Records(table, when_column, pl.DataFrame([person, when, value]))


def _places(table: Table, people: People | None, findings: Findings) -> pl.Series:
    """The index of each row's person among the people; null if the id is unknown."""
    ids = table[table.id_column].alias("id")
    if people is None:
        return pl.Series("person", [None] * len(ids), dtype=pl.Int32)
    known = pl.DataFrame([people.ids.alias("id"), pl.Series("person", np.arange(len(people.ids), dtype=np.int32))])
    places = ids.to_frame().join(known, on="id", how="left", maintain_order="left")["person"]
    if people.complete:
        _note_unknown(table, ids, places, people, findings)
    return places


def _note_unknown(table: Table, ids: pl.Series, places: pl.Series, people: People, findings: Findings) -> None:
    """Note ids that no beneficiary has. Where a known id is similar, the finding names it."""
    unknown = (places.is_null() & ids.is_not_null() & (ids.str.strip_chars() != "")).arg_true()
    if not len(unknown):
        return
    near = find_similar(ids.gather(unknown.head(MOST_SHOWN)), people.ids)
    remedy = MAKE_AGREE if any(near) else None
    for number, (place, other) in enumerate(zip(unknown, near, strict=False)):
        findings.add(
            "id-unknown",
            table.file,
            row=table.rows[place],
            column=table.id_column,
            value=ids[place],
            hint=None if other is None else f"seems to be {other!r}",
            remedy=remedy,
            count=len(unknown) - len(near) + 1 if number == 0 else 1,
        )
