"""The best people under budgets, against every feasible set, and from a stream."""

from itertools import combinations, pairwise

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from armwise.planning.rules import CallRules
from armwise.planning.shortlist import Shortlist
from armwise.planning.ties import tie_breaks

GROUPS = ("a", "b", "c")
# Few different values, so that ties are common.
people = st.lists(
    st.tuples(st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0]), st.sampled_from(GROUPS)), min_size=1, max_size=9
)
caps = st.tuples(*[st.integers(0, 4)] * 3)


def as_frame(drawn):
    ids = [f"p{place}" for place in range(len(drawn))]
    return pl.DataFrame(
        {"id": ids, "index": [index for index, _ in drawn], "group": [group for _, group in drawn]},
        schema={"id": pl.String, "index": pl.Float64, "group": pl.String},
    )


def choose(frame, rules, cuts=()):
    shortlist = Shortlist(rules, seed=0)
    edges = [0, *sorted(cuts), frame.height]
    for start, end in pairwise(edges):
        shortlist.add(frame[start:end])
    return shortlist.chosen


def feasible(rows, rules):
    per_group = [sum(group == name for _, _, group in rows) <= cap for name, cap in rules.group_budgets]
    return len(rows) <= rules.budget and all(per_group)


@given(people, caps, st.integers(0, 6))
def test_no_feasible_set_of_the_same_size_is_better_and_none_is_larger(drawn, limits, budget):
    rules = CallRules(budget, tuple(zip(GROUPS, limits, strict=True)))
    frame = as_frame(drawn)
    chosen = choose(frame, rules)
    rows = frame.rows()
    sets = [each for size in range(len(rows) + 1) for each in combinations(rows, size) if feasible(each, rules)]
    largest = max(len(each) for each in sets)
    assert chosen.height == largest
    best = max(sum(index for _, index, _ in each) for each in sets if len(each) == largest)
    assert chosen["index"].sum() == best


@given(people, caps, st.integers(0, 6), st.sets(st.integers(0, 9)), st.randoms(use_true_random=False))
def test_neither_parts_nor_their_order_matter(drawn, limits, budget, cuts, random):
    rules = CallRules(budget, tuple(zip(GROUPS, limits, strict=True)))
    frame = as_frame(drawn)
    order = random.sample(range(frame.height), frame.height)
    whole, parts = choose(frame, rules), choose(frame[order], rules, {min(cut, frame.height) for cut in cuts})
    assert whole.rows() == parts.rows()


def test_without_groups_only_the_budget_counts():
    frame = as_frame([(1.0, "a"), (2.0, "a"), (3.0, "b")])
    assert choose(frame, CallRules(2))["id"].to_list() == ["p2", "p1"]


def test_equal_indices_are_drawn_by_a_lot_that_the_seed_decides():
    frame = as_frame([(1.0, "a")] * 9)
    lists = {tuple(drawn_by_lot(frame, seed)) for seed in range(20)}
    assert len(lists) > 5
    expected = frame["id"].gather(np.argsort(tie_breaks(frame["id"].to_list(), 3)))[:2]
    assert drawn_by_lot(frame, 3) == expected.to_list()


def drawn_by_lot(frame, seed):
    shortlist = Shortlist(CallRules(2), seed)
    shortlist.add(frame)
    return shortlist.chosen["id"].to_list()


def test_a_tie_at_the_end_of_a_group_does_not_push_others_out():
    # Five equals compete for the one place of a; the one of b must still be found.
    frame = as_frame([(10.0, "a")] * 5 + [(5.0, "b")])
    rules = CallRules(2, (("a", 1), ("b", 1)))
    assert sorted(choose(frame, rules)["group"]) == ["a", "b"]
