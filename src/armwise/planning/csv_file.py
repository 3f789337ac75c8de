"""A CSV file as text columns, with everything wrong about the file itself: encoding, separator, quotes, short rows."""

import codecs
import csv
import io
import re
from typing import NamedTuple

import polars as pl

from armwise.planning.findings import MOST_SHOWN, Findings
from armwise.planning.programme import Source

SEPARATORS = {";": ";", "\t": "\\t", "|": "|", ",": ","}
CHUNK = 1 << 24


class RawTable(NamedTuple):
    """A file before its columns are looked at.

    Attributes:
        header: as the file has it.
        frame: the wanted columns as text.
        first_row: the number of the first row of data.
        ragged: places of rows with too few or too many cells; theirs may stand in the wrong columns.
    """

    header: tuple[str, ...]
    frame: pl.DataFrame
    first_row: int
    ragged: tuple[int, ...] = ()


def read_csv(source: Source, raw: bytes, wanted: tuple[str, ...], findings: Findings) -> RawTable | None:
    """The wanted columns of the file, as far as it has them; none if it cannot be read as a table."""
    raw = _as_utf8(source.name, raw, findings)
    if b"\n" not in raw and b"\r" in raw.strip():
        findings.add("file-line-ends", source.name)
        raw = raw.replace(b"\r", b"\n")
    body = raw.lstrip(b"\r\n")
    skipped = raw[: len(raw) - len(body)].count(b"\n")
    if not body.strip():
        findings.add("file-empty", source.name)
        return None
    header = _header(source, body)
    if _other_separator(source, header, wanted, findings):
        return None
    try:
        frame = _parse(source, body, header, wanted)
    except pl.exceptions.PolarsError:
        # The reader's own words quote the file, and with it what is personal.
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


def _as_utf8(file: str, raw: bytes, findings: Findings) -> bytes:
    """The content as UTF-8 without a mark; content in another encoding is noted, then read as what it seems to be."""
    if raw.startswith(codecs.BOM_UTF8):
        raw = raw[len(codecs.BOM_UTF8) :]
    guess = _other_encoding(raw)
    place = None if guess else _first_invalid(raw)
    if guess is None and place is None:
        return raw
    guess = guess or "cp1252"
    row = None if place is None else raw.count(b"\n", 0, place) + 1
    name = {"cp1252": "Windows-1252 or Latin-1"}.get(guess, guess.upper())
    remedy = f"In a spreadsheet, save it as 'CSV UTF-8'; or run iconv -f {guess.upper()} -t UTF-8."
    findings.add("file-encoding", file, row=row, what=f"The file is not UTF-8; it seems to be {name}.", remedy=remedy)
    return raw.decode(guess, errors="replace").lstrip("\ufeff").encode()


def _other_encoding(raw: bytes) -> str | None:
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    # Without a mark, every other byte of Latin text in UTF-16 is zero.
    head = raw[:1000]
    if head.count(0) * 3 > len(head):
        return "utf-16-le" if head[1:2] == b"\0" else "utf-16-be"
    return None


def _first_invalid(raw: bytes) -> int | None:
    """Where the content stops being UTF-8; in pieces, so that a large file is not held twice."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(raw), CHUNK):
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(raw[start : start + CHUNK], final=start + CHUNK >= len(raw))
        except UnicodeDecodeError as error:
            return start - pending + error.start
    return None


def _bad_quote(source: Source, body: bytes) -> int:
    """The line on which the first row with senseless quotation marks begins; slow, so only asked if there is one."""
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
    # The header may itself go over several lines, in quotes; the csv module takes as many as it needs.
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
    return False


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
    """The records of another width, and which, of a file with cells over several lines; none if they are not meant."""
    records = csv.reader(io.StringIO(body.decode(), newline=""), delimiter=source.separator)
    widths = [len(row) for row in records]
    if len(widths) != height + 1:
        # Two readers disagree where a cell ends, so rows may be hidden in one.
        findings.add("file-quotes", source.name, row=skipped + _bad_quote(source, body))
        return None
    findings.add("file-multiline", source.name, what=f"{num_lines - height - 1:,} lines continue a cell.")
    return [(place, found) for place, found in enumerate(widths) if found not in (0, width)]


def _uneven_lines(lines: pl.Series, separator: str, width: int) -> list[tuple[int, int]]:
    """The lines of another width, and which. A separator in quotes is none, so the suspects are cut properly."""
    suspects = (lines.str.count_matches(separator, literal=True) != width - 1).arg_true()
    texts = lines.gather(suspects).str.replace_all("\r", " ", literal=True).to_list()
    widths = [len(row) for row in csv.reader(texts, delimiter=separator)]
    # A blank line is a row of empty cells to a spreadsheet, and is noted as an empty id.
    return [(place, found) for place, found in zip(suspects, widths, strict=True) if found not in (0, width)]


def _note_stray_quotes(source: Source, lines: pl.Series, skipped: int, findings: Findings) -> None:
    """Note the first line with a quotation mark inside a cell that does not begin with one; readers differ about it."""
    quoted = lines.str.contains('"', literal=True).arg_true()
    separator = re.escape(source.separator)
    cell = rf'(?:"(?:[^"]|"")*"|[^"{separator}]*)'
    stray = ~lines.gather(quoted).str.contains(rf"^{cell}(?:{separator}{cell})*$")
    if stray.any():
        findings.add("file-quotes", source.name, row=skipped + 1 + quoted.filter(stray)[0], count=int(stray.sum()))


def _note_ragged(file: str, ragged: list[tuple[int, int]], width: int, skipped: int, findings: Findings) -> None:
    """Note rows with too few or too many cells, which the reader fills up and cuts off."""
    what = f"The row has not as many cells as the header, which has {width}."
    for number, (place, found) in enumerate(ragged[:MOST_SHOWN]):
        rest = max(0, len(ragged) - MOST_SHOWN) if number == 0 else 0
        hint = f"has {found} cells"
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
