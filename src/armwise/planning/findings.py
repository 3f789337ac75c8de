"""What is wrong with a programme's files: every finding with its place, its value and its remedy, however many."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from armwise.errors import ExitCode
from armwise.planning.kinds import KINDS, Severity

# A million bad rows are one problem; the first few show what it is.
MOST_SHOWN = 20
LONGEST_VALUE = 60


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, and what to do about it.

    Attributes:
        kind: its name in ``docs/data-format.md``.
        severity: an error stops everything; a stop is lifted by a flag; a warning is only said.
        file: as ``programme.toml`` names it.
        row: as a spreadsheet numbers it, the header being row 1; none if the whole file is meant.
        column: or the key, in ``programme.toml``.
        value: the offending cell, shortened; never another cell of the same person.
        person: the id in that row.
        what: the problem in a sentence.
        remedy: what to do.
    """

    kind: str
    severity: Severity
    file: str
    row: int | None
    column: str | None
    value: str | None
    person: str | None
    what: str
    remedy: str

    def __str__(self) -> str:
        """The finding on one line: place, person, problem, value, remedy."""
        place = [self.file]
        place += [] if self.row is None else [f"row {self.row}"]
        place += [] if self.column is None else [f"column {self.column!r}"]
        place += [] if self.person is None else [f"id {self.person!r}"]
        value = "" if self.value is None else f" It is {self.value!r}."
        return f"{', '.join(place)}: {self.what}{value} {self.remedy}"


@dataclass(frozen=True)
class Total:
    """How often one kind of finding occurred in one column of one file, shown or not."""

    kind: str
    file: str
    column: str | None
    count: int


@dataclass(frozen=True)
class Report:
    """All findings of all files, at most ``MOST_SHOWN`` of a kind and column, and how many there are in truth."""

    findings: tuple[Finding, ...]
    totals: tuple[Total, ...]

    @property
    def exit_code(self) -> ExitCode:
        """What the command line returns for it."""
        severities = {finding.severity for finding in self.findings}
        if Severity.ERROR in severities:
            return ExitCode.INVALID_INPUT
        return ExitCode.OUTAGE if Severity.STOP in severities else ExitCode.OK

    def __str__(self) -> str:
        """One line a finding, and one for those of a kind that are not shown."""
        return "\n".join([str(finding) for finding in self.findings] + self.not_shown())

    def not_shown(self) -> list[str]:
        """A line for each kind of which not every occurrence is among the findings."""
        shown = Counter((finding.kind, finding.file, finding.column) for finding in self.findings)
        return [
            f"{total.file}, column {total.column!r}: {total.count - few:,} more of the kind {total.kind}."
            for total in self.totals
            if (few := shown[(total.kind, total.file, total.column)]) < total.count
        ]

    def count_by_severity(self) -> dict[str, int]:
        """How many findings of each severity there are, shown or not."""
        counts = {str(severity): 0 for severity in Severity}
        for total in self.totals:
            counts[KINDS[total.kind].severity] += total.count
        return counts

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "exit_code": int(self.exit_code),
            "findings": [asdict(finding) for finding in self.findings],
            "totals": [asdict(total) for total in self.totals],
        }


@dataclass(frozen=True)
class Table:
    """A table as text, under the file's own column names, with what a finding needs to name a place.

    Attributes:
        file: as ``programme.toml`` names it.
        frame: every column text; null where a cell is empty.
        rows: their numbers, as a spreadsheet shows them.
        id_column: which column holds the ids.
        complete: whether every row could be read; what is then absent may have been in one that could not.
    """

    file: str
    frame: pl.DataFrame
    rows: pl.Series
    id_column: str
    complete: bool = True

    def __getitem__(self, column: str) -> pl.Series:
        """A column."""
        return self.frame[column]


class Findings:
    """Collects findings while files are read; reading goes on, so that all are found at once."""

    def __init__(self) -> None:
        self._shown: list[Finding] = []
        self._totals: Counter[tuple[str, str, str | None]] = Counter()

    def add(
        self,
        kind: str,
        file: str,
        *,
        row: int | None = None,
        column: str | None = None,
        value: object = None,
        person: str | None = None,
        what: str | None = None,
        remedy: str | None = None,
        count: int = 1,
    ) -> None:
        """Note one finding, in the words of its kind unless others are given."""
        known = KINDS[kind]
        self._totals[(kind, file, column)] += count
        self._shown.append(
            Finding(
                kind=kind,
                severity=known.severity,
                file=file,
                row=row,
                column=column,
                value=None if value is None else shorten(str(value)),
                person=None if person is None else shorten(person),
                what=known.what if what is None else what,
                remedy=known.remedy if remedy is None else remedy,
            )
        )

    def rows(
        self,
        kind: str,
        table: Table,
        column: str,
        bad: pl.Series,
        *,
        remedy: str | None = None,
        once_per_value: bool = False,
    ) -> None:
        """Note every row marked in ``bad`` (a null is no mark); the first few, or the first of each value, in full."""
        places = bad.arg_true()
        if not len(places):
            return
        values = table[column].gather(places)
        shown = places.filter(values.is_first_distinct()) if once_per_value else places
        for place in shown.head(MOST_SHOWN).to_list():
            person = None if column == table.id_column else table[table.id_column][place]
            row, value = table.rows[place], table[column][place]
            self.add(kind, table.file, row=row, column=column, value=value, person=person, remedy=remedy)
        self._totals[(kind, table.file, column)] += len(places) - min(len(shown), MOST_SHOWN)

    def report(self) -> Report:
        """What was found so far, errors first, otherwise in the order of the files and rows."""
        order = {severity: rank for rank, severity in enumerate(Severity)}
        ordered = sorted(self._shown, key=lambda finding: order[finding.severity])
        return Report(tuple(ordered), tuple(Total(*key, count) for key, count in self._totals.items()))

    @property
    def any_errors(self) -> bool:
        """Whether anything found so far makes the files unusable."""
        return any(finding.severity is Severity.ERROR for finding in self._shown)


def shorten(value: str) -> str:
    """The beginning of a long value; a cell that swallowed the rest of its file must not be printed whole."""
    return value if len(value) <= LONGEST_VALUE else value[:LONGEST_VALUE] + "…"
