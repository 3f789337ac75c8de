"""What is wrong with a programme's files: every finding with its place, its value and its remedy."""

import hashlib
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from armwise.errors import ExitCode
from armwise.programme.finding_kinds import KINDS, Severity
from armwise.programme.settings import Source

# A million bad rows are one problem; the first few are enough to show it.
MOST_SHOWN = 3
# Unknown words are shown once each, and more of them, because programme.toml must list them.
MOST_WORDS = 12
LONGEST_VALUE = 60


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, and what to do about it.

    Attributes:
        kind: its name in ``docs/data-format.md``.
        severity: an error stops everything; a stop can be overruled by a flag; a warning is only shown.
        file: the file as ``programme.toml`` names it.
        row: the row's number in a spreadsheet, where the header is row 1; none if the whole file is meant.
        column: the column; for ``programme.toml``, the key.
        value: the wrong cell, shortened; never another cell of the same person.
        person: the id in that row.
        what: the problem in a sentence.
        remedy: what to do.
        hint: a detail of this row, in a few words.
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
    hint: str | None = None

    def __str__(self) -> str:
        """The finding on one line: place, person, problem, value, remedy."""
        place = [self.file]
        place += [] if self.row is None else [f"row {self.row}"]
        place += [] if self.column is None else [f"column {self.column!r}"]
        place += [] if self.person is None else [f"id {self.person!r}"]
        value = "" if self.value is None else f" It is {self.value!r}."
        hint = "" if self.hint is None else f" It {self.hint}."
        return f"{', '.join(place)}: {self.what}{value}{hint} {self.remedy}"

    def as_example(self) -> str:
        """Row, value and hint, for a line that shows several findings."""
        parts = [f"row {self.row}", *([] if self.value is None else [repr(self.value)])]
        return " ".join(parts) + ("" if self.hint is None else f", which {self.hint}")


@dataclass(frozen=True)
class Total:
    """How often one problem occurred in one column of one file. Findings with the same words are its examples."""

    kind: str
    severity: Severity
    file: str
    column: str | None
    what: str
    remedy: str
    count: int


@dataclass(frozen=True)
class Report:
    """Everything that is wrong with the files: each problem once, with its count and a few findings as examples."""

    findings: tuple[Finding, ...]
    totals: tuple[Total, ...]

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of the command line for this report."""
        severities = {finding.severity for finding in self.findings}
        if Severity.ERROR in severities:
            return ExitCode.INVALID_INPUT
        return ExitCode.OUTAGE if Severity.STOP in severities else ExitCode.OK

    def __str__(self) -> str:
        """The report with one line for each problem."""
        return "\n".join(line for _, line in self.lines())

    def lines(self) -> list[tuple[Severity, str]]:
        """A line for each problem, errors first: place, problem, count, examples, remedy."""
        examples: dict[tuple[str | None, ...], list[Finding]] = {}
        for finding in self.findings:
            examples.setdefault(_problem(finding), []).append(finding)
        return [(total.severity, _line(total, examples[_problem(total)])) for total in self.totals]

    def count_by_severity(self) -> dict[str, int]:
        """How many findings of each severity there are, shown or not."""
        counts = {str(severity): 0 for severity in Severity}
        for total in self.totals:
            counts[total.severity] += total.count
        return counts

    def as_dict(self) -> dict[str, Any]:
        """The report as a dictionary for JSON."""
        return {
            "exit_code": int(self.exit_code),
            "findings": [asdict(finding) for finding in self.findings],
            "totals": [asdict(total) for total in self.totals],
        }


def _problem(each: Finding | Total) -> tuple[str | None, ...]:
    """The key of a problem. Findings with the same key are shown on one line."""
    return each.kind, each.file, each.column, each.what, each.remedy


def _line(total: Total, examples: list[Finding]) -> str:
    if total.count == 1:
        return str(examples[0])
    place = total.file if total.column is None else f"{total.file}, column {total.column!r}"
    shown = [each.as_example() for each in examples if each.row is not None]
    rest = total.count - len(shown)
    listed = "; ".join(shown) + (f"; and {rest:,} more" if shown and rest else "")
    return f"{place}: {total.what} {total.count:,} rows{': ' * bool(shown)}{listed}. {total.remedy}"


@dataclass(frozen=True)
class Table:
    """A table as text, with the file's own column names and the row numbers that findings show.

    Attributes:
        source: where the table is, and how its cells are written.
        frame: every column as text; null where a cell is empty.
        rows: the numbers of the rows, as a spreadsheet shows them.
        id_column: the column that holds the ids.
        complete: whether every row could be read. If not, a value that seems missing may be in an unread row.
    """

    source: Source
    frame: pl.DataFrame
    rows: pl.Series
    id_column: str
    complete: bool = True

    @property
    def file(self) -> str:
        """The file as ``programme.toml`` names it."""
        return self.source.name

    def __getitem__(self, column: str) -> pl.Series:
        """The column of this name."""
        return self.frame[column]


class Findings:
    """Collects findings while files are read. Reading goes on after a finding, so that one run finds all problems."""

    def __init__(self) -> None:
        self._shown: list[Finding] = []
        self._counts: Counter[tuple[str | None, ...]] = Counter()
        self.hashes: dict[Path, str] = {}

    def note_content(self, path: Path, content: bytes) -> bool:
        """Keep the SHA-256 of a file as it was read, to record what a result was made from.

        Returns:
            False if the file was read before, for another table, and has changed since; otherwise true.
        """
        sha256 = hashlib.sha256(content).hexdigest()
        return self.hashes.setdefault(path, sha256) == sha256

    def add(
        self,
        kind: str,
        file: str,
        *,
        row: int | None = None,
        column: str | None = None,
        value: object = None,
        person: str | None = None,
        hint: str | None = None,
        what: str | None = None,
        remedy: str | None = None,
        count: int = 1,
    ) -> None:
        """Note one finding, in the words of its kind unless others are given."""
        known = KINDS[kind]
        finding = Finding(
            kind=kind,
            severity=known.severity,
            file=file,
            row=row,
            column=column,
            value=None if value is None else shorten(str(value)),
            person=None if person is None else shorten(person),
            what=known.what if what is None else what,
            remedy=known.remedy if remedy is None else remedy,
            hint=hint,
        )
        self._shown.append(finding)
        self._counts[_problem(finding)] += count

    def rows(
        self,
        kind: str,
        table: Table,
        column: str,
        bad: pl.Series,
        *,
        what: str | None = None,
        remedy: str | None = None,
        once_per_value: bool = False,
    ) -> None:
        """Note every row marked in ``bad`` (null is no mark). The first few, or the first of each value, are shown."""
        places = bad.arg_true()
        if not len(places):
            return
        values = table[column].gather(places)
        shown = (
            places.filter(values.is_first_distinct()).head(MOST_WORDS) if once_per_value else places.head(MOST_SHOWN)
        )
        words = {"column": column, "what": what, "remedy": remedy}
        for number, place in enumerate(shown.to_list()):
            person = None if column == table.id_column else table[table.id_column][place]
            row, value = table.rows[place], table[column][place]
            count = len(places) - len(shown) + 1 if number == 0 else 1
            self.add(kind, table.file, row=row, value=value, person=person, count=count, **words)

    def report(self) -> Report:
        """The report of what was found so far: errors first, otherwise in the order in which it was found."""
        order = {severity: rank for rank, severity in enumerate(Severity)}
        ordered = sorted(self._shown, key=lambda finding: order[finding.severity])
        firsts = {_problem(finding): finding for finding in reversed(ordered)}
        totals = [
            Total(each.kind, each.severity, each.file, each.column, each.what, each.remedy, self._counts[problem])
            for problem, each in reversed(firsts.items())
        ]
        return Report(tuple(ordered), tuple(totals))

    @property
    def any_errors(self) -> bool:
        """Whether anything found so far makes the files unusable."""
        return any(finding.severity is Severity.ERROR for finding in self._shown)


def shorten(value: str) -> str:
    """The beginning of a long value: a missing quotation mark can put the rest of the file into one cell."""
    return value if len(value) <= LONGEST_VALUE else value[:LONGEST_VALUE] + "…"
