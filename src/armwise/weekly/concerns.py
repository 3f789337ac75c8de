"""Reasons to doubt a list before anyone is called. Each is one sentence, and chance alone does not explain it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import bdtr

from armwise.evaluation.effects import CallEffects
from armwise.planner.plan import Plan
from armwise.planner.rules import CallRules, first_reason
from armwise.programme.programme_data import ProgrammeData
from armwise.programme.settings import LOTTERY
from armwise.weekly.groups import SMALL_GROUPS, SMALLEST_GROUP, group_labels

# A group's calls are far from its need if it gets less than half or more than twice as many as by need ...
FAR = 2.0
# ... and if at most one in a hundred lists made by need would have such a group, among all groups tested.
LEVEL = 0.01
MOST_NAMED = 3
# With a chance below this, a person is more likely off the list than on it.
BY_LOT = 0.5
# A list is mostly lots if such people get more than this share of the calls.
MOSTLY = 0.5
# Past calls followed a rule if fewer than this share of them could have gone otherwise.
COULD_DIFFER = 0.5
FEWEST_CALLS = 20


class Concern(NamedTuple):
    """One reason for doubt.

    Attributes:
        what: the doubt in a few words, without a full stop.
        meaning: the numbers behind it, without a full stop.
        about: "groups", "lots" or "past calls".
        column: the column that divides people into groups, if the doubt is about groups.
        groups: the groups that it names.
    """

    what: str
    meaning: str
    about: str
    column: str = ""
    groups: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The doubt and its numbers in one sentence."""
        return f"{self.what}: {self.meaning}."


class GroupCalls(NamedTuple):
    """A group of people who may be called.

    Attributes:
        name: the group's name; none if it stands for all groups that are too small to be named.
        num_need: its people in need: those who were in the lowest state when last observed.
        num_calls: its people on the list.
    """

    name: str | None
    num_need: int
    num_calls: int


def group_concerns(groupings: Mapping[str, Sequence[GroupCalls]]) -> list[Concern]:
    """For each column of groups, find the groups that get far fewer or far more calls than their need.

    If calls went by need alone, each of n calls would go to a group with probability w, the group's share of the people
    in need. So the group's number of calls c would be binomial. A group is named if c is less than half or more than
    twice n w, and if fewer than 1 in 100 lists by need would have such a group anywhere (Bonferroni).

    Args:
        groupings: for each column, all its groups; each person belongs to one of them.
    """
    num_asked = 2 * sum(len(groups) for groups in groupings.values())
    found = []
    for column, groups in groupings.items():
        num_calls, num_need = sum(each.num_calls for each in groups), sum(each.num_need for each in groups)
        if not num_calls or not num_need:
            continue
        far = [each for each in groups if is_far_from_need(each, num_calls, num_need, LEVEL / num_asked)]
        named = [each for each in far if each.name is not None]
        if named:
            found.append(_group_concern(column, named, num_calls, num_need))
    return found


def is_far_from_need(group: GroupCalls, num_calls: int, num_need: int, level: float) -> bool:
    """Whether a group's calls are far from its need, and chance does not explain it.

    Args:
        group: the group, with its calls.
        num_calls: calls on the whole list.
        num_need: people in need in all groups.
        level: chance does not explain a number of calls if its probability, or that of a more extreme one, is below.
    """
    share, calls = group.num_need / num_need, group.num_calls
    expected = share * num_calls
    fewer = bdtr(calls, num_calls, share)
    more = 1 - bdtr(calls - 1, num_calls, share) if calls else 1.0
    return bool((FAR * calls < expected and fewer < level) or (calls > FAR * expected and more < level))


def _group_concern(column: str, far: list[GroupCalls], num_calls: int, num_need: int) -> Concern:
    def distance(group: GroupCalls) -> float:
        return abs(group.num_calls - num_calls * group.num_need / num_need)

    worst = sorted(far, key=distance, reverse=True)[:MOST_NAMED]
    told = [
        f"{each.name} gets {each.num_calls:,} of {num_calls:,} calls, and by its share of people in need it would get "
        f"about {num_calls * each.num_need / num_need:,.0f}"
        for each in worst
    ]
    more = f"; and {len(far) - MOST_NAMED} more groups" if len(far) > MOST_NAMED else ""
    names = tuple(str(each.name) for each in worst)
    return Concern(f"Calls are far from need by {column}", "; ".join(told) + more, "groups", column, names)


def lots_concern(probabilities: Float[np.ndarray, " people"], *, by_lot: bool) -> list[Concern]:
    """Whether most places on the list go to people whom others could replace at almost no cost.

    Args:
        probabilities: everyone's chance to be on the list if lots decide between people whose expected indices hardly
            differ.
        by_lot: whether lots made the list; otherwise the people with the highest indices are on it.
    """
    unsure = probabilities[(probabilities > 0) & (probabilities < BY_LOT)]
    places, calls = float(unsure.sum()), float(probabilities.sum())
    if places <= MOSTLY * calls:
        return []
    what = "The list is mostly lots" if by_lot else "Most of the list could as well be drawn by lot"
    meaning = (
        f"about {places:,.0f} of {calls:,.0f} calls go to some of {len(unsure):,} people who each had less than an "
        "even chance"
    )
    return [Concern(what, meaning, "lots")]


def overlap_concern(num_calls: int, comparable: float) -> list[Concern]:
    """Whether past calls followed a rule, so that there is nobody to compare the called people with.

    Args:
        num_calls: the number of past calls.
        comparable: how many of these calls could have gone otherwise (``CallEffects.comparable``).
    """
    if num_calls < FEWEST_CALLS or comparable >= COULD_DIFFER * num_calls:
        return []
    meaning = (
        f"of {num_calls:,} calls, {comparable:,.0f} could have gone otherwise, so that much of what a call does is "
        "assumed and not seen; calling some people by lot would show it"
    )
    return [Concern("Past calls followed a rule", meaning, "past calls")]


def find_concerns(
    data: ProgrammeData, plan: Plan, effects: CallEffects, smallest_group: int = SMALLEST_GROUP
) -> list[Concern]:
    """Find every reason to doubt a list.

    Args:
        data: the programme's data.
        plan: the list.
        effects: the effects of past calls.
        smallest_group: groups of fewer people are not named.
    """
    known = plan.call_probabilities["lot_probability"].to_numpy()
    return [
        *group_concerns(_groups(data, plan, smallest_group)),
        *lots_concern(known, by_lot=plan.rules.choice == LOTTERY),
        *overlap_concern(effects.overall.num_calls, effects.comparable),
    ]


def _groups(data: ProgrammeData, plan: Plan, smallest: int) -> dict[str, list[GroupCalls]]:
    """The groups of people who may be called, by column. Empty if everyone who may be called is on the list.

    Groups with budgets are left out, because a manager decided their calls.
    """
    if plan.summary.num_calls >= plan.summary.num_eligible:
        return {}
    called = data.ids.is_in(plan.calls["id"].implode()).to_numpy()
    may = called | may_be_called(data, plan.rules)
    need = may & (data.roster["state"] == 0).fill_null(False).to_numpy()
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
    """Which people may be called by the rules.

    Args:
        data: the programme's data.
        rules: the rules of the list.
    """
    return data.roster.select(first_reason(rules).is_null()).to_series().to_numpy()
