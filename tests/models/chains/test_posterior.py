"""What is known of each person, against quadrature over all her parameters, and what must not change it."""

import jax
import numpy as np
import pytest
from scipy.special import log_expit

from armwise.data import Features, Trajectories
from armwise.errors import InvalidInputError
from armwise.models.chains import ChainModel
from tests.models.chains.exact import exact_moments
from tests.models.chains.worlds import simulate, three_states, two_states

NUM_WEEKS = 16


def known(truth, world):
    return ChainModel(truth.population()).posterior(world.features, world.history)


def errors(truth, world, people, nodes=11):
    """Of the means in standard deviations, and of the standard deviations as a share, for some people."""
    found = known(truth, world)
    of_means, of_spreads = [], []
    for person in people:
        near = (found.means[person], found.covariances[person])
        mean, covariance, _ = exact_moments(truth, world.history, person, found.prior_means[person], near, nodes)
        spread = np.sqrt(np.diag(covariance))
        of_means.append((near[0] - mean) / spread)
        of_spreads.append(np.sqrt(np.diag(near[1])) / spread - 1)
    return np.array(of_means), np.array(of_spreads)


def test_two_states_against_quadrature():
    """Measured: means to 0.001 standard deviations, standard deviations to 1.3 %, always too small."""
    truth = two_states()
    of_means, of_spreads = errors(truth, simulate(1, truth, 30, NUM_WEEKS, 0.2), range(30))
    assert np.abs(of_means).max() < 0.005
    assert np.abs(of_spreads).max() < 0.02


def test_three_states_against_quadrature():
    truth = three_states()
    of_means, of_spreads = errors(truth, simulate(1, truth, 30, NUM_WEEKS, 0.2), range(4), nodes=5)
    assert np.abs(of_means).max() < 0.01
    assert np.abs(of_spreads).max() < 0.03


def test_unobserved_weeks_against_quadrature():
    """A fifth of the weeks unobserved: what is not known of them is left out of the spread, 3 % on average."""
    truth = two_states()
    of_means, of_spreads = errors(truth, simulate(1, truth, 30, NUM_WEEKS, 0.2, share_unseen=0.2), range(30))
    assert np.abs(of_means).max() < 0.05
    assert np.abs(of_spreads).max() < 0.15
    assert np.abs(of_spreads.mean(axis=0)).max() < 0.04


@pytest.mark.parametrize("share_unseen", [0.0, 0.3])
def test_row_order_and_neighbours_do_not_change_a_digit(share_unseen):
    truth = two_states(feature_weights=np.full((4, 1), 0.3))
    numeric = np.random.default_rng(0).normal(size=(60, 1))
    world = simulate(2, truth, 60, NUM_WEEKS, 0.2, share_unseen, numeric=numeric)
    everyone = known(truth, world)
    rows = np.random.default_rng(1).permutation(60)[:17]
    some = ChainModel(truth.population()).posterior(world.features[rows], world.history[rows])
    for whole, part in zip(jax.tree.leaves(everyone[1:]), jax.tree.leaves(some[1:]), strict=True):
        assert np.array_equal(np.asarray(whole)[rows], np.asarray(part))
    assert np.array_equal(everyone.transitions()[rows], some.transitions())
    for whole, part in zip(everyone.effects(), some.effects(), strict=True):
        assert np.array_equal(whole[rows], part)


def test_nothing_is_known_of_people_without_weeks_but_the_prior():
    truth = two_states(feature_weights=np.array([[0.5], [0.0], [0.2], [0.0]]))
    features = Features(numeric=np.array([[-1.0], [0.0], [2.0]]))
    model = ChainModel(truth.population())
    never = Trajectories.from_arrays(np.zeros((3, NUM_WEEKS)), np.zeros((3, NUM_WEEKS)), np.zeros((3, NUM_WEEKS), bool))
    for found in (model.prior(features), model.posterior(features, None), model.posterior(features, never)):
        wanted = truth.weights[:, 0] + np.asarray(features.numeric) @ truth.weights[:, 3:].T
        np.testing.assert_allclose(found.means, wanted, atol=1e-12)
        np.testing.assert_allclose(found.prior_means, wanted, atol=1e-12)
        np.testing.assert_allclose(found.covariances, np.broadcast_to(truth.covariance, (3, 4, 4)), atol=1e-12)
        assert found.own_share.tolist() == pytest.approx([0, 0, 0], abs=1e-12)


def test_a_first_week_alone_moves_the_prior_by_the_state():
    truth = two_states()
    one_week = Trajectories.from_arrays([[0], [1]], [[0], [0]])
    found = ChainModel(truth.population()).posterior(Features(numeric=np.zeros((2, 0))), one_week)
    for state in (0, 1):
        wanted = truth.weights[:, 0] + truth.weights[:, 1:3] @ (np.eye(2)[state] - truth.first_shares)
        np.testing.assert_allclose(found.means[state], wanted, atol=1e-12)


def test_a_thousand_weeks():
    """Of one who stays and one who comes and goes. Without calls and memory, only how often they climb counts."""
    truth = two_states(memory=False, drift=False)
    states = np.stack([np.ones(1000, int), np.arange(1000) % 7 % 2])
    history = Trajectories.from_arrays(states, np.zeros((2, 1000)), num_states=2)
    found = ChainModel(truth.population()).posterior(Features(numeric=np.zeros((2, 0))), history)
    for person, own in enumerate(states):
        mean, spread = _by_grid(truth, found.prior_means[person, :2], own)
        assert np.abs((found.means[person, :2] - mean) / spread).max() < 0.02
        np.testing.assert_allclose(np.sqrt(np.diag(found.covariances[person]))[:2], spread, rtol=0.05)


def _by_grid(truth, prior, states):
    """Mean and standard deviation of the two log-odds when left alone."""
    axis = np.linspace(-6, 10, 801)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    away = np.linalg.solve(np.linalg.cholesky(truth.covariance[:2, :2]), (grid - prior).T)
    density = -(away**2).sum(axis=0) / 2
    for state in (0, 1):
        after = states[1:][states[:-1] == state]
        density += after.sum() * log_expit(grid[:, state]) + (1 - after).sum() * log_expit(-grid[:, state])
    weight = np.exp(density - density.max())
    mean = weight @ grid / weight.sum()
    return mean, np.sqrt(weight @ (grid - mean) ** 2 / weight.sum())


def test_as_many_rows_of_features_as_of_history():
    truth = two_states()
    world = simulate(5, truth, 4, 8, 0.1)
    with pytest.raises(InvalidInputError, match="history has 4 people and features 3"):
        ChainModel(truth.population()).posterior(world.features[:3], world.history)


def test_features_of_another_programme():
    truth = two_states()
    with pytest.raises(InvalidInputError, match="made for 0 numeric columns"):
        ChainModel(truth.population()).prior(Features(numeric=np.zeros((2, 1))))


def test_users_precision(user_precision):
    """Half the digits change means by less than a thousandth of a standard deviation."""
    truth = two_states()
    world = simulate(1, truth, 30, NUM_WEEKS, 0.2)
    single = known(truth, world)
    assert single.means.dtype == np.float32
    with jax.enable_x64(True):
        world = simulate(1, truth, 30, NUM_WEEKS, 0.2)
        double = known(truth, world)
    spread = np.sqrt(np.diagonal(double.covariances, axis1=1, axis2=2))
    assert np.abs((single.means - double.means) / spread).max() < 1e-3
    np.testing.assert_allclose(single.covariances, double.covariances, atol=1e-4)
