"""The table of beneficiaries: who they are, what is known about them, and who may not be called."""

import difflib
import json
import re
from dataclasses import dataclass

import polars as pl

from armwise.programme.cells import ERRORS, PLACEHOLDERS, check_ids, note_bad_numbers, to_numbers, to_steps_or_days
from armwise.programme.findings import Findings, Table
from armwise.programme.ids import note_similar
from armwise.programme.personal_columns import is_personal
from armwise.programme.settings import BeneficiariesTable, Budget, NeverCall, Rules, Time
from armwise.programme.table_file import read_table
from armwise.text import HIDDEN

# A column with more values than this is probably not a status, and its cells may be personal.
MOST_VALUES = 20
SIMILAR = 0.7


@dataclass(frozen=True, eq=False)
class People:
    """The beneficiaries in the order of their ids, one row each.

    Attributes:
        ids: text, distinct.
        features: numbers as Float64, categories as text; null where a cell is empty.
        enrolled: the day or step from which each person takes part; none if the programme does not say.
        left: the first day or step on which each person no longer takes part, null where that is not known; none if
            the programme does not say.
        groups: text; none if the programme has no groups.
        exclusions: why a person is never called; null for people who may be called.
        complete: whether every row of the table could be read.
    """

    ids: pl.Series
    features: pl.DataFrame
    enrolled: pl.Series | None
    left: pl.Series | None
    groups: pl.Series | None
    exclusions: pl.Series
    complete: bool


def read_people(
    section: BeneficiariesTable, time: Time, budget: Budget, rules: Rules, programme: str, findings: Findings
) -> People | None:
    """Read the people; none if the table is empty or unreadable. ``programme`` is the file name of programme.toml."""
    optional = [section.enrolled, section.left, budget.group, *(never.column for never in rules.never_call)]
    columns = (*section.numbers, *section.categories, *(name for name in optional if name))
    table = read_table(section.source, section.id, columns, findings)
    if table is None:
        return None
    if table.frame.height == 0:
        if table.complete:
            findings.add("table-empty", table.file)
        return None
    check_ids(table, findings)
    ids = table[section.id]
    findings.rows("id-duplicate", table, section.id, ids.is_not_null() & ids.is_duplicated() & ~ids.is_first_distinct())
    note_similar(table, findings)
    people = pl.DataFrame(
        [
            ids.alias("id"),
            *_features(table, section, findings),
            *read_dates(table, section, time, findings),
            *_groups(table, budget, programme, findings),
            read_exclusions(table, rules, programme, findings),
        ]
    )
    return _in_order(people, table.complete)


def _in_order(people: pl.DataFrame, complete: bool) -> People:
    people = people.filter(pl.col("id").is_not_null()).sort("id").unique("id", keep="first", maintain_order=True)
    features = [name for name in people.columns if name.startswith("feature ")]
    return People(
        people["id"],
        people.select(features).rename({name: name.removeprefix("feature ") for name in features}),
        people["enrolled"] if "enrolled" in people.columns else None,
        people["left"] if "left" in people.columns else None,
        people["group"] if "group" in people.columns else None,
        people["exclusion"],
        complete,
    )


def _features(table: Table, section: BeneficiariesTable, findings: Findings) -> list[pl.Series]:
    # The prefix keeps the programme's column names apart from ours.
    columns = []
    for name in section.numbers:
        if name in table.frame.columns:
            numbers = to_numbers(table[name], table.source)
            note_bad_numbers("feature-number", table, name, table[name].is_not_null() & numbers.is_null(), findings)
            columns.append(numbers.alias(f"feature {name}"))
    words = [name for name in section.categories if name in table.frame.columns and name not in section.numbers]
    for name in words:
        findings.rows("feature-error", table, name, table[name].str.contains(ERRORS), once_per_value=True)
    columns += [table[name].alias(f"feature {name}") for name in words]
    for column in columns:
        _note_useless(table, column, findings)
    return columns


def _note_useless(table: Table, column: pl.Series, findings: Findings) -> None:
    distinct, people = column.n_unique(), len(column)
    name = column.name.removeprefix("feature ")
    # Cells that could not be read become null and so look constant; they already have their own finding.
    all_read = column.null_count() == table[name].null_count()
    if distinct == 1 and people > 1 and all_read:
        findings.add("feature-constant", table.file, column=name)
    if is_personal(column):
        findings.add("feature-names", table.file, column=name)


def _groups(table: Table, budget: Budget, programme: str, findings: Findings) -> list[pl.Series]:
    if budget.group is None or budget.group not in table.frame.columns:
        return []
    groups, known = table[budget.group], [name for name, _ in budget.per_group]
    no_group = groups.is_null() | groups.str.contains(ERRORS)
    findings.rows("group-empty", table, budget.group, no_group)
    odd = [name for name in groups.drop_nulls().unique().to_list() if HIDDEN.search(name) or "\n" in name]
    findings.rows("group-characters", table, budget.group, groups.is_in(odd))
    if known:
        unknown = ~no_group & ~groups.is_in(known)
        findings.rows("group-without-budget", table, budget.group, unknown, once_per_value=True)
    present = set(groups.drop_nulls().unique().to_list())
    for name in known:
        if table.complete and name not in present:
            near = difflib.get_close_matches(name, sorted(present), 1)
            remedy = f"Did you mean {near[0]!r}?" if near else None
            findings.add("group-without-people", programme, column=f"budget.per_group.{name}", remedy=remedy)
    return [groups.alias("group")]


def read_dates(table: Table, section: BeneficiariesTable, time: Time, findings: Findings) -> list[pl.Series]:
    """The columns ``enrolled`` and ``left``, where the programme has them."""
    enrolled = _enrolled(table, section, time, findings)
    left = _left(table, section, enrolled, time, findings)
    return [dates.alias(name) for name, dates in (("enrolled", enrolled), ("left", left)) if dates is not None]


def _enrolled(table: Table, section: BeneficiariesTable, time: Time, findings: Findings) -> pl.Series | None:
    if section.enrolled is None or section.enrolled not in table.frame.columns:
        return None
    return to_steps_or_days(table, section.enrolled, time, findings)


def _left(
    table: Table, section: BeneficiariesTable, enrolled: pl.Series | None, time: Time, findings: Findings
) -> pl.Series | None:
    """When each person leaves: the date in the table, or the end of the programme's length if that is earlier."""
    ends = []
    if section.left is not None and section.left in table.frame.columns:
        left = _optional_dates(table, section.left, time, findings)
        if enrolled is not None:
            findings.rows("left-before-enrolment", table, section.left, left < enrolled)
        ends.append(left)
    if section.length is not None and enrolled is not None:
        ends.append(enrolled + section.length * time.step_days)
    return pl.select(pl.min_horizontal(ends)).to_series() if ends else None


def _optional_dates(table: Table, column: str, time: Time, findings: Findings) -> pl.Series:
    """Read a column of dates, or steps, in which cells may be empty."""
    filled = table[column].is_not_null()
    rows = Table(table.source, table.frame.filter(filled), table.rows.filter(filled), table.id_column, table.complete)
    dates = to_steps_or_days(rows, column, time, findings)
    empty = pl.Series([None], dtype=dates.dtype).new_from_index(0, len(filled))
    return empty.scatter(filled.arg_true(), dates)


def read_exclusions(table: Table, rules: Rules, programme: str, findings: Findings) -> pl.Series:
    """Why each person is never called, as column and value; null for people who may be called.

    Capitals and spaces around a value do not matter. A value that is in neither list is an error.
    """
    reasons = pl.Series("exclusion", [None] * table.frame.height, dtype=pl.String)
    for never in rules.never_call:
        if never.column not in table.frame.columns:
            continue
        words = _words(table[never.column])
        allowed = _propose(words, never, programme, findings) if never.allowed is None else never.allowed
        _note_unlisted(table, never, words, allowed, findings)
        for value in never.values:
            hit = words == _plain(value)
            if table.complete and not hit.any():
                findings.add("never-call-unused", programme, column=f"rules.never_call.{never.column}", value=value)
            reasons = reasons.set(hit & reasons.is_null(), f"{never.column}: {value or 'empty'}")
    return reasons


def _words(cells: pl.Series) -> pl.Series:
    return cells.fill_null("").str.strip_chars().str.to_lowercase()


def _plain(value: str) -> str:
    return value.strip().lower()


def _note_unlisted(
    table: Table, never: NeverCall, words: pl.Series, allowed: tuple[str, ...], findings: Findings
) -> None:
    unlisted = ~words.is_in([_plain(value) for value in (*never.values, *allowed)])
    findings.rows("never-call-empty", table, never.column, unlisted & (words == ""))
    findings.rows("never-call-unknown", table, never.column, unlisted & (words != ""))


def _propose(words: pl.Series, never: NeverCall, programme: str, findings: Findings) -> tuple[str, ...]:
    """Note that the list of allowed values is missing, and propose the line to add; return the values in that line.

    Empty values, and values that look like a misspelt value of never_call, are not proposed. They are noted by row.
    """
    known = [_plain(value) for value in never.values]
    others = sorted(value for value in set(words.to_list()) - set(known) if not _is_doubtful(value, known))
    column = f"rules.may_call.{never.column}"
    if len(others) > MOST_VALUES:
        what = f"The column has {len(others):,} different values, too many to say of each whether it may be called."
        remedy = "Take a column of few values for never_call, such as a status, and list all of them."
        findings.add("config-missing-key", programme, column=column, what=what, remedy=remedy)
        return tuple(others)
    what = f"Nothing says which values of {never.column!r} may be called."
    line = f"{_key(never.column)} = {json.dumps(others, ensure_ascii=False)}"
    remedy = f"Add below a line [rules.may_call], without any value that must not be called: {line}"
    findings.add("config-missing-key", programme, column=column, what=what, remedy=remedy)
    return tuple(others)


def _is_doubtful(value: str, known: list[str]) -> bool:
    """Whether a value may be a misspelt value of the list, or stands for a missing value."""
    letters = re.sub(r"\W|_", "", value)
    if not letters or value in PLACEHOLDERS:
        return True
    return bool(difflib.get_close_matches(letters, [re.sub(r"\W|_", "", each) for each in known], 1, SIMILAR))


def _key(column: str) -> str:
    """A column's name as TOML writes a key."""
    return column if re.fullmatch(r"[A-Za-z0-9_-]+", column) else json.dumps(column, ensure_ascii=False)
