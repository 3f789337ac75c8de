"""Chains of people left alone, against SciPy's own likelihood and against powers of matrices."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import betaln

from armwise.evaluation.persistence import fit_prior, posterior_chains, values_left_alone
from armwise.evaluation.resampling import draw_weights


def draw_counts(num_people, alpha, beta, rng):
    number = rng.integers(0, 12, num_people)
    up = rng.binomial(number, rng.beta(alpha, beta, num_people))
    return np.stack([number - up, up], axis=1).astype(float)


def minus_log_likelihood(logs, counts):
    """Of Beta-binomial counts, by SciPy's own Beta function."""
    down, up = counts.T
    first, second = np.exp(logs)
    return -np.sum(betaln(first + down, second + up) - betaln(first, second))


@pytest.mark.parametrize("shape", [(2.0, 5.0), (6.0, 1.5), (0.3, 0.2), (20.0, 60.0)])
def test_the_prior_is_the_maximum_of_the_marginal_likelihood(shape):
    counts = draw_counts(800, *shape, np.random.default_rng(0))
    prior = fit_prior(np.stack([counts, counts], axis=1), num_resamples=2).value[0]
    best = minimize(minus_log_likelihood, np.zeros(2), (counts,), method="Nelder-Mead")
    assert minus_log_likelihood(np.log(prior), counts) < best.fun + 1e-3
    # Strong priors have a flat likelihood: what matters is the chain that they give.
    expected = np.exp(best.x) + counts
    found = posterior_chains(np.stack([counts, counts], axis=1), np.stack([prior, prior]))[:, 0]
    assert found == pytest.approx(expected / expected.sum(axis=1, keepdims=True), abs=2e-3)


def test_people_who_are_all_alike_are_judged_by_the_average():
    """Each person the same: 3 of 10, which no chance would make so even."""
    counts = np.broadcast_to([[7.0, 3.0], [7.0, 3.0]], (300, 2, 2))
    prior = fit_prior(counts, num_resamples=2).value
    chains = posterior_chains(counts, prior)
    assert prior.sum(axis=1).min() > 1000
    assert chains[..., 1] == pytest.approx(0.3, abs=1e-3)


def test_a_resample_counts_people_as_often_as_they_were_drawn():
    rng = np.random.default_rng(2)
    counts = np.stack([draw_counts(60, 2.0, 5.0, rng)] * 2, axis=1)
    drawn = draw_weights(60, 1, 5, 0)[1]
    resampled = fit_prior(counts, num_resamples=1, seed=5).draws[0]
    assert resampled == pytest.approx(fit_prior(np.repeat(counts, drawn, axis=0), num_resamples=1).value, rel=1e-6)


def test_values_are_sums_of_powers_of_the_chain():
    rng = np.random.default_rng(3)
    chain, rewards = rng.dirichlet(np.ones(3), 3), np.array([0.0, 0.5, 1.0])
    values = values_left_alone(chain[None], rewards, 6)[:, 0]
    for steps in range(6):
        expected = sum(np.linalg.matrix_power(chain, power) @ rewards for power in range(steps + 1))
        assert values[steps] == pytest.approx(expected)
