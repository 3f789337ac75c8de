"""Text files that no one meant to write, and cells of them."""

import re
from typing import NamedTuple

from tests.programme.cases import CALLS
from tests.programme.mending import Step, again, change, put, set_in
from tests.programme.small import ENGAGEMENT


class Odd(NamedTuple):
    """A file, what must be said of it (nothing, if it can be read), and what the remedy says to do."""

    name: str
    spoil: Step
    kind: str | None = None
    row: int | None = None
    column: str | None = None
    says: str = ""
    mend: tuple[Step, ...] = ()


def text(name: str, old: str, new: str, kind: str | None = None, column: str | None = None, says: str = "") -> Odd:
    """A cell of the row of 0003, mended to what it was."""
    row = None if kind is None else 5
    return Odd(name, change(CALLS, old, new), kind, row, column, says, (change(CALLS, new, old),))


def whole(name: str, content: str | bytes, kind: str | None = None, row: int | None = None, says: str = "") -> Odd:
    """Another file altogether, exported again as it should be."""
    return Odd(name, put(CALLS, content), kind, row, None, says, (again(CALLS),))


def seconds(name: str, cell: str, says: str = "35") -> Odd:
    return text(
        f"seconds: {name}", "0003,2024-01-04,yes,30", f"0003,2024-01-04,yes,{cell}", "seconds-invalid", "seconds", says
    )


def when(name: str, cell: str, kind: str = "date-invalid", says: str = "2024-01-31") -> Odd:
    return text(f"date: {name}", "0003,2024-01-04", f"0003,{cell}", kind, "date", says)


def identity(name: str, cell: str, kind: str = "id-unknown", says: str = "") -> Odd:
    return text(f"id: {name}", "0003,2024-01-04", f"{cell},2024-01-04", kind, "id", says)


E = ENGAGEMENT
HEADER, ROWS = E.split("\n", 1)
CSV = [
    whole("mixed line ends", E.replace("\n", "\r\n", 4)),
    whole("line ends doubled by a transfer", E.replace("\n", "\r\r\n")),
    whole("a separator after every cell", E.replace("\n", ",\n")),
    whole(
        "a second column in other capitals",
        "\n".join(f"{line},{'Date' * (not n)}" for n, line in enumerate(E.splitlines())) + "\n",
    ),
    whole(
        "a note of five million letters",
        "\n".join(f"{line},{'x' * 5_000_000 if n == 1 else ''}" for n, line in enumerate(E.splitlines())) + "\n",
    ),
    whole("twenty thousand columns", "\n".join(line + "," * 20_000 for line in E.splitlines()) + "\n"),
    text("hard spaces around a number", "yes,30", "yes,\u00a030\u00a0"),
    text("a number with an exponent", "yes,30", "yes,3.0E+01"),
    text("quoted blanks for empty", "0002,2024-01-02,no,", '0002,2024-01-02,no,"  "'),
    whole("zeros after the end", E.encode() + bytes(50), "file-ragged", 11, "copy it again"),
    whole("a mark of the end of file", E + "\x1a", "file-ragged", 11, "copy it again"),
    whole("a byte-order mark in the middle", E + "\ufeff" + ROWS, "id-characters", 11, "Type it again"),
    whole("the header again in the middle", E + E, "id-unknown", 11, "delete the row"),
    whole("a row of totals", E + "Total,,,184\n", "id-unknown", 11, "delete the row"),
    whole("a row of totals without cells", E + "Total calls: 9\n", "file-ragged", 11),
    whole(
        "a separator after every row",
        f"{HEADER}\n" + ROWS.replace("\n", ",\n"),
        "file-ragged",
        2,
        "remove separators at the end",
    ),
    whole("a second table below", E + "\nname,phone\nAsha,12345\n", "file-ragged", 12),
    whole("blank lines between rows", E.replace("\n", "\n\n"), "id-empty", 2, "Delete"),
    whole("spaces before quotation marks", re.sub(r"([^,\n]+)", r' "\1"', E), "file-quotes", 1),
    whole("every line quoted as a whole", re.sub(r"^(.+)$", r'"\1"', E, flags=re.M), "file-quotes", 1, "at both ends"),
    whole("an open quotation mark at the end", E.rstrip("\n")[:-1] + '"5', "file-quotes", 10),
    whole("nothing but quotation marks", '"' * 1001, "file-quotes", 1),
    whole("columns of spaces", E.replace(",", "   "), "file-separator", 1, "commas, semicolons or tabs"),
    whole("JSON", '[{"id": "0001", "date": "2024-01-01"}]', "file-kind", None, "as CSV"),
    whole("lines of JSON", '{"id": "0001"}\n{"id": "0002"}\n', "file-kind", None, "as CSV"),
    whole("a header of ids alone", "id\n0001\n0002\n", "column-missing"),
    whole("an id column twice", E.replace("id,date", "id,id"), "column-duplicate", 1),
    Odd(
        "UTF-32",
        put(CALLS, E.encode("utf-32")),
        "file-encoding",
        None,
        None,
        'encoding = "utf-32"',
        (set_in("engagement", 'encoding = "utf-32"'),),
    ),
    Odd(
        "a line that names the separator",
        put(CALLS, "sep=,\n" + E),
        "header-below",
        2,
        None,
        "Delete row 1,",
        (change(CALLS, "sep=,\n", ""),),
    ),
    Odd(
        "a comment above",
        put(CALLS, "# exported on 2024-01-20\n\n" + E),
        "header-below",
        3,
        None,
        "Delete rows 1 to 2",
        (change(CALLS, "# exported on 2024-01-20\n\n", ""),),
    ),
    Odd(
        "a hard space in the header",
        change(CALLS, "seconds", "seconds\u00a0"),
        "column-missing",
        None,
        "seconds",
        "make spaces",
        (change(CALLS, "seconds\u00a0", "seconds"),),
    ),
    Odd(
        "an unseen character in the header",
        change(CALLS, "seconds", "\u200bseconds"),
        "column-missing",
        None,
        "seconds",
        "Did you mean",
        (change(CALLS, "\u200bseconds", "seconds"),),
    ),
    Odd(
        "a tab in the header",
        change(CALLS, "id,date", "id\t,date"),
        "column-missing",
        None,
        "id",
        "make spaces",
        (change(CALLS, "id\t,", "id,"),),
    ),
]
CELLS = [
    seconds("NUL inside", "3\x000"),
    seconds("percent", "45%"),
    seconds("currency", "₹45"),
    seconds("unit", "45 sec"),
    seconds("half", "½"),
    seconds("minus sign of print", "−45"),
    seconds("about", "~45"),
    seconds("range", "40-50"),
    seconds("formula", "=40+5"),
    seconds("thin space between thousands", "1\u202f234", "1234"),
    seconds("Arabic digits", "٤٥", "45"),
    seconds("full-width digits", "４５", "45"),
    seconds("hexadecimal", "0x2D"),
    seconds("underscore", "1_234", "1234"),
    text(
        "connected: a line end inside",
        "2024-01-04,yes",
        "2024-01-04,ye\rs",
        "connected-unknown",
        "connected",
        "Write yes or no",
    ),
    when("Arabic digits", "٢٠٢٤-٠١-٠٤"),
    when("week of the year", "2024-W01-4"),
    when("seconds since 1970", "1704326400"),
    when("day of the week", "Thu 04 Jan 2024"),
    when("another language", "4 janvier 2024"),
    when("no day", "January 2024"),
    when("29 February of a common year", "2023-02-29"),
    when("hour 24", "04.01.2024 24:00", "date-ambiguous"),
    when("blank", '"  "', "date-empty", "Correct the cell"),
    identity("full-width digits", "０００３", says="seems to be '0003'"),
    identity("a letter for a zero", "O003"),
    identity("apostrophe of a spreadsheet", "'0003", says="seems to be '0003'"),
    identity("a million digits", "3" * 1_000_000),
    identity("misread encoding", "Ã©3"),
    identity("soft hyphen", "00\u00ad03", "id-characters", "Type it again"),
    identity("mark of right to left", "\u200f0003", "id-characters", "Type it again"),
    identity("formula that keeps zeros", '"=""0003"""', says="seems to be '0003'"),
    identity("blank in quotes", '"   "', "id-empty", "Fill it in"),
]
