"""The expected course against the chains themselves, multiplied out."""

import dataclasses

import numpy as np
import pytest

from armwise.planning import OutreachPlanner
from armwise.planning.programme import Budget
from armwise.planning.report import forecast
from armwise.planning.report.forecast import make_forecast
from armwise.rmab import Problem, whittle_indices
from tests.planning.report.pages import sample_data


class KnownChains(OutreachPlanner):
    """A planner that knows everyone's chain."""

    def __init__(self, transitions):
        super().__init__()
        self.transitions, self.problem_ = transitions, Problem(discount=0.9, initial=[0.3, 0.7])

    def predict_transitions(self, features):
        return self.transitions

    def whittle_indices(self, features):
        return np.asarray(whittle_indices(self.transitions, self.problem_))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return sample_data(tmp_path_factory.mktemp("forecast"))


@pytest.fixture
def planner(data, rng):
    chance = rng.uniform(0.05, 0.6, (len(data.ids), 2, 1))
    chance = np.concatenate([chance, np.minimum(chance + 0.35, 1)], axis=2)  # a call helps everyone
    return KnownChains(np.stack([1 - chance, chance], axis=-1))


def with_budget(data, total):
    programme = dataclasses.replace(data.programme, budget=Budget(total, None, ()))
    return dataclasses.replace(data, programme=programme)


def multiplied_out(planner, data, actions, num_steps):
    """The expected share engaged now and later, if the same people are called in every step."""
    chains, rows = planner.transitions, np.arange(len(data.ids))
    states = np.zeros((len(rows), 2))
    for row, (state, since) in enumerate(zip(data.last_states, data.steps_since_observed, strict=True)):
        start = np.array([0.3, 0.7]) if state < 0 else np.eye(2)[state]
        steps = 0 if state < 0 else since - 1
        states[row] = start @ np.linalg.matrix_power(chains[row, :, 0], steps)
    shares = [states[:, 1].mean()]
    for _ in range(num_steps):
        states = np.einsum("ps,pst->pt", states, chains[rows, :, actions])
        shares.append(states[:, 1].mean())
    return np.array(shares)


def test_no_calls_and_calls_to_all_are_as_the_chains_say(data, planner):
    may = data.exclusions.is_null().to_numpy()
    result = make_forecast(planner, with_budget(data, int(may.sum())), num_steps=4)
    listed, lots, none = (np.array(course.engagement) for course in result.courses)
    # 200 runs of 300 people: a standard error of at most 0.002.
    assert none == pytest.approx(multiplied_out(planner, data, np.zeros(len(may), int), 4), abs=0.008)
    everyone = multiplied_out(planner, data, may.astype(int), 4)
    assert listed == pytest.approx(everyone, abs=0.008)
    # With a call for everyone who may be called, it does not matter who comes first; luck is shared.
    assert lots == pytest.approx(listed, abs=1e-12)
    assert result.courses[2].gained == 0
    assert result.courses[0].gained == pytest.approx((listed - none).sum() * len(may))


def test_the_list_gains_more_than_lots_and_lots_more_than_nothing(data, planner):
    courses = make_forecast(planner, with_budget(data, 20), num_steps=6).courses
    assert courses[0].gained > courses[1].gained > courses[2].gained == 0
    assert courses[0].spread[0] <= courses[0].gained <= courses[0].spread[1]


def test_nobody_is_called_who_never_is(data, planner):
    nobody = dataclasses.replace(with_budget(data, 20), exclusions=data.exclusions.fill_null("all"))
    courses = make_forecast(planner, nobody, num_steps=3).courses
    assert [course.gained for course in courses] == [0, 0, 0]


def test_many_people_are_simulated_in_fewer_runs(data, planner, monkeypatch):
    monkeypatch.setattr(forecast, "MOST_CELLS", 300 * 4 * 10)
    assert make_forecast(planner, with_budget(data, 20), num_steps=3).num_trajectories == 10
