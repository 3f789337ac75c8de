"""The bound of 100 calls: exact in a simple world, 0 where calls do nothing, above what rules gain by simulation."""

import jax
import numpy as np
import pytest

from armwise.evaluation import priority_decision_quality
from armwise.evaluation.gain import Judge
from armwise.evaluation.resampling import Resampled
from armwise.planner import bound_of_100_calls
from armwise.planner.backtest_bound import MOST_STATES, estimated_chains
from armwise.rmab import Problem


def make_judge(effects, prior):
    """A judge that is certain; effects on each next state, one row for each level."""
    surface = np.concatenate([np.array(effects), np.zeros_like(effects)])
    values = np.asarray(prior, dtype=float)
    rewards = np.linspace(0, 1, len(values))
    return Judge(Resampled(surface, surface[None]), Resampled(values, values[None]), rewards)


NO_COUNTS = np.zeros((4, 2, 2))
LEVELS = np.array([0, 1])


def test_a_call_that_always_works_for_one_week_gains_one_week():
    """Left alone, nobody is ever engaged; called when disengaged, everyone is, for one week."""
    judge = make_judge([[-1.0, 1.0], [0.0, 0.0]], [[1e6, 1e-6], [1e6, 1e-6]])
    problem = Problem(discount=0.5, initial=[1.0, 0.0])
    # There is always someone disengaged to call. The week gained comes one step after its call.
    bound = bound_of_100_calls(judge, LEVELS, NO_COUNTS, problem, budget_share=0.25, seed=0)
    assert bound == pytest.approx(100 * 0.5, rel=1e-3)


def test_calls_that_do_nothing_or_hurt_gain_nothing():
    problem = Problem(discount=0.9, initial=[0.5, 0.5])
    for effect in (0.0, -0.2):
        judge = make_judge([[-effect, effect]] * 2, [[3.0, 1.0], [1.0, 3.0]])
        bound = bound_of_100_calls(judge, LEVELS, NO_COUNTS, problem, budget_share=0.25, seed=0)
        assert bound == pytest.approx(0, abs=0.01)


def test_chains_are_distributions_even_where_an_effect_would_leave_them(rng):
    judge = make_judge([[-0.7, 0.7], [0.6, -0.6]], [[3.0, 1.0], [1.0, 3.0]])
    chains = estimated_chains(judge, LEVELS, rng.integers(0, 5, (20, 2, 2)).astype(float))
    np.testing.assert_allclose(chains.sum(axis=-1), 1)
    assert (chains >= 0).all()
    assert chains[:, 0, 1, 1].max() == 1


def test_no_rule_gains_more_by_simulation(rng):
    judge = make_judge([[-0.4, 0.4], [-0.1, 0.1]], [[3.0, 1.0], [1.0, 3.0]])
    counts = rng.integers(0, 6, (20, 2, 2)).astype(float)
    problem = Problem(discount=0.8, initial=[0.5, 0.5])
    bound = bound_of_100_calls(judge, LEVELS, counts, problem, budget_share=0.2, seed=0)
    chains = estimated_chains(judge, LEVELS, counts)[None]
    gains = []
    for first in (1.0, -1.0):
        order = first * np.broadcast_to([1.0, 0.0], (1, 20, 2))
        quality = priority_decision_quality(jax.random.key(0), order, chains, problem, 4, 300)
        gains.append(100 * float(quality.achieved[0] - quality.never[0]) * (1 - 0.8) / 4)
    assert max(gains) <= bound * 1.05
    assert max(gains) > 0.5 * bound


def test_a_sample_of_people_stands_for_all(rng):
    judge = make_judge([[-0.3, 0.3], [-0.1, 0.1]], [[3.0, 1.0], [1.0, 3.0]])
    counts = rng.integers(0, 6, (400, 2, 2)).astype(float)
    problem = Problem(discount=0.9, initial=[0.5, 0.5])
    every = bound_of_100_calls(judge, LEVELS, counts, problem, 0.05, 0)
    some = [bound_of_100_calls(judge, LEVELS, counts, problem, 0.05, seed, most_people=200) for seed in (0, 0, 1)]
    assert some[0] == some[1] != some[2]
    assert some[0] == pytest.approx(every, rel=0.1)


def test_too_many_states_have_none():
    size = MOST_STATES + 1
    judge = make_judge(np.zeros((1, size)), np.ones((size, size)))
    problem = Problem(num_states=size)
    assert bound_of_100_calls(judge, np.zeros(size, int), np.zeros((2, size, size)), problem, 0.1, 0) is None
