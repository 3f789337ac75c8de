"""Make text safe for spreadsheets and terminals, and write a table as an Excel workbook."""

import io
from datetime import datetime
from typing import Any

import polars as pl
import xlsxwriter

from armwise.errors import InvalidInputError
from armwise.text import HIDDEN, visible

# Spreadsheets read text with these beginnings as a formula. Some skip tabs and line ends before a formula. Some, with
# East Asian settings, read the wide forms of the signs as the usual ones.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
MOST_ROWS, LONGEST_CELL = 1_048_575, 32_767
# A workbook holds the date when it was made; a fixed date keeps the bytes the same.
CREATED = datetime(2000, 1, 1)
WIDEST = 60


def spreadsheet_safe(table: pl.DataFrame) -> pl.DataFrame:
    """The table with an apostrophe before every text that a spreadsheet would run as a formula.

    Only text columns and the names of columns change. A negative number stays a number.

    Example:
        >>> spreadsheet_safe(pl.DataFrame({"note": ["=1+1", "fine"], "gain": [-1.5, 2.0]})).rows()
        [("'=1+1", -1.5), ('fine', 2.0)]
    """
    columns = [
        pl.when(_starts_formula(name)).then(pl.lit("'") + pl.col(name)).otherwise(pl.col(name)).alias(name)
        for name in table.columns
        if table.schema[name] == pl.String
    ]
    return table.with_columns(columns).rename({name: safe_text(name) for name in table.columns})


def without_hidden(table: pl.DataFrame) -> pl.DataFrame:
    """The table with every hidden character in its texts replaced by a visible escape."""
    names = [name for name in table.columns if table.schema[name] == pl.String]
    # Almost always there is nothing to replace; then skip the slow loop over texts.
    odd = [name for name in names if any(HIDDEN.search(text) for text in table[name].drop_nulls().unique().to_list())]
    return table.with_columns(pl.col(name).map_elements(visible, return_dtype=pl.String) for name in odd)


def safe_text(text: str) -> str:
    """The text with an apostrophe before it if a spreadsheet would run it."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _starts_formula(column: str) -> pl.Expr:
    return pl.any_horizontal([pl.col(column).str.starts_with(start) for start in FORMULA_STARTS])


def to_workbook(table: pl.DataFrame, digits: int) -> bytes:
    """The table as an .xlsx file of one sheet. Text is never a formula; numbers are rounded to ``digits`` decimals."""
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
    # Excel marks numbers stored as text as mistakes; here they are intended.
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
