"""Read a CSV file as text columns, and note what is wrong with the file: encoding, separator, quotes, row lengths."""

import csv
import io
import re
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from armwise.programme.encodings import as_utf8
from armwise.programme.findings import MOST_SHOWN, Findings
from armwise.programme.settings import Source

# Titles above a header are a few rows; a file with more rows above it has another problem.
MOST_TITLE_ROWS, HEAD = 20, 1 << 16
SEPARATORS = {";": ";", "\t": "\\t", "|": "|", ",": ","}


class RawTable(NamedTuple):
    """A file's table before its columns are checked.

    Attributes:
        header: the names of all columns, as the file has them.
        frame: the wanted columns as text.
        first_row: the number of the first row of data.
        ragged: indices of rows with too few or too many cells; their cells may be in the wrong columns.
    """

    header: tuple[str, ...]
    frame: pl.DataFrame
    first_row: int
    ragged: tuple[int, ...] = ()


def read_csv(source: Source, raw: bytes, wanted: tuple[str, ...], findings: Findings) -> RawTable | None:
    """Read those of the wanted columns that the file has; none if it cannot be read as a table."""
    raw = as_utf8(source, raw, findings)
    if b"\n" not in raw and b"\r" in raw.strip():
        findings.add("file-line-ends", source.name)
        raw = raw.replace(b"\r", b"\n")
    body = raw.lstrip(b"\r\n")
    skipped = raw[: len(raw) - len(body)].count(b"\n")
    if not body.strip():
        findings.add("file-empty", source.name)
        return None
    header = _header(source, body)
    if _header_below(source, body, wanted, skipped, findings) or _other_separator(source, header, wanted, findings):
        return None
    try:
        frame = _parse(source, body, header, wanted)
    except pl.exceptions.PolarsError:
        # The reader's own message quotes the file and may contain personal data, so it is not shown.
        findings.add("file-quotes", source.name, row=skipped + _bad_quote(source, body))
        return None
    lines = _lines(body)
    if len(lines) != frame.height + 1:
        ragged = _uneven_records(source, body, len(lines), frame.height, len(header), skipped, findings)
    else:
        _note_stray_quotes(source, lines, skipped, findings)
        ragged = _uneven_lines(lines, source.separator, len(header))
    if ragged is None:
        return None
    _note_ragged(source.name, ragged, len(header), skipped, findings)
    return RawTable(header, frame, skipped + 2, tuple(place - 1 for place, _ in ragged))


def _bad_quote(source: Source, body: bytes) -> int:
    """The line on which the first row with broken quotation marks begins. Slow, so called only if there is one."""
    started = 1
    reader = csv.reader(io.StringIO(body.decode(), newline=""), delimiter=source.separator, strict=True)
    try:
        for _ in reader:
            started = reader.line_num + 1
    except csv.Error:
        return started
    lines = _lines(body)
    return 1 + int((lines.str.count_matches('"', literal=True) % 2).arg_max() or 0)


def _header(source: Source, body: bytes) -> tuple[str, ...]:
    # A quoted name may go over several lines; the csv module reads as many lines as the header needs.
    lines = io.StringIO(body[: 1 << 20].decode(errors="ignore"), newline="")
    return tuple(next(csv.reader(lines, delimiter=source.separator)))


def _other_separator(source: Source, header: tuple[str, ...], wanted: tuple[str, ...], findings: Findings) -> bool:
    """Whether the header has more of the wanted columns when it is cut at another character."""
    if len(header) > 1 and any(name in header for name in wanted):
        return False
    line = re.sub(r"[\r\n]", " ", source.separator.join(header))
    for separator, written in SEPARATORS.items():
        cut = next(csv.reader([line], delimiter=separator))
        if separator != source.separator and len(cut) > len(header) and any(name in cut for name in wanted):
            words = f"The columns are separated by {written!r}, not by {SEPARATORS[source.separator]!r}."
            remedy = f'Add separator = "{written}" to the table\'s section of programme.toml.'
            findings.add("file-separator", source.name, row=1, what=words.replace("\\\\", "\\"), remedy=remedy)
            return True
    return len(header) == 1 and _is_one_cell(source, line, wanted, findings)


def _is_one_cell(source: Source, line: str, wanted: tuple[str, ...], findings: Findings) -> bool:
    """Whether all names are in one cell: the line is quoted as a whole, or spaces separate the columns."""
    if sum(name in line.split(source.separator) for name in wanted) > 1:
        what = "Each line is in quotation marks as a whole, so that it is one cell."
        remedy = "Remove the quotation marks at both ends of each line."
        findings.add("file-quotes", source.name, row=1, what=what, remedy=remedy)
        return True
    if sum(name in line.split() for name in wanted) > 1:
        remedy = "Export it with commas, semicolons or tabs between the columns."
        what = "The columns are separated by spaces."
        findings.add("file-separator", source.name, row=1, what=what, remedy=remedy)
        return True
    return False


def _header_below(source: Source, body: bytes, wanted: tuple[str, ...], skipped: int, findings: Findings) -> bool:
    """Whether there is a title above the header; every separator is tried."""
    start = body[:HEAD].decode(errors="replace").split("\n")[: MOST_TITLE_ROWS + 1]
    for separator in (source.separator, *SEPARATORS):
        try:
            rows = list(csv.reader(start, delimiter=separator))
        except csv.Error:
            continue
        if note_header_below(source.name, rows, wanted, skipped + 1, findings):
            return True
    return False


def note_header_below(
    file: str, rows: Sequence[Sequence[object]], wanted: tuple[str, ...], first_row: int, findings: Findings
) -> bool:
    """Note where the header is, if not in the first row. It is the row with the most wanted names, at least two."""
    scores = [sum(name in row for name in wanted) for row in rows[: MOST_TITLE_ROWS + 1]]
    best = scores.index(max(scores, default=0)) if scores else 0
    if best == 0 or scores[best] < 2:
        return False
    above = f"row {first_row}" if best == 1 else f"rows {first_row} to {first_row + best - 1}"
    what = f"The names of the columns are in row {first_row + best}, below other rows."
    findings.add("header-below", file, row=first_row + best, what=what, remedy=f"Delete {above}, above the names.")
    return True


def _parse(source: Source, body: bytes, header: tuple[str, ...], wanted: tuple[str, ...]) -> pl.DataFrame:
    places = [place for place, name in enumerate(header) if name in wanted and header.index(name) == place]
    frame = pl.read_csv(
        body, separator=source.separator, infer_schema=False, truncate_ragged_lines=True, columns=places or [0]
    )
    frame.columns = [header[place] for place in places or [0]]
    return frame.with_columns(pl.all().replace("", None))


def _uneven_records(
    source: Source, body: bytes, num_lines: int, height: int, width: int, skipped: int, findings: Findings
) -> list[tuple[int, int]] | None:
    """The records of a wrong width, as (index, width), in a file with cells over several lines. None if quotes fail."""
    records = csv.reader(io.StringIO(body.decode(), newline=""), delimiter=source.separator)
    widths = [len(row) for row in records]
    if len(widths) != height + 1:
        # The two readers disagree about where a cell ends, so a cell may hide rows.
        findings.add("file-quotes", source.name, row=skipped + _bad_quote(source, body))
        return None
    findings.add("file-multiline", source.name, what=f"{num_lines - height - 1:,} lines continue a cell.")
    return [(place, found) for place, found in enumerate(widths) if found not in (0, width)]


def _uneven_lines(lines: pl.Series, separator: str, width: int) -> list[tuple[int, int]]:
    """The lines of a wrong width, as (index, width).

    Counting separators is fast but includes those in quotes, so only lines with a wrong count are parsed.
    """
    suspects = (lines.str.count_matches(separator, literal=True) != width - 1).arg_true()
    texts = lines.gather(suspects).str.replace_all("\r", " ", literal=True).to_list()
    widths = [len(row) for row in csv.reader(texts, delimiter=separator)]
    # A spreadsheet reads a blank line as a row of empty cells. Here it gets the finding of an empty id.
    return [(place, found) for place, found in zip(suspects, widths, strict=True) if found not in (0, width)]


def _note_stray_quotes(source: Source, lines: pl.Series, skipped: int, findings: Findings) -> None:
    """Note the first line with a quotation mark in a cell that does not begin with one: CSV readers differ about it."""
    quoted = lines.str.contains('"', literal=True).arg_true()
    separator = re.escape(source.separator)
    cell = rf'(?:"(?:[^"]|"")*"|[^"{separator}]*)'
    stray = ~lines.gather(quoted).str.contains(rf"^{cell}(?:{separator}{cell})*$")
    if stray.any():
        findings.add("file-quotes", source.name, row=skipped + 1 + quoted.filter(stray)[0], count=int(stray.sum()))


def _note_ragged(file: str, ragged: list[tuple[int, int]], width: int, skipped: int, findings: Findings) -> None:
    """Note rows with too few or too many cells. The reader has filled them up or cut them off."""
    what = f"The row has not as many cells as the header, which has {width}."
    for number, (place, found) in enumerate(ragged[:MOST_SHOWN]):
        rest = max(0, len(ragged) - MOST_SHOWN) if number == 0 else 0
        hint = f"has {found} cell{'s' * (found != 1)}"
        findings.add("file-ragged", file, row=skipped + place + 1, hint=hint, what=what, count=1 + rest)


def _lines(body: bytes) -> pl.Series:
    lines = pl.read_csv(
        body,
        separator="\x1f",
        quote_char=None,
        has_header=False,
        infer_schema=False,
        columns=[0],
        truncate_ragged_lines=True,
    )
    return lines.to_series().fill_null("")
