"""The recommended recipe: it keeps what validation says, and says what it kept."""

import dataclasses

import jax
import numpy as np
import pytest

import armwise as aw
from armwise.data import synthetic
from armwise.training import RECOMMENDED_CONFIG, recommended_loss, train_recommended


@pytest.fixture(scope="module")
def outcome():
    domain = synthetic(4, num_cohorts=10, num_arms=20, budget=4, width=20, num_layers=3)
    config = dataclasses.replace(RECOMMENDED_CONFIG, num_epochs=4)
    splits = [domain.split_numbers(seed) for seed in range(3)]
    features = domain.cohorts.features
    result = train_recommended(
        jax.random.key(0), domain.cohorts, lambda key: aw.Linear(key, features, 2), config, splits=splits
    )
    return domain, result


def test_the_setting_of_the_highest_mean_quality_is_kept(outcome):
    _, result = outcome
    quality = result.runs.at_best("quality").reshape(3, 2, 5).mean(axis=0)  # splits, rates, weights
    np.testing.assert_allclose(result.validation_quality, quality.max())
    rate, weight = np.unravel_index(quality.argmax(), quality.shape)
    assert result.config.learning_rate == (1e-2, 1e-3)[rate]
    assert result.loss.weights[1] == (0.0, 1.0, 3.0, 10.0, 30.0)[weight]
    assert result.runs.setting.split[result.run] == 0


def test_its_loss_is_what_it_says():
    true, predicted = (np.random.default_rng(n).dirichlet(np.ones(2), (6, 2, 2)) for n in range(2))
    loss, problem = recommended_loss(3.0), aw.Problem()
    value = loss(predicted, loss.prepare(true, problem, 2))
    price, squared = aw.PriceDFL(0.1), aw.MeanSquaredError()
    parts = [part(predicted, part.prepare(true, problem, 2)) for part in (price, squared)]
    np.testing.assert_allclose(value, parts[0] + 3 * parts[1])


def test_the_model_predicts(outcome):
    domain, result = outcome
    predicted = jax.vmap(result.model)(domain.cohorts.features)
    np.testing.assert_allclose(predicted.sum(axis=-1), 1, rtol=1e-5)
