"""The spread between people: steps of scoring end where scipy finds the most likely covariance, also near the edge."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from armwise.data import Features
from armwise.models.chains import fit_chains, spread
from armwise.models.chains.spread import PRIOR_PEOPLE, prior_covariance, scored, spread_sums
from tests.models.chains.worlds import simulate, two_states

NUM_PEOPLE = 400


def quadratic_evidence(seed, covariance):
    """Λ_i and h_i of people of whom most is known of two parameters and little of the two others, people last."""
    rng = np.random.default_rng(seed)
    weights = rng.gamma(2.0, np.array([2.0, 2.0, 0.2, 0.2]), size=(NUM_PEOPLE, 4))
    curvature = weights[:, :, None] * np.eye(4)
    theta = rng.multivariate_normal(np.zeros(4), covariance, NUM_PEOPLE)
    linear = weights * theta + np.sqrt(weights) * rng.normal(size=weights.shape)
    return curvature, linear


def minus_log_likelihood(roots, curvature, linear):
    """Of a covariance given by its Cholesky root, with θ_i integrated out, and of its prior."""
    lower = np.zeros((4, 4))
    lower[np.tril_indices(4)] = roots
    covariance = lower @ lower.T + 1e-10 * np.eye(4)
    inside = np.linalg.inv(np.linalg.inv(covariance) + curvature)
    fit = np.einsum("na,nab,nb->n", linear, inside, linear) - np.linalg.slogdet(np.eye(4) + covariance @ curvature)[1]
    prior = np.linalg.slogdet(covariance)[1] + np.trace(prior_covariance(2) @ np.linalg.inv(covariance))
    return (PRIOR_PEOPLE * prior - fit.sum()) / 2


def steps(covariance, curvature, linear, number):
    population = two_states().population()
    data = [jnp.asarray(np.moveaxis(part, 0, -1)) for part in (curvature, linear)]
    for _ in range(number):
        now = population.__class__(**{**vars(population), "covariance": jnp.asarray(covariance)})
        sums = spread_sums(now, jnp.zeros((4, NUM_PEOPLE)), *data, jnp.ones(NUM_PEOPLE))
        covariance = scored(covariance, type(sums)(*(np.array(part) for part in sums)))
    return covariance


@pytest.mark.parametrize("correlation", [0.3, 0.98])
def test_the_most_likely_spread(correlation, monkeypatch):
    """One trait in both states makes the covariance nearly singular. Correlations have no prior here."""
    monkeypatch.setattr(spread, "CORRELATION_SCALE", 1e3)
    truth = np.diag([1.0, 1.0, 0.2, 0.2])
    truth[0, 1] = truth[1, 0] = correlation
    curvature, linear = quadratic_evidence(0, truth)
    found = steps(prior_covariance(2), curvature, linear, 40)
    start = np.linalg.cholesky(truth)[np.tril_indices(4)]
    best = minimize(minus_log_likelihood, start, (curvature, linear), method="BFGS", options={"gtol": 1e-6})
    lower = np.zeros((4, 4))
    lower[np.tril_indices(4)] = best.x
    np.testing.assert_allclose(found, lower @ lower.T, atol=2e-3)


def test_one_trait_in_both_states_is_learned_in_few_turns():
    """With a correlation of 0.99 the steps once went to and fro for ever, and effects' spreads with them."""
    truth = two_states(memory=False, drift=False)
    covariance = np.diag(np.diag(truth.covariance))
    covariance[0, 1] = covariance[1, 0] = 0.99 * np.sqrt(covariance[0, 0] * covariance[1, 1])
    world = simulate(0, truth._replace(covariance=covariance), 2500, 16, 0.1)
    turns = []
    fit_chains(Features(numeric=np.zeros((2500, 0))), world.history, advance=lambda: turns.append(1))
    assert len(turns) < 30
