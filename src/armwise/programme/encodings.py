"""Convert a text file to UTF-8 by the encoding that programme.toml names. If it is wrong, say which one to name."""

import codecs

from armwise.programme.findings import Findings
from armwise.programme.settings import Source

# Each encoding as programme.toml names it, and as Python names it.
ENCODINGS = {
    "utf-8": "utf-8",
    "utf-16": "utf-16",
    "utf-32": "utf-32",
    "windows-1252": "cp1252",
    "windows-1250": "cp1250",
    "windows-1251": "cp1251",
    "windows-1256": "cp1256",
    "latin-1": "latin-1",
    "iso-8859-15": "iso-8859-15",
    "macintosh": "mac-roman",
}
NAMES = {python: written for written, python in ENCODINGS.items()}
CHUNK = 1 << 24
SAVE_AS = "In a spreadsheet, save it as 'CSV UTF-8'"


def as_utf8(source: Source, raw: bytes, findings: Findings) -> bytes:
    """The content as UTF-8 without a byte order mark. A wrong encoding is noted; the most likely one is then used."""
    marked = raw.startswith(codecs.BOM_UTF8)
    raw = raw.removeprefix(codecs.BOM_UTF8)
    if source.encoding == "utf-8":
        return _from_utf8(source, raw, findings)
    told_apart = source.encoding in ("utf-16", "utf-32") or marked or not raw.isascii()
    if told_apart and _wide(raw) is None and _first_invalid(raw) is None:
        # Text in another encoding is almost never valid UTF-8 by chance.
        remedy = f"Remove 'encoding' from [{source.section}]."
        findings.add("file-encoding", source.name, what="The file is UTF-8 already.", remedy=remedy)
        return raw
    return _from_other(source, raw, findings)


def _from_other(source: Source, raw: bytes, findings: Findings) -> bytes:
    encoding = (_wide(raw) or "utf-16") if source.encoding == "utf-16" else source.encoding
    try:
        return raw.decode(encoding).lstrip("\ufeff").encode()
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
        row = raw.count(b"\n", 0, start) + 1
        what = f"The file is not {NAMES[source.encoding]}."
        remedy = f"{SAVE_AS} and remove 'encoding' from [{source.section}]."
        findings.add("file-encoding", source.name, row=row, what=what, remedy=remedy)
        return raw.decode(encoding, errors="replace").encode()


def _from_utf8(source: Source, raw: bytes, findings: Findings) -> bytes:
    wide = _wide(raw)
    place = None if wide else _first_invalid(raw)
    if wide is None and place is None:
        return raw
    row = None if place is None else raw.count(b"\n", 0, place) + 1
    if place is not None and _is_damaged(raw):
        remedy = "Type the letters of the row again, or export or copy the file again."
        findings.add("file-encoding", source.name, row=row, what="A few bytes are not UTF-8.", remedy=remedy)
        return raw.decode("utf-8", errors="replace").encode()
    guess = wide or _eight_bit(raw)
    name = guess[:6] if wide else NAMES[guess]
    what = f"The file is not UTF-8; it seems to be {name.upper() if wide else 'Windows-1252 or Latin-1'}."
    remedy = (
        f'Add encoding = "{name}" to [{source.section}], if that is what it is; otherwise one of '
        f"{', '.join(ENCODINGS)}. Or: {SAVE_AS[0].lower()}{SAVE_AS[1:]}, or run iconv -f {guess.upper()} -t UTF-8."
    )
    findings.add("file-encoding", source.name, row=row, what=what, remedy=remedy)
    return raw.decode(guess, errors="replace").lstrip("\ufeff").encode()


def _eight_bit(raw: bytes) -> str:
    """Windows-1252, or Latin-1 if the content has one of the five bytes that Windows-1252 does not define."""
    return "latin-1" if any(byte in raw for byte in (b"\x81", b"\x8d", b"\x8f", b"\x90", b"\x9d")) else "cp1252"


def _is_damaged(raw: bytes) -> bool:
    """Whether the content is damaged UTF-8: it has more valid letters outside ASCII than invalid bytes."""
    text = raw.decode("utf-8", errors="replace")
    broken = text.count("\ufffd")
    return sum(not each.isascii() for each in text) - broken > broken


def _wide(raw: bytes) -> str | None:
    """Which form of UTF-16 or UTF-32 the content has; none if neither."""
    if raw.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    # Without a mark, every other byte of Latin text in UTF-16 is zero.
    head = raw[:1000]
    if head.count(0) * 3 > len(head):
        return "utf-16-le" if head[1:2] == b"\0" else "utf-16-be"
    return None


def _first_invalid(raw: bytes) -> int | None:
    """The first byte that is not valid UTF-8. The content is decoded in pieces, to save memory for a large file."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(raw), CHUNK):
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(raw[start : start + CHUNK], final=start + CHUNK >= len(raw))
        except UnicodeDecodeError as error:
            return start - pending + error.start
    return None
