"""What one call gains, against the chains of simulated people; and nothing from nothing."""

import numpy as np
import pytest

from armwise.data import Trajectories
from armwise.planner import estimate_call_gains
from tests.planner.gain_worlds import simulate, true_gains

TWO = np.array([[[0.8, 0.2], [0.4, 0.6]], [[0.3, 0.7], [0.25, 0.75]]])
THREE = np.array(
    [
        [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3]],
        [[0.3, 0.4, 0.3], [0.1, 0.4, 0.5]],
        [[0.1, 0.3, 0.6], [0.2, 0.4, 0.4]],  # here calls hurt
    ]
)


@pytest.mark.parametrize("chains", [TWO, THREE], ids=["two states", "three states"])
def test_gains_are_those_of_the_chains(chains):
    history = simulate(np.random.default_rng(1), chains, 1500, 9, 0.25)
    found = estimate_call_gains(history, np.linspace(0, 1, len(chains)))
    truth, errors = true_gains(chains), np.sqrt(np.diag(found.covariance))
    assert (np.abs(found.gains - truth) < 3 * errors).all()
    # Narrow enough to mean something: the largest gain is far from 0.
    assert errors.max() < np.abs(truth).max() / 4
    assert found.effects.is_shown
    assert found.effects.is_harmful == (len(chains) == 3)


def test_where_calls_do_nothing_errors_are_as_large_as_they_are_said_to_be():
    """The spread of the estimates over worlds is the standard error that each of them states."""
    chains, scores = TWO.copy(), []
    chains[:, 1] = chains[:, 0]
    for world in range(25):
        found = estimate_call_gains(simulate(np.random.default_rng([7, world]), chains, 120, 7, 0.2), [0, 1], world)
        scores.append(found.gains / np.sqrt(np.diag(found.covariance)))
    # Chance alone, of 50 scores of mean 0 and variance 1: 0.6 to 1.45 in 999 of 1,000 such tests.
    assert 0.6 < np.mean(np.square(scores)) < 1.45
    assert abs(np.mean(scores)) < 0.45


def test_with_few_calls_no_gain_is_said():
    rng = np.random.default_rng(0)
    states, calls = rng.integers(0, 2, (100, 6)), np.zeros((100, 6), int)
    calls[:8, 2] = 1
    found = estimate_call_gains(Trajectories.from_arrays(states, calls), [0, 1])
    assert not found.is_known
    assert np.isnan(found.gains).all()
    assert found.effects.overall.num_calls == 8


def test_a_few_calls_that_all_end_alike_are_no_certainty():
    """No resample of them differs, and yet as many people left alone would."""
    rng = np.random.default_rng(0)
    states, calls = rng.integers(0, 2, (400, 4)), np.zeros((400, 4), int)
    calls[:30, 1], states[:30, 1], states[:30, 2] = 1, 0, 1
    found = estimate_call_gains(Trajectories.from_arrays(states, calls), [0, 1])
    assert np.sqrt(found.covariance[0, 0]) >= 0.9 * 0.5 / np.sqrt(30)


def test_many_states_are_judged_in_bands():
    history = simulate(np.random.default_rng(2), THREE, 600, 8, 0.3)
    plain = estimate_call_gains(history, [0, 0.5, 1])
    found = estimate_call_gains(history, [0, 0.5, 1], most_bands=2)
    assert found.gains.shape == (3,)
    assert found.gains[0] == found.gains[1] != found.gains[2]
    assert [each.name for each in found.effects.by_state] == ["states 0 to 1", "state 2"]
    assert len(set(plain.gains)) == 3


def test_of_many_people_some_are_taken():
    history = simulate(np.random.default_rng(3), TWO, 900, 6, 0.3)
    everyone = estimate_call_gains(history, [0, 1], 5)
    some = estimate_call_gains(history, [0, 1], 5, most_people=300)
    assert some.effects.overall.num_calls < everyone.effects.overall.num_calls / 2
    assert estimate_call_gains(history, [0, 1], 5, most_people=300).gains.tobytes() == some.gains.tobytes()
    # A third of the people: about √3 times the error.
    ratio = np.sqrt(np.diag(some.covariance) / np.diag(everyone.covariance))
    assert (ratio > 1.3).all()
    assert (ratio < 2.3).all()
