"""Calls by group: the numbers are those of a plain count, and no small group can be worked out."""

import dataclasses

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armwise.report.equity import make_groupings
from armwise.weekly.groups import MOST_GROUPS, UNKNOWN, num_shown
from tests.report.pages import sample_data


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return sample_data(tmp_path_factory.mktemp("equity"))


def with_language(data, values):
    return dataclasses.replace(data, features=data.features.with_columns(pl.Series("language", values)))


def test_the_numbers_are_those_of_a_plain_count(data):
    called = data.ids[::7].to_list()
    groupings = {grouping.column: grouping for grouping in make_groupings(data, called, 1)}
    assert list(groupings) == ["district", "language", "phone_owner", "schooling", "first_pregnancy"]
    columns = {"district": data.groups, "language": data.features["language"]}
    for name, column in columns.items():
        for group in groupings[name].groups:
            rows = [row for row, value in enumerate(column) if value == group.name]
            low = [row for row in rows if data.roster["state"][row] == 0]
            mine = [row for row in rows if data.ids[row] in called]
            assert (group.num_people, group.num_low, group.num_calls) == (len(rows), len(low), len(mine))
            assert group.need.value == len(low) / group.num_known
            assert group.share_of_calls.value == len(mine) / len(called)
            assert group.call_rate.low <= len(mine) / len(rows) <= group.call_rate.high


def test_those_who_may_be_called_are_counted_in_their_group(data):
    district = make_groupings(data, [], 1, eligible=data.ids[:100])[0]
    for group in district.groups:
        assert group.num_may == sum(value == group.name for value in data.groups[:100])
    assert [group.num_may for group in make_groupings(data, [], 1)[0].groups] == [
        group.num_people for group in district.groups
    ]


def test_people_never_observed_count_in_no_need(data):
    nobody = dataclasses.replace(data, roster=data.roster.with_columns(state=pl.lit(None, pl.Int32)))
    for group in make_groupings(nobody, [], 1)[0].groups:
        assert group.num_known == group.num_low == 0
        assert group.need.value != group.need.value


def test_small_groups_are_hidden(data):
    values = ["hindi"] * 280 + ["urdu"] * 11 + ["odia"] * 9
    [language] = [each for each in make_groupings(with_language(data, values), [], 10) if each.column == "language"]
    # 9 people alone would follow from the totals, so the next larger group is hidden with them.
    assert [group.name for group in language.groups] == ["hindi"]
    assert (language.num_hidden, language.num_hidden_people) == (2, 20)
    [shown] = [each for each in make_groupings(with_language(data, values), [], 9) if each.column == "language"]
    assert shown.num_hidden == 0


@given(st.lists(st.integers(1, 40), min_size=1, max_size=12), st.integers(1, 20))
def test_what_is_hidden_is_never_a_small_group_unless_nothing_is_shown(sizes, smallest):
    sizes = sorted(sizes, reverse=True)
    shown = num_shown(sizes, smallest)
    assert all(size >= smallest for size in sizes[:shown])
    hidden = sum(sizes[shown:])
    assert hidden == 0 or hidden >= smallest or shown == 0


def test_the_unknown_is_a_group_and_what_divides_nobody_or_everyone_is_none(data):
    values = [None] * 100 + ["hindi"] * 200
    [language] = [each for each in make_groupings(with_language(data, values), [], 10) if each.column == "language"]
    assert [group.name for group in language.groups] == ["hindi", UNKNOWN]
    for values in (["hindi"] * 300, [f"language {row % (MOST_GROUPS + 1)}" for row in range(300)]):
        assert all(each.column != "language" for each in make_groupings(with_language(data, values), [], 10))
