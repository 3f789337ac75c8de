"""Simulation-based calibration: people drawn from the population rank uniformly among draws of their posteriors.

The rank of the truth among 63 posterior draws is uniform on 0 … 63 if and only if the posterior is right (Talts et al.
2018). Ranks are of what users see: chances to climb, by state and action, and their difference, the effect of a call.
"""

import numpy as np
import pytest
from scipy.stats import binom, chisquare

from armwise.models.chains import ChainModel
from tests.models.chains.worlds import next_state_chances, row_covariates, simulate, three_states, two_states

NUM_PEOPLE, NUM_WEEKS, NUM_DRAWS, NUM_BINS = 1500, 16, 63, 16
# Of one test of uniform ranks. With about ten in each world, one in a thousand worlds of a right posterior fails.
SMALLEST = 1e-4
WORLDS = {
    "two states": (two_states(), 0.0),
    "a tenth unobserved": (two_states(), 0.1),
    "three states": (three_states(), 0.0),
}


def true_chains(truth, world):
    """Of each person from here on, ``[people, states, 2, states]``."""
    size, history = truth.num_states, world.history
    covariates = row_covariates(np.asarray(history.states), np.asarray(history.observed), size)
    shared = np.sum(truth.slopes * covariates, axis=2)
    odds = [world.theta[:, :size] + action * world.theta[:, size:] + shared for action in (0, 1)]
    rows = [[next_state_chances(each[:, row], truth.cuts[row]) for each in odds] for row in range(size)]
    return np.moveaxis(np.array(rows), 2, 0)


def climbs_and_effects(chains):
    """The chance of a state above the lowest by state and action, and what a call adds to it, side by side."""
    climbs = 1 - chains[..., 0]
    return np.concatenate([climbs[..., 0], climbs[..., 1], climbs[..., 1] - climbs[..., 0]], axis=-1)


def p_values(posterior, truths):
    """That ranks are uniform, for each quantity."""
    draws = climbs_and_effects(posterior.sample(1, NUM_DRAWS))
    ranks = np.sum(draws < climbs_and_effects(truths), axis=0)
    counts = [np.bincount(each * NUM_BINS // (NUM_DRAWS + 1), minlength=NUM_BINS) for each in ranks.T]
    return np.array([chisquare(each).pvalue for each in counts])


@pytest.fixture(scope="module", params=WORLDS)
def known(request):
    """The posterior, given the right population, and the truth."""
    truth, share_unseen = WORLDS[request.param]
    world = simulate(7, truth, NUM_PEOPLE, NUM_WEEKS, 0.25, share_unseen)
    posterior = ChainModel(truth.population()).posterior(world.features, world.history)
    return posterior, true_chains(truth, world)


def test_ranks_are_uniform(known):
    assert p_values(*known).min() > SMALLEST


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_wrong_spread_is_found(known, factor):
    posterior, truths = known
    wrong = posterior._replace(covariances=factor * posterior.covariances)
    assert p_values(wrong, truths).max() < SMALLEST


def test_a_wrong_mean_is_found(known):
    """Every effect off by a third of what effects differ by between people."""
    posterior, truths = known
    size = posterior.population.num_states
    shift = np.concatenate([np.zeros(size), np.full(size, 0.15)])
    found = p_values(posterior._replace(means=posterior.means + shift), truths)
    assert found[2 * size :].max() < SMALLEST


def test_intervals_of_effects_cover_the_truth(known):
    posterior, truths = known
    size = posterior.population.num_states
    effects = climbs_and_effects(truths)[:, 2 * size :]
    mean, low, high = posterior.effects()
    covered = np.mean((low <= effects) & (effects <= high), axis=0)
    # A symmetric interval of a skewed distribution covers 90 % only nearly: measured, 89 to 92 %.
    assert np.all(np.abs(covered - 0.9) < 0.02 + 3 * np.sqrt(0.09 / NUM_PEOPLE))
    np.testing.assert_allclose(mean.mean(axis=0), effects.mean(axis=0), atol=0.01)


def test_effects_are_what_the_chains_say(known):
    posterior, _ = known
    climbs = 1 - posterior.transitions()[..., 0]
    np.testing.assert_allclose(posterior.effects()[0], climbs[..., 1] - climbs[..., 0], atol=2e-4)


def test_chains_are_the_average_of_draws(known):
    posterior, _ = known
    few = posterior._replace(
        means=posterior.means[:20], covariances=posterior.covariances[:20], memory=_first(posterior.memory, 20)
    )
    draws = few.sample(3, 400)
    error = draws.std(axis=0) / np.sqrt(400)
    assert np.all(np.abs(few.transitions() - draws.mean(axis=0)) < 5 * error + 1e-4)


def test_the_next_state_is_predicted_as_often_as_it_comes():
    """In ten groups by predicted chance, the share that climbs is within its sampling error."""
    truth = two_states()
    world = simulate(8, truth, NUM_PEOPLE, NUM_WEEKS, 0.25)
    predicted = ChainModel(truth.population()).predict_steps(world.features, world.history, NUM_WEEKS - 1)[:, 0, 1]
    came = np.asarray(world.history.states)[:, -1]
    for group in np.array_split(np.argsort(predicted), 10):
        low, high = binom.ppf([1e-4, 1 - 1e-4], len(group), predicted[group].mean())
        assert low <= came[group].sum() <= high


def _first(memory, number):
    return type(memory)(*(np.asarray(part)[:number] for part in memory))
