"""A table as an Excel workbook: ids are text, so that a spreadsheet keeps their zeros. Same table, same bytes."""

import io
from datetime import datetime
from typing import Any

import polars as pl
import xlsxwriter

from armwise.errors import InvalidInputError

MOST_ROWS, LONGEST_CELL = 1_048_575, 32_767
# A workbook carries the date of its making; a fixed one keeps the bytes the same.
CREATED = datetime(2000, 1, 1)
WIDEST = 60


def to_workbook(table: pl.DataFrame, digits: int) -> bytes:
    """The table as an .xlsx file of one sheet; text is never a formula, numbers are rounded to so many decimals."""
    _check_size(table)
    stream = io.BytesIO()
    book = xlsxwriter.Workbook(stream, {"in_memory": True})
    book.set_properties({"created": CREATED})
    sheet = book.add_worksheet("call list")
    text, bold = book.add_format({"num_format": "@"}), book.add_format({"bold": True})
    for place, column in enumerate(table):
        sheet.write_string(0, place, column.name, bold)
        _write_column(sheet, place, column, text, digits)
    sheet.freeze_panes(1, 0)
    # Excel marks numbers kept as text as mistakes; here they are meant.
    sheet.ignore_errors({"number_stored_as_text": f"A1:XFD{MOST_ROWS + 1}"})
    book.close()
    return stream.getvalue()


def _check_size(table: pl.DataFrame) -> None:
    if table.height > MOST_ROWS:
        raise InvalidInputError(f"{table.height:,} rows are more than a workbook holds. Write .csv or .parquet.")
    for name, kind in table.schema.items():
        if kind == pl.String and (table[name].str.len_chars() > LONGEST_CELL).any():
            raise InvalidInputError(f"A text in {name!r} is longer than a cell of a workbook. Write .csv or .parquet.")


def _write_column(sheet: Any, place: int, column: pl.Series, text: Any, digits: int) -> None:
    if column.dtype == pl.String:
        longest = column.str.len_chars().max() or 0
        sheet.set_column(place, place, min(WIDEST, max(len(column.name), int(str(longest)))) + 2, text)
        for row, cell in enumerate(column, start=1):
            if cell is not None:
                sheet.write_string(row, place, cell, text)
        return
    numbers = column.cast(pl.Float64).round(digits) if column.dtype.is_float() else column
    for row, cell in enumerate(numbers, start=1):
        if cell is not None:
            sheet.write_number(row, place, cell)
