"""How close a list is to the people it leaves out, counted by hand."""

import polars as pl
import pytest

from armwise.report.facts import measure_closeness


def people(indices):
    return pl.DataFrame({"id": [f"{row}" for row in range(len(indices))], "index": indices, "expected_gain": indices})


def test_lots_and_near_ties_are_counted():
    everyone = people([1.0, 0.9, 0.52, 0.5, 0.5, 0.5, 0.1])
    close = measure_closeness(everyone[:5], everyone, None)
    # Two of the three with 0.5 are on the list by lot; 0.52 is within 5 % of the median, 0.52, of the best left out.
    assert (close.num_left, close.num_by_lot, close.num_close) == (2, 2, 3)
    assert close.listed == pytest.approx(3.42 / 5)
    assert close.everyone == pytest.approx(4.02 / 7)


def test_people_compete_within_their_group_where_groups_have_budgets():
    everyone = people([1.0, 0.9, 0.5, 0.4])
    groups = pl.DataFrame({"id": everyone["id"], "group": ["north", "north", "south", "south"]})
    listed = everyone[[0, 2]]
    assert measure_closeness(listed, everyone, groups).num_close == 0
    # All together, 0.5 comes after 0.9, who is left out.
    assert measure_closeness(listed, everyone, None).num_close == 1


def test_an_empty_list_and_a_list_of_everyone():
    everyone = people([0.5, 0.5])
    nobody = measure_closeness(everyone.clear(), everyone, None)
    assert (nobody.num_left, nobody.num_by_lot, nobody.num_close) == (2, 0, 0)
    assert nobody.listed != nobody.listed
    assert measure_closeness(everyone, everyone, None).num_close == 0
