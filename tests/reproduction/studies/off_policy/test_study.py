"""The off-policy study: its page follows from its results, its choices keep their budget, its logs are read right."""

import numpy as np
import pytest

from reproduction.__main__ import main
from reproduction.markdown import markdown, read_rows, write_rows
from reproduction.studies.off_policy.choices import cross_fitted_scores, folds_of, top_share
from reproduction.studies.off_policy.coverage import World, draw_programme, true_values
from reproduction.studies.off_policy.ctn0094 import read_trial
from reproduction.studies.off_policy.heartsteps import as_pairs, read_log
from reproduction.studies.off_policy.page import make_page
from reproduction.studies.off_policy.study import PAGE, RESULTS
from tests.data.real_data import real_data


def test_the_page_is_written_from_the_results():
    assert PAGE.read_text() == make_page(RESULTS)


def test_the_committed_coverage_is_that_of_a_thousand_programmes():
    rows = read_rows(RESULTS / "coverage.csv")
    assert {row["programmes"] for row in rows} == {"1000"}
    assert len(rows) == 36
    for row in rows:
        assert 0.93 <= float(row["covered"]) <= 0.97, row


def test_the_doubly_robust_difference_is_the_narrowest_in_every_kind():
    rows = [row for row in read_rows(RESULTS / "coverage.csv") if row["quantity"] == "difference"]
    for world in {row["world"] for row in rows}:
        widths = {row["estimator"]: float(row["median_width"]) for row in rows if row["world"] == world}
        assert min(widths, key=widths.get) == "doubly_robust"


def test_the_first_division_is_that_of_the_table():
    table = {
        (row["setting"], row["share"]): row
        for row in read_rows(RESULTS / "heartsteps.csv")
        if row["way"] == "armwise, by index"
    }
    first = [row for row in read_rows(RESULTS / "heartsteps-divisions.csv") if row.pop("division") == "0"]
    assert first == list(table.values())


def test_the_sign_changes_from_division_to_division():
    rows = read_rows(RESULTS / "heartsteps-divisions.csv")
    assert len(rows) == 20
    for key in {(row["setting"], row["share"]) for row in rows}:
        found = [float(row["doubly_robust_difference_value"]) for row in rows if (row["setting"], row["share"]) == key]
        assert min(found) < 0 < max(found)


def test_the_page_counts_intervals_on_either_side_of_0(tmp_path):
    for name in ("coverage", "heartsteps", "heartsteps-divisions", "ctn0094"):
        rows = read_rows(RESULTS / f"{name}.csv")
        for row in rows:
            if row.get("way") == "armwise, by index":
                row |= {"doubly_robust_difference_low": "0.01", "doubly_robust_difference_high": "0.02"}
            elif row.get("way") == "armwise, by predicted effect":
                row |= {"doubly_robust_difference_low": "-0.02", "doubly_robust_difference_high": "0.02"}
        write_rows(tmp_path / f"{name}.csv", rows)
    text = " ".join(make_page(tmp_path).split())
    assert "In 20 comparisons the interval lies above 0 in 10 (" in text
    assert "below 0 in 0, and holds 0 in 10." in text


def test_a_table():
    assert markdown(["a", "b"], [["x", 1]]) == "| a | b |\n| --- | ---: |\n| x | 1 |"


def test_the_highest_scores_get_the_budget_and_ties_share_it():
    scores = np.array([[3.0, 1.0], [1.0, 1.0], [5.0, 5.0], [0.0, 9.0]])
    used = np.array([[True, True], [True, True], [True, True], [True, False]])
    folds = np.array([0, 0, 1, 1])
    policy = top_share(scores, used, folds, 0.5)
    third = 1 / 3
    # Fold 0: two calls of four decisions, one to the 3 and one among three equal ones. Fold 1: 1.5 of three.
    np.testing.assert_allclose(policy, [[1, third], [third, third], [0.75, 0.75], [0, 0]])
    for share in (0.0, 0.3, 1.0):
        chosen = top_share(scores, used, folds, share)
        for fold in (0, 1):
            own = used & (folds == fold)[:, None]
            assert chosen[own].mean() == pytest.approx(share)


def test_nobody_is_scored_by_a_planner_that_learned_from_them():
    seen = []

    class Memory:
        def fit(self, people, history):
            self.learned = set(people["id"])
            self.problem_ = type("Problem", (), {"initial": [0.5, 0.5]})
            return self

        def predict_transitions(self, people):
            assert not self.learned & set(people["id"])
            seen.extend(people["id"])
            return np.full((len(people), 2, 2, 2), 0.5) + np.asarray(people["id"])[:, None, None, None] / 100

        def whittle_indices(self, people):
            return np.asarray(people["id"], dtype=float)[:, None] + np.zeros((1, 2))

    import polars as pl

    people = pl.DataFrame({"id": np.arange(12)})
    history, _ = draw_programme(np.random.default_rng(0), World("test", num_people=12, num_steps=3))
    scores = cross_fitted_scores(people, history, folds_of(12), Memory)
    assert sorted(seen) == list(range(12))
    np.testing.assert_array_equal(scores.whittle[:, 0], np.arange(12))
    np.testing.assert_allclose(scores.risk[:, 1], 0.5 - np.arange(12) / 100)


def test_the_true_value_is_that_of_a_long_simulation():
    world = World("test", num_people=40_000, num_steps=5, call_rate=0.3, unobserved=0.0)
    truth = true_values(np.random.default_rng(0), world)
    history, _ = draw_programme(np.random.default_rng(1), world)
    states, actions = np.asarray(history.states), np.asarray(history.actions)
    for step in range(4):
        after = states[:, step + 1]
        passive, active = (after[actions[:, step] == action].mean() for action in (0, 1))
        assert truth.passive[step] == pytest.approx(passive, abs=0.012)
        assert truth.effect[step] == pytest.approx(active - passive, abs=0.02)


def test_heartsteps_is_read_as_the_domain_reads_it():
    from armwise import heartsteps, transition_counts

    folder = real_data("heartsteps")
    log = read_log(folder, 0)
    counts = np.asarray(transition_counts(as_pairs(log)))
    cohorts = heartsteps(folder, size=37).cohorts
    np.testing.assert_array_equal(counts.sum(axis=0), np.asarray(cohorts.counts).sum(axis=(0, 1)))
    assert np.isnan(log.outcomes[~np.asarray(log.history.observed)]).all()


def test_ctn0094_has_one_lot_for_each_person():
    trial = read_trial(real_data("ctn0094"), "27")
    assert (len(trial.arm), int(trial.arm.sum())) == (1269, 529)
    observed = np.asarray(trial.history.observed)
    actions = np.asarray(trial.history.actions)
    np.testing.assert_array_equal(np.where(observed, actions, trial.arm[:, None]), trial.arm[:, None] + 0 * actions)
    assert 0 <= trial.engaged.min() <= trial.engaged.max() <= 1


def test_the_command_line_refuses_unknown_parts(capsys):
    with pytest.raises(SystemExit):
        main(["off-policy", "everything"])
    assert "invalid choice: 'everything'" in capsys.readouterr().err
