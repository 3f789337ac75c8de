"""A grid of runs: each equals training it alone, whatever the chunks; and the choice among them."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import armwise as aw
from armwise.data import synthetic
from armwise.models import Linear, MultiLayerPerceptron
from armwise.training import TrainConfig, engine, run_key, train, train_many
from armwise.training.many import _chunk_size

RATES = (0.1, 0.01)
KEY = jax.random.key(7)


@pytest.fixture(scope="module")
def domain():
    return synthetic(4, num_cohorts=10, num_arms=10, budget=2, width=20, num_layers=3)


def entropies():
    return [aw.DecDFL(aw.EntropyMixture(temperature)) for temperature in (1.0, 0.1)]


def grid(domain, losses, settings, model=Linear, **changes):
    arguments = {
        "splits": [domain.split_numbers(seed) for seed in range(2)],
        "num_initialisations": 2,
        "learning_rates": RATES,
        "problem": domain.problem,
    }
    features = domain.cohorts.features
    return train_many(KEY, domain.cohorts, losses, lambda key: model(key, features, 2), settings, **arguments | changes)


SETTINGS = TrainConfig(num_epochs=5, precision="float64", quality="decomposed", block_size=2)


def network(*given):
    return MultiLayerPerceptron(*given, width=8)


@pytest.mark.parametrize(
    ("losses", "model"),
    [
        (entropies(), network),
        (aw.MeanSquaredError(), Linear),
        ([aw.SimDFL(3, temperature=t, horizon=4) for t in (0.1, 1.0)], Linear),
    ],
    ids=["entropy", "mse", "sim"],
)
def test_each_run_equals_training_it_alone(domain, losses, model):
    runs = grid(domain, losses, SETTINGS, model, chunk_size=3)
    alone = losses if isinstance(losses, list) else [losses]
    assert len(runs.best_epoch) == 2 * 2 * 2 * len(alone)
    for number in range(0, len(runs.best_epoch), 3):
        split, start, rate, loss = (values[number] for values in runs.setting)
        weight_key, own_key = run_key(KEY, int(split), int(start), 2)
        settings = dataclasses.replace(SETTINGS, learning_rate=float(rate))
        first = model(weight_key, domain.cohorts.features, 2)
        single = train(own_key, domain.split(int(split)), alone[loss], first, settings, problem=domain.problem)
        assert runs.best_epoch[number] == single.best_epoch
        for many, one in zip(runs.history, single.history, strict=True):
            np.testing.assert_allclose(many[number], one, rtol=1e-9)
        for many, one in zip(*map(jax.tree.leaves, (runs.model(number), single.model)), strict=True):
            np.testing.assert_allclose(many, one, rtol=1e-6, atol=1e-9)


def test_chunks_change_nothing(domain):
    whole, parts = (grid(domain, entropies(), SETTINGS, chunk_size=size) for size in (16, 5))
    for one, other in zip(*map(jax.tree.leaves, (whole.models, parts.models)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


def test_a_run_does_not_depend_on_the_others(domain):
    """To the bit: the runs of a chunk share a program, not a result."""
    first = grid(domain, entropies(), SETTINGS, chunk_size=4)
    other = grid(domain, entropies(), SETTINGS, chunk_size=4, learning_rates=(0.1, 0.5))
    same = (first.setting.learning_rate == 0.1) & (other.setting.learning_rate == 0.1)
    assert same.any()
    for one, two in zip(*map(jax.tree.leaves, (first.models, other.models)), strict=True):
        np.testing.assert_array_equal(one[same], two[same])


def test_patience_stops_each_run_for_itself(domain):
    settings = dataclasses.replace(SETTINGS, num_epochs=30, patience=2)
    runs = grid(domain, aw.NegativeLogLikelihood(), settings, learning_rates=(1.0, 1e-4))
    trained = np.isfinite(runs.history.train_loss).sum(axis=1)
    fast = runs.setting.learning_rate == 1.0
    assert (trained[fast] < 30).all()
    assert (trained[~fast] == 30).all()
    np.testing.assert_array_equal(trained[fast], runs.best_epoch[fast] + 2)


def test_selection_takes_the_lowest_loss_or_the_highest_quality(domain):
    runs = grid(domain, entropies(), SETTINGS)
    for by, sign in (("loss", 1), ("quality", -1)):
        values = sign * runs.at_best(by)
        each, shared = runs.select(by, shared=False), runs.select(by)
        for split in range(2):
            for start in range(2):
                own = (runs.setting.split == split) & (runs.setting.initialisation == start)
                assert values[each[split, start]] == values[own].min()
                assert own[shared[split, start]]
        choices = {(rate, loss): [] for rate in RATES for loss in range(2)}
        for rate, loss, value in zip(runs.setting.learning_rate, runs.setting.loss, values, strict=True):
            choices[rate, loss].append(value)
        best = min(choices, key=lambda choice: np.mean(choices[choice]))
        chosen = shared.ravel()
        assert {tuple(x) for x in zip(runs.setting.learning_rate[chosen], runs.setting.loss[chosen], strict=True)} == {
            best
        }


@pytest.mark.parametrize("by", ["loss", "quality"])
def test_a_run_that_diverges_is_never_chosen(domain, by):
    settings = dataclasses.replace(SETTINGS, select_by=by)
    runs = grid(domain, aw.MeanSquaredError(), settings, learning_rates=(1e308, 0.01))
    diverged = runs.setting.learning_rate == 1e308
    assert (runs.best_epoch[diverged] == 0).all()
    assert np.isnan(runs.at_best(by)[diverged]).all()
    assert set(runs.setting.learning_rate[runs.select(by).ravel()]) == {0.01}


class Ordered(eqx.Module):
    """A model with an array that is no weight."""

    linear: Linear
    order: jax.Array

    def __call__(self, features):
        return self.linear(dataclasses.replace(features, numeric=features.numeric[:, self.order]))


def test_arrays_that_are_no_weights_are_the_same_in_all_runs(domain):
    order = jnp.arange(domain.cohorts.features.numeric.shape[-1])[::-1]
    runs = grid(domain, aw.MeanSquaredError(), SETTINGS, lambda *given: Ordered(Linear(*given), order))
    for run in (0, 3):
        model = runs.model(run)
        np.testing.assert_array_equal(model.order, order)
        assert model(domain.cohorts[0].features).shape == (10, 2, 2, 2)


def test_fewer_runs_go_side_by_side_where_each_needs_more_memory(domain):
    numbers, config, key = domain.split_numbers(0), TrainConfig(), jax.random.key(0)
    small = Linear(key, domain.cohorts.features, 2)
    large = MultiLayerPerceptron(key, domain.cohorts.features, 2, width=3000)
    crowd = synthetic(0, num_cohorts=3, num_arms=100_000, num_layers=1)
    sizes = [
        _chunk_size(None, small, domain.cohorts, numbers, config),
        _chunk_size(None, large, domain.cohorts, numbers, config),
        _chunk_size(None, small, crowd.cohorts, crowd.split_numbers(0), config),
    ]
    assert sizes[0] == 50
    assert 1 <= sizes[1] < 50
    assert 1 <= sizes[2] < 50
    assert _chunk_size(7, large, domain.cohorts, numbers, config) == 7


def test_what_cannot_be_is_refused(domain):
    with pytest.raises(aw.InvalidInputError, match="alike but for their numbers"):
        grid(domain, [aw.MeanSquaredError(), aw.NegativeLogLikelihood()], SETTINGS)
    with pytest.raises(aw.InvalidInputError, match="learning_rates is empty"):
        grid(domain, aw.MeanSquaredError(), SETTINGS, learning_rates=())
    with pytest.raises(aw.InvalidInputError, match=r"learning_rates\[1\] must be"):
        grid(domain, aw.MeanSquaredError(), SETTINGS, learning_rates=(0.1, -0.1))
    numbers = domain.split_numbers(0)
    with pytest.raises(aw.InvalidInputError, match="same sizes"):
        grid(domain, aw.MeanSquaredError(), SETTINGS, splits=[numbers, numbers._replace(train=numbers.train[:1])])
    with pytest.raises(aw.InvalidInputError, match=r"splits\[0\] names cohort 10, but there are 10"):
        grid(domain, aw.MeanSquaredError(), SETTINGS, splits=[numbers._replace(train=np.array([0, 10]))])
    with pytest.raises(aw.InvalidInputError, match="measure must be"):
        grid(domain, aw.MeanSquaredError(), dataclasses.replace(SETTINGS, num_epochs=1)).select("luck")


def test_runs_that_have_stopped_are_not_advanced(monkeypatch):
    """Those that go on are advanced in groups of one size, and end as they would have ended on their own."""
    sizes = []
    really = engine.advance_many

    def advance(state, *rest):
        sizes.append((len(state.stopped), int(state.stopped.sum())))
        return really(state, *rest)

    monkeypatch.setattr(engine, "advance_many", advance)
    monkeypatch.setattr(engine, "_CPU_GROUP", 2)
    domain = synthetic(0, num_cohorts=6, num_arms=5, budget=1, width=4, num_layers=2)
    config = aw.TrainConfig(num_epochs=12, patience=2, block_size=3)
    split = [domain.split_numbers(seed) for seed in range(3)]
    options = {"splits": split, "learning_rates": [0.3, 1e-3], "problem": domain.problem}
    arguments = (jax.random.key(0), domain.cohorts, aw.MeanSquaredError())
    model = lambda key: aw.Linear(key, domain.cohorts.features, 2)  # noqa: E731
    runs = train_many(*arguments, model, config, **options)
    assert {size for size, _ in sizes} == {2}
    assert sum(stopped for _, stopped in sizes) == 0
    assert len(sizes) < 4 * 3  # some groups had nothing to do
    monkeypatch.setattr(engine, "_CPU_GROUP", 6)
    together = train_many(*arguments, model, config, **options)
    np.testing.assert_array_equal(runs.best_epoch, together.best_epoch)
    np.testing.assert_allclose(runs.history.validation_loss, together.history.validation_loss, rtol=1e-6)
