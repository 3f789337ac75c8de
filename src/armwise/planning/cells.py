"""Columns of text as what they mean: ids, steps, seconds, yes and no. What cannot be read is noted, by its row."""

import json
from collections.abc import Sequence

import polars as pl

from armwise.planning.dates import to_days
from armwise.planning.findings import Findings, Table
from armwise.planning.numbers import ERRORS, note_bad_numbers, to_numbers
from armwise.planning.programme import Time

PLACEHOLDERS = ("na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "--", "?", "unknown", "#ref!", "#value!")
LONGEST_CALL = 86400
# For the two lists of words in programme.toml, what is noted for empty cells and for words in neither.
FLAG_KINDS = {
    ("yes", "no"): ("connected-empty", "connected-unknown"),
    ("delivered", "planned"): ("status-empty", "status-unknown"),
}


def check_ids(table: Table, findings: Findings) -> None:
    """Note ids that cannot be anyone's."""
    ids = table[table.id_column]
    findings.rows("id-empty", table, table.id_column, ids.is_null() | (ids.str.strip_chars() == ""))
    checks = {
        "id-spaces": ids.str.contains(r"^\s|\s$") & (ids.str.strip_chars() != ""),
        "id-scientific": ids.str.contains(r"^[+-]?\d+([.,]\d+)?[eE]\+?\d+$"),
        "id-decimal": ids.str.contains(r"^\d+[.,]0+$"),
        "id-placeholder": ids.str.to_lowercase().is_in(PLACEHOLDERS) | ids.str.contains(ERRORS),
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


def to_seconds(table: Table, column: str, connected: pl.Series | None, findings: Findings) -> pl.Series:
    """Seconds listened; null where the call did not connect."""
    text = table[column]
    seconds = to_numbers(text, table.source)
    note_bad_numbers("seconds-invalid", table, column, text.is_not_null() & seconds.is_null(), findings)
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
    table: Table, column: str, keys: tuple[str, str], yes: Sequence[str], no: Sequence[str], findings: Findings
) -> pl.Series:
    """True and false by their spellings, whatever the capitals; ``keys`` name the lists of these in programme.toml."""
    text = table[column]
    word = text.str.strip_chars().str.to_lowercase()
    flags = word.is_in(list(yes))
    empty = text.is_null() | (word == "")
    if_empty, if_unknown = FLAG_KINDS[keys]
    write = f"Write {yes[0]} or {no[0]}"
    findings.rows(if_empty, table, column, empty, remedy=f"{write}.")
    unknown = ~empty & ~flags & ~word.is_in(list(no))
    remedy = (
        f"{write}; or set {_word_lists(word, keys, yes, no)} in [{table.source.section}], with the new words added."
    )
    findings.rows(if_unknown, table, column, unknown, remedy=remedy, once_per_value=True)
    return flags.set(empty | unknown, None)


def _word_lists(word: pl.Series, keys: tuple[str, str], yes: Sequence[str], no: Sequence[str]) -> str:
    """The lists for programme.toml with the words that the column has; a list there replaces the usual one."""
    present = set(word.drop_nulls().unique().to_list())
    lists = ([each for each in words if each in present] or [words[0]] for words in (yes, no))
    return " and ".join(f"{key} = {json.dumps(words)}" for key, words in zip(keys, lists, strict=True))
