"""Read a CSV, Excel or Parquet table with every cell as text: ids keep their zeros, and wrong cells stay as written."""

import difflib
import io
import os
import re

import numpy as np
import polars as pl

from armwise.io.reading import read_file
from armwise.programme.csv_file import RawTable, read_csv
from armwise.programme.excel_file import panics_unprinted, read_excel
from armwise.programme.findings import Findings, Table, shorten
from armwise.programme.ids import normalise_ids
from armwise.programme.settings import Source

EXCEL = (".xlsx", ".xlsm", ".xls")
ZIP, OLD_OFFICE, PARQUET, GZIP = b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"PAR1", b"\x1f\x8b"


def read_table(source: Source, id_column: str, columns: tuple[str, ...], findings: Findings) -> Table | None:
    """Read the named columns of a table as text.

    Args:
        source: where the table is.
        id_column: the column of ids.
        columns: the other columns.
        findings: where problems of the file are noted.

    Returns:
        The table with the named columns that exist; none if the file cannot be read or has no column of ids.
    """
    raw = _read_bytes(source, findings)
    if raw is None:
        return None
    wanted = tuple(dict.fromkeys((id_column, *columns)))
    table = _read_kind(source, raw, wanted, findings)
    if table is None:
        return None
    _check_columns(source, table.header, wanted, findings)
    if id_column not in table.header:
        return None
    return normalise_ids(_sound_rows(source, _without_blanks(table, id_column), id_column), findings)


def _without_blanks(table: RawTable, id_column: str) -> RawTable:
    """The table with null for cells that hold only spaces. A blank id stays, because it gets a finding of its own."""
    others = pl.exclude(id_column)
    frame = table.frame.with_columns(pl.when(others.str.strip_chars() != "").then(others))
    return table._replace(frame=frame)


def _sound_rows(source: Source, table: RawTable, id_column: str) -> Table:
    """The table without its ragged rows, because their cells may be in the wrong columns and may be personal."""
    rows = pl.Series(np.arange(table.frame.height, dtype=np.int32) + table.first_row)
    if not table.ragged:
        return Table(source, table.frame, rows, id_column)
    sound = np.ones(table.frame.height, dtype=bool)
    sound[list(table.ragged)] = False
    return Table(source, table.frame.filter(sound), rows.filter(sound), id_column, complete=False)


def _read_bytes(source: Source, findings: Findings) -> bytes | None:
    try:
        raw = read_file(source.path)
    except FileNotFoundError:
        findings.add("file-missing", source.name, remedy=_similar_file(source))
    except IsADirectoryError:
        findings.add("file-is-folder", source.name)
    except OSError as error:
        findings.add("file-unreadable", source.name, what=f"The file cannot be opened: {error.strerror}.")
    except ValueError:  # a NUL in the path
        findings.add("file-missing", source.name)
    else:
        return _checked_content(source, raw, findings)
    return None


def _checked_content(source: Source, raw: bytes, findings: Findings) -> bytes | None:
    if not findings.note_content(source.path, raw):
        findings.add("file-unreadable", source.name, what="The file changed while it was read.", remedy="Run it again.")
    elif not raw:
        findings.add("file-empty", source.name)
    else:
        return raw
    return None


def _similar_file(source: Source) -> str | None:
    folder = source.path.parent
    if not folder.is_dir():
        return f"The folder {folder.name!r} does not exist either. Paths start from the folder of programme.toml."
    names = os.listdir(folder) if os.access(folder, os.R_OK) else []
    near = difflib.get_close_matches(source.path.name, names, 1)
    return f"Did you mean {near[0]!r}?" if near else None


def _read_kind(source: Source, raw: bytes, wanted: tuple[str, ...], findings: Findings) -> RawTable | None:
    suffix = source.path.suffix.lower()
    if source.sheet is not None and suffix not in EXCEL:
        findings.add("sheet-missing", source.name, what="Only workbooks have sheets.", remedy="Remove 'sheet'.")
    if source.encoding != "utf-8" and not source.is_text:
        remedy = f"Remove 'encoding' from [{source.section}]."
        findings.add("file-encoding", source.name, what="Only text files have an encoding.", remedy=remedy)
    if suffix == ".parquet":
        return _read_parquet(source, raw, wanted, findings)
    if suffix in EXCEL:
        return read_excel(source, raw, wanted, findings)
    if source.is_text:
        return None if _is_other_kind(source.name, raw, findings) else read_csv(source, raw, wanted, findings)
    findings.add("file-kind", source.name)
    return None


def _is_other_kind(file: str, raw: bytes, findings: Findings) -> bool:
    """Whether a file with the name of a CSV file is really of another kind."""
    kinds = {
        ZIP: ("an Excel workbook or a zip file", "Name it .xlsx if it is a workbook, otherwise unpack it."),
        OLD_OFFICE: ("an old Excel workbook", "Name it .xls."),
        PARQUET: ("a Parquet file", "Name it .parquet."),
        GZIP: ("a compressed file", "Unpack it: gunzip."),
        b"[{": ("JSON", "Export the table as CSV."),
        b'{"': ("JSON", "Export the table as CSV."),
        b"%PDF": ("a PDF document", "Export the table itself."),
        b"<": ("a web page or XML", "Export the table itself; a login page may have been saved in its place."),
    }
    for start, (name, remedy) in kinds.items():
        if raw.lstrip(b"\xef\xbb\xbf \r\n").startswith(start):
            findings.add("file-kind", file, what=f"By its content, this is {name}.", remedy=remedy)
            return True
    return False


def _read_parquet(source: Source, raw: bytes, wanted: tuple[str, ...], findings: Findings) -> RawTable | None:
    try:
        with panics_unprinted():
            schema = pl.read_parquet_schema(io.BytesIO(raw))
            names = [name for name in schema if name in wanted]
            frame = pl.read_parquet(io.BytesIO(raw), columns=names)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        findings.add("file-damaged", source.name, what="This is not a complete Parquet file.")
        return None
    columns = [_as_text(source, frame[name], findings) for name in names]
    return RawTable(tuple(schema), pl.DataFrame(columns), 1)


def _as_text(source: Source, column: pl.Series, findings: Findings) -> pl.Series:
    """A typed column as text, as a CSV file would hold it."""
    kind = column.dtype
    if kind.is_nested() or kind.base_type() in (pl.Binary, pl.Object, pl.Duration):
        what = f"A column of type {kind} is not read."
        findings.add("file-kind", source.name, column=column.name, what=what, remedy="Write it as text or numbers.")
        return pl.Series(column.name, [None] * len(column), dtype=pl.String)
    if isinstance(kind, pl.Datetime):
        return column.dt.strftime("%Y-%m-%d %H:%M:%S")
    if kind.is_float():
        # 12.0 was the whole number 12 before a missing value in the column made it a float.
        whole = (column == column.round()) & (column.abs() < 2**53)
        text = column.fill_nan(None).cast(pl.String)
        text = text.zip_with(~whole.fill_null(False), column.cast(pl.Int64, strict=False).cast(pl.String))
        return text.str.replace(".", source.decimal, literal=True)
    return column.cast(pl.String).replace("", None)


def _check_columns(source: Source, header: tuple[str, ...], wanted: tuple[str, ...], findings: Findings) -> None:
    if not header:
        findings.add("file-empty", source.name, what="The table has no columns.")
        return
    for name in wanted:
        if header.count(name) > 1:
            findings.add("column-duplicate", source.name, row=1, column=name)
    missing = [name for name in wanted if name not in header]
    # If no name is known and one has a digit, the first row is probably a person's row, not a header.
    strange = len(missing) == len(wanted) and any(re.search(r"\d", name) for name in header)
    if missing and (strange or _looks_like_data(header)):
        # The cells of a first row of data may be personal, so they are not listed.
        remedy = f"Add a row of names above, one for each column in its order; among them: {', '.join(wanted)}."
        findings.add("header-missing", source.name, row=1, remedy=remedy)
        return
    for name in missing:
        findings.add("column-missing", source.name, column=name, remedy=_similar_column(name, header))


def _looks_like_data(header: tuple[str, ...]) -> bool:
    return any(re.fullmatch(r"[\s\d.,:/+-]*\d[\s\d.,:/+-]*", name) for name in header)


def _similar_column(name: str, header: tuple[str, ...]) -> str:
    for other in header:
        if other.strip().lower() == name.strip().lower():
            return f"There is {other!r}: make spaces and capitals agree."
    near = difflib.get_close_matches(name, header, 1)
    if near:
        return f"Did you mean {near[0]!r}?"
    # Digits in a name suggest that the header holds data, which may be personal, so it is not shown.
    if any(re.search(r"\d{3}", other) for other in header):
        return "Correct the name in programme.toml or in the file."
    listed = ", ".join(shorten(other) for other in header[:12]) + (
        f" and {len(header) - 12} more" if len(header) > 12 else ""
    )
    return f"Correct the name in programme.toml or in the file, which has {listed}."
