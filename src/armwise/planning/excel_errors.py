"""The errors of a workbook's formulas as text: the reader leaves such cells empty, but an error is not missing."""

import io
import re
import zipfile
import zlib

# A cell of type e holds an error such as #DIV/0!; as type str, the reader gives its words.
ERROR_CELL = re.compile(rb"""(<(?:\w+:)?c\b[^>]*?\s)t=(["'])e\2""")
# A formula without a result, in a workbook that no spreadsheet ever calculated. An empty text has the type str.
NO_RESULT = re.compile(
    rb"""<((?:\w+:)?)c\b(?![^>]*\st=)([^>]*)>\s*<(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)"""
    rb"""\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v></(?:\w+:)?v>)?\s*</(?:\w+:)?c>"""
)
NOT_CALCULATED = rb"<\1c\2 t='str'><\1v>#UNCALCULATED!</\1v></\1c>"
SHEETS = "xl/worksheets/"


def errors_as_text(raw: bytes) -> bytes:
    """The .xlsx workbook with its error cells as text; anything else, and a workbook without errors, as it is."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as book:
            names = [name for name in book.namelist() if name.startswith(SHEETS) and name.endswith(".xml")]
            before = {name: book.read(name) for name in names}
            after = {name: _with_errors(content) for name, content in before.items()}
            return raw if before == after else _rewrite(book, after)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError):
        # The reader of workbooks judges what is damaged or protected.
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
