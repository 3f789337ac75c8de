"""The table of beneficiaries: who they are, what is known of them, who may not be called."""

import difflib
from dataclasses import dataclass

import polars as pl

from armwise.planning.cells import check_ids
from armwise.planning.enrolment import read_dates
from armwise.planning.findings import Findings, Table
from armwise.planning.identities import note_similar
from armwise.planning.never_call import read_exclusions
from armwise.planning.numbers import ERRORS, note_bad_numbers, to_numbers
from armwise.planning.personal import is_personal
from armwise.planning.programme import BeneficiariesTable, Budget, Rules, Time
from armwise.planning.tables import read_table
from armwise.text import HIDDEN


@dataclass(frozen=True, eq=False)
class People:
    """The beneficiaries in the order of their ids, one row each.

    Attributes:
        ids: text, distinct.
        features: numbers as Float64, categories as text; null where a cell is empty.
        enrolled: the day or step since when each takes part; none if the programme does not say.
        left: the first day or step on which each no longer takes part, null where that is not known; none if the
            programme does not say.
        groups: text; none without groups.
        exclusions: why a person is never called, null for those who may be.
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
    """The people of the table; none if it cannot be read or has nobody. ``programme`` is the name of programme.toml."""
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
    # A prefix of their own keeps the programme's names apart from ours.
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
    # Cells that could not be read are all missing, and so all alike; they have a finding of their own.
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
