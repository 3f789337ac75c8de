"""Whom each way would have called: budgets, ties by lot, places in the order."""

import numpy as np
import pytest

from armwise.data import Trajectories
from armwise.evaluation.decisions import find_decisions
from armwise.evaluation.lists import list_best, rank_in_state, simple_scores, standard_places


def test_the_best_are_listed_and_equals_share_what_is_left():
    scores = np.array([[3.0], [2.0], [2.0], [1.0], [9.0]])
    eligible = np.array([[True], [True], [True], [True], [False]])
    listed = list_best(scores, eligible, 0.5)
    assert listed[:, 0].tolist() == [1.0, 0.5, 0.5, 0.0, 0.0]


def test_a_fraction_of_a_call_goes_to_the_next_in_line():
    listed = list_best(np.array([[2.0], [1.0], [0.0]]), np.ones((3, 1), bool), 0.5)
    assert listed[:, 0].tolist() == [1.0, 0.5, 0.0]


def test_every_step_spends_its_budget():
    rng = np.random.default_rng(0)
    scores, eligible = rng.integers(0, 4, (50, 7)).astype(float), rng.random((50, 7)) < 0.7
    listed = list_best(scores, eligible, 0.13)
    assert listed.sum(axis=0) == pytest.approx(0.13 * eligible.sum(axis=0))
    assert not listed[~eligible].any()


def test_places_have_mean_0_and_variance_1():
    places = standard_places(np.arange(1000.0), np.arange(1000.0))
    assert places.mean() == pytest.approx(0, abs=1e-3)
    assert places.std() == pytest.approx(1, abs=1e-3)
    assert standard_places(np.array([5.0, 5.0]), np.array([5.0, 5.0])).tolist() == [0.0, 0.0]
    assert standard_places(np.array([1.0]), np.array([])).tolist() == [0.0]


def test_places_are_among_people_in_the_same_state():
    history = Trajectories.from_arrays([[0, 0], [0, 0], [1, 0], [1, 0]], np.zeros((4, 2)))
    decisions = find_decisions(history, np.array([0.0, 1.0]))
    places = rank_in_state(np.array([[1.0], [2.0], [30.0], [40.0]]), decisions, np.ones((4, 1), bool))[:, 0]
    assert places[0] == -places[1] == places[2] == -places[3] < 0


def test_rules_without_a_model():
    states = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 1]])
    calls = np.array([[1, 0, 0], [0, 0, 0], [0, 0, 0]])
    decisions = find_decisions(Trajectories.from_arrays(states, calls), np.array([0.0, 1.0]))
    scores = simple_scores(decisions, np.array([0.0, 1.0]))
    assert np.unique(scores["random"]).size == 1
    assert np.argsort(-scores["disengaged first"][:, 1]).tolist() == [0, 1, 2]
    assert scores["round robin"][0, 1] < scores["round robin"][1, 1] == scores["round robin"][2, 1]
