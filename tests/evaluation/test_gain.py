"""What calls gain, against chains multiplied out week by week."""

import numpy as np
import pytest

from armwise.evaluation.gain import NUM_STEPS, Judge, gain_of_calls, gain_of_one_call
from armwise.evaluation.resampling import Resampled

REWARDS = np.array([0.0, 0.5, 1.0])


@pytest.fixture
def judge():
    rng = np.random.default_rng(0)
    surface = rng.normal(0, 0.05, (4, 2, 3))
    surface -= surface.mean(axis=-1, keepdims=True)
    prior = rng.uniform(1, 5, (4, 3, 3))
    return Judge(Resampled(surface[0], surface[1:]), Resampled(prior[0], prior[1:]), REWARDS)


def engaged_weeks(chain, first):
    """The reward of the steps after a call, from the distribution that the call leads to."""
    total, now = 0.0, first
    for _ in range(NUM_STEPS):
        total, now = total + now @ REWARDS, now @ chain
    return total


def test_the_gain_is_that_of_the_changed_next_step(judge):
    rng = np.random.default_rng(1)
    counts, calls = rng.integers(0, 5, (6, 3, 3)).astype(float), rng.random((6, 2))
    expected = 0.0
    for own, person in zip(counts, calls, strict=True):
        chain = (own + judge.prior.value) / (own + judge.prior.value).sum(axis=1, keepdims=True)
        # The row that a call starts from cancels out.
        expected += engaged_weeks(chain, chain[0] + person @ judge.surface.value) - engaged_weeks(chain, chain[0])
    assert gain_of_calls(judge, calls, counts).value == pytest.approx(expected)


def test_without_effects_there_is_no_gain(judge):
    nothing = judge._replace(surface=Resampled(0 * judge.surface.value, 0 * judge.surface.draws))
    gain = gain_of_calls(nothing, np.ones((4, 2)), np.ones((4, 3, 3)))
    assert gain.value == 0
    assert not gain.draws.any()


def test_one_call_to_someone_unknown_is_a_call_by_the_average_chain(judge):
    terms = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    gains = gain_of_one_call(judge, terms)
    for state in range(3):
        same = gain_of_calls(judge, terms[state][None], np.zeros((1, 3, 3)))
        assert gains.value[state] == pytest.approx(same.value)
        assert gains.draws[:, state] == pytest.approx(same.draws)
