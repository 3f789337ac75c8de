"""What to doubt about a programme's list: warnings of ``armwise plan``, and the first lines of the report."""

import numpy as np
import polars as pl
from jaxtyping import Bool

from armwise.evaluation.effects import CallEffects
from armwise.planner.concerns import Concern, GroupCalls, group_concerns, lots_concern, overlap_concern
from armwise.planning.call_list import Plan
from armwise.planning.check import ProgrammeData
from armwise.planning.groupings import SMALL_GROUPS, SMALLEST_GROUP, group_labels
from armwise.planning.rules import LOTTERY, CallRules, first_reason


def find_concerns(
    data: ProgrammeData, plan: Plan, effects: CallEffects, smallest_group: int = SMALLEST_GROUP
) -> list[Concern]:
    """Everything to doubt about a list, one sentence each.

    Args:
        data: the programme's.
        plan: the list.
        effects: of past calls.
        smallest_group: groups of fewer people are not named.
    """
    known = plan.call_probabilities["lot_probability"].to_numpy()
    return [
        *group_concerns(_groups(data, plan, smallest_group)),
        *lots_concern(known, by_lot=plan.rules.choice == LOTTERY),
        *overlap_concern(effects.overall.num_calls, effects.comparable),
    ]


def _groups(data: ProgrammeData, plan: Plan, smallest: int) -> dict[str, list[GroupCalls]]:
    """The groups of those who may be called; without those that have budgets, whose calls a manager decided.

    None if everyone who may be called is.
    """
    if plan.summary.num_calls >= plan.summary.num_eligible:
        return {}
    called = data.ids.is_in(plan.calls["id"].implode()).to_numpy()
    may = called | may_be_called(data, plan.rules)
    need = may & (np.asarray(data.last_states) == 0)
    budgeted = data.programme.budget.group if data.programme.budget.per_group else None
    return {
        column: [
            GroupCalls(_name(name), int(need[labels == name].sum()), int(called[labels == name].sum()))
            for name in np.unique(labels[may]).tolist()
        ]
        for column, labels in group_labels(data, smallest).items()
        if column != budgeted
    }


def _name(label: str) -> str | None:
    return None if label == SMALL_GROUPS else label


def may_be_called(data: ProgrammeData, rules: CallRules) -> Bool[np.ndarray, " people"]:
    """Whom no rule keeps from being called.

    Args:
        data: the programme's.
        rules: of the list.
    """
    roster = pl.DataFrame(
        {
            "exclusion": data.exclusions,
            "since_call": data.steps_since_call,
            "calls": data.num_calls,
            "observed": np.asarray(data.trajectories.observed).sum(axis=1),
        }
    )
    never = pl.col("since_call").replace(-1, None)
    return roster.with_columns(since_call=never).select(first_reason(rules).is_null()).to_series().to_numpy()
