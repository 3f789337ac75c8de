"""The examples run, on the real data where they are at hand."""

import importlib.util
from pathlib import Path

import polars as pl
import pytest

from tests.data.real_data import real_data

ROOT = Path(__file__).parents[1]


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["oulad", "ctn0094"])
def test_a_call_list_from_real_records(name):
    example = load("call_list_from_records")
    budget, groups = {"oulad": (100, "region"), "ctn0094": (30, "site_masked")}[name]
    people, history = getattr(example, name)(real_data(name))
    if name == "oulad":  # a module is enough for a test
        people = people.filter(pl.col("code_module") == "BBB")
        history = history.join(people.select("id"), on="id", how="semi")
    plan = example.call_list(people, history, budget, groups)
    assert len(plan) == budget
    assert plan.calls["id"].is_unique().all()
    assert set(plan.calls["id"]) <= set(people["id"])
    assert plan.summary.num_people + people[groups].null_count() == people.height
    assert (plan.calls["index"].diff().drop_nulls() <= 0).all()
    assert plan.explain(plan.calls["id"][0]).rank == 1
