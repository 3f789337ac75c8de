"""The study of next states: what each way may know, how predictions are scored, and a page that follows its results."""

from pathlib import Path

import numpy as np
import pytest

from armwise.data import Features, Trajectories, simulated_programme
from armwise.models.chains import fit_chains
from reproduction.__main__ import main
from reproduction.markdown import read_rows, write_rows
from reproduction.studies import commands
from reproduction.studies.next_state import baselines as next_state_baselines
from reproduction.studies.next_state import data as next_state_data
from reproduction.studies.next_state import page as next_state_page
from reproduction.studies.next_state import study as next_state
from reproduction.studies.next_state.data import PROTOCOLS, RealHistory
from tests.data.real_data import real_data

ROOT = Path(__file__).parents[4]
RESULTS = ROOT / "results" / "next-state"


def small(num_people=12, num_steps=9, seed=0):
    rng = np.random.default_rng(seed)
    states, actions = rng.integers(2, size=(2, num_people, num_steps))
    history = Trajectories.from_arrays(states, actions, rng.random(states.shape) < 0.9)
    return RealHistory("small", Features(codes=rng.integers(3, size=(num_people, 1)), levels=(3,)), history)


def made_up_rows(data, differences):
    """All ways have an error of 0.01; what is given is added to armwise's log-loss."""
    ways = [next_state.ARMWISE, next_state.WITHOUT, *next_state_page.SIMPLER, *next_state_page.BOOSTED]
    shared = {"data": data, "splits": 1, "people": 9, "cases": 99, "error": 0.01, "difference_error": 0.01}
    return [
        {
            **shared,
            "way": way,
            "log_loss": 0.4 + differences.get(way, 0.05),
            "difference": differences.get(way, 0.05),
            "calibration_error": 0.01,
        }
        for way in ways
    ]


class TestPage:
    def test_it_is_what_the_results_give(self):
        summary, calibration = (read_rows(RESULTS / f"{name}.csv") for name in ("summary", "calibration"))
        page = next_state_page.page_text(summary, calibration)
        assert (ROOT / "docs" / "next-state.md").read_text() == page
        picture = (ROOT / "docs" / "images" / next_state_page.PICTURE).read_text()
        assert next_state_page.fingerprint(calibration) in picture, "run python -m reproduction next-state --page"

    def test_every_data_set_and_way_was_run(self):
        summary, calibration = (read_rows(RESULTS / f"{name}.csv") for name in ("summary", "calibration"))
        ways = {next_state.ARMWISE, next_state.WITHOUT, *next_state_page.SIMPLER, *next_state_page.BOOSTED}
        data = {"OULAD", "CTN-0027", "CTN-0051", "HeartSteps"}
        expected = {(name, way) for name in data for way in ways}
        for rows in (summary, calibration):
            assert {(row["data"], row["way"]) for row in rows} == expected
        for row in summary:
            bins = [each for each in calibration if (each["data"], each["way"]) == (row["data"], row["way"])]
            assert sum(int(each["cases"]) for each in bins) == int(row["cases"]) * int(row["splits"])

    def test_the_command_writes_it(self, tmp_path, monkeypatch):
        monkeypatch.setattr(commands, "ROOT", tmp_path)
        (tmp_path / "docs").mkdir()
        for name in ("summary", "calibration"):
            write_rows(tmp_path / "results" / "next-state" / f"{name}.csv", read_rows(RESULTS / f"{name}.csv"))
        main(["next-state", "--page"])
        assert (tmp_path / "docs" / "next-state.md").read_text() == (ROOT / "docs" / "next-state.md").read_text()
        assert (tmp_path / "docs" / "images" / next_state_page.PICTURE).stat().st_size > 10_000

    def test_its_sentences_follow_the_numbers(self):
        differences = {next_state_page.LOGISTIC: -0.02, next_state_page.BOOSTING: 0.005}
        names = ["first", "second", "third", "fourth"]
        summary = [
            {key: str(value) for key, value in row.items()}
            for name in names
            for row in made_up_rows(name, differences if name == "second" else {})
        ]
        calibration = [
            {"data": name, "way": next_state.ARMWISE, "cases": "5", "predicted": "0.2", "came": "0.34"}
            for name in names
        ]
        page = next_state_page.page_text(summary, calibration)
        assert "\n| logistic regression on history | better | behind | better | better |\n" in page
        assert "\n| gradient boosting on history | better | level | better | better |\n" in page
        words = page.replace("\n", " ")
        simpler = "better in 15 of 16 comparisons, level in 0 and behind in 1: logistic regression on history on second"
        assert f"Against simpler ways, armwise is {simpler} (−0.0200 ± 0.0100)." in words
        assert (
            "Against gradient boosting, armwise is better in 7 of 8 comparisons, level in 1 and behind in 0." in words
        )
        assert "| second (5) | 20 → 34 |" in page


class TestWhatIsKnown:
    def test_features_of_a_past_by_hand(self):
        history = Trajectories.from_arrays([[1, 1, 0, 0, 1]], np.zeros((1, 5)), [[True, True, True, False, True]])
        found = next_state_baselines.history_features(history)[0]
        # Before step 3: 1, 1, 0, so one move from 1 to each state; one made-up case of each kind is added.
        expected = [0, -np.log(2), 1 / 2, 2 / 4, 3 / 5, 3 / 5, 0]
        np.testing.assert_allclose(found[3], expected)
        # Nothing was seen in step 3.
        np.testing.assert_allclose(found[4], expected)

    def test_features_know_nothing_of_what_comes(self):
        data = small()
        states, actions, observed = (
            np.asarray(part) for part in (data.history.states, data.history.actions, data.history.observed)
        )
        other = np.where(np.arange(9) < 5, states, 1 - states)
        here, there = (
            next_state_baselines.history_features(Trajectories.from_arrays(each, actions, observed))
            for each in (states, other)
        )
        np.testing.assert_array_equal(here[:, :6], there[:, :6])
        assert (here[:, 6:] != there[:, 6:]).any()

    def test_others_later_steps_are_judged(self):
        data = small()
        split = next_state_data.split_people(0.5, 4, (2, 4), (5, 7))(data, seed=3)
        learned, judged = split.learned.any(axis=1), split.judged.any(axis=1)
        assert (learned.sum(), judged.sum()) == (6, 4)
        assert not (learned & judged).any()
        assert np.flatnonzero(split.learned.any(axis=0)).tolist() == [2, 3, 4]
        assert np.flatnonzero(split.judged.any(axis=0)).tolist() == [5, 6, 7]
        again = next_state_data.split_people(0.5, 4, (2, 4), (5, 7))(data, seed=3)
        np.testing.assert_array_equal(split.judged, again.judged)

    @pytest.mark.parametrize("seed", [0, 1])
    def test_nothing_later_is_learned_from(self, seed):
        data = small(seed=seed)
        for split in (
            next_state_data.split_time(data, 0),
            next_state_data.split_people(0.5, 0.5, (2, 4), (5, 7))(data, seed),
        ):
            cases = next_state_data.predictable(data.history)
            assert not (split.learned & split.judged).any()
            assert not ((split.learned | split.judged) & ~cases).any()
            _, history = next_state_data.history_to_learn_from(data, split)
            people = np.flatnonzero(split.learned.any(axis=1))
            for row, person in enumerate(people):
                last = np.flatnonzero(split.learned[person])[-1]
                seen = np.asarray(data.history.observed)[person, : history.num_steps].copy()
                seen[last + 1 :] = False
                np.testing.assert_array_equal(np.asarray(history.observed)[row], seen)

    def test_a_prediction_is_that_of_the_model_step_by_step(self):
        data = small()
        split = next_state_data.split_people(0.5, 0.5, (2, 4), (5, 7))(data, 1)
        found = next_state.predict_chains(data, split)
        model = fit_chains(*next_state_data.history_to_learn_from(data, split))
        expected = model.predict_steps(data.features, data.history, 5)[split.judged[:, 5:]][:, 1]
        np.testing.assert_allclose(found, expected, atol=1e-5)

    def test_the_past_of_a_case(self):
        history = Trajectories.from_arrays([[1, 0, 1, 1]], [[0, 1, 1, 0]], [[True, True, False, True]])
        past = next_state.pasts(history, np.array([[False, True, False, True]]))
        assert past.observed.tolist() == [[False, False, True], [True, True, False]]
        assert np.where(past.observed, past.states, 9).tolist() == [[9, 9, 1], [1, 0, 9]]
        assert np.where(past.observed, past.actions, 9).tolist() == [[9, 9, 0], [0, 1, 9]]

    def test_the_populations_chain(self):
        known = np.array([[0, 0], [0, 0], [0, 0], [1, 1]])
        found = next_state_baselines._population_chain(
            known, np.array([1, 0, 0, 1]), np.array([[0, 0], [1, 1], [1, 0]])
        )
        np.testing.assert_allclose(found, [2 / 5, 2 / 3, 1 / 2])


class TestScores:
    def test_log_loss_and_differences(self):
        judged = next_state.Judged(
            np.array([0, 0, 1]), np.array([1, 0, 1]), {"armwise": np.full(3, 0.5), "b": np.array([0.25, 0.75, 0.25])}
        )
        first, second = next_state.summarise("data", 1, judged)
        assert (first["log_loss"], first["difference"], first["difference_error"]) == (0.6931, 0, 0)
        assert second["log_loss"] == round(np.log(4), 4)
        assert (second["people"], second["cases"]) == (2, 3)
        assert second["difference"] == round(np.log(2), 4)

    def test_errors_are_those_of_people_and_not_of_cases(self):
        """Cases of a person are all alike, so the error is that of the mean over people."""
        rng = np.random.default_rng(0)
        chance = np.repeat(rng.uniform(0.3, 0.9, 200), 20)
        judged = next_state.Judged(np.repeat(np.arange(200), 20), np.ones(4000, int), {"armwise": chance})
        (row,) = next_state.summarise("data", 1, judged)
        assert row["error"] == pytest.approx(np.log(chance[::20]).std() / np.sqrt(200), rel=0.1)

    def test_bins_hold_a_tenth_each(self):
        rng = np.random.default_rng(1)
        predictions = rng.random(5000)
        states = (rng.random(5000) < predictions).astype(int)
        bins = next_state.bins_of(predictions, states)
        assert [each.cases for each in bins] == [500] * 10
        assert next_state.calibration_error(predictions, states) < 0.03
        assert next_state.calibration_error(np.full(5000, 0.9), states) == pytest.approx(0.9 - states.mean())


class TestRealData:
    def test_oulad_has_each_student_once(self):
        data = next_state_data.read_oulad(real_data("oulad"))
        assert data.history.shape == (26_158, 31)
        split = PROTOCOLS[0].split(data, 0)
        assert (split.learned.sum(), split.judged.sum()) == (5000 * 12, 3000 * 15)

    def test_ctn0094(self):
        folder = real_data("ctn0094")
        for protocol, people in zip(PROTOCOLS[1:3], (1269, 570), strict=True):
            data = protocol.read(folder)
            assert data.history.shape == (people, 24)
            split = protocol.split(data, 0)
            assert split.judged.any(axis=1).sum() == people // 2
            assert split.judged.sum() == 8 * (people // 2)

    def test_heartsteps_predicts_what_follows_a_decision(self):
        data = next_state_data.read_heartsteps(real_data("heartsteps"))
        split = next_state_data.split_time(data, 0)
        steps = np.nonzero(split.learned | split.judged)[1]
        assert set(steps % 3) == {1}
        assert split.learned.any(axis=1).all()
        assert split.judged.any(axis=1).all()
        assert split.learned.sum() / len(steps) == pytest.approx(0.6, abs=0.01)


def test_history_tells_people_apart():
    """Simulated people who differ much: their own past predicts better than what all have in common."""
    programme = simulated_programme(0, num_people=150, num_weeks=16, levels=(2,))
    data = RealHistory("simulated", programme.features, programme.trajectories)
    split = next_state_data.split_people(0.5, 0.5, (4, 9), (10, 15))(data, 0)
    past = next_state_baselines.history_features(data.history)
    columns = [next_state_baselines.columns_of(data, cases, past) for cases in (split.learned, split.judged)]
    states = np.asarray(data.history.states)
    fitted = next_state_baselines._logistic(10).fit(
        np.hstack([columns[0].now, columns[0].past]), states[split.learned], groups=np.nonzero(split.learned)[0]
    )
    chain = next_state_baselines._population_chain(columns[0].now, states[split.learned], columns[1].now)
    own = fitted.predict_proba(np.hstack([columns[1].now, columns[1].past]))[:, 1]
    judged = next_state.Judged(np.nonzero(split.judged)[0], states[split.judged], {"own": own, "chain": chain})
    losses = next_state.log_losses(judged).mean(axis=0)
    assert losses[0] < losses[1]
