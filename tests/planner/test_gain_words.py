"""What a list and an explanation say of gains: the interval always, a gain only where it is shown."""

import dataclasses
import json

import fastexcel
import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from typer.testing import CliRunner

from armwise.cli import app
from armwise.evaluation import CallEffect, CallEffects, Estimate
from armwise.planner import CallGains
from armwise.planner.outreach_planner import OutreachPlanner
from armwise.planner.plan import COLUMNS
from armwise.planner.reasons import BOTH, EVIDENCE, HELPED, HURT, NOT_SHOWN, TOO_FEW
from tests.planner.outreach import columns, small
from tests.weekly.quick import write_quick_programme

UP, DOWN, UNCLEAR = Estimate(0.2, 0.1, 0.3), Estimate(-0.2, -0.3, -0.1), Estimate(0.02, -0.1, 0.14)
# By evidence: the effects by state and the gains.
WORLDS = {
    HELPED: ((UP, UNCLEAR), (0.5, 0.1)),
    HURT: ((DOWN, UNCLEAR), (-0.5, 0.1)),
    BOTH: ((UP, DOWN), (0.5, -0.5)),
    NOT_SHOWN: ((UNCLEAR, UNCLEAR), (0.5, -0.5)),
    TOO_FEW: ((UNCLEAR, UNCLEAR), (np.nan, np.nan)),
}
# What is said of people in each state.
WORDS = {
    HELPED: (
        "in such a state gained 0.5 weeks on average (95 %: 0.3 to 0.7)",
        "are not shown to gain: 0.1 weeks on average (95 %: -0.1 to 0.3)",
    ),
    HURT: ("in such a state did harm: -0.5 weeks on average (95 %: -0.7 to -0.3)", "are not shown to gain: 0.1 weeks"),
    BOTH: ("in such a state gained 0.5 weeks", "in such a state did harm: -0.5 weeks"),
    NOT_SHOWN: ("are not shown to gain: 0.5 weeks on average (95 %: 0.3 to 0.7)", "are not shown to gain: -0.5 weeks"),
    TOO_FEW: ("too few past calls to tell what a call gains",) * 2,
}


def planner_in(world):
    (one, two), gains = WORLDS[world]
    by_state = (CallEffect("state 0", 50, one), CallEffect("state 1", 50, two))
    comparable = 5.0 if world == TOO_FEW else 80.0
    effects = CallEffects(CallEffect("everyone", 100, UNCLEAR), by_state, {}, comparable, 0.95)
    planner = clone(small().planner)
    planner.__dict__ |= {name: value for name, value in vars(small().planner).items() if name.endswith("_")}
    error = 0.2 / 1.96 if world != TOO_FEW else np.nan
    planner.call_gains_ = CallGains(np.array(gains), np.eye(2) * error**2, np.arange(2), effects)
    return planner


@pytest.mark.parametrize("world", EVIDENCE)
def test_each_world_in_its_words(world):
    people = small().people.head(40).select("id", "phone", "language", "age")
    states = np.arange(40) % 2
    plan = planner_in(world).plan(people, states=states, budget=20)
    assert plan.calls.columns == [name for name in COLUMNS if name != "group"]
    assert set(plan.calls["evidence"]) == {world} == {plan.evidence.name}
    for row in plan.calls.iter_rows(named=True):
        assert WORDS[world][row["state"]] in row["reason"]
    gains = np.array(WORLDS[world][1])[plan.calls["state"].to_numpy()]
    if world == TOO_FEW:
        assert plan.calls.select("expected_gain", "gain_low", "gain_high").null_count().sum_horizontal().item() == 60
    else:
        np.testing.assert_allclose(plan.calls["expected_gain"], gains, rtol=1e-5)
        np.testing.assert_allclose(plan.calls["gain_low"], gains - 0.2, rtol=1e-3)
        np.testing.assert_allclose(plan.calls["gain_high"], gains + 0.2, rtol=1e-3)
    assert plan.summary.num_without_gain == int((gains <= 0).sum())
    for identity, state in zip(people["id"], states, strict=True):
        answer = plan.explain(identity)
        assert WORDS[world][state][1:] in str(answer)
        assert (plan.evidence.sentence in str(answer)) == (world != HELPED)
        assert ("it is not known for this person alone" in str(answer)) == (world != TOO_FEW)
        assert (answer.expected_gain is None) == (answer.gain_low is None) == (world == TOO_FEW)


def test_who_may_not_be_called_has_no_gain():
    case = small()
    plan = case.planner.plan(case.people, budget=4, **columns())
    excluded = case.people.filter(pl.col("excluded").is_not_null())["id"][0]
    answer = plan.explain(excluded)
    assert (answer.expected_gain, answer.gain_low, answer.gain_high) == (None, None, None)
    assert "gain" not in str(answer)


def test_the_order_of_rows_changes_no_gain():
    case, rng = small(), np.random.default_rng(0)
    again = clone(case.planner).fit(case.people[rng.permutation(120)], case.weeks.sample(fraction=1, shuffle=True))
    assert again.call_gains_.gains.tobytes() == case.planner.call_gains_.gains.tobytes()
    assert again.call_gains_.covariance.tobytes() == case.planner.call_gains_.covariance.tobytes()


@pytest.mark.parametrize("world", [NOT_SHOWN, TOO_FEW])
def test_a_planner_kept_in_a_file_says_the_same(tmp_path, world):
    planner, people = planner_in(world), small().people.head(30)
    planner.save(tmp_path / "m")
    kept = OutreachPlanner.load(tmp_path / "m")
    expected, plan = (each.plan(people, states=np.arange(30) % 2, budget=9) for each in (planner, kept))
    for suffix in (".csv", ".xlsx", ".parquet"):
        assert plan.to_bytes(suffix) == expected.to_bytes(suffix)
    assert plan.evidence == expected.evidence


def test_the_sentence_comes_first_and_stdout_stays_a_list(tmp_path):
    path = write_quick_programme(tmp_path)
    result = CliRunner().invoke(app, ["plan", str(path), "--dry-run"])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(",".join(COLUMNS) + "\n")
    answer = json.loads(CliRunner().invoke(app, ["plan", str(path), "--json"]).stdout)
    assert answer["evidence"]["name"] in EVIDENCE
    assert {row["evidence"] for row in answer["calls"]} == {answer["evidence"]["name"]}
    assert result.stderr.startswith(answer["evidence"]["sentence"] + "\n")
    assert answer["evidence"]["sentence"] not in result.stdout
    written = CliRunner().invoke(app, ["plan", str(path), "--output", str(tmp_path / "call-list.xlsx")])
    assert written.exit_code == 0
    back = fastexcel.read_excel(tmp_path / "call-list.xlsx").load_sheet(0).to_polars()
    assert back.columns == list(COLUMNS)
    assert set(back["evidence"]) == {answer["evidence"]["name"]}


def test_an_explanation_for_scripts_has_the_interval():
    case = small()
    plan = case.planner.plan(case.people, budget=4, **columns())
    answer = dataclasses.asdict(plan.explain(plan.calls["id"][0]))
    assert answer["gain_low"] < answer["expected_gain"] < answer["gain_high"]
