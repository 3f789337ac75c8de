"""Since when and until when people take part: before and after that they are neither observed, planned nor counted."""

import polars as pl

from armwise.planning.cells import to_steps_or_days
from armwise.planning.findings import Findings, Table
from armwise.planning.programme import BeneficiariesTable, Time


def read_dates(table: Table, section: BeneficiariesTable, time: Time, findings: Findings) -> list[pl.Series]:
    """The columns ``enrolled`` and ``left``, where the programme has them."""
    enrolled = _enrolled(table, section, time, findings)
    left = _left(table, section, enrolled, time, findings)
    return [dates.alias(name) for name, dates in (("enrolled", enrolled), ("left", left)) if dates is not None]


def _enrolled(table: Table, section: BeneficiariesTable, time: Time, findings: Findings) -> pl.Series | None:
    if section.enrolled is None or section.enrolled not in table.frame.columns:
        return None
    return to_steps_or_days(table, section.enrolled, time, findings)


def _left(
    table: Table, section: BeneficiariesTable, enrolled: pl.Series | None, time: Time, findings: Findings
) -> pl.Series | None:
    """When each person left, or finishes by the length of the programme, whichever is earlier."""
    ends = []
    if section.left is not None and section.left in table.frame.columns:
        left = _optional_dates(table, section.left, time, findings)
        if enrolled is not None:
            findings.rows("left-before-enrolment", table, section.left, left < enrolled)
        ends.append(left)
    if section.length is not None and enrolled is not None:
        ends.append(enrolled + section.length * time.step_days)
    return pl.select(pl.min_horizontal(ends)).to_series() if ends else None


def _optional_dates(table: Table, column: str, time: Time, findings: Findings) -> pl.Series:
    """A column of dates, or steps, that may be empty."""
    filled = table[column].is_not_null()
    rows = Table(table.source, table.frame.filter(filled), table.rows.filter(filled), table.id_column, table.complete)
    dates = to_steps_or_days(rows, column, time, findings)
    empty = pl.Series([None], dtype=dates.dtype).new_from_index(0, len(filled))
    return empty.scatter(filled.arg_true(), dates)
