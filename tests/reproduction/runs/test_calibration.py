"""Indices are brought to the true scale of each state, and the order within a state stays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from armwise.models import Linear
from armwise.rmab import whittle_indices
from armwise.training.engine import cast
from reproduction.runs.calibration import SMALLEST_SLOPE, fit_maps, rising_lines
from reproduction.runs.scoring import score
from tests.reproduction.small import small_domain


def test_lines_are_those_of_numpy(rng):
    predicted, noise = rng.normal(size=(2, 4, 6, 3))
    true = predicted * np.array([2.0, 0.5, 3.0]) + 0.1 * noise
    lines = np.asarray(rising_lines(jnp.asarray(predicted), jnp.asarray(true)))
    for state in range(3):
        expected = np.polyfit(predicted[..., state].ravel(), true[..., state].ravel(), 1)
        np.testing.assert_allclose(lines[state], expected, rtol=1e-9)


@pytest.mark.parametrize("predicted", [np.ones((2, 3, 2)), np.arange(12.0).reshape(2, 3, 2)])
def test_a_line_that_would_not_rise_is_nearly_flat(predicted):
    true = -np.arange(12.0).reshape(2, 3, 2)
    lines = np.asarray(rising_lines(jnp.asarray(predicted), jnp.asarray(true)))
    assert lines[:, 0].tolist() == [SMALLEST_SLOPE] * 2
    means = lines[:, 0] * predicted.mean(axis=(0, 1)) + lines[:, 1]
    np.testing.assert_allclose(means, true.mean(axis=(0, 1)))


def test_maps_are_learned_from_the_training_cohorts_and_change_the_calls():
    domain = small_domain()
    splits = [domain.split_numbers(seed) for seed in range(2)]
    make = lambda key: cast(Linear(key, domain.cohorts.features, 2), jnp.dtype("float32"))  # noqa: E731
    models = [make(key) for key in jax.random.split(jax.random.key(3), 3)]
    stacked, split = jax.tree.map(lambda *leaves: np.stack(leaves), *models), np.array([0, 1, 1])
    maps = fit_maps(stacked, split, domain, [one.train for one in splits])
    for run, model in enumerate(models):
        own = domain.cohorts[splits[split[run]].train]
        predicted = whittle_indices(jax.vmap(model)(own.features).reshape(-1, 2, 2, 2), domain.problem)
        true = whittle_indices(own.true_transitions.reshape(-1, 2, 2, 2), domain.problem)
        lines = rising_lines(predicted.reshape(3, -1, 2), true.reshape(3, -1, 2))
        np.testing.assert_allclose(maps[run], lines, rtol=1e-3, atol=1e-4)
    tests = [one.test for one in splits]
    plain = score(stacked, split, domain, tests, num_trajectories=20)
    same = np.broadcast_to(np.array([3.0, 1.0]), maps.shape)  # one line for all states changes no order
    np.testing.assert_allclose(score(stacked, split, domain, tests, maps=same, num_trajectories=20).joint, plain.joint)
    turned = np.broadcast_to(np.array([-1.0, 0.0]), maps.shape)
    other = score(stacked, split, domain, tests, maps=turned, num_trajectories=20)
    assert (other.joint.achieved != plain.joint.achieved).any()
    np.testing.assert_array_equal(other.decomposed.achieved, plain.decomposed.achieved)
