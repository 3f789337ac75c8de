"""The recommended recipe: it keeps what validation says, and says what it kept."""

import dataclasses

import equinox as eqx
import jax
import numpy as np
import pytest

import armwise as aw
from armwise.data import synthetic
from armwise.training import RECOMMENDED_CONFIG, recommended_loss, train_recommended
from armwise.training.recipe import choose_cautiously


@pytest.fixture(scope="module")
def outcome():
    domain = synthetic(4, num_cohorts=10, num_arms=20, budget=4, width=20, num_layers=3)
    config = dataclasses.replace(RECOMMENDED_CONFIG, num_epochs=4)
    splits = [domain.split_numbers(seed) for seed in range(3)]
    features = domain.cohorts.features
    result = train_recommended(
        jax.random.key(0), domain, lambda key: aw.Linear(key, features, 2), config, splits=splits
    )
    return domain, result


def test_the_most_accurate_setting_within_a_standard_error_of_the_best_is_kept(outcome):
    _, result = outcome
    quality = result.runs.at_best("quality").reshape(3, 2, 5)  # splits, rates, weights
    best = np.unravel_index(quality.mean(axis=0).argmax(), (2, 5))
    near = [
        (weight, quality[:, rate, weight].mean(), rate)
        for rate, weight in np.ndindex(2, 5)
        for lost in [quality[:, *best] - quality[:, rate, weight]]
        if lost.mean() <= lost.std(ddof=1) / 3**0.5
    ]
    weight, mean, rate = max(near)
    assert result.config.learning_rate == (1e-2, 1e-3)[rate]
    assert result.loss.weights[1] == (0.0, 1.0, 3.0, 10.0, 30.0)[weight]
    np.testing.assert_allclose(result.validation_quality, mean)
    assert result.runs.setting.split[list(result.members)].tolist() == [0, 1, 2]
    assert (result.runs.setting.loss[list(result.members)] == weight).all()


@pytest.mark.parametrize(
    ("quality", "chosen"),
    [
        ([[0.9, 0.5, 0.1], [0.8, 0.5, 0.1]], 0),  # far ahead: taken, however bold
        ([[0.6, 0.5, 0.1], [0.5, 0.6, 0.1]], 1),  # as good: the more cautious
        ([[0.60, 0.59, 0.25], [0.60, 0.54, 0.9]], 2),  # behind on average, by less than a standard error
        ([[0.90, 0.88, 0.1], [0.50, 0.48, 0.1]], 0),  # always behind by as much, though all vary
        ([[0.60, 0.59, 0.1], [0.60, 0.59, 0.1]], 0),  # behind by little, but always
        ([[0.6, 0.6, np.nan], [0.6, 0.6, 0.9]], 1),  # diverged once: never taken
        ([[0.5, 0.6, 0.55]], 1),  # one split has no standard error
        ([[np.nan, np.nan, 0.1], [0.5, np.nan, 0.1]], 2),
        ([[np.nan, 0.5, 0.6], [0.5, np.nan, np.nan]], 2),  # each failed once
        ([[0.6, 0.6, 0.5]], 1),  # one split, equally good: the more cautious
    ],
)
def test_a_bold_setting_is_taken_only_where_it_is_surely_better(quality, chosen):
    assert choose_cautiously(np.array(quality), np.arange(3)) == chosen


def test_of_equally_cautious_settings_the_better_is_taken():
    quality = np.array([[0.5, 0.6, 0.58, 0.4], [0.7, 0.6, 0.58, 0.4]])
    assert choose_cautiously(quality, np.array([0, 0, 1, 1])) == 2
    assert choose_cautiously(quality, np.array([0, 1, 1, 1])) == 1


def test_its_loss_is_what_it_says():
    true, predicted = (np.random.default_rng(n).dirichlet(np.ones(2), (6, 2, 2)) for n in range(2))
    loss, problem = recommended_loss(3.0), aw.Problem()
    value = loss(predicted, loss.prepare(aw.CohortTruth(true, problem, 2)))
    price, squared = aw.PriceDFL(0.1), aw.MeanSquaredError()
    parts = [part(predicted, part.prepare(aw.CohortTruth(true, problem, 2))) for part in (price, squared)]
    np.testing.assert_allclose(value, parts[0] + 3 * parts[1])


def test_the_splits_models_predict_together(outcome):
    domain, result = outcome
    features = domain.cohorts.features
    each = [np.asarray(jax.vmap(result.runs.model(run))(features)) for run in result.members]
    mean = np.prod(each, axis=0) ** (1 / 3)
    np.testing.assert_allclose(
        jax.vmap(result.model)(features), mean / mean.sum(axis=-1, keepdims=True), rtol=1e-4, atol=1e-6
    )
    assert np.ptp(each, axis=0).max() > 1e-3  # the members differ


def recipe(domain, config=RECOMMENDED_CONFIG, **changes):
    features, config = domain.cohorts.features, dataclasses.replace(config, num_epochs=2)
    arguments = {"splits": [domain.split_numbers(seed) for seed in range(2)], "problem": domain.problem}
    return train_recommended(
        jax.random.key(0), domain.cohorts, lambda key: aw.Linear(key, features, 2), config, **arguments | changes
    )


def test_what_diverges_is_neither_chosen_nor_averaged(outcome):
    domain, _ = outcome
    result = recipe(domain, learning_rates=(1e38, 1e-2))
    assert result.config.learning_rate == 1e-2
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(eqx.filter(result.model, eqx.is_array)))
    with pytest.raises(aw.ConvergenceError, match="diverged at learning rate 1e"):
        recipe(domain, learning_rates=(1e38,))


def test_one_split_is_enough(outcome):
    domain, _ = outcome
    result = recipe(domain, splits=[domain.split_numbers(0)])
    assert result.members == (int(np.argmax(result.runs.at_best("quality"))),)


def test_calls_without_effect_are_said_to_be_so(outcome):
    domain, _ = outcome
    passive = domain.cohorts.true_transitions[:, :, :, :1]
    cohorts = dataclasses.replace(domain.cohorts, true_transitions=np.concatenate([passive, passive], axis=3))
    with pytest.raises(aw.ConvergenceError, match="no call changes anything in the validation cohorts"):
        recipe(domain._replace(cohorts=cohorts))


def test_what_it_cannot_choose_by_is_refused_before_training(outcome, monkeypatch):
    domain, _ = outcome
    monkeypatch.setattr("armwise.training.recipe.train_many", lambda *_, **__: pytest.fail("it trained"))
    with pytest.raises(aw.InvalidInputError, match="must measure a quality"):
        recipe(domain, aw.TrainConfig())
    with pytest.raises(aw.InvalidInputError, match="one initialisation per split"):
        recipe(domain, num_initialisations=2)
    passive = domain.cohorts.true_transitions[:, :, :, :1]
    cohorts = dataclasses.replace(domain.cohorts, true_transitions=np.concatenate([passive, passive], axis=3))
    with pytest.raises(aw.ConvergenceError, match="nothing to choose by: no call changes anything"):
        recipe(domain._replace(cohorts=cohorts))
