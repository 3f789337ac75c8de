"""Worlds with a memory: effects, their spreads and cuts are found again, and predictions are as good as the truth's.

How lasting differences and memory share what makes people differ is told apart only weakly: the likelihood of 3,000
people over 20 weeks changes by less than five when the spread of log-odds goes from 1.0 to 0.7 and the slope of the
recent level rises in return. So neither of the two is compared with the truth here, but what they predict together.
"""

import numpy as np
import pytest

from armwise.models.chains import ChainModel, fit_chains
from tests.models.chains.worlds import simulate, three_states, two_states

WORLDS = {"two states": two_states(), "three states": three_states()}
NUM_LEARNED, NUM_JUDGED, NUM_WEEKS, FIRST_JUDGED, NUM_SEEDS = 3000, 2000, 20, 12, 4


@pytest.fixture(scope="module", params=WORLDS)
def fits(request):
    """The truth, simulated programmes, and what was learned from some people of each."""
    truth = WORLDS[request.param]
    worlds = [simulate(seed, truth, NUM_LEARNED + NUM_JUDGED, NUM_WEEKS, 0.15) for seed in range(NUM_SEEDS)]
    learned = slice(0, NUM_LEARNED)
    return truth, worlds, [fit_chains(each.features[learned], each.history[learned]) for each in worlds]


def close(estimates, truth, bias):
    """Whether the average over seeds is within three standard errors and a small bias of the truth."""
    values = np.array(estimates)
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return np.all(np.abs(values.mean(axis=0) - truth) < 3 * error + bias)


def test_effects_their_spread_and_cuts(fits):
    truth, _, models = fits
    size = truth.num_states
    populations = [each.population for each in models]
    assert close([each.weights[size:, 0] for each in populations], truth.weights[size:, 0], 0.05)
    spreads = [np.sqrt(np.diag(each.covariance))[size:] for each in populations]
    assert close(spreads, np.sqrt(np.diag(truth.covariance))[size:], 0.1)
    assert close([each.cuts[:, 1:] for each in populations], truth.cuts[:, 1:], 0.03)


def test_predictions_are_as_good_as_those_of_the_truth(fits):
    """Of weeks and people not learned from: a log-loss within 0.001 of the truth's, measured 0.0005 on average."""
    truth, worlds, models = fits
    excess = []
    for world, model in zip(worlds, models, strict=True):
        judged = slice(NUM_LEARNED, None)
        data = (world.features[judged], world.history[judged], FIRST_JUDGED)
        came = np.asarray(world.history.states)[judged, FIRST_JUDGED:, None]
        losses = [
            -np.log(np.take_along_axis(each.predict_steps(*data), came, axis=2)).mean()
            for each in (model, ChainModel(truth.population()))
        ]
        excess.append(losses[0] - losses[1])
    assert -0.001 < np.mean(excess) < 0.001
