"""The examples run, on the real data where they are at hand."""

import importlib.util
from pathlib import Path

import polars as pl
import pytest

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def data(folder, file):
    if not (DATA / folder / file).exists():
        pytest.skip(f"the public data set {folder} is not at {DATA / folder}; see docs/data-format.md for its source")
    return DATA / folder


@pytest.mark.parametrize("name", ["oulad", "ctn0094"])
def test_a_call_list_from_real_records(name):
    example = load("call_list_from_records")
    file, budget, groups = {
        "oulad": (example.OULAD_FILE, 100, "region"),
        "ctn0094": (example.CTN_STATES, 30, "site_masked"),
    }[name]
    people, history = getattr(example, name)(data(name, file))
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
