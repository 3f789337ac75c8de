"""Convert columns of text to numbers, seconds, states, flags and steps. A cell that cannot be read is noted."""

import json
import unicodedata
from collections.abc import Callable, Sequence

import polars as pl

from armwise.programme.dates import to_days
from armwise.programme.finding_kinds import KINDS
from armwise.programme.findings import Findings, Table
from armwise.programme.settings import Source, Time

ARABIC_DECIMAL = "\u066b"
# In such a number, a point or comma may mark decimals or thousands. It is not guessed: the finding asks which.
THOUSANDS = r"^[+-]?[0-9]{1,3}[.,][0-9]{3}$"
# A spreadsheet's errors, in any language: #DIV/0!, #WERT!, #NAME?, #N/A.
ERRORS = r"^#([\p{L}/¡]+0?[!?]|N/[AD]|NV|YOK|GETTING_DATA)$"
SPREADSHEET_ERROR = "This is a spreadsheet's error: correct its formula and save the file, or leave the cell empty."
# A function of a column and of its bad cells that says what to do about them.
Remedy = Callable[[pl.Series, pl.Series], str]
PLACEHOLDERS = ("na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "--", "?", "unknown", "#ref!", "#value!")
LONGEST_CALL = 86400
# For each pair of word lists in programme.toml: the finding for empty cells, and the one for words in neither list.
FLAG_KINDS = {
    ("yes", "no"): ("connected-empty", "connected-unknown"),
    ("delivered", "planned"): ("status-empty", "status-unknown"),
}


def to_numbers(text: pl.Series, source: Source) -> pl.Series:
    """The text as finite numbers; null where it is not a number."""
    text = text.str.strip_chars()
    if source.decimal == ",":
        # Workbooks give their numbers with a decimal point. With three digits after it, it may mark thousands instead.
        numbers = text.str.replace(",", ".", literal=True).set(text.str.contains(".", literal=True), None)
        if not source.is_text:
            numbers = numbers.fill_null(text.set(text.str.contains(THOUSANDS) | text.str.contains(","), None))
        text = numbers
    numbers = text.cast(pl.Float64, strict=False)
    return numbers.set(~numbers.is_finite().fill_null(True), None)


def note_bad_numbers(kind: str, table: Table, column: str, bad: pl.Series, findings: Findings) -> None:
    """Note the cells marked in ``bad``, which are not numbers. Each finding says how to write the number."""
    text = table[column].str.strip_chars()
    for pattern, remedy in _remedies(table.source).items():
        cells = bad & text.str.contains(pattern)
        if cells.any():
            findings.rows(kind, table, column, cells, remedy=remedy(text, text.filter(cells)))
        bad = bad & ~cells
    usual = KINDS[kind].remedy.replace("35.5", f"35{table.source.decimal}5")
    findings.rows(kind, table, column, bad, remedy=usual)


def _remedies(source: Source) -> dict[str, Remedy]:
    """For each pattern of a cell, the function that says what to do about it. The first pattern that fits is used."""
    mine, other = source.decimal, "," if source.decimal == "." else "."
    setting = f'set decimal = "{other}" in [{source.section}]'
    digits, mark = "[0-9]{1,3}", r"[\s'’_]"

    def without_marks(_: pl.Series, cells: pl.Series) -> str:
        return f"Write it in the digits 0 to 9, without marks between thousands: {_digits(str(cells[0]), mine)}."

    def and_set(text: pl.Series, cells: pl.Series) -> str:
        if text.filter(~text.is_in(cells.implode())).str.contains(mine, literal=True).any():
            return f"Write it as the others, {_digits(str(cells[0]), other).replace(other, mine)}."
        return f"Write it without marks between thousands, as {_digits(str(cells[0]), other)}, and {setting}."

    return {
        ERRORS: lambda *_: SPREADSHEET_ERROR,
        r"^[0-9]+:[0-9]+": lambda *_: "Write minutes and seconds as seconds: 1:05 is 65.",
        r"^[0-9]{4}-[0-9]{2}-[0-9]{2}": lambda *_: "This is a date or a time of day. Write it as a number.",
        rf"^[+-]?[0-9]+\{other}[0-9]+([eE][+-]?[0-9]+)?$": lambda text, cells: _decimal_remedy(
            text, cells, source, other
        ),
        rf"^[+-]?{digits}((\{mine}|{mark})[0-9]{{3}})+\{other}[0-9]+$": and_set,
        rf"^[+-]?{digits}(\{other}[0-9]{{3}})+(\{mine}[0-9]+)?$": without_marks,
        rf"^[+-]?{digits}({mark}[0-9]{{3}})+(\{mine}[0-9]+)?$": without_marks,
        rf"^[+-]?\d+([\{mine}{ARABIC_DECIMAL}]\d+)?$": without_marks,
    }


def _decimal_remedy(text: pl.Series, cells: pl.Series, source: Source, other: str) -> str:
    """What to do about numbers that have the other mark, either for decimals or between thousands."""
    first, mark = str(cells[0]), {".": "point", ",": "comma"}
    mine, whole = first.replace(other, source.decimal), first.replace(other, "")
    set_other = f'or, where all have a {mark[other]}, set decimal = "{other}" in [{source.section}]'
    has_both = text.str.contains(source.decimal, literal=True).any()
    with_mine = f"write a decimal {mark[source.decimal]}, as {mine}" + ("" if has_both else f"; {set_other}")
    if cells.str.contains(THOUSANDS).all():
        return f"If {first!r} counts thousands, write {whole}. If it has decimals, {with_mine}."
    return f"W{with_mine[1:]}."


def _digits(cell: str, decimal: str) -> str:
    """The number written in the digits 0 to 9, without marks between thousands."""
    cell = cell.replace(ARABIC_DECIMAL, decimal)
    return "".join(
        str(unicodedata.decimal(each)) if each.isdecimal() else each
        for each in cell
        if each.isdecimal() or each in ("+", "-", decimal)
    )


def check_ids(table: Table, findings: Findings) -> None:
    """Note ids that cannot be real: empty, damaged by a spreadsheet, placeholders, or with hidden characters."""
    ids = table[table.id_column]
    findings.rows("id-empty", table, table.id_column, ids.is_null() | (ids.str.strip_chars() == ""))
    checks = {
        "id-spaces": ids.str.contains(r"^\s|\s$") & (ids.str.strip_chars() != ""),
        "id-scientific": ids.str.contains(r"^[+-]?\d+([.,]\d+)?[eE]\+?\d+$"),
        "id-decimal": ids.str.contains(r"^\d+[.,]0+$"),
        "id-placeholder": ids.str.to_lowercase().is_in(PLACEHOLDERS) | ids.str.contains(ERRORS),
        # Control and formatting characters, and the character that replaces an unreadable byte (U+FFFD).
        "id-characters": ids.str.contains(r"[\p{Cc}\p{Cf}\x{FFFD}]"),
    }
    for kind, bad in checks.items():
        findings.rows(kind, table, table.id_column, bad)


def to_steps_or_days(table: Table, column: str, time: Time, findings: Findings) -> pl.Series:
    """The column as week numbers or as days since 1970. A cell that cannot be read is null and noted."""
    if time.by_week:
        return to_weeks(table, column, findings)
    return to_days(table, column, time.date_format, findings)


def to_weeks(table: Table, column: str, findings: Findings) -> pl.Series:
    """The column as week numbers: whole numbers from 0."""
    text = table[column]
    findings.rows("week-empty", table, column, text.is_null())
    # A spreadsheet may have changed 3 to 3.0, so 3.0 is read as 3.
    weeks = text.str.replace(r"\.0+$", "").cast(pl.Int64, strict=False)
    bad = text.is_not_null() & (weeks.is_null() | (weeks < 0) | (weeks > 10**8))
    remedy = None
    if text.filter(bad).str.contains(r"^\d{4}-").any():
        remedy = "These look like dates: write date instead of week in programme.toml."
    findings.rows("week-invalid", table, column, bad, remedy=remedy)
    return weeks.set(bad, None)


def to_seconds(table: Table, column: str, connected: pl.Series | None, findings: Findings) -> pl.Series:
    """The seconds that the person listened; null where the call did not connect."""
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
    """States, as whole numbers from 0. Null where the call did not connect, or where the cell is empty or wrong."""
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
    """True for the words in ``yes``, false for those in ``no``; ``keys`` are the lists' names in programme.toml."""
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
    """The lists to write in programme.toml, with the column's own words, because a list there replaces the default."""
    present = set(word.drop_nulls().unique().to_list())
    lists = ([each for each in words if each in present] or [words[0]] for words in (yes, no))
    return " and ".join(f"{key} = {json.dumps(words)}" for key, words in zip(keys, lists, strict=True))
