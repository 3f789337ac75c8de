"""Groups of people in reports: the columns that define them, and which groups are large enough to be shown."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import polars as pl

from armwise.evaluation.effects import CallEffects
from armwise.programme.programme_data import ProgrammeData

# A column with more groups than this is too fine to report.
MOST_GROUPS = 12
SMALLEST_GROUP = 10
UNKNOWN, SMALL_GROUPS = "not known", "small groups, not shown"


def group_columns(data: ProgrammeData) -> list[pl.Series]:
    """The programme's own groups, then every category with at most ``MOST_GROUPS`` values. Unknown values are a group.

    Args:
        data: the programme's data.
    """
    columns = [] if data.groups is None else [data.groups.alias(data.programme.budget.group or "group")]
    named = {column.name for column in columns}
    columns += [column for column in data.features if column.dtype == pl.String and column.name not in named]
    return [column.fill_null(UNKNOWN) for column in columns if 1 < column.n_unique() <= MOST_GROUPS]


def num_shown(sizes: Sequence[int], smallest: int) -> int:
    """How many of the groups are shown, counted from the largest.

    The total is known, so a reader can compute the hidden rest. Therefore the rest must not be a small group either.
    """
    shown = sum(size >= smallest for size in sizes)
    hidden = sum(sizes[shown:])
    if hidden and shown and hidden < smallest:
        shown -= 1
    return shown


def shown_groups(column: pl.Series, smallest: int) -> list[str]:
    """The groups of a column that are large enough to be shown, the largest first."""
    sizes = column.value_counts(name="number").sort(["number", column.name], descending=[True, False])
    return sizes[column.name].head(num_shown(sizes["number"].to_list(), smallest)).to_list()


def group_labels(data: ProgrammeData, smallest: int = SMALLEST_GROUP) -> dict[str, np.ndarray]:
    """Each person's group by column, for ``call_effects``. All small groups of a column share one label.

    Args:
        data: the programme's data.
        smallest: groups of fewer people are small.
    """
    labels = {}
    for column in group_columns(data):
        shown = shown_groups(column, smallest)
        if shown:
            labels[column.name] = np.array([each if each in shown else SMALL_GROUPS for each in column])
    return labels


def of_large_groups(effects: CallEffects, data: ProgrammeData, smallest: int) -> CallEffects:
    """The effects without those of groups that are too small to be shown.

    Args:
        effects: effects by the columns of ``group_columns``.
        data: the programme's data.
        smallest: groups of fewer people are small.
    """
    shown = {column.name: shown_groups(column, smallest) for column in group_columns(data)}
    kept = {
        name: tuple(each for group in shown.get(name, []) for each in groups if each.name == group)
        for name, groups in effects.by_group.items()
    }
    return dataclasses.replace(effects, by_group={name: groups for name, groups in kept.items() if groups})
