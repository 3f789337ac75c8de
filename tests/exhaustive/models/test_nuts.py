"""NUTS, which approximates nothing, agrees with each person's Gaussian posterior and with the fitted population."""

import numpy as np
import pytest
from numpyro.diagnostics import effective_sample_size, gelman_rubin

from armwise.data import Trajectories
from armwise.models.chains import ChainModel, fit_chains
from tests.exhaustive.models.programs import given_population, sample, weeks_of, whole_population
from tests.models.chains.worlds import simulate, three_states, two_states

NUM_PEOPLE, NUM_WEEKS = 32, 24
# For each world the error of the Gaussian itself beyond that of sampling: of means, in posterior standard deviations;
# of standard deviations, as a share, for the worst person and on average.
WORLDS = {
    "two states": (two_states(), 0.0, (0.005, 0.02, 0.01)),
    "two states, a fifth unobserved": (two_states(), 0.2, (0.05, 0.15, 0.06)),
    "three states": (three_states(), 0.0, (0.01, 0.03, 0.015)),
    "three states, a tenth unobserved": (three_states(), 0.1, (0.08, 0.15, 0.05)),
}


def of_different_length(history):
    """From 3 to all weeks of each person, so that some are known well and others are not."""
    last = np.linspace(3, history.num_steps, history.num_arms).astype(int)
    observed = np.asarray(history.observed) & (np.arange(history.num_steps) < last[:, None])
    return Trajectories.from_arrays(history.states, history.actions, observed, num_states=history.num_states)


@pytest.mark.parametrize("name", WORLDS)
def test_each_persons_posterior(name):
    truth, share_unseen, (of_means, of_spreads, on_average) = WORLDS[name]
    world = simulate(1, truth, NUM_PEOPLE, NUM_WEEKS, 0.2, share_unseen)
    history = of_different_length(world.history)
    found = ChainModel(truth.population()).posterior(world.features, history)
    shared = (truth.covariance, truth.slopes, truth.cuts)
    sampler = sample(0, given_population, weeks_of(history), found.prior_means, *shared, warmup=300, draws=1000)
    draws = np.asarray(sampler.get_samples(group_by_chain=True)["theta"])
    assert gelman_rubin(draws).max() < 1.01
    number = effective_sample_size(draws)
    flat = draws.reshape(-1, *draws.shape[2:])
    spread = flat.std(axis=0)
    assert np.all(np.abs(found.means - flat.mean(axis=0)) / spread < 4.5 / np.sqrt(number) + of_means)
    # The standard error of a standard deviation is that of the squares' mean.
    squares = effective_sample_size((draws - flat.mean(axis=0)) ** 2)
    shares = np.sqrt(np.diagonal(found.covariances, axis1=1, axis2=2)) / spread - 1
    assert np.all(np.abs(shares) < 4.5 / np.sqrt(2 * squares) + of_spreads)
    assert np.all(np.abs(shares.mean(axis=0)) < on_average + 0.01)


def test_the_population():
    """The fit of 150 people is inside the intervals of a full sample of population and people together.

    In this world a streak is all the memory there is, and NumPyro's program knows that; so the two agree where the data
    tell, which is what is compared.
    """
    truth = two_states(memory=False, drift=False)
    truth = truth._replace(weights=truth.weights * [1, 0, 0])
    world = simulate(3, truth, 150, 16, 0.25)
    population = fit_chains(world.features, world.history).population
    sampler = sample(0, whole_population, weeks_of(world.history), 150, 2, warmup=300, draws=300)
    draws = sampler.get_samples(group_by_chain=True)
    assert gelman_rubin(np.asarray(draws["means"])).max() < 1.05
    own = np.asarray(population.slopes / population.scales)
    # The covariates' contribution at streak 1 belongs to the intercept of NumPyro's program.
    intercepts = np.asarray(population.weights)[:, 0].copy()
    intercepts[:2] -= np.sum(own * np.asarray(population.means), axis=1)
    for name, values in (("means", intercepts), ("spreads", np.sqrt(np.diag(population.covariance)))):
        flat = np.asarray(draws[name]).reshape(-1, 4)
        low, high = np.quantile(flat, [0.05, 0.95], axis=0)
        assert np.all((low <= values) & (values <= high)), (name, values, low, high)
