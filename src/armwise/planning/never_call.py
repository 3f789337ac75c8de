"""Who is never called: every value of the columns that say so must be known, because a misspelt opt-out is one too."""

import difflib
import json
import re

import polars as pl

from armwise.planning.cells import PLACEHOLDERS
from armwise.planning.findings import Findings, Table
from armwise.planning.programme import NeverCall, Rules

# A column of more values than this says something else than whom to call, and its cells may be personal.
MOST_VALUES = 20
SIMILAR = 0.7


def read_exclusions(table: Table, rules: Rules, programme: str, findings: Findings) -> pl.Series:
    """The reason never to call each person, by column and value; null for those who may be called.

    Capitals and spaces around a value do not matter. A value that is in neither list is an error.
    """
    reasons = pl.Series("exclusion", [None] * table.frame.height, dtype=pl.String)
    for never in rules.never_call:
        if never.column not in table.frame.columns:
            continue
        words = _words(table[never.column])
        allowed = _propose(words, never, programme, findings) if never.allowed is None else never.allowed
        _note_unlisted(table, never, words, allowed, findings)
        for value in never.values:
            hit = words == _plain(value)
            if table.complete and not hit.any():
                findings.add("never-call-unused", programme, column=f"rules.never_call.{never.column}", value=value)
            reasons = reasons.set(hit & reasons.is_null(), f"{never.column}: {value or 'empty'}")
    return reasons


def _words(cells: pl.Series) -> pl.Series:
    return cells.fill_null("").str.strip_chars().str.to_lowercase()


def _plain(value: str) -> str:
    return value.strip().lower()


def _note_unlisted(
    table: Table, never: NeverCall, words: pl.Series, allowed: tuple[str, ...], findings: Findings
) -> None:
    unlisted = ~words.is_in([_plain(value) for value in (*never.values, *allowed)])
    findings.rows("never-call-empty", table, never.column, unlisted & (words == ""))
    findings.rows("never-call-unknown", table, never.column, unlisted & (words != ""))


def _propose(words: pl.Series, never: NeverCall, programme: str, findings: Findings) -> tuple[str, ...]:
    """Note that the list of allowed values is missing, with the line to add; return what that line allows.

    Values that are empty, or that look like a misspelt value of never_call, are not proposed: they are noted by row.
    """
    known = [_plain(value) for value in never.values]
    others = sorted(value for value in set(words.to_list()) - set(known) if not _is_doubtful(value, known))
    column = f"rules.may_call.{never.column}"
    if len(others) > MOST_VALUES:
        what = f"The column has {len(others):,} different values, too many to say of each whether it may be called."
        remedy = "Take a column of few values for never_call, such as a status, and list all of them."
        findings.add("config-missing-key", programme, column=column, what=what, remedy=remedy)
        return tuple(others)
    what = f"Nothing says which values of {never.column!r} may be called."
    line = f"{_key(never.column)} = {json.dumps(others, ensure_ascii=False)}"
    remedy = f"Add below a line [rules.may_call], without any value that must not be called: {line}"
    findings.add("config-missing-key", programme, column=column, what=what, remedy=remedy)
    return tuple(others)


def _is_doubtful(value: str, known: list[str]) -> bool:
    """Whether a value may be a misspelt one of the list, or stands for a missing one."""
    letters = re.sub(r"\W|_", "", value)
    if not letters or value in PLACEHOLDERS:
        return True
    return bool(difflib.get_close_matches(letters, [re.sub(r"\W|_", "", each) for each in known], 1, SIMILAR))


def _key(column: str) -> str:
    """A column's name as TOML writes a key."""
    return column if re.fullmatch(r"[A-Za-z0-9_-]+", column) else json.dumps(column, ensure_ascii=False)
