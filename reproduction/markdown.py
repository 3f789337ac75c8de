"""Results as CSV files and as tables of a page."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

Row = dict[str, object]


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write one line per row, with the first row's columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read_rows(path: Path) -> list[dict[str, str]]:
    """The lines of a CSV file, each a mapping from column to text."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def markdown(header: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """A table of a page: the first column is text, the others are numbers."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(map(str, cells)) + " |" for cells in (header, rule, *lines))
