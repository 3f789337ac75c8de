"""Read a sheet of an Excel workbook as text columns. Errors of formulas stay visible; they are not missing cells."""

import io
import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import fastexcel
import polars as pl

from armwise.programme.csv_file import MOST_TITLE_ROWS, RawTable, note_header_below
from armwise.programme.findings import Findings
from armwise.programme.settings import Source

# A cell of type e holds an error such as #DIV/0!. With type str instead, the reader returns the error's text.
ERROR_CELL = re.compile(rb"""(<(?:\w+:)?c\b[^>]*?\s)t=(["'])e\2""")
# A formula without a result, in a workbook that no spreadsheet has calculated. An empty text as result has type str.
NO_RESULT = re.compile(
    rb"""<((?:\w+:)?)c\b(?![^>]*\st=)([^>]*)>\s*<(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)"""
    rb"""\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v></(?:\w+:)?v>)?\s*</(?:\w+:)?c>"""
)
NOT_CALCULATED = rb"<\1c\2 t='str'><\1v>#UNCALCULATED!</\1v></\1c>"
SHEETS = "xl/worksheets/"


def read_excel(source: Source, raw: bytes, wanted: tuple[str, ...], findings: Findings) -> RawTable | None:
    """Read the chosen sheet with every cell as text. If it cannot be read, returns none and notes a finding."""
    try:
        with panics_unprinted():
            book = fastexcel.read_excel(errors_as_text(raw))
            sheet = _choose_sheet(source, book.sheet_names, findings)
            if sheet is None:
                return None
            cells = book.load_sheet(sheet, header_row=None, skip_rows=0, dtypes="string").to_polars()
    except (fastexcel.FastExcelError, pl.exceptions.PanicException):
        what = "This is not a complete Excel workbook, or it is protected by a password."
        findings.add("file-damaged", source.name, what=what)
        return None
    filled = cells.select(pl.any_horizontal(pl.all().is_not_null())).to_series() if cells.width else pl.Series([False])
    top = filled.arg_max() if filled.any() else None
    if top is None:
        findings.add("file-empty", source.name, what=f"The sheet {sheet!r} is empty.")
        return None
    if note_header_below(source.name, cells[top : top + MOST_TITLE_ROWS + 1].rows(), wanted, top + 1, findings):
        return None
    header = tuple("" if name is None else str(name) for name in cells.row(top))
    places = [place for place, name in enumerate(header) if name in wanted and header.index(name) == place]
    frame = cells[top + 1 :].select(pl.nth(place).alias(header[place]) for place in places)
    return RawTable(header, frame.with_columns(pl.all().replace("", None)), top + 2)


@contextmanager
def panics_unprinted() -> Iterator[None]:
    """Silence stderr: readers written in Rust print their panics there before Python can turn them into findings."""
    saved, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)


def _choose_sheet(source: Source, names: list[str], findings: Findings) -> str | None:
    listed = ", ".join(repr(name) for name in names)
    if source.sheet is None and len(names) == 1:
        return names[0]
    if source.sheet is None:
        remedy = (
            f"Say which one in [{source.section}]: sheet = {json.dumps(names[0], ensure_ascii=False)}, for example."
        )
        findings.add("sheet-choice", source.name, what=f"The workbook has the sheets {listed}.", remedy=remedy)
    elif source.sheet in names:
        return source.sheet
    else:
        remedy = f"Correct 'sheet'; there are {listed}."
        findings.add("sheet-missing", source.name, value=source.sheet, remedy=remedy)
    return None


def errors_as_text(raw: bytes) -> bytes:
    """Change the error cells of an .xlsx workbook to text. Workbooks without errors and other files stay unchanged."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as book:
            names = [name for name in book.namelist() if name.startswith(SHEETS) and name.endswith(".xml")]
            before = {name: book.read(name) for name in names}
            after = {name: _with_errors(content) for name, content in before.items()}
            return raw if before == after else _rewrite(book, after)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError):
        # The workbook reader reports damaged and protected files.
        return raw


def _with_errors(sheet: bytes) -> bytes:
    sheet = ERROR_CELL.sub(rb"\1t=\2str\2", sheet)
    return NO_RESULT.sub(NOT_CALCULATED, sheet) if b"<f" in sheet or b":f" in sheet else sheet


def _rewrite(book: zipfile.ZipFile, changed: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as copy:
        for name in book.namelist():
            copy.writestr(name, changed[name] if name in changed else book.read(name))
    return stream.getvalue()
