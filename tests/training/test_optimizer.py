"""Any optax transformation trains; the default is Adam, and a checkpoint knows what it was trained by."""

import subprocess
import sys

import equinox as eqx
import jax
import numpy as np
import optax
import pytest

import armwise as aw
from armwise.data import synthetic
from armwise.training import TrainConfig, train, train_many
from armwise.training.optimizer import check_optimizer

KEY = jax.random.key(1)


@pytest.fixture(scope="module")
def domain():
    return synthetic(3, num_cohorts=5, num_arms=6, budget=2, width=10, num_layers=2)


def run(domain, optimizer=None, loss=None, folder=None, **changes):
    settings = TrainConfig(num_epochs=3, **changes)
    model = aw.Linear(jax.random.key(0), domain.cohorts.features, 2)
    given = {"problem": domain.problem, "optimizer": optimizer, "folder": folder}
    return train(KEY, domain.split(0), loss or aw.MeanSquaredError(), model, settings, **given)


def assert_same_bits(one, other):
    jax.tree.map(np.testing.assert_array_equal, (one.model, one.history), (other.model, other.history))


def test_adam_is_the_default_to_the_bit(domain):
    assert_same_bits(run(domain), run(domain, optax.adam(1e-2)))
    assert_same_bits(run(domain), run(domain, optax.adam))
    assert_same_bits(run(domain, weight_decay=0.1), run(domain, optax.adamw(1e-2, weight_decay=0.1)))
    assert_same_bits(run(domain, learning_rate=0.3), run(domain, optax.adam, learning_rate=0.3))


def test_gradient_descent_is_what_it_says(domain):
    """Against steps by hand; one cohort to learn from, so that there is no order to know."""
    one, model = domain.cohorts[:1], aw.Linear(KEY, domain.cohorts.features, 2)
    settings = TrainConfig(num_epochs=3, precision="float64")
    given = (KEY, one, aw.MeanSquaredError(), model, settings)
    descended = train(*given, problem=domain.problem, optimizer=optax.sgd(0.5))
    losses = []

    def loss(model):
        return jax.numpy.sum((model(one.features[0]) - one.true_transitions[0]) ** 2) / one.num_arms

    for _ in range(3):
        value, gradient = eqx.filter_value_and_grad(loss)(model)
        losses.append(float(value))
        model = eqx.apply_updates(model, jax.tree.map(lambda slope: -0.5 * slope, gradient))
    np.testing.assert_allclose(descended.history.train_loss, losses, rtol=1e-9)
    adam = train(*given, problem=domain.problem)
    assert not np.allclose(descended.history.train_loss, adam.history.train_loss, rtol=1e-3)


def test_a_warm_start_lowers_the_rate_of_any_optimizer(domain):
    loss = aw.WarmStart(aw.MeanSquaredError(), aw.NegativeLogLikelihood(), share=0.4, rate=0.5)
    assert_same_bits(run(domain, optax.sgd(0.25), loss), run(domain, lambda rate: optax.sgd(25 * rate), loss))


def many(domain, optimizer=None, **changes):
    model = lambda key: aw.Linear(key, domain.cohorts.features, 2)  # noqa: E731
    given = {"splits": [domain.split_numbers(0)], "optimizer": optimizer, "learning_rates": (0.1, 0.01)} | changes
    return train_many(KEY, domain, aw.MeanSquaredError(), model, TrainConfig(num_epochs=3), **given)


def test_many_runs_take_a_function_of_the_learning_rate(domain):
    both = many(domain, optax.sgd)
    for row, rate in enumerate((0.1, 0.01)):
        alone = many(domain, optax.sgd(rate), learning_rates=None)
        np.testing.assert_allclose(both.history.train_loss[row], alone.history.train_loss[0], rtol=1e-5)
    with pytest.raises(aw.InvalidInputError, match=r"optimizer has a learning rate of its own\. Pass a function"):
        many(domain, optax.sgd(0.1))


@pytest.mark.parametrize(
    ("optimizer", "changes", "message"),
    [
        (lambda rate: rate, {}, "optimizer must be an optax transformation"),
        (lambda rate, other: rate, {}, "optimizer must be an optax transformation"),
        (optax.sgd(0.1), {"learning_rate": 0.5}, r"config\.learning_rate = 0\.5 is for the default optimizer"),
        (optax.sgd, {"weight_decay": 0.5}, r"config\.weight_decay = 0\.5 is for the default optimizer"),
        (optax.sgd(1e38), {"precision": "float32"}, r"diverged at the optimizer's learning rate\. Lower it"),
    ],
)
def test_what_is_no_optimizer_is_refused(domain, optimizer, changes, message):
    with pytest.raises((aw.InvalidInputError, aw.ConvergenceError), match=message):
        run(domain, optimizer, **changes)
    with pytest.raises(aw.InvalidInputError, match=r"such as optax\.adam\(1e-2\), .* not 'adam'"):
        check_optimizer("adam", TrainConfig())


def test_the_problem_is_asked_for(domain):
    model = aw.Linear(KEY, domain.cohorts.features, 2)
    given = (KEY, domain.cohorts, aw.MeanSquaredError(), model, TrainConfig(num_epochs=3))
    with pytest.raises(aw.InvalidInputError, match=r"problem is missing: pass problem=domain\.problem"):
        train(*given)
    with pytest.raises(aw.InvalidInputError, match=r"problem is missing: pass problem=domain\.problem"):
        train_many(*given[:3], lambda key: model, splits=[domain.split_numbers(0)])
    with pytest.raises(aw.InvalidInputError, match="A Domain brings its own problem"):
        train(KEY, domain, *given[2:], problem=domain.problem)
    assert_same_bits(train(KEY, domain, *given[2:]), train(*given, problem=domain.problem))


def test_a_checkpoint_knows_its_optimizer(domain, tmp_path):
    first = run(domain, optax.adam(optax.cosine_decay_schedule(0.1, 10)), folder=tmp_path)
    again = run(domain, optax.adam(optax.cosine_decay_schedule(0.1, 10)), folder=tmp_path)
    assert_same_bits(first, again)
    calls_back = optax.stateless(lambda moves, _: jax.tree.map(call_python, moves))
    for other in (None, optax.adam(0.1), optax.adam(optax.cosine_decay_schedule(0.1, 11)), optax.sgd(0.1), calls_back):
        with pytest.raises(aw.InvalidInputError, match="another training: the data, loss, model, optimizer"):
            run(domain, other, folder=tmp_path)


def call_python(values):
    return jax.pure_callback(lambda values: values, values, values)


def test_an_optimizer_is_known_again_in_another_process():
    script = (
        "import jax, optax; from armwise.training.checkpoint import fingerprint; "
        "from armwise.training.optimizer import describe_optimizer; "
        "print(fingerprint(describe_optimizer(optax.chain(optax.clip(1.0), optax.{}), 0.1, jax.numpy.ones(3))))"
    )
    results = [
        subprocess.run([sys.executable, "-c", script.format(name)], check=True, capture_output=True, text=True).stdout
        for name in ("adam(1e-2)", "adam(1e-2)", "adam(1e-3)")
    ]
    assert results[0] == results[1] != results[2]
