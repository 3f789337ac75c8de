"""How often people belong on the list, against every way to draw lots; and lists drawn with exactly these chances."""

import itertools
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armwise.errors import ConvergenceError
from armwise.planner.lottery import UNIT, Candidates, call_probabilities, draw_list, lot_probabilities

NUM_GROUPS = 3
# Few different indices, so that ties are common, at the ends of groups and of the whole list.
indices = st.sampled_from([0.0, 1.0, 2.0, 5.0])


@st.composite
def programmes(draw, most_people=6, most_draws=3):
    num_people, num_draws = draw(st.integers(1, most_people)), draw(st.integers(1, most_draws))
    rows = draw(st.lists(st.lists(indices, min_size=num_people, max_size=num_people), min_size=num_draws, max_size=3))
    groups = draw(st.lists(st.integers(0, NUM_GROUPS - 1), min_size=num_people, max_size=num_people))
    places = draw(st.lists(st.integers(0, 4), min_size=NUM_GROUPS, max_size=NUM_GROUPS))
    return np.array(rows, np.float32), np.array(groups), places, draw(st.integers(0, 6))


def every_top(people, values, number):
    """All ways to take the highest: those above the end are in, any of those at the end fill up."""
    people = list(people)
    if len(people) <= number:
        return [tuple(people)]
    if number == 0:
        return [()]
    end = sorted((values[each] for each in people), reverse=True)[number - 1]
    above = tuple(each for each in people if values[each] > end)
    level = [each for each in people if values[each] == end]
    return [above + some for some in itertools.combinations(level, number - len(above))]


def by_enumeration(values, groups, places, budget):
    """The shares of one draw: the average over every group's lots, then over the lots of the whole list."""
    tops = [every_top(np.flatnonzero(groups == code), values, min(cap, budget)) for code, cap in enumerate(places)]
    shares = [Fraction(0)] * len(values)
    ways = list(itertools.product(*tops))
    for way in ways:
        lists = every_top(itertools.chain(*way), values, budget)
        for each in itertools.chain(*lists):
            shares[each] += Fraction(1, len(lists) * len(ways))
    return shares


@given(programmes())
def test_probabilities_are_the_average_over_all_lots_of_all_draws(programme):
    index_draws, groups, places, budget = programme
    found = call_probabilities(*programme)
    by_draw = [by_enumeration(values, groups, places, budget) for values in index_draws]
    expected = [float(sum(column) / len(by_draw)) for column in zip(*by_draw, strict=True)]
    np.testing.assert_allclose(found, expected, atol=2 / UNIT)


@given(programmes(most_people=30))
def test_they_sum_to_the_calls_exactly_and_to_no_more_than_the_places_of_a_group(programme):
    _, groups, places, budget = programme
    found = call_probabilities(*programme)
    sizes = np.bincount(groups, minlength=NUM_GROUPS)
    units = in_units(found)
    assert units.sum() == UNIT * min(budget, np.minimum(places, sizes).sum())
    assert ((units >= 0) & (units <= UNIT)).all()
    assert all(units[groups == code].sum() <= UNIT * cap for code, cap in enumerate(places))


def test_many_equals_share_what_is_left():
    # 1,000,003 equals for 1,000 places: no decimal fraction is exact, and the sum still is.
    number = 1_000_003
    found = call_probabilities(np.zeros((1, number), np.float32), np.zeros(number, int), [1000], 1000)
    assert in_units(found).sum() == UNIT * 1000
    assert np.ptp(in_units(found)) <= 1


def in_units(probabilities):
    """The whole numbers that the probabilities stand for."""
    units = np.rint(probabilities * UNIT).astype(np.int64)
    np.testing.assert_array_equal(units / UNIT, probabilities)
    return units


def chances(probabilities, groups):
    """Each person's exact chance over all starts: the choice changes only where someone's interval ends."""
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(in_units(probabilities)[order]) % UNIT
    starts = np.unique([0, *ends.tolist()])
    widths = np.diff([*starts.tolist(), UNIT])
    drawn = [draw_list(probabilities, groups, int(start)) for start in starts]
    return (widths[:, None] * np.array(drawn)).sum(axis=0), drawn


@given(programmes(most_people=30))
def test_lots_give_each_person_exactly_her_probability(programme):
    _, groups, places, _ = programme
    probabilities = call_probabilities(*programme)
    units, drawn = chances(probabilities, groups)
    np.testing.assert_array_equal(units, in_units(probabilities))
    for chosen in drawn:
        assert chosen.sum() * UNIT == units.sum()
        assert (np.bincount(groups[chosen], minlength=NUM_GROUPS) <= places).all()
        assert chosen[probabilities == 1].all()


def test_in_random_orders_any_two_are_called_together_as_often_as_by_pure_lot():
    rng, together, runs = np.random.default_rng(0), 0, 4000
    for _ in range(runs):
        chosen = np.empty(8, bool)
        chosen[rng.permutation(8)] = draw_list(np.full(8, 0.25), np.zeros(8, int), int(rng.integers(UNIT)))
        together += chosen[0] & chosen[1]
    expected = 1 / 28  # 2 of 8 are called
    assert abs(together / runs - expected) < 4 * np.sqrt(expected / runs)


@given(programmes(most_people=30), st.sampled_from([0.0, 0.01, 0.1, 1.0]), st.randoms(use_true_random=False))
def test_lots_cost_no_more_than_they_may_and_sum_to_the_calls(programme, cost, random):
    index_draws, groups, places, budget = programme
    index = np.array([random.choice([-1.0, 0.0, 0.5, 0.52, 3.0]) for _ in groups])
    found = lot_probabilities(index, index_draws, groups, places, budget, cost)
    best = call_probabilities(index[None], groups, places, budget)
    assert in_units(found).sum() == in_units(best).sum()
    assert all(in_units(found)[groups == code].sum() <= UNIT * cap for code, cap in enumerate(places))
    assert found @ index >= best @ index - cost * (best @ np.abs(index)) - 1e-9
    if cost == 0:
        # Only people with equal indices share a place.
        np.testing.assert_allclose(found @ index, best @ index, atol=1e-6)


def test_with_enough_to_spend_lots_go_by_how_often_people_belong_on_the_list():
    rng = np.random.default_rng(0)
    index = rng.random(40)
    index_draws = index + rng.normal(size=(32, 40))
    limits = np.zeros(40, int), [10], 10
    np.testing.assert_array_equal(
        lot_probabilities(index, index_draws, *limits, cost=1.0), call_probabilities(index_draws, *limits)
    )


@pytest.mark.parametrize("fewest", [1, 64, 2**15])
@pytest.mark.parametrize("places", [[25], [10, 3, 0, 40]])
def test_candidates_of_a_stream_have_the_same_probabilities(fewest, places):
    rng = np.random.default_rng(1)
    index_draws = (rng.normal(size=(1, 3000)) + 0.3 * rng.normal(size=(8, 3000))).round(1).astype(np.float32)
    groups = rng.integers(0, len(places), 3000)
    expected = call_probabilities(index_draws, groups, places, 25)
    stream = Candidates(places, 25, fewest)
    for part in np.array_split(np.arange(3000), 17):
        stream.add(pl.DataFrame({"row": part}), groups[part], index_draws[:, part])
    people, codes, draws = stream.thin()
    found = np.zeros(3000)
    found[people["row"].to_numpy()] = call_probabilities(draws, codes, places, 25)
    np.testing.assert_allclose(found, expected, atol=2 / UNIT)
    assert len(people) < 1500
    assert set(np.flatnonzero(expected)) <= set(people["row"])


def test_an_index_that_is_not_finite_is_refused_by_its_id():
    stream = Candidates([2], 2)
    with pytest.raises(ConvergenceError, match="'b'"):
        stream.add(pl.DataFrame({"id": ["a", "b"]}), np.zeros(2, int), np.array([[1, 2], [3, np.nan]], np.float32))
