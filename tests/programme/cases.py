"""What the ways of being wrong are made of."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import polars as pl
import xlsxwriter

from tests.programme.small import FILES, edited


class Case(NamedTuple):
    """One way to be wrong: what happens to the valid programme, and what must be said about it."""

    name: str
    spoil: Callable[[Path], None]
    kind: str
    file: str
    row: int | None
    says: str


TOML, PEOPLE, CALLS, VISITS = FILES


def edit(name: str, file: str, old: str, new: str, kind: str, row: int | None, says: str = "") -> Case:
    """The text ``old`` in a file replaced by ``new``."""

    def spoil(folder: Path) -> None:
        (folder / file).write_text(edited(file, old, new), encoding="utf-8")

    return Case(name, spoil, kind, file, row, says)


def setting(name: str, old: str, new: str, kind: str, says: str, row: int | None = -1) -> Case:
    """A change of programme.toml; by default on the row where the new text stands."""
    text = edited(TOML, old, new)
    if row == -1:
        row = text[: text.index(new)].count("\n") + 1
    return edit(f"toml: {name}", TOML, old, new, kind, row, says)


def raw(name: str, file: str, content: bytes, kind: str, row: int | None, says: str = "") -> Case:
    """A file with other bytes altogether."""
    return Case(name, lambda folder: (folder / file).write_bytes(content) and None, kind, file, row, says)


def elsewhere(
    name: str, old: str, new: str, make: Callable[[Path], None], kind: str, row: int | None, says: str
) -> Case:
    """programme.toml points to another file, which ``make`` writes."""

    def spoil(folder: Path) -> None:
        (folder / TOML).write_text(edited(TOML, f'"{old}"', f'"{new}"'), encoding="utf-8")
        make(folder / new)

    return Case(name, spoil, kind, new, row, says)


def workbook(rows: list[list[object]], *sheets: str, merge: str | None = None) -> Callable[[Path], None]:
    """Writes an Excel file: the rows on the first sheet, the other sheets empty."""

    def make(path: Path) -> None:
        book = xlsxwriter.Workbook(str(path), {"default_date_format": "dd/mm/yyyy"})
        first, *_ = [book.add_worksheet(name) for name in (sheets or ("Sheet1",))]
        for number, row in enumerate(rows):
            first.write_row(number, 0, row)
        if merge:
            first.merge_range(merge, "0001")
        book.close()

    return make


def workbook_bytes() -> bytes:
    """A small valid Excel file."""
    stream = io.BytesIO()
    book = xlsxwriter.Workbook(stream, {"in_memory": True})
    sheet = book.add_worksheet()
    for number in range(200):
        sheet.write_row(number, 0, ["id", number, number * 7])
    book.close()
    return stream.getvalue()


def parquet(frame: pl.DataFrame) -> Callable[[Path], None]:
    """Writes a Parquet file."""
    return lambda path: frame.write_parquet(path)


def parquet_bytes() -> bytes:
    """A small valid Parquet file."""
    stream = io.BytesIO()
    pl.DataFrame({"id": ["0001"] * 1000, "date": ["2024-01-01"] * 1000}).write_parquet(stream)
    return stream.getvalue()


def rows_of(text: str) -> list[list[object]]:
    """A CSV text as rows of text cells."""
    return [[cell or None for cell in line.split(",")] for line in text.splitlines()]


def typed(text: str, **columns: object) -> pl.DataFrame:
    """A CSV text as a table with some columns replaced."""
    return pl.read_csv(text.encode(), infer_schema=False).with_columns(**columns)


def remove(name: str) -> Callable[[Path], None]:
    """Removes a file of the programme."""
    return lambda folder: (folder / name).unlink()
