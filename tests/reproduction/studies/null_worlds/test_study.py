"""The study of null worlds: its summary, its page, and its own truth."""

from pathlib import Path

import numpy as np
import pytest

from armwise.data import simulated_programme
from reproduction.__main__ import main
from reproduction.studies import commands
from reproduction.studies.null_worlds import page as null_worlds_page
from reproduction.studies.null_worlds import women_and_men
from reproduction.studies.null_worlds.study import WORLDS, true_gain

ROOT = Path(__file__).parents[4]


def test_the_page_is_what_the_results_give():
    rows = null_worlds_page.read_summary(ROOT / "results" / "null-worlds" / "summary.csv")
    assert {row.world for row in rows} >= {*WORLDS, women_and_men.WORLD}
    assert min(row.worlds for row in rows if row.figure == null_worlds_page.PROMISE) == 400
    assert (ROOT / "docs" / "judgement.md").read_text() == null_worlds_page.page_text(rows)


def test_the_command_writes_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "ROOT", tmp_path)
    for folder in ("docs", "results/null-worlds"):
        (tmp_path / folder).mkdir(parents=True)
    summary = ROOT / "results" / "null-worlds" / "summary.csv"
    (tmp_path / "results" / "null-worlds" / "summary.csv").write_text(summary.read_text())
    main(["null-worlds", "--page"])
    assert (tmp_path / "docs" / "judgement.md").read_text() == (ROOT / "docs" / "judgement.md").read_text()


def test_the_summary_counts_claims_and_intervals_that_cover_the_truth(tmp_path):
    """Errors of 1: of the values 0, 1.8, 2.5 and 5, the truth 0 is in two 95 % and one 90 % interval."""
    lines = [
        "world,seed,figure,value,error,truth",
        *(f"w,{seed},f,{value},1,0" for seed, value in enumerate((0, 1.8, 2.5, 5))),
    ]
    (tmp_path / "figures-0.csv").write_text("\n".join(lines) + "\nw,9,f,nan,1,0\n")
    null_worlds_page.write_summary(tmp_path, tmp_path / "summary.csv")
    (row,) = null_worlds_page.read_summary(tmp_path / "summary.csv")
    assert (row.worlds, row.claimed, row.covered_95, row.covered_90) == (4, 0.5, 0.5, 0.25)
    assert row.mean == pytest.approx(9.3 / 4, abs=1e-4)


def test_the_truth_is_what_happens_to_many_like_them():
    """Of a call to each person, by simulating everyone with and without it."""
    programme = simulated_programme(0, num_people=30, num_weeks=3, levels=(2,), call_effect=2.0)
    chains, rng = np.asarray(programme.transitions), np.random.default_rng(0)
    now = np.asarray(programme.trajectories.states)[:, -1]
    gained = 0.0
    for action, sign in ((1, 1), (0, -1)):
        state = np.repeat(now[:, None], 20_000, axis=1)
        for week in range(12):
            chance = chains[np.arange(30)[:, None], state, action if week == 0 else 0, 1]
            state = (rng.random(state.shape) < chance).astype(int)
            gained += sign * state.mean(axis=1).sum()
    assert true_gain(programme, np.eye(2)[now], np.ones(30)) == pytest.approx(gained, abs=0.2)


def test_women_gain_and_men_do_not():
    women, states, calls = women_and_men.simulate(0)
    here = (states[:, :-1] == 0) & calls[:, :-1]
    alone = (states[:, :-1] == 0) & ~calls[:, :-1]
    for who, effect in ((women, 0.3), (~women, 0.0)):
        raw = states[who, 1:][here[who]].mean() - states[who, 1:][alone[who]].mean()
        assert raw == pytest.approx(effect, abs=0.08)
