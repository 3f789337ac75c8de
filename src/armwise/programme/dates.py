"""Columns of dates: read by one format, or noted with the formats that would read them."""

import re
from datetime import date
from itertools import product
from typing import NamedTuple

import polars as pl

from armwise.programme.findings import Findings, Table

ISO = "%Y-%m-%d"
ISO_CELL = r"^\d{4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s?(Z|[+-]\d{2}:?\d{2})?)?$"
# Numbers only, with the year at the end or of two digits: the order of day, month and year is not plain.
NOT_PLAIN = r"^\d{1,2}[/.-]\d{1,2}[/.-](\d{4}|\d{2})\b"
DAY_NUMBER = r"^[1-9]\d{4}(\.\d+)?$"
FIRST_YEAR, LAST_YEAR = 1990, 2100
# Dates of birth are not steps of a programme, but a format that reads them is the right one.
OLDEST = 1900
SAMPLE = 200

_ORDERS = [("%d", "%m", "%Y"), ("%m", "%d", "%Y"), ("%Y", "%m", "%d"), ("%d", "%m", "%y"), ("%m", "%d", "%y")]
_NUMERIC = [mark.join(order) for order, mark in product([*_ORDERS, ("%y", "%m", "%d")], ["/", ".", "-", " "])]
_COMPACT = ["%Y%m%d", "%d%m%Y", "%m%d%Y"]
_WORDS = ["%d %B %Y", "%d-%B-%Y", "%d-%B-%y", "%d %B %y", "%d. %B %Y", "%B %d, %Y", "%B %d %Y", "%d/%B/%Y"]
_TIMES = ["", " %H:%M", " %H:%M:%S", "T%H:%M", "T%H:%M:%S", " %I:%M %p", " %I:%M:%S %p"]
FORMATS = [day + time for day, time in product([*_COMPACT, *_NUMERIC, *_WORDS], _TIMES)]


def to_days(table: Table, column: str, default_format: str | None, findings: Findings) -> pl.Series:
    """Days since 1970, as written: a time of day is dropped, a time zone does not move the date."""
    text = table[column].str.strip_chars().replace("", None)
    findings.rows("date-empty", table, column, text.is_null())
    date_format = table.source.date_format or default_format or ISO
    days = parse_dates(text, date_format)
    if not table.source.is_text:
        # A workbook and a Parquet file keep dates as dates, whatever the form in which a spreadsheet shows them.
        days = days.fill_null(parse_dates(text, ISO))
    odd = ~days.dt.year().is_between(FIRST_YEAR, LAST_YEAR).fill_null(True)
    _note_unread(table, column, text, days.is_null() & text.is_not_null(), odd, date_format, findings)
    return days.set(odd, None).cast(pl.Int32)


def parse_dates(text: pl.Series, date_format: str) -> pl.Series:
    """Dates by a format, null where the text has another; ISO dates with or without a time of day."""
    if date_format == ISO:
        iso = text.str.contains(ISO_CELL).fill_null(False)
        return text.set(~iso, None).str.extract(r"^([\d-]+)").str.to_date(ISO, strict=False)
    if re.search("%[HI]", date_format):
        return text.str.to_datetime(date_format, strict=False, time_unit="us").dt.date()
    return text.str.to_date(date_format, strict=False)


def _note_unread(
    table: Table, column: str, text: pl.Series, bad: pl.Series, odd: pl.Series, date_format: str, findings: Findings
) -> None:
    """Note the cells that are no dates (``bad``) and those of an impossible year (``odd``), each with what helps it."""
    if not (bad.any() or odd.any()):
        return
    fitting = _fitting_formats(text, text.filter(bad | odd), date_format)
    covered = fitting.read_all & (bad | odd)
    setting = _setting_remedy(fitting, text.filter(covered), table.source.section, date_format)
    not_plain = text.str.contains(NOT_PLAIN) & (date_format == ISO)
    for kind, cells in (("date-ambiguous", bad & not_plain), ("date-invalid", bad & ~not_plain), ("date-year", odd)):
        if setting is not None:
            findings.rows(kind, table, column, cells & covered, remedy=setting)
            cells = cells & ~covered
        remedy = _cell_remedy(kind, text.filter(cells), fitting, date_format)
        findings.rows(kind, table, column, cells, remedy=remedy)


class _Fitting(NamedTuple):
    """Formats that could be meant, and whether one of them would do for the whole column.

    Attributes:
        formats: each reads some of the cells that were not read.
        one_form: the formats of which each reads every cell that any format reads.
        read_all: the cells that ``one_form`` reads.
    """

    formats: tuple[str, ...]
    one_form: tuple[str, ...]
    read_all: pl.Series


def _fitting_formats(text: pl.Series, unread: pl.Series, date_format: str) -> _Fitting:
    sample = unread.unique(maintain_order=True).head(SAMPLE)
    formats = [each for each in FORMATS if each != date_format and _plausible(sample, each).any()]
    masks = {each: _plausible(text, each) for each in formats}
    any_format = _plausible(text, date_format)
    for mask in masks.values():
        any_format = any_format | mask
    one_form = [each for each, mask in masks.items() if (mask == any_format).all()]
    recent = [each for each in one_form if _plausible(text, each, FIRST_YEAR).equals(masks[each])]
    return _Fitting(tuple(formats), _different(text, recent or one_form), any_format)


def _different(text: pl.Series, formats: list[str]) -> tuple[str, ...]:
    """The formats without those that read every cell as an earlier one does."""
    kept: dict[str, pl.Series] = {}
    for each in formats:
        days = parse_dates(text, each)
        if not any(days.equals(other) for other in kept.values()):
            kept[each] = days
    return tuple(kept)


def _plausible(text: pl.Series, date_format: str, first_year: int = OLDEST) -> pl.Series:
    """Which cells the format reads as a date of a possible year."""
    return parse_dates(text, date_format).dt.year().is_between(first_year, LAST_YEAR).fill_null(False)


def _setting_remedy(fitting: _Fitting, cells: pl.Series, section: str, date_format: str) -> str | None:
    """Which format to set, where one would read the whole column; all that would, where there are several."""
    if not fitting.one_form or cells.is_empty():
        return None
    written = [f'date_format = "{each}"' for each in fitting.one_form]
    if len(written) == 1:
        other = "" if date_format == ISO else f", or write the dates as {date(2024, 1, 31).strftime(date_format)}"
        return f"Set {written[0]} in [{section}]{other}."
    # The cell that tells the formats apart best is the one with the most meanings.
    cell = max(cells.unique(maintain_order=True).head(SAMPLE).to_list(), key=lambda each: len(_meanings(each, fitting)))
    means = " or ".join(meaning for meaning, _ in _meanings(cell, fitting).items())
    return f"Say which it is, in [{section}]: {' or '.join(written)}; {cell!r} would be {means}."


def _meanings(cell: str, fitting: _Fitting) -> dict[str, str]:
    """The dates that the cell could be, as ISO dates, and the first format that reads it so."""
    found: dict[str, str] = {}
    for each in fitting.one_form or fitting.formats:
        if _plausible(pl.Series([cell]), each).item():
            found.setdefault(str(parse_dates(pl.Series([cell]), each).item()), each)
    return found


def _cell_remedy(kind: str, cells: pl.Series, fitting: _Fitting, date_format: str) -> str | None:
    """How to write the cells, as the column's other dates are written."""
    if cells.is_empty():
        return None
    if cells.str.contains(DAY_NUMBER).any():
        return "This is a spreadsheet's number of a day: format the column as a date and export it again."
    cell = str(cells[0])
    means = [
        date.fromisoformat(meaning).strftime(date_format) + f' if it is "{each}"'
        for meaning, each in _meanings(cell, fitting._replace(one_form=())).items()
    ]
    if len(means) == 1:
        means = [means[0].split(" if it is")[0]]
    if not means and kind == "date-year":
        return None
    years = "Write years with four digits. " if kind == "date-year" else ""
    example = date(2024, 1, 31).strftime(date_format)
    exact = f"; {cell!r} is {' or '.join(means)}" if means else ""
    return f"{years}Write all dates of the column alike, as {example}{exact}."
