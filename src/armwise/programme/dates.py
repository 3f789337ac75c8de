"""Read columns of dates by one format. Where the format does not fit, the finding names formats that do."""

import re
from datetime import date
from itertools import product
from typing import NamedTuple

import polars as pl

from armwise.programme.findings import Findings, Table

ISO = "%Y-%m-%d"
ISO_CELL = r"^\d{4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s?(Z|[+-]\d{2}:?\d{2})?)?$"
# Numbers only, with the year at the end or of two digits: the order of day, month and year is not clear.
NOT_PLAIN = r"^\d{1,2}[/.-]\d{1,2}[/.-](\d{4}|\d{2})\b"
DAY_NUMBER = r"^[1-9]\d{4}(\.\d+)?$"
FIRST_YEAR, LAST_YEAR = 1990, 2100
# The oldest year for judging formats. A date of birth is not a programme's date, but its format is the right one.
OLDEST = 1900
SAMPLE = 200

_ORDERS = [("%d", "%m", "%Y"), ("%m", "%d", "%Y"), ("%Y", "%m", "%d"), ("%d", "%m", "%y"), ("%m", "%d", "%y")]
_NUMERIC = [mark.join(order) for order, mark in product([*_ORDERS, ("%y", "%m", "%d")], ["/", ".", "-", " "])]
_COMPACT = ["%Y%m%d", "%d%m%Y", "%m%d%Y"]
_WORDS = ["%d %B %Y", "%d-%B-%Y", "%d-%B-%y", "%d %B %y", "%d. %B %Y", "%B %d, %Y", "%B %d %Y", "%d/%B/%Y"]
_TIMES = ["", " %H:%M", " %H:%M:%S", "T%H:%M", "T%H:%M:%S", " %I:%M %p", " %I:%M:%S %p"]
FORMATS = [day + time for day, time in product([*_COMPACT, *_NUMERIC, *_WORDS], _TIMES)]


def to_days(table: Table, column: str, default_format: str | None, findings: Findings) -> pl.Series:
    """The column as days since 1970. The time of day is dropped, and a time zone does not move the date."""
    text = table[column].str.strip_chars().replace("", None)
    findings.rows("date-empty", table, column, text.is_null())
    date_format = table.source.date_format or default_format or ISO
    days = parse_dates(text, date_format)
    if not table.source.is_text:
        # Workbooks and Parquet files store dates as dates; how a spreadsheet shows them does not matter.
        days = days.fill_null(parse_dates(text, ISO))
    odd = ~days.dt.year().is_between(FIRST_YEAR, LAST_YEAR).fill_null(True)
    _note_unread(table, column, text, days.is_null() & text.is_not_null(), odd, date_format, findings)
    return days.set(odd, None).cast(pl.Int32)


def parse_dates(text: pl.Series, date_format: str) -> pl.Series:
    """The text as dates by one format, null where it does not fit. ISO dates may have a time of day."""
    if date_format == ISO:
        iso = text.str.contains(ISO_CELL).fill_null(False)
        return text.set(~iso, None).str.extract(r"^([\d-]+)").str.to_date(ISO, strict=False)
    if re.search("%[HI]", date_format):
        return text.str.to_datetime(date_format, strict=False, time_unit="us").dt.date()
    return text.str.to_date(date_format, strict=False)


def _note_unread(
    table: Table, column: str, text: pl.Series, bad: pl.Series, odd: pl.Series, date_format: str, findings: Findings
) -> None:
    """Note the cells that are not dates (``bad``) and those of an impossible year (``odd``), each with a remedy."""
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
    """Formats that may be the right ones, and those among them that fit the whole column.

    Attributes:
        formats: formats that read at least one of the unread cells.
        one_form: formats that read every cell that any format reads.
        read_all: the cells that at least one format reads; each format of ``one_form`` reads them all.
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
    """Drop the formats that read every cell as an earlier format does."""
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
    """The formats to set: those that read the whole column. None if no format does."""
    if not fitting.one_form or cells.is_empty():
        return None
    written = [f'date_format = "{each}"' for each in fitting.one_form]
    if len(written) == 1:
        other = "" if date_format == ISO else f", or write the dates as {date(2024, 1, 31).strftime(date_format)}"
        return f"Set {written[0]} in [{section}]{other}."
    # The cell with the most possible dates shows best how the formats differ.
    cell = max(cells.unique(maintain_order=True).head(SAMPLE).to_list(), key=lambda each: len(_meanings(each, fitting)))
    means = " or ".join(meaning for meaning, _ in _meanings(cell, fitting).items())
    return f"Say which it is, in [{section}]: {' or '.join(written)}; {cell!r} would be {means}."


def _meanings(cell: str, fitting: _Fitting) -> dict[str, str]:
    """The dates that the cell may mean, as ISO dates, each with the first format that reads it so."""
    found: dict[str, str] = {}
    for each in fitting.one_form or fitting.formats:
        if _plausible(pl.Series([cell]), each).item():
            found.setdefault(str(parse_dates(pl.Series([cell]), each).item()), each)
    return found


def _cell_remedy(kind: str, cells: pl.Series, fitting: _Fitting, date_format: str) -> str | None:
    """How to write the cells in the same format as the column's other dates."""
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
