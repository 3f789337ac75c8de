"""The best people under budgets, against every feasible set, and from a stream."""

from itertools import combinations, pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import armwise as aw
from armwise.planner.rules import CallRules
from armwise.planner.shortlist import Selection, Shortlist, tie_breaks
from armwise.programme.settings import BEST, CHOICES, LOTTERY

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
    expected = frame["id"].gather(np.argsort(tie_breaks(frame["id"].to_list(), 3, 7)))[:2]
    assert drawn_by_lot(frame, 3, 7) == expected.to_list()


def test_lots_differ_from_step_to_step_and_can_be_repeated():
    frame = as_frame([(1.0, "a")] * 9)
    lists = [tuple(drawn_by_lot(frame, 0, step)) for step in (*range(20), "the step from 2024-02-26")]
    assert len(set(lists)) > 10
    assert lists[:20] == [tuple(drawn_by_lot(frame, 0, step)) for step in range(20)]


def drawn_by_lot(frame, seed, step=0):
    shortlist = Shortlist(CallRules(2), seed, step)
    shortlist.add(frame)
    return shortlist.chosen["id"].to_list()


def test_a_tie_at_the_end_of_a_group_does_not_push_others_out():
    # Five equals compete for the one place of a; the one of b must still be found.
    frame = as_frame([(10.0, "a")] * 5 + [(5.0, "b")])
    rules = CallRules(2, (("a", 1), ("b", 1)))
    assert sorted(choose(frame, rules)["group"]) == ["a", "b"]


def known_people(num_people=400, num_draws=16, seed=0):
    """People, and posterior draws of their indices around it; some are far ahead, most cannot be told apart."""
    rng = np.random.default_rng(seed)
    mean = np.where(np.arange(num_people) < 5, 5.0, 0.2 * rng.normal(size=num_people))
    draws = (mean + 0.4 * rng.normal(size=(num_draws, num_people))).astype(np.float32)
    frame = pl.DataFrame(
        {"id": [f"p{n}" for n in range(num_people)], "index": mean, "group": rng.choice(GROUPS, num_people)}
    )
    return frame, draws


def select(frame, draws, rules, step=0, cuts=(), seed=0):
    selection = Selection(rules, seed, step)
    for part in np.split(np.arange(frame.height), cuts):
        selection.add(frame[part], None if draws is None else draws[:, part])
    return selection.finish()


CAPS = {"a": 9, "b": 4, "c": 0}


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("groups", [{}, CAPS])
def test_neither_parts_nor_the_order_of_people_change_who_is_chosen(choice, groups):
    frame, draws = known_people()
    rules = CallRules(20, groups, choice=choice)
    whole = select(frame, draws, rules)
    order = np.random.default_rng(1).permutation(frame.height)
    parts = select(frame[order], draws[:, order], rules, cuts=[7, 100, 101])
    assert whole.chosen.equals(parts.chosen)
    assert whole.probabilities.equals(parts.probabilities)
    assert whole.chosen.height == min(20, sum(groups.values()) or 20)
    counts = dict(whole.chosen["group"].value_counts().iter_rows())
    assert all(counts.get(name, 0) <= cap for name, cap in groups.items())


# Lots that may cost much decide about many.
LOTS = CallRules(12, choice=LOTTERY, lottery_cost=0.2)


def test_lots_choose_those_who_are_clearly_ahead_and_some_of_the_others():
    frame, draws = known_people()
    lists = [select(frame, draws, LOTS, step).chosen for step in range(30)]
    assert all({f"p{n}" for n in range(5)} <= set(each["id"]) for each in lists)
    assert len({tuple(each["id"]) for each in lists}) == 30
    assert len({identity for each in lists for identity in each["id"]}) > 30
    again = select(frame, draws, LOTS, 3).chosen
    assert again.equals(lists[3])
    assert again["index"].is_sorted(descending=True)


def test_who_is_drawn_has_on_average_the_recorded_probability():
    frame, draws = known_people(60)
    times, steps = np.zeros(60), 500
    for step in range(steps):
        selected = select(frame, draws, LOTS, step)
        times[[int(each[1:]) for each in selected.chosen["id"]]] += 1
    recorded = np.zeros(60)
    for identity, chance, by_lot in selected.probabilities.select("id", "list_probability", "lot_probability").rows():
        assert chance == by_lot
        recorded[int(identity[1:])] = chance
    errors = np.sqrt(recorded * (1 - recorded) / steps)
    assert (times[recorded == 1] == steps).all()
    assert (times[recorded == 0] == 0).all()
    assert (np.abs(times / steps - recorded) <= 4.5 * errors).all()


def test_the_best_are_chosen_for_certain_however_unsure_it_is_that_they_are():
    frame, draws = known_people()
    selected = select(frame, draws, CallRules(20, choice=BEST))
    expected = frame.sort("index", descending=True)["id"][:20]
    assert selected.chosen["id"].to_list()[5:] == expected.to_list()[5:]
    assert set(selected.chosen["list_probability"]) == {1.0}
    named = dict(selected.probabilities.select("id", "list_probability").iter_rows())
    assert sum(named.values()) == 20
    assert selected.chosen["call_probability"][0] == 1
    assert selected.chosen["call_probability"].min() < 0.5
    np.testing.assert_allclose(selected.probabilities["call_probability"].sum(), 20)
    np.testing.assert_allclose(selected.probabilities["lot_probability"].sum(), 20)


def test_lots_cost_no_more_than_they_may():
    frame, draws = known_people()
    best = frame["index"].top_k(20)
    unsure = []
    for cost in (0.0, 0.001, 0.01, 0.1):
        lots = select(frame, draws, CallRules(20, choice=LOTTERY, lottery_cost=cost)).probabilities.join(frame, on="id")
        expected = (lots["index"] * lots["list_probability"]).sum()
        assert expected >= best.sum() - cost * best.abs().sum() - 1e-9
        unsure.append(((lots["list_probability"] > 0) & (lots["list_probability"] < 1)).sum())
    assert unsure[0] == 0 < unsure[1] < unsure[2] < unsure[3]


@pytest.mark.parametrize("choice", CHOICES)
def test_without_draws_an_index_is_known_and_only_equals_have_a_chance(choice):
    frame = as_frame([(1.0, "a"), (2.0, "a"), (2.0, "b"), (3.0, "b"), (0.0, "a")])
    selected = select(frame, None, CallRules(2, choice=choice))
    known = dict(selected.probabilities.select("id", "call_probability").iter_rows())
    assert known == {"p3": 1.0, "p1": 0.5, "p2": 0.5}
    assert selected.num_draws == 1


def test_recorded_probabilities_make_an_unbiased_evaluation_possible():
    """What calling the disengaged first would have gained, from lists that lots made, against the truth."""
    rng = np.random.default_rng(0)
    num_people, steps = 300, 40
    frame, draws = known_people(num_people, 32)
    # Whom lists prefer gains more, so that taking calls for made by pure lot must go wrong.
    gain = 0.6 * (draws.mean(axis=0) > np.median(draws.mean(axis=0)))
    called, chance = np.zeros((num_people, steps), int), np.zeros((num_people, steps))
    for step in range(steps):
        selected = select(frame, draws, CallRules(60, choice=LOTTERY, lottery_cost=0.2), step)
        rows = [int(each[1:]) for each in selected.probabilities["id"]]
        chance[rows, step] = selected.probabilities["list_probability"]
        called[[int(each[1:]) for each in selected.chosen["id"]], step] = 1
    outcomes = (rng.random((num_people, steps)) < 0.3 + gain[:, None] * called).astype(float)
    history = aw.Trajectories.from_arrays(rng.integers(0, 2, (num_people, steps)), called, num_states=2)
    could = (chance > 0) & (chance < 1)
    policy = np.where(could, np.where(np.asarray(history.states) == 0, 0.3, 0.1), called)
    propensities = np.where(called == 1, chance, 1 - chance)
    value = aw.off_policy_value(history, policy, propensities=propensities, outcomes=outcomes)
    truth = (0.3 + gain[:, None] * policy).mean()
    assert value.inverse_probability.value.low <= truth <= value.inverse_probability.value.high
    assert value.doubly_robust.value.low <= truth <= value.doubly_robust.value.high
    assert value.doubly_robust.value.high - value.doubly_robust.value.low < 0.1
    by_pure_lot = aw.off_policy_value(history, policy, propensities=60 / num_people, outcomes=outcomes)
    assert not by_pure_lot.doubly_robust.value.low <= truth <= by_pure_lot.doubly_robust.value.high
