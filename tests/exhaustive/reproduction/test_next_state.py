"""The study of next states, run in small, and one of its real data sets once more."""

import pytest

from armwise.data import simulated_programme
from reproduction.markdown import read_rows
from reproduction.studies.next_state import page as next_state_page
from reproduction.studies.next_state import study as next_state
from reproduction.studies.next_state.data import PROTOCOLS, Protocol, RealHistory, split_people
from tests.data.real_data import real_data
from tests.reproduction.studies.next_state.test_study import RESULTS

WAYS = {next_state.ARMWISE, next_state.WITHOUT, *next_state_page.SIMPLER, *next_state_page.BOOSTED}


def test_every_way_predicts_every_case(tmp_path, monkeypatch):
    def read(_):
        programme = simulated_programme(0, num_people=200, num_weeks=16, levels=(2, 3))
        return RealHistory("simulated", programme.features, programme.trajectories)

    protocol = Protocol("none", read, split_people(0.5, 0.5, (4, 9), (10, 15)), 2, "made up.")
    monkeypatch.setattr("reproduction.studies.next_state.data.PROTOCOLS", [protocol])
    next_state.run(tmp_path, tmp_path / "out")
    rows = {row["way"]: row for row in read_rows(tmp_path / "out" / "summary.csv")}
    assert set(rows) == WAYS
    assert {row["splits"] for row in rows.values()} == {"2"}
    # Every way knows the last state at least, and nobody is as unsure as without it.
    assert all(0.2 < float(row["log_loss"]) < 0.69 for row in rows.values())
    assert float(rows["population's chain"]["difference"]) > 0
    assert {row["way"] for row in read_rows(tmp_path / "out" / "calibration.csv")} == WAYS


def test_one_split_of_a_trial_is_near_the_committed_mean():
    data = PROTOCOLS[2].read(real_data("ctn0094"))
    split = PROTOCOLS[2].split(data, 0)
    found = next_state.summarise(data.name, 1, next_state.predict_all(data, split))
    kept = {row["way"]: row for row in read_rows(RESULTS / "summary.csv") if row["data"] == data.name}
    for row in found:
        assert row["log_loss"] == pytest.approx(float(kept[row["way"]]["log_loss"]), abs=3 * row["error"])
