"""A programme's groups are on the list whether or not each has a budget of its own."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from armwise.cli import app
from armwise.errors import InvalidInputError
from armwise.programme import load_programme
from armwise.weekly.fit import make_planner
from tests.planner.outreach import columns, small
from tests.programme.small import edited, write_programme
from tests.weekly.quick import write_quick_programme


def test_groups_without_budgets_are_on_the_list_and_change_nobody(tmp_path):
    case = small()
    given = columns()
    with_groups = case.planner.plan(case.people, budget=9, **given)
    groups = dict(case.people.select("id", "group").iter_rows())
    assert with_groups.calls["group"].to_list() == [groups[identity] for identity in with_groups.calls["id"]]
    without = case.planner.plan(case.people, budget=9, **{**given, "groups": None})
    assert "group" not in without.calls.columns
    assert with_groups.calls.drop("group").equals(without.calls)
    assert with_groups.explain(with_groups.calls["id"][0]).group == with_groups.calls["group"][0]


def test_a_group_without_per_group_stays_in_the_files(tmp_path):
    path = write_quick_programme(tmp_path)
    text = path.read_text()
    start, end = text.index("[budget.per_group]"), text.index("[rules]")
    path.write_text(text[:start] + text[end:])
    result = CliRunner().invoke(app, ["plan", str(path)])
    assert result.exit_code == 0, result.output
    calls = pl.read_csv(tmp_path / "call-list.csv", infer_schema=False)
    data = load_programme(path)
    groups = dict(zip(data.ids, data.groups, strict=True))
    assert calls.height == 12
    assert calls["group"].to_list() == [groups[identity] for identity in calls["id"]]
    answer = CliRunner().invoke(app, ["explain", str(path), calls["id"][0], "--json"])
    assert json.loads(answer.stdout)["group"] == calls["group"][0]


def test_groups_without_any_call_leave_nothing_to_learn(tmp_path):
    none = edited("programme.toml", "north = 1\nsouth = 1", "north = 0\nsouth = 0").replace("total = 2\n", "")
    data = load_programme(write_programme(tmp_path, programme=none))
    with pytest.raises(InvalidInputError, match=r"programme\.toml gives every group 0 calls.* Give at least one group"):
        make_planner(data, 0, "linear")


def test_the_share_of_calls_is_the_programmes(tmp_path):
    """Of all calls for those who take part, however groups divide them."""
    data = load_programme(write_programme(tmp_path))
    assert make_planner(data, 0, "linear").budget_share == 2 / data.taking_part.sum()
    fewer = edited("programme.toml", "total = 2", "total = 1")
    (tmp_path / "programme.toml").write_text(fewer)
    assert (
        make_planner(load_programme(tmp_path / "programme.toml"), 0, "linear").budget_share
        == 1 / data.taking_part.sum()
    )
