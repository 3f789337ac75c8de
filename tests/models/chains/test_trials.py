"""The distribution of the next state and its averages, against NumPy and scipy's integrals."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.special import expit
from scipy.stats import norm

from armwise.models.chains.trials import average_difference, average_row, average_trial, row
from tests.models.chains.worlds import next_state_chances

MEANS = [-4.0, -1.0, 0.0, 2.5]
# The error of seven nodes for each standard deviation of the log-odds; between people, 1 is usual and 2 is large.
ERRORS = {0.0: 1e-9, 0.3: 1e-9, 1.0: 4e-5, 1.5: 8e-4, 2.0: 4e-3}


def average(function, mean, spread):
    """The average over N(mean, spread²), by adaptive quadrature."""
    return quad(lambda node: function(mean + spread * node) * norm.pdf(node), -10, 10, epsabs=1e-11, limit=200)[0]


@pytest.mark.parametrize("spread", ERRORS)
@pytest.mark.parametrize("mean", MEANS)
def test_averages_of_a_trial(mean, spread):
    chance, slope = average_trial(jnp.array(mean), jnp.array(spread**2))
    assert abs(chance - average(expit, mean, spread)) < ERRORS[spread]
    assert abs(slope - average(lambda odds: expit(odds) * expit(-odds), mean, spread)) < ERRORS[spread]


@pytest.mark.parametrize("spread", ERRORS)
def test_the_average_row_of_three_states(spread):
    cuts = np.array([0.0, 0.8])
    found = average_row(jnp.array([0.4]), jnp.array([spread**2]), jnp.asarray(cuts))[:, 0]
    wanted = [average(lambda odds, s=s: next_state_chances(np.array(odds), cuts)[s], 0.4, spread) for s in range(3)]
    np.testing.assert_allclose(found, wanted, atol=ERRORS[spread])
    assert found.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("covariance", [-0.3, 0.0, 0.2])
def test_the_average_effect_and_its_square(covariance):
    mean, variance, added, added_variance = -0.5, 0.8, 0.6, 0.3
    slope = covariance / variance
    rest = np.sqrt(added_variance - slope * covariance)

    def effect(other, node, power):
        alone = mean + np.sqrt(variance) * node
        called = alone + added + slope * (alone - mean) + rest * other
        return (expit(called) - expit(alone)) ** power * norm.pdf(node) * norm.pdf(other)

    found = average_difference(*(jnp.array(each) for each in (mean, variance, added, added_variance, covariance)))
    for power, value in enumerate(found, start=1):
        assert value == pytest.approx(dblquad(effect, -7, 7, -7, 7, args=(power,), epsabs=1e-5)[0], abs=2e-4)


def test_a_row_is_the_sequential_logit():
    rng = np.random.default_rng(0)
    odds, cuts = rng.normal(size=50), np.array([0.0, 1.0, -0.5])
    found = np.asarray(row(jnp.asarray(odds), jnp.asarray(cuts)))
    np.testing.assert_allclose(found.T, next_state_chances(odds, cuts), rtol=1e-12)
    np.testing.assert_allclose(found.sum(axis=0), 1, rtol=1e-12)


def test_two_states_are_a_logistic_model():
    odds = jnp.linspace(-3, 3, 7)
    np.testing.assert_allclose(row(odds, jnp.zeros(1))[1], expit(np.asarray(odds)), rtol=1e-12)
