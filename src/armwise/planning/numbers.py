"""Columns of numbers: with a decimal point or comma as the table says, and never with a mark between thousands."""

import unicodedata
from collections.abc import Callable

import polars as pl

from armwise.planning.findings import Findings, Table
from armwise.planning.kinds import KINDS
from armwise.planning.programme import Source

ARABIC_DECIMAL = "\u066b"
# A point or a comma in such a number may be either mark, so it is asked about, not guessed.
THOUSANDS = r"^[+-]?[0-9]{1,3}[.,][0-9]{3}$"
# In the words of any language: #DIV/0!, #WERT!, #NAME?, #N/A.
ERRORS = r"^#([\p{L}/¡]+0?[!?]|N/[AD]|NV|YOK|GETTING_DATA)$"
SPREADSHEET_ERROR = "This is a spreadsheet's error: correct its formula and save the file, or leave the cell empty."


def to_numbers(text: pl.Series, source: Source) -> pl.Series:
    """Finite numbers; null where the text is none."""
    text = text.str.strip_chars()
    if source.decimal == ",":
        # A workbook's own numbers come with a point; three digits after it could as well be a mark of thousands.
        numbers = text.str.replace(",", ".", literal=True).set(text.str.contains(".", literal=True), None)
        if not source.is_text:
            numbers = numbers.fill_null(text.set(text.str.contains(THOUSANDS) | text.str.contains(","), None))
        text = numbers
    numbers = text.cast(pl.Float64, strict=False)
    return numbers.set(~numbers.is_finite().fill_null(True), None)


def note_bad_numbers(kind: str, table: Table, column: str, bad: pl.Series, findings: Findings) -> None:
    """Note the cells marked in ``bad``, which are no numbers, each with what would make a number of it."""
    text = table[column].str.strip_chars()
    for pattern, remedy in _remedies(table.source).items():
        cells = bad & text.str.contains(pattern)
        if cells.any():
            findings.rows(kind, table, column, cells, remedy=remedy(text, text.filter(cells)))
        bad = bad & ~cells
    usual = KINDS[kind].remedy.replace("35.5", f"35{table.source.decimal}5")
    findings.rows(kind, table, column, bad, remedy=usual)


# What to do about cells (the second argument) of a column (the first).
Remedy = Callable[[pl.Series, pl.Series], str]


def _remedies(source: Source) -> dict[str, Remedy]:
    """What a cell looks like, and what to do about it."""
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
    """What to do about numbers with the other decimal mark, or with one between thousands."""
    first, mark = str(cells[0]), {".": "point", ",": "comma"}
    mine, whole = first.replace(other, source.decimal), first.replace(other, "")
    set_other = f'or, where all have a {mark[other]}, set decimal = "{other}" in [{source.section}]'
    has_both = text.str.contains(source.decimal, literal=True).any()
    with_mine = f"write a decimal {mark[source.decimal]}, as {mine}" + ("" if has_both else f"; {set_other}")
    if cells.str.contains(THOUSANDS).all():
        return f"If {first!r} counts thousands, write {whole}. If it has decimals, {with_mine}."
    return f"W{with_mine[1:]}."


def _digits(cell: str, decimal: str) -> str:
    """The number in the digits 0 to 9, without marks between thousands."""
    cell = cell.replace(ARABIC_DECIMAL, decimal)
    return "".join(
        str(unicodedata.decimal(each)) if each.isdecimal() else each
        for each in cell
        if each.isdecimal() or each in ("+", "-", decimal)
    )
