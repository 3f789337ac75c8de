"""Warnings about a list: none where chance explains it, one where it does not."""

import numpy as np
import pytest
from scipy.stats import binom

from armwise.weekly.concerns import (
    BY_LOT,
    LEVEL,
    GroupCalls,
    group_concerns,
    is_far_from_need,
    lots_concern,
    overlap_concern,
)


def test_all_calls_to_one_of_three_equal_groups_is_a_concern():
    groups = [GroupCalls("hindi", 100, 42), GroupCalls("urdu", 100, 0), GroupCalls("marathi", 100, 0)]
    (concern,) = group_concerns({"language": groups})
    told = "by its share of people in need it would get about 14"
    assert concern.sentence == (
        f"Calls are far from need by language: hindi gets 42 of 42 calls, and {told}; urdu "
        f"gets 0 of 42 calls, and {told}; marathi gets 0 of 42 calls, and {told}."
    )
    assert (concern.column, concern.groups) == ("language", ("hindi", "urdu", "marathi"))


@pytest.mark.parametrize(
    "groups",
    [
        [],
        [("all", 50, 10)],
        [("a", 10, 2), ("b", 10, 0)],  # two calls say nothing
        [("a", 100, 18), ("b", 100, 24)],
        [("a", 1000, 400), ("b", 1000, 600)],  # no chance, and not far
        [("a", 0, 0), ("b", 0, 9)],  # nobody in need
        [("a", 10, 0), ("b", 20, 0)],  # no calls
        [(None, 100, 0), ("b", 100, 40)],  # groups too small to be named; b has twice its need, no more
    ],
)
def test_what_chance_explains_is_no_concern(groups):
    assert group_concerns({"x": [GroupCalls(*each) for each in groups]}) == []


def test_lists_that_go_by_need_hardly_ever_alarm():
    rng, alarms = np.random.default_rng(0), 0
    needs = {"a": np.array([300, 100, 30, 10]), "b": np.array([200, 200, 40])}
    for _ in range(1000):
        drawn = {name: rng.multinomial(40, need / need.sum()) for name, need in needs.items()}
        groups = {
            name: [GroupCalls("group", *each) for each in zip(needs[name].tolist(), calls.tolist(), strict=True)]
            for name, calls in drawn.items()
        }
        alarms += bool(group_concerns(groups))
    assert alarms <= 1000 * LEVEL


@pytest.mark.parametrize("calls", range(0, 41, 4))
def test_the_probability_is_that_of_scipy(calls):
    group, share = GroupCalls("a", 30, calls), 0.3
    fewer, more = binom.cdf(calls, 40, share), binom.sf(calls - 1, 40, share)
    for level in (0.2, 0.01, 1e-5):
        expected = (calls < 6 and fewer < level) or (calls > 24 and more < level)
        assert is_far_from_need(group, 40, 100, level) == expected


def test_a_list_is_mostly_lots_where_most_calls_go_to_people_of_whom_nobody_can_tell():
    told = lots_concern(np.array([1.0] * 4 + [0.1] * 60 + [0.0] * 7), by_lot=True)
    assert told[0].sentence == (
        "The list is mostly lots: about 6 of 10 calls go to some of 60 people who each had less than an even chance."
    )
    assert "could as well be drawn by lot" in lots_concern(np.full(50, 0.2), by_lot=False)[0].sentence
    assert lots_concern(np.array([1.0] * 6 + [0.1] * 40), by_lot=True) == []
    assert lots_concern(np.full(20, BY_LOT), by_lot=True) == []
    assert lots_concern(np.zeros(0), by_lot=True) == []


def test_past_calls_by_rule_are_a_concern_and_those_by_lot_are_not():
    assert overlap_concern(400, 380.0) == []
    assert overlap_concern(19, 0.0) == []
    assert overlap_concern(412, 3.2)[0].sentence.startswith(
        "Past calls followed a rule: of 412 calls, 3 could have gone otherwise, so that much"
    )
