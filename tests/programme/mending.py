"""Steps that spoil a programme and steps that mend it."""

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import NamedTuple

from tests.programme.cases import CALLS, TOML, VISITS, rows_of, workbook
from tests.programme.small import ENGAGEMENT, FILES

Step = Callable[[Path], None]


class Remedy(NamedTuple):
    """A finding and its cure.

    Attributes:
        kind: of the finding.
        says: what its remedy says, word for word.
        spoil: what is done to the valid programme.
        mend: what the remedy says to do, and nothing else.
    """

    kind: str
    says: str
    spoil: tuple[Step, ...]
    mend: tuple[Step, ...]


def change(file: str, old: str, new: str) -> Step:
    """One text of a file for another, wherever it stands."""

    def apply(folder: Path) -> None:
        text = (folder / file).read_bytes().decode()
        assert old in text, (file, old)
        (folder / file).write_bytes(text.replace(old, new).encode())

    return apply


def put(file: str, content: str | bytes) -> Step:
    """A file with this content."""
    raw = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / file).write_bytes(raw) and None


def again(file: str) -> Step:
    """The file exported again, as it should be."""
    return put(file, FILES[file])


def remove(file: str) -> Step:
    return lambda folder: (folder / file).unlink()


def rename(old: str, new: str) -> Step:
    return lambda folder: (folder / old).rename(folder / new) and None


def folder_in_place(folder: Path) -> None:
    (folder / CALLS).unlink()
    (folder / CALLS).mkdir()
    (folder / CALLS / "log.csv").write_text(ENGAGEMENT)


def link_to_itself(folder: Path) -> None:
    (folder / CALLS).unlink()
    (folder / CALLS).symlink_to(folder / CALLS)


def set_in(section: str, line: str) -> Step:
    """A line added to a section of programme.toml."""
    return change(TOML, f"[{section}]\n", f"[{section}]\n{line}\n")


def dates(file: str, form: str) -> Step:
    """All dates of a file in another form."""

    def apply(folder: Path) -> None:
        text = (folder / file).read_text()
        write = lambda found: date.fromisoformat(found[0]).strftime(form)  # noqa: E731
        (folder / file).write_text(re.sub(r"2024-\d\d-\d\d", write, text))

    return apply


def one(
    kind: str, says: str, file: str, old: str, new: str, mended: str | None = None, *, also: tuple[Step, ...] = ()
) -> Remedy:
    """One text spoilt, and mended in its place; by default as it was."""
    return Remedy(kind, says, (*also, change(file, old, new)), (change(file, new, old if mended is None else mended),))


def cell(kind: str, says: str, cells: str, mended: str) -> Remedy:
    """Connected and seconds of one row of the call log."""
    return one(kind, says, CALLS, "2024-01-04,yes,30", f"2024-01-04,{cells}", f"2024-01-04,{mended}")


XLSX = change(TOML, CALLS, "calls.xlsx")
WEEKS = (
    change(TOML, 'date = "date"', 'week = "date"'),
    change(TOML, "step_days = 7\nplan_date = 2024-01-22", "plan_week = 3"),
    change(TOML, 'enrolled = "enrolled"\n', ""),
    put(CALLS, "id,date,connected,seconds\n0001,0,yes,45\n0002,1,yes,2\n0001,2,yes,5\n"),
    put(VISITS, "id,date,status\n0001,1,delivered\n"),
)
STATES = (
    change(TOML, 'seconds = "seconds"\nthresholds = [30]', 'state = "seconds"\nnum_states = 3'),
    put(CALLS, "id,date,connected,seconds\n0001,2024-01-01,yes,2\n0001,2024-01-08,yes,1\n"),
)
LOG = rows_of(ENGAGEMENT)


def write_workbook(rows: list[list[object]], *sheets: str) -> Step:
    """The call log as a workbook, to which programme.toml points."""
    make = workbook(rows, *sheets)

    def apply(folder: Path) -> None:
        XLSX(folder)
        make(folder / "calls.xlsx")

    return apply


def log_workbook(folder: Path) -> None:
    workbook(LOG)(folder / "calls.xlsx")


def empty_seconds(folder: Path) -> None:
    (folder / CALLS).write_text(re.sub(r"no,\d+", "no,", (folder / CALLS).read_text()))
