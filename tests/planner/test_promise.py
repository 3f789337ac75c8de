"""What a list is promised to bring, against the truth of simulated programmes."""

import numpy as np

from armwise.data import simulated_programme
from armwise.planner import Predictions, promise_gain, run_backtest
from armwise.planner.past_lists import ARMWISE
from armwise.rmab import Problem
from reproduction.studies.null_worlds.study import true_gain

CHAIN = np.broadcast_to(np.array([[0.75, 0.25], [0.25, 0.75]])[:, None], (2, 2, 2))


def promise_and_truth(seed):
    """Of a list by features, which tell something of whom calls help."""
    programme = simulated_programme(seed, num_people=600, num_weeks=8, levels=(3, 2), calls_per_week=60)
    codes, history = np.asarray(programme.features.codes), programme.trajectories
    order = codes[:, :1] - codes[:, 1:] + np.array([[1.5, 0.0]])

    def fit(taught, seen, judged):
        del taught, seen
        return lambda _: Predictions(np.broadcast_to(CHAIN, (len(judged), 2, 2, 2)), order[judged])

    found = run_backtest(history, Problem(), {ARMWISE: fit}, budget_share=0.1, num_resamples=100, seed=seed)
    belief = np.eye(2)[np.asarray(history.states)[:, -1]]
    calls = np.zeros(600)
    calls[np.argsort(-np.sum(belief * order, axis=1), kind="stable")[:60]] = 1
    return promise_gain(found.ways[0].gain, 60), true_gain(programme, belief, calls)


def test_promises_come_true():
    """Nine of ten 90 % intervals cover the truth; fewer than 5 of 8 would be luck of 1 in 200."""
    covered = [low <= truth <= high for (_, low, high), truth in map(promise_and_truth, range(8))]
    assert sum(covered) >= 5
