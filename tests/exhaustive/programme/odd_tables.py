"""Workbooks and Parquet files that no one meant to write."""

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import xlsxwriter

from tests.exhaustive.programme.odd_texts import Odd
from tests.programme.cases import CALLS, TOML, parquet, rows_of, typed
from tests.programme.mending import Step, change, set_in
from tests.programme.small import ENGAGEMENT


def sheet(rows: list[list[Any]], more: Callable[..., object] = lambda book, sheet: None, **options: Any) -> Step:
    """The call log as a workbook; ``more`` is done to it before it is closed."""
    start = options.pop("start", 0)

    def apply(folder: Path) -> None:
        change(TOML, CALLS, "calls.xlsx")(folder)
        book = xlsxwriter.Workbook(str(folder / "calls.xlsx"), {"default_date_format": "dd/mm/yyyy", **options})
        page = book.add_worksheet("Log")
        for number, row in enumerate(rows):
            page.write_row(number + start, start, row)
        more(book, page)
        book.close()

    return apply


def day(cell: Any) -> Any:
    return datetime.datetime.fromisoformat(cell) if isinstance(cell, str) and cell[:2] == "20" else cell


LOG = [[day(cell) if place == 1 else cell for place, cell in enumerate(row)] for row in rows_of(ENGAGEMENT)]
BACK = (change(TOML, "calls.xlsx", CALLS),)


def column(place: int, cell: Callable[[int, Any], Any]) -> list[list[Any]]:
    """The log with every cell of a column changed."""
    changed = [[*row] for row in LOG]
    for number, row in enumerate(changed[1:], start=1):
        row[place] = cell(number, row[place])
    return changed


def formula(value: Any) -> Callable[..., object]:
    return lambda book, page: page.write_formula(1, 3, "=40+5", None, value)


WORKBOOKS = [
    Odd("dates as dates", sheet(LOG)),
    Odd("dates counted from 1904", sheet(LOG, date_1904=True)),
    Odd("blank rows and columns before", sheet(LOG, start=4)),
    Odd("true and false", sheet(column(2, lambda _, cell: cell == "yes"))),
    Odd("blank cells after the end", sheet([*LOG, ["", "", "", ""]])),
    Odd("a formula with its result", sheet(LOG, formula(45))),
    Odd(
        "a percentage is a number",
        sheet(LOG, lambda book, page: page.write(1, 3, 45, book.add_format({"num_format": "0%"}))),
    ),
    Odd("a formula never calculated", sheet(LOG, formula("")), "seconds-invalid", 2, "seconds", "save the file", BACK),
    Odd(
        "a formula that failed",
        sheet(LOG, formula("#DIV/0!")),
        "seconds-invalid",
        2,
        "seconds",
        "correct its formula",
        BACK,
    ),
    Odd(
        "a time of day as seconds",
        sheet(LOG, lambda book, page: page.write(1, 3, 0.5, book.add_format({"num_format": "mm:ss"}))),
        "seconds-invalid",
        2,
        "seconds",
        "as a number",
        BACK,
    ),
    Odd(
        "a merged title",
        sheet([["Calls"], *LOG], lambda book, page: page.merge_range("A1:D1", "Calls")),
        "header-below",
        2,
        None,
        "Delete row 1,",
        BACK,
    ),
    Odd(
        "a hidden sheet",
        sheet(LOG, lambda book, page: book.add_worksheet("Helper").hide()),
        "sheet-choice",
        None,
        None,
        'sheet = "Log"',
        (set_in("engagement", 'sheet = "Log"'),),
    ),
    Odd(
        "a sheet of a chart",
        sheet(LOG, lambda book, page: book.add_chartsheet("Chart")),
        "sheet-choice",
        None,
        None,
        'sheet = "Log"',
        (set_in("engagement", 'sheet = "Log"'),),
    ),
    Odd("totals", sheet([*LOG, ["Total", None, None, 184]]), "id-unknown", 11, "id", "delete the row", BACK),
    Odd(
        "totals without a word",
        sheet([*LOG, [None, None, None, 184]]),
        "id-empty",
        11,
        "id",
        "Delete rows of totals",
        BACK,
    ),
    Odd("a note below", sheet([*LOG, [], ["Source: the dialler"]]), "id-unknown", 12, "id", "delete the row", BACK),
    Odd(
        "one date as text",
        sheet(column(1, lambda number, cell: "03/01/2024" if number == 2 else cell)),
        "date-ambiguous",
        3,
        "date",
        "2024-01-03 if it is",
        BACK,
    ),
    Odd(
        "numbers of days",
        sheet(column(1, lambda number, _: 45292 + number)),
        "date-invalid",
        2,
        "date",
        "format the column as a date",
        BACK,
    ),
    Odd(
        "numbers of days and hours",
        sheet(column(1, lambda number, _: 45292.5 + number)),
        "date-invalid",
        2,
        "date",
        "format the column as a date",
        BACK,
    ),
    Odd(
        "ids as numbers", sheet(column(0, lambda _, cell: int(cell))), "id-unknown", 2, "id", "seems to be '0001'", BACK
    ),
    Odd(
        "numbers as a header",
        sheet([[1, 2, 3, 4], *LOG[1:]]),
        "header-missing",
        1,
        None,
        "one for each column in its order",
        BACK,
    ),
    Odd(
        "a column twice",
        sheet([["id", "date", "connected", "seconds", "date"], *LOG[1:]]),
        "column-duplicate",
        1,
        "date",
        "Rename",
        BACK,
    ),
]


def columns(**changes: Any) -> Step:
    """The call log as a Parquet file with some columns of another type."""

    def apply(folder: Path) -> None:
        change(TOML, CALLS, "calls.parquet")(folder)
        parquet(typed(ENGAGEMENT, **changes))(folder / "calls.parquet")

    return apply


TO_CSV = (change(TOML, "calls.parquet", CALLS),)
PARQUETS = [
    Odd("categories", columns(connected=pl.col("connected").cast(pl.Categorical))),
    Odd("decimals", columns(seconds=pl.col("seconds").cast(pl.Decimal(10, 2)))),
    Odd(
        "times with a zone",
        columns(date=pl.col("date").str.to_datetime("%Y-%m-%d").dt.replace_time_zone("Asia/Kolkata")),
    ),
    Odd(
        "durations",
        columns(seconds=pl.lit(datetime.timedelta(seconds=45))),
        "file-kind",
        None,
        "seconds",
        "text or numbers",
        TO_CSV,
    ),
    Odd(
        "times of day",
        columns(seconds=pl.lit(datetime.time(0, 0, 45))),
        "seconds-invalid",
        1,
        "seconds",
        "as seconds",
        TO_CSV,
    ),
    Odd("bytes as ids", columns(id=pl.col("id").cast(pl.Binary)), "file-kind", None, "id", "text or numbers", TO_CSV),
    Odd("records as dates", columns(date=pl.struct("date")), "file-kind", None, "date", "text or numbers", TO_CSV),
    Odd(
        "dates as whole numbers",
        columns(date=pl.col("date").str.replace_all("-", "").cast(pl.Int64)),
        "date-invalid",
        1,
        "date",
        '"%Y%m%d"',
        (set_in("engagement", 'date_format = "%Y%m%d"'),),
    ),
    Odd(
        "ids with decimals",
        columns(id=pl.col("id").cast(pl.Float64)),
        "id-unknown",
        1,
        "id",
        "seems to be '0001'",
        TO_CSV,
    ),
    Odd("nothing as seconds", columns(seconds=pl.lit(None)), "seconds-empty", 1, "seconds", "Fill them in", TO_CSV),
    Odd(
        "not-a-number as seconds",
        columns(seconds=pl.lit(float("nan"))),
        "seconds-empty",
        1,
        "seconds",
        "Fill them in",
        TO_CSV,
    ),
    Odd(
        "endless seconds",
        columns(connected=pl.lit("yes"), seconds=pl.lit(float("inf"))),
        "seconds-invalid",
        1,
        "seconds",
        "35",
        TO_CSV,
    ),
]
