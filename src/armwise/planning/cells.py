"""Columns of text as what they mean: ids, steps, seconds, yes and no. What cannot be read is noted, by its row."""

import re
from collections.abc import Sequence
from datetime import date

import polars as pl

from armwise.planning.findings import Findings, Table
from armwise.planning.programme import Time

PLACEHOLDERS = ("na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "--", "?", "unknown", "#ref!", "#value!")
ISO = r"^\d{4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s?(Z|[+-]\d{2}:?\d{2})?)?$"
AMBIGUOUS = r"^\d{1,2}[/.-]\d{1,2}[/.-](\d{4}|\d{2})\b"
FIRST_YEAR, LAST_YEAR = 1990, 2100
LONGEST_CALL = 86400


def check_ids(table: Table, findings: Findings) -> None:
    """Note ids that cannot be anyone's."""
    ids = table[table.id_column]
    findings.rows("id-empty", table, table.id_column, ids.is_null() | (ids.str.strip_chars() == ""))
    checks = {
        "id-spaces": ids.str.contains(r"^\s|\s$") & (ids.str.strip_chars() != ""),
        "id-scientific": ids.str.contains(r"^[+-]?\d+([.,]\d+)?[eE]\+?\d+$"),
        "id-decimal": ids.str.contains(r"^\d+[.,]0+$"),
        "id-placeholder": ids.str.to_lowercase().is_in(PLACEHOLDERS),
        # Control and formatting characters, and the mark that stands for a byte nobody could read.
        "id-characters": ids.str.contains(r"[\p{Cc}\p{Cf}\x{FFFD}]"),
    }
    for kind, bad in checks.items():
        findings.rows(kind, table, table.id_column, bad)


def to_steps_or_days(table: Table, column: str, time: Time, findings: Findings) -> pl.Series:
    """The column as numbers of steps or as days since 1970; null, and noted, where it cannot be read."""
    if time.by_week:
        return to_weeks(table, column, findings)
    return to_days(table, column, time.date_format, findings)


def to_weeks(table: Table, column: str, findings: Findings) -> pl.Series:
    """Whole numbers from 0 on."""
    text = table[column]
    findings.rows("week-empty", table, column, text.is_null())
    # A spreadsheet may have made 3 into 3.0; nothing is lost by reading it so.
    weeks = text.str.replace(r"\.0+$", "").cast(pl.Int64, strict=False)
    bad = text.is_not_null() & (weeks.is_null() | (weeks < 0) | (weeks > 10**8))
    remedy = None
    if text.filter(bad).str.contains(r"^\d{4}-").any():
        remedy = "These look like dates: write date instead of week in programme.toml."
    findings.rows("week-invalid", table, column, bad, remedy=remedy)
    return weeks.set(bad, None)


def to_days(table: Table, column: str, date_format: str | None, findings: Findings) -> pl.Series:
    """Days since 1970, as written: a time of day is dropped, a time zone does not move the date."""
    text = table[column]
    findings.rows("date-empty", table, column, text.is_null())
    days = _parse_dates(text, date_format)
    bad = text.is_not_null() & days.is_null()
    if date_format is None:
        ambiguous = bad & text.str.contains(AMBIGUOUS)
        findings.rows("date-ambiguous", table, column, ambiguous, remedy=_which_first(text.filter(ambiguous)))
        bad = bad & ~ambiguous
    findings.rows("date-invalid", table, column, bad, remedy=_date_remedy(text.filter(bad), date_format))
    odd = ~days.dt.year().is_between(FIRST_YEAR, LAST_YEAR)
    findings.rows("date-year", table, column, odd)
    return days.set(odd.fill_null(False), None).cast(pl.Int32)


def _parse_dates(text: pl.Series, date_format: str | None) -> pl.Series:
    if date_format is None:
        iso = text.str.contains(ISO).fill_null(False)
        return text.set(~iso, None).str.extract(r"^([\d-]+)").str.to_date("%Y-%m-%d", strict=False)
    if re.search("%[HI]", date_format):
        return text.str.to_datetime(date_format, strict=False).dt.date()
    return text.str.to_date(date_format, strict=False)


def _which_first(ambiguous: pl.Series) -> str | None:
    """The remedy for dates with slashes, more exact where some day of the column is past 12."""
    if ambiguous.is_empty():
        return None
    parts = [
        ambiguous.str.extract(AMBIGUOUS.replace(r"\d{1,2}", r"(\d{1,2})"), group).cast(pl.Int32) for group in (1, 2)
    ]
    first, second = ((part > 12).any() for part in parts)
    mark = re.sub(r"\d", "", str(ambiguous[0]))[0]
    year = "%Y" if re.search(r"\d{4}", str(ambiguous[0])) else "%y"
    day_first, month_first = (f'date_format = "{mark.join((*order, year))}"' for order in (("%d", "%m"), ("%m", "%d")))
    if first != second:
        return f"Other rows show which comes first; set {day_first if first else month_first} under [time]."
    return f"Say which comes first, under [time]: {day_first} or {month_first}."


def _date_remedy(bad: pl.Series, date_format: str | None) -> str | None:
    if bad.str.contains(r"^[1-9]\d{4}(\.\d+)?$").any():
        return "This is a spreadsheet's number of a day: format the column as a date and export it again."
    if date_format is not None:
        return f"Write it as {date(2024, 1, 31).strftime(date_format)}, the date_format {date_format!r} of [time]."
    return None


def to_numbers(text: pl.Series) -> pl.Series:
    """Finite numbers; null where the text is none."""
    numbers = text.str.strip_chars().cast(pl.Float64, strict=False)
    return numbers.set(~numbers.is_finite().fill_null(True), None)


def to_seconds(table: Table, column: str, connected: pl.Series | None, findings: Findings) -> pl.Series:
    """Seconds listened; null where the call did not connect."""
    text = table[column]
    seconds = to_numbers(text)
    invalid = text.is_not_null() & seconds.is_null()
    findings.rows("seconds-invalid", table, column, invalid, remedy=_seconds_remedy(text.filter(invalid)))
    findings.rows("seconds-negative", table, column, seconds < 0)
    findings.rows("seconds-too-long", table, column, seconds > LONGEST_CALL)
    if connected is None:
        zero = int((seconds == 0).sum())
        if zero:
            findings.add("seconds-zero", table.file, column=column, count=zero)
        return seconds
    findings.rows("seconds-empty", table, column, connected & text.is_null())
    findings.rows("seconds-not-connected", table, column, ~connected & (seconds > 0))
    return seconds.set(~connected.fill_null(False), None)


def _seconds_remedy(invalid: pl.Series) -> str | None:
    if invalid.str.contains(r"^\d+:\d+").any():
        return "Write minutes and seconds as seconds: 1:05 is 65."
    if invalid.str.contains(r"^\d+,\d+$").any():
        return "Write a decimal point, not a comma."
    return None


def to_states(table: Table, column: str, num_states: int, connected: pl.Series | None, findings: Findings) -> pl.Series:
    """States from 0 on; null where the call did not connect, or where the cell is empty and nothing says it did."""
    text = table[column]
    states = text.str.replace(r"\.0+$", "").cast(pl.Int64, strict=False)
    bad = text.is_not_null() & (states.is_null() | ~states.is_between(0, num_states - 1))
    remedy = f"States are the whole numbers from 0 to {num_states - 1}; set num_states if there are more."
    findings.rows("state-invalid", table, column, bad.fill_null(True), remedy=remedy)
    if connected is None:
        return states.set(bad.fill_null(True), None)
    findings.rows("state-empty", table, column, connected & text.is_null())
    return states.set((bad | ~connected).fill_null(True), None)


def to_flags(
    table: Table, column: str, yes: Sequence[str], no: Sequence[str], kinds: tuple[str, str], findings: Findings
) -> pl.Series:
    """True and false by their spellings, whatever the capitals; ``kinds`` are noted for empty and for other cells."""
    text = table[column]
    word = text.str.strip_chars().str.to_lowercase()
    flags = word.is_in(list(yes))
    empty = text.is_null() | (word == "")
    findings.rows(kinds[0], table, column, empty)
    unknown = ~empty & ~flags & ~word.is_in(list(no))
    findings.rows(kinds[1], table, column, unknown, once_per_value=True)
    return flags.set(empty | unknown, None)
