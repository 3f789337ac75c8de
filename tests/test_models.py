import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import armwise as aw
from armwise.data import Features, one_hot
from armwise.models import networks
from armwise.models.networks import (
    Ensemble,
    Linear,
    MultiLayerPerceptron,
    _by_comparing,
    _by_gathering,
    average_models,
    look_up,
)

KEY = jax.random.key(0)
LEVELS = (3, 2, 5)


def random_features(rng, num_arms=20, num_numeric=2, levels=LEVELS):
    codes = np.stack([rng.integers(0, level, num_arms) for level in levels], axis=1) if levels else None
    numeric = rng.normal(size=(num_arms, num_numeric)) if num_numeric else None
    return Features(numeric, codes, levels)


MODELS = {
    "linear": Linear,
    "medium": lambda key, features, states: MultiLayerPerceptron(key, features, states, width=64, depth=2),
    "large": lambda key, features, states: MultiLayerPerceptron(key, features, states, width=500, depth=4),
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
@pytest.mark.parametrize("states", [2, 5])
@pytest.mark.parametrize(("num_numeric", "levels"), [(2, LEVELS), (0, LEVELS), (3, ())])
def test_predictions_are_distributions(rng, make, states, num_numeric, levels):
    features = random_features(rng, num_numeric=num_numeric, levels=levels)
    predicted = make(KEY, features, states)(features)
    assert predicted.shape == (20, states, 2, states)
    np.testing.assert_allclose(predicted.sum(-1), 1, rtol=1e-12)
    assert predicted.min() > 0
    assert np.ptp(predicted, axis=0).max() > 1e-3  # people differ


def test_a_linear_model_on_codes_is_the_one_on_the_one_hot_matrix(rng):
    features = random_features(rng)
    model = Linear(KEY, features, 3)
    dense = Features(one_hot(features))
    on_dense = Linear(KEY, dense, 3)
    weights = jnp.concatenate([model.layer.weights, model.layer.table])
    on_dense = eqx.tree_at(lambda m: (m.layer.weights, m.layer.bias), on_dense, (weights, model.layer.bias))
    np.testing.assert_allclose(model(features), on_dense(dense), rtol=1e-12)

    def total(model, features):
        return jnp.sum(jnp.sin(model(features)))

    by_code, by_column = eqx.filter_grad(total)(model, features), eqx.filter_grad(total)(on_dense, dense)
    np.testing.assert_allclose(by_code.layer.table, by_column.layer.weights[2:], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("dtype", "level"), [(np.uint8, 256), (np.uint16, 1000)])
def test_small_codes_select_the_same_rows(dtype, level):
    """Up to the last level that the type can name."""
    codes = np.arange(level)[:, None]
    wide, narrow = (Features(codes=values, levels=(level,)) for values in (codes, codes.astype(dtype)))
    model = Linear(KEY, wide, 2)
    np.testing.assert_array_equal(model(wide), model(narrow))


@pytest.mark.parametrize("num_arms", [0, 40])
@pytest.mark.parametrize("levels", [(3, 3), (2, 5, 1, 256), (7,)])
def test_both_ways_to_multiply_by_the_one_hot_matrix_are_the_matrix(rng, levels, num_arms):
    codes = np.stack([rng.integers(0, size, num_arms) for size in levels], axis=1).astype(np.uint8)
    cotangent = jnp.asarray(rng.normal(size=(num_arms, 6)))
    matrix = np.concatenate([np.eye(size)[codes[:, column]] for column, size in enumerate(levels)], axis=1)
    for way in (_by_gathering, _by_comparing):
        np.testing.assert_allclose(way(levels, jnp.asarray(codes), cotangent), matrix.T @ cotangent, atol=1e-12)


def test_layers_and_sizes_are_the_papers(rng):
    features = random_features(rng)
    model = MultiLayerPerceptron(KEY, features, 2, width=64, depth=2)
    shapes = [model.layer.bias.shape, *[layer.weight.shape for layer in model.hidden], model.output.weight.shape]
    assert shapes == [(64,), (64, 64), (8, 64)]


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
def test_cohorts_go_through_vmap(rng, make):
    cohorts = [random_features(rng, num_arms=6) for _ in range(3)]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *cohorts)
    model = make(KEY, cohorts[0], 2)
    batched = jax.vmap(model)(stacked)
    for cohort, predicted in zip(cohorts, batched, strict=True):
        np.testing.assert_allclose(predicted, model(cohort), rtol=1e-9)


@pytest.mark.parametrize("loss", [aw.MeanSquaredError(), aw.DecDFL(aw.EntropyMixture(0.5))], ids=["mse", "dec-dfl"])
def test_a_model_learns_from_a_loss(rng, loss):
    """Plain gradient descent on one cohort whose chains depend on a feature: the loss falls towards the truth's."""
    features = random_features(rng, num_arms=40, num_numeric=1, levels=())
    teacher = Linear(jax.random.key(1), features, 2)
    true = eqx.tree_at(lambda m: m.layer.weights, teacher, 3 * teacher.layer.weights)(features)
    prepared = loss.prepare(aw.CohortTruth(true, aw.Problem(), budget=8))

    @eqx.filter_jit
    def step(model):
        value, gradient = eqx.filter_value_and_grad(lambda m: loss(m(features), prepared))(model)
        return value, eqx.apply_updates(model, jax.tree.map(lambda g: -0.3 * g, gradient))

    model = Linear(KEY, features, 2)
    first, best = float(step(model)[0]), float(loss(true, prepared))
    for _ in range(200):
        value, model = step(model)
    assert float(value) < first - 0.5 * (first - best)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"width": 0}, "width must be at least 1, not 0"), ({"depth": 0}, "depth must be at least 1, not 0")],
)
def test_wrong_sizes_are_named(rng, arguments, message):
    with pytest.raises(aw.InvalidInputError, match=message):
        MultiLayerPerceptron(KEY, random_features(rng), 2, **arguments)


def test_features_of_another_kind_are_refused(rng):
    model = Linear(KEY, random_features(rng), 2)
    with pytest.raises(aw.InvalidInputError, match=r"The model was made for 2 numeric columns and levels \(3, 2, 5\)"):
        model(random_features(rng, num_numeric=1))


def test_a_lookup_does_not_depend_on_how_many_arms_there_are(rng):
    """Many arms are looked up in blocks; to the last bit that is the same, and equal to one-hot columns."""
    levels = (3, 2, 5)
    codes = np.stack([rng.integers(0, size, 1000) for size in levels], axis=1).astype(np.uint8)
    table = rng.normal(size=(sum(levels), 4)).astype(np.float32)
    found = look_up(levels, jnp.asarray(table), jnp.asarray(codes))
    hot = np.concatenate([np.eye(size)[codes[:, column]] for column, size in enumerate(levels)], axis=1)
    np.testing.assert_allclose(found, hot @ table, atol=1e-6)
    for arms in (slice(0, 10), slice(700, 1000)):
        np.testing.assert_array_equal(found[arms], look_up(levels, jnp.asarray(table), jnp.asarray(codes[arms])))


@pytest.mark.parametrize("num_arms", [8, 11, 24])
def test_the_gradient_of_a_lookup_in_blocks_is_the_one_hot_matrix_transposed(rng, monkeypatch, num_arms):
    monkeypatch.setattr(networks, "_CPU_FORWARD_BLOCK", 4)
    monkeypatch.setattr(networks, "_CPU_BACKWARD_BLOCK", 8)
    levels = (3, 2)
    codes = np.stack([rng.integers(0, size, (2, num_arms)) for size in levels], axis=-1).astype(np.uint8)
    cotangent = rng.normal(size=(2, num_arms, 4))
    table = jnp.asarray(rng.normal(size=(sum(levels), 4)))

    def worth(table):
        values = jax.vmap(lambda own: look_up(levels, table, own))(jnp.asarray(codes))
        return jnp.sum(values * cotangent)

    hot = np.concatenate([np.eye(size)[codes[..., column]] for column, size in enumerate(levels)], axis=-1)
    np.testing.assert_allclose(worth(table), np.sum((hot @ table) * cotangent), rtol=1e-12)
    np.testing.assert_allclose(jax.grad(worth)(table), np.einsum("kal,kao->lo", hot, cotangent), atol=1e-12)


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
def test_an_average_predicts_the_geometric_mean_of_its_members(rng, make):
    features = random_features(rng)
    members = [make(key, features, 3) for key in jax.random.split(KEY, 3)]
    mean = np.prod([np.asarray(member(features)) for member in members], axis=0) ** (1 / 3)
    average = average_models(members)
    np.testing.assert_allclose(average(features), mean / mean.sum(axis=-1, keepdims=True), rtol=1e-9)
    assert isinstance(average, Linear if isinstance(members[0], Linear) else Ensemble)


def test_the_average_of_one_model_is_that_model(rng):
    model = Linear(KEY, random_features(rng), 2)
    assert average_models([model]) is model


def test_members_that_exclude_each_other_still_predict(rng):
    features = random_features(rng)
    one = MultiLayerPerceptron(KEY, features, 2, width=4)
    sure = [eqx.tree_at(lambda model: model.output.bias, one, jnp.asarray([x, -x] * 4)) for x in (1e6, -1e6)]
    np.testing.assert_allclose(average_models(sure)(features), 0.5)


def test_only_models_of_one_kind_are_averaged(rng):
    features = random_features(rng)
    linear, network = (make(KEY, features, 2) for make in (Linear, MultiLayerPerceptron))
    with pytest.raises(aw.InvalidInputError, match="no models to average"):
        average_models([])
    for other in (network, Linear(KEY, features, 3)):
        with pytest.raises(aw.InvalidInputError, match="one kind and shape"):
            average_models([linear, other])
    tanh, relu = (eqx.nn.MLP(2, 2, 4, 1, activation, key=KEY) for activation in (jax.nn.tanh, jax.nn.relu))
    with pytest.raises(aw.InvalidInputError, match="one kind and shape"):
        average_models([tanh, relu])
