"""The parts of a study while it goes on: one JSON file each, in ``results/unfinished/<study>/``.

A part is what one job leaves: what made it, and its rows as plain columns. Writing one needs no Polars, so that the
machine that trains need not have it; ``reproduction.results`` reads parts and joins them into the study's Parquet file.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from armwise.errors import InvalidInputError
from armwise.io.writing import write_file

UNFINISHED = "unfinished"


def unfinished(results: Path, study: str) -> Path:
    """The folder of a study's parts, and of checkpoints on the way to them."""
    return results / UNFINISHED / study


def write_part(
    results: Path, study: str, name: str, page: Mapping[str, Any], tables: Mapping[str, Sequence[Any]]
) -> Path:
    """Write a part, whole or not at all.

    Args:
        results: the folder of all results.
        study: which of ``reproduction.results.STUDIES``.
        name: of the part; one of the same name is replaced.
        page: what holds for all of its rows: labels, sizes, what made them, and how it was asked for (``asked``).
        tables: rows by the name of their table, all fields annotated; columns that the page has are left out.
    """
    if not all(tables.values()):
        raise InvalidInputError(f"There are no rows to write to {name}.")
    columns = {table: _columns(rows, page) for table, rows in tables.items()}
    path = unfinished(results, study) / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, json.dumps({"name": name, **page, "tables": columns}, ensure_ascii=False) + "\n")
    return path


def read_part(path: Path) -> dict[str, Any]:
    """What ``write_part`` wrote."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{path} cannot be read: {error}. Delete it to run the job anew.") from error


def find_part(results: Path, study: str, name: str) -> tuple[Path, dict[str, Any]] | None:
    """Where a finished part lies and how it was asked for; None where it was not run."""
    path = unfinished(results, study) / f"{name}.json"
    if path.exists():
        return path, read_part(path)["asked"]
    joined = results / f"{study}.parquet"
    if not joined.exists():
        return None
    from reproduction.results import asked_for  # here: a machine without Polars has no Parquet file either

    asked = asked_for(joined, name)
    return None if asked is None else (joined, asked)


def _columns(rows: Sequence[Any], page: Mapping[str, Any]) -> dict[str, list[Any]]:
    names = [name for name in type(rows[0]).__annotations__ if name not in {*page, "hardware"}]
    return {name: [getattr(row, name) for row in rows] for name in names}
