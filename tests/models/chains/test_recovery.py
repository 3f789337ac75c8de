"""The parameters of simulated programmes are found again, and features that say nothing change nothing."""

import jax
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from armwise.data import Features
from armwise.models.chains import ChainModel, fit_chains
from tests.models.chains.worlds import Truth, simulate, two_states

NUM_PEOPLE, NUM_WEEKS, SHARE_CALLED = 2500, 16, 0.15
# One column moves everything but the effect in the second state; a constant and three useless ones stand beside it.
WEIGHTS = np.array([[0.6], [0.4], [0.5], [0.0]])
NUM_USELESS = 4
TRUTH = two_states(memory=False, drift=False, feature_weights=WEIGHTS)


def columns(seed):
    rng = np.random.default_rng([seed, 9])
    useless = np.concatenate([np.full((NUM_PEOPLE, 1), 3.0), rng.normal(size=(NUM_PEOPLE, NUM_USELESS - 1))], axis=1)
    return rng.normal(size=(NUM_PEOPLE, 1)), useless


def simulated(seed):
    real, useless = columns(seed)
    return simulate(seed, TRUTH, NUM_PEOPLE, NUM_WEEKS, SHARE_CALLED, numeric=real, useless=useless)


@pytest.fixture(scope="module")
def world():
    return simulated(1)


@pytest.fixture(scope="module")
def fitted(world):
    return fit_chains(world.features, world.history)


@pytest.fixture(scope="module")
def without_features(world):
    return fit_chains(Features(numeric=np.zeros((NUM_PEOPLE, 0))), world.history)


def test_parameters_are_found_again(fitted):
    """Three programmes, on average within three standard errors.

    The standard error of one fit was measured over 24 other seeds (10 to 33). Their averages: intercepts −0.91, 0.72,
    0.80, 0.41, weights 0.60, 0.39, 0.47, −0.01, and spreads 0.98, 0.78, 0.47, 0.48. The last weight is 0 in truth; it
    is not shrunk to 0, because the effects of both states share one prior variance, and the other one is not 0.
    """
    worlds = [simulated(seed) for seed in (2, 3)]
    found = [fitted, *(fit_chains(each.features, each.history) for each in worlds)]
    weights = np.mean([each.population.weights for each in found], axis=0)
    spreads = np.mean([np.sqrt(np.diag(each.population.covariance)) for each in found], axis=0)
    errors = (
        (weights[:, 0] - TRUTH.weights[:, 0]) / [0.031, 0.037, 0.070, 0.074],
        (weights[:, 3] - WEIGHTS[:, 0]) / [0.037, 0.026, 0.064, 0.061],
        (spreads - np.sqrt(np.diag(TRUTH.covariance))) / [0.034, 0.033, 0.085, 0.080],
    )
    assert np.abs(errors).max() < 3 / np.sqrt(len(found))
    assert max(np.abs(each.population.slopes).max() for each in found) < 0.1


def test_useless_columns_weigh_nothing(fitted):
    """Neither noise nor a column that is the same for everyone."""
    assert np.abs(np.asarray(fitted.population.weights)[:, 4:]).max() < 0.01


def test_permuted_features_are_as_good_as_none(world, without_features):
    rows = np.random.default_rng(2).permutation(NUM_PEOPLE)
    permuted = fit_chains(world.features[rows], world.history)
    assert np.abs(np.asarray(permuted.population.weights)[:, 3:]).max() < 0.01
    one = permuted.posterior(world.features[rows], world.history).transitions()
    other = without_features.posterior(Features(numeric=np.zeros((NUM_PEOPLE, 0))), world.history).transitions()
    assert np.abs(one - other).max() < 0.01


@pytest.mark.parametrize("seed", [0, 3, 4])
def test_a_column_whose_effect_is_seen_in_one_state_counts_in_the_other(seed):
    """400 people, 10 % called, calls that help half of them: the column tells the effects of both states apart."""
    weights = np.zeros((4, 4))
    weights[:2, 0], weights[2:, 0], weights[2:, 3] = (-1.5, 1.2), 1.0, 1.0
    plain = two_states(memory=False, drift=False)
    truth = plain._replace(weights=weights, covariance=np.diag([0.5, 0.5, 1e-6, 1e-6]))
    helped = np.arange(400) % 2 == 0
    world = simulate(seed, truth, 400, 20, 0.1, numeric=np.where(helped, 1.0, -1.0)[:, None])
    features = Features(codes=helped[:, None].astype(int), levels=(2,))
    effects = fit_chains(features, world.history).posterior(features, world.history).effects()[0]
    assert (effects[helped].mean(axis=0) - effects[~helped].mean(axis=0) > 0.08).all()


def test_without_features_people_differ_more(fitted, without_features):
    """What the real column explained is now spread between people: 1.0² + 0.6² and so on."""
    found = np.sqrt(np.diag(without_features.population.covariance))[:2]
    np.testing.assert_allclose(found, np.sqrt([1.0 + 0.36, 0.64 + 0.16]), atol=0.12)


def test_the_same_data_give_the_same_model(world, without_features):
    again = fit_chains(Features(numeric=np.zeros((NUM_PEOPLE, 0))), world.history)
    for one, other in zip(jax.tree.leaves(again), jax.tree.leaves(without_features), strict=True):
        assert np.array_equal(one, other)


def test_row_order_does_not_matter(world, without_features):
    rows = np.random.default_rng(3).permutation(NUM_PEOPLE)
    again = fit_chains(Features(numeric=np.zeros((NUM_PEOPLE, 0))), world.history[rows])
    for one, other in zip(jax.tree.leaves(again), jax.tree.leaves(without_features), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_people_who_do_not_differ_are_a_logistic_regression():
    """Without spread, memory and drift, a newcomer's chain is that of a logistic regression in each state."""
    plain = two_states(memory=False, drift=False)
    truth = Truth(plain.weights * [1, 0, 0], 1e-6 * np.eye(4), plain.slopes, plain.cuts, plain.first_shares)
    world = simulate(4, truth, NUM_PEOPLE, NUM_WEEKS, SHARE_CALLED)
    found = fit_chains(world.features, world.history).prior(world.features[:1]).transitions()[0, :, :, 1]
    now, after, called = _moves(world)
    for state in (0, 1):
        mine = now == state
        regression = LogisticRegression(C=np.inf).fit(called[mine, None], after[mine])
        wanted = regression.predict_proba([[0], [1]])[:, 1]
        assert found[state] == pytest.approx(wanted, abs=0.01)


def test_the_posterior_of_people_who_do_not_differ_is_the_population():
    truth = two_states(memory=False, drift=False)._replace(covariance=1e-8 * np.eye(4))
    world = simulate(4, truth, 50, NUM_WEEKS, SHARE_CALLED)
    found = ChainModel(truth.population()).posterior(world.features, world.history)
    np.testing.assert_allclose(found.means, found.prior_means, atol=1e-6)
    wanted = 1 / (1 + np.exp(-found.prior_means[:, :2]))
    np.testing.assert_allclose(found.transitions()[:, :, 0, 1], wanted, atol=1e-6)


def _moves(world):
    states, actions = np.asarray(world.history.states), np.asarray(world.history.actions)
    return states[:, :-1].ravel(), states[:, 1:].ravel(), actions[:, :-1].ravel()
