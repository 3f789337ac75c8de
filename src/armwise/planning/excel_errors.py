"""The errors of a workbook's formulas as text: the reader leaves such cells empty, but an error is not missing."""

import io
import re
import zipfile
import zlib

# A cell of type e holds an error such as #DIV/0!; as type str, the reader gives its words.
ERROR_CELL = re.compile(rb"""(<(?:\w+:)?c\b[^>]*?\s)t=(["'])e\2""")
SHEETS = "xl/worksheets/"


def errors_as_text(raw: bytes) -> bytes:
    """The .xlsx workbook with its error cells as text; anything else, and a workbook without errors, as it is."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as book:
            names = [name for name in book.namelist() if name.startswith(SHEETS) and name.endswith(".xml")]
            sheets = {name: ERROR_CELL.subn(rb"\1t=\2str\2", book.read(name)) for name in names}
            if not any(number for _, number in sheets.values()):
                return raw
            return _rewrite(book, {name: content for name, (content, _) in sheets.items()})
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError):
        # The reader of workbooks judges what is damaged or protected.
        return raw


def _rewrite(book: zipfile.ZipFile, changed: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as copy:
        for name in book.namelist():
            copy.writestr(name, changed[name] if name in changed else book.read(name))
    return stream.getvalue()
