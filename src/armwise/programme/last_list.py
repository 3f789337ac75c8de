"""Check that the outcomes of the last list have been entered. Without them, the next list names the same people."""

import dataclasses
import hashlib
import io
import json
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import fastexcel
import polars as pl

from armwise.io.spreadsheets import safe_text
from armwise.programme.findings import Findings, Report
from armwise.programme.records import Records
from armwise.programme.steps import EPOCH, Calendar

LIST_WITHOUT_OUTCOMES = "list-without-outcomes"
# The names of call lists in the folder of programme.toml.
LISTS = ("call-list*.csv", "call-list*.xlsx", "call-list*.parquet")
LARGEST_MANIFEST = 2**20
MANIFEST_FORMAT = "armwise-plan"
MANIFESTS = "manifests"


class LastList(NamedTuple):
    """The list of an earlier step.

    Attributes:
        step: the step that it was made for, in words.
        start: the first day of that step, or its number.
        num_calls: people on the list.
        sha256: the hash of the list.
        ids: the ids on the list; none if the list is no longer in the folder of programme.toml.
    """

    step: str
    start: int
    num_calls: int
    sha256: str
    ids: frozenset[str] | None


def note_missing_outcomes(
    folder: Path, people: pl.Series, interventions: Records, calendar: Calendar, findings: Findings
) -> frozenset[str]:
    """Warn if most people on the last list have no row in the table of interventions since then, delivered or not.

    Args:
        folder: the folder of programme.toml, with the lists and their manifests.
        people: the ids of all beneficiaries.
        interventions: every row of the table.
        calendar: the calendar of the plan.
        findings: where the warning is noted.

    Returns:
        The people on the last list without such a row. Empty if there is no warning, or if the list is gone.
    """
    last = find_last_list(folder, calendar)
    if last is None:
        return frozenset()
    rows = interventions.rows.filter(pl.col("when") >= last.start)["person"].drop_nulls().unique()
    called = people.gather(rows).to_list()
    # Lists hold ids in the form that is safe to open in a spreadsheet.
    lacking = frozenset() if last.ids is None else last.ids - {safe_text(each) for each in called} - set(called)
    number = max(0, last.num_calls - len(called)) if last.ids is None else len(lacking)
    if 2 * number <= last.num_calls:
        return frozenset()
    table = interventions.table.file
    what = f"Of {last.num_calls:,} people on the list of {last.step}, {number:,} have no row in {table} since then."
    findings.add(LIST_WITHOUT_OUTCOMES, table, column=interventions.when_column, what=what)
    return lacking


def add_repeats(report: Report, lacking: frozenset[str], calls: pl.DataFrame) -> Report:
    """Add to the report's warning how many of the people without an outcome are on the new list again."""
    again = sum(each in lacking or safe_text(each) in lacking for each in calls["id"])
    if not again:
        return report
    words = f" {again:,} of them {'are' if again > 1 else 'is'} on the new list again."
    found = [
        dataclasses.replace(each, what=each.what + words) if each.kind == LIST_WITHOUT_OUTCOMES else each
        for each in report.findings
    ]
    return dataclasses.replace(report, findings=tuple(found))


def find_last_list(folder: Path, calendar: Calendar) -> LastList | None:
    """The newest list of a step before the planned one, by the manifests. A list that still exists is preferred."""
    planned = calendar.origin + calendar.num_steps * calendar.step_days
    lists = [each for each in _read_manifests(folder / MANIFESTS, calendar.by_week) if each.start < planned]
    if not lists:
        return None
    newest = max(each.start for each in lists)
    lists = [each._replace(ids=None) for each in lists if each.start == newest]
    files = dict(_read_lists(folder, {each.sha256 for each in lists}))
    return max(
        (each._replace(ids=files.get(each.sha256)) for each in lists),
        key=lambda each: (each.ids is not None, each.num_calls, each.sha256),
    )


def _read_manifests(folder: Path, by_week: bool) -> Iterator[LastList]:
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else []:
        # Files that are not manifests are ignored; --verify reports damaged ones.
        try:
            content = path.read_bytes() if path.is_file() and path.stat().st_size <= LARGEST_MANIFEST else b""
            page = json.loads(content)
        except (OSError, ValueError, RecursionError):
            continue
        last = _as_list(page, by_week)
        if last is not None:
            yield last


def _as_list(page: Any, by_week: bool) -> LastList | None:
    if not isinstance(page, dict) or page.get("format") != MANIFEST_FORMAT or not isinstance(page.get("summary"), dict):
        return None
    step, sha256, number = page.get("planned_step"), page.get("calls"), page["summary"].get("num_calls")
    if not isinstance(step, str) or not isinstance(sha256, str) or type(number) is not int:
        return None
    start = _start(step, by_week)
    return None if start is None else LastList(step, start, number, sha256, None)


def _start(step: str, by_week: bool) -> int | None:
    """The first day of a step, or its number, read from its words in a manifest (``Calendar.label``)."""
    found = re.fullmatch(r"week (\d{1,9})" if by_week else r"the step from (\d{4}-\d{2}-\d{2})", step)
    if found is None:
        return None
    try:
        return int(found[1]) if by_week else (date.fromisoformat(found[1]) - EPOCH).days
    except ValueError:  # no such day
        return None


def _read_lists(folder: Path, wanted: set[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """The hash and the ids of each wanted list in the folder of programme.toml."""
    for path in sorted(path for pattern in LISTS for path in folder.glob(pattern)):
        try:
            content = path.read_bytes() if path.is_file() else b""
        except OSError:  # treat an unreadable list as missing
            continue
        sha256 = hashlib.sha256(content).hexdigest()
        if sha256 in wanted:
            yield sha256, frozenset(_read_ids(path.suffix, content))


def _read_ids(suffix: str, content: bytes) -> list[str]:
    """The ids on a list. Its hash says that armwise wrote it, so it can be read."""
    if suffix == ".parquet":
        return pl.read_parquet(io.BytesIO(content), columns=["id"])["id"].to_list()
    if suffix == ".xlsx":
        return fastexcel.read_excel(content).load_sheet(0, dtypes="string").to_polars()["id"].to_list()
    return pl.read_csv(content, infer_schema=False, columns=["id"])["id"].to_list()
