"""One run: against a plain loop, and what must not change it."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import armwise as aw
from armwise.data import Cohorts, Features, Splits, synthetic
from armwise.models import Linear
from armwise.training import TrainConfig, engine, train
from armwise.training.single import check_callable, check_loss, checked_config

LOSSES = {
    "mse": aw.MeanSquaredError(),
    "nll": aw.NegativeLogLikelihood(),
    "entropy": aw.DecDFL(aw.EntropyMixture(0.5)),
    "sim": aw.SimDFL(num_trajectories=3, horizon=4),
    "sim, default horizon": aw.SimDFL(num_trajectories=2),
    "sum": 0.5 * aw.DecDFL(aw.QuadraticMixture(0.5)) + 0.5 * aw.NegativeLogLikelihood(),
}


@pytest.fixture(scope="module")
def domain():
    return synthetic(3, num_cohorts=10, num_arms=12, budget=2, width=20, num_layers=3)


@pytest.fixture(scope="module")
def model(domain):
    return Linear(jax.random.key(0), domain.cohorts.features, num_states=2)


def config(**changes):
    return dataclasses.replace(TrainConfig(num_epochs=4, precision="float64", block_size=4), **changes)


def plain_loop(key, splits, loss, model, config, problem, stages=None):
    """The same by the book: optax's Adam, one batch after the other, nothing compiled together.

    Stages are the loss and the learning rate that begin at an epoch; validation is by the loss.
    """
    stages = stages or {0: (loss, config.learning_rate)}
    weights, frozen = eqx.partition(model, eqx.is_inexact_array)
    losses, validation, models = [], [], []

    def of_cohort(weights, cohorts, number, key, loss=loss):
        cohort = cohorts[number]
        prepared = loss.prepare(aw.CohortTruth.of(cohort, problem))
        return loss(eqx.combine(weights, frozen)(cohort.features), prepared, key)

    def of_batch(weights, batch, keys):
        pairs = zip(batch, keys, strict=False)
        return sum(of_cohort(weights, splits.train, n, k, taught) for n, k in pairs) / len(batch)

    number, size = splits.train.num_cohorts, config.batch_size
    for epoch in range(config.num_epochs):
        if epoch in stages:
            taught, rate = stages[epoch]
            optimiser = optax.adamw(rate, weight_decay=config.weight_decay)
            state = optimiser.init(weights)
        order_key, draw_key = jax.random.split(jax.random.fold_in(key, epoch))
        order = np.asarray(jax.random.permutation(order_key, jnp.arange(number)))
        keys = jax.random.split(draw_key, -(-number // size) * size)
        values = []
        for start in range(0, number, size):
            batch = [int(cohort) for cohort in order[start : start + size]]
            value, gradient = jax.value_and_grad(of_batch)(weights, batch, keys[start:])
            updates, state = optimiser.update(gradient, state, weights)
            weights = optax.apply_updates(weights, updates)
            values.append(float(value))
        losses.append(np.mean(values))
        keys = jax.random.split(jax.random.fold_in(key, 2**32 - 1), splits.validation.num_cohorts)
        own = [float(of_cohort(weights, splits.validation, n, k)) for n, k in enumerate(keys)]
        validation.append(np.mean(own))
        models.append(eqx.combine(weights, frozen))
    return losses, validation, models


@pytest.mark.parametrize(
    ("loss", "changes"),
    [
        ("mse", {}),
        ("nll", {"weight_decay": 0.1}),
        ("entropy", {}),
        ("entropy", {"batch_size": 2}),
        ("sum", {"batch_size": 4}),  # 6 cohorts: the second batch is half full
        ("sim", {"num_epochs": 2}),
        ("sim, default horizon", {"num_epochs": 1}),
    ],
)
def test_equals_a_plain_loop(domain, model, loss, changes):
    settings, splits, key = config(learning_rate=0.03, **changes), domain.split(0), jax.random.key(5)
    trained = train(key, splits, LOSSES[loss], model, settings, problem=domain.problem)
    losses, validation, models = plain_loop(key, splits, LOSSES[loss], model, settings, domain.problem)
    np.testing.assert_allclose(trained.history.train_loss, losses, rtol=1e-9)
    np.testing.assert_allclose(trained.history.validation_loss, validation, rtol=1e-9)
    assert trained.best_epoch == 1 + np.argmin(validation)
    for ours, plain in zip(
        jax.tree.leaves(trained.model), jax.tree.leaves(models[trained.best_epoch - 1]), strict=True
    ):
        np.testing.assert_allclose(ours, plain, rtol=1e-7, atol=1e-10)


def same_bits(one, other):
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(*map(jax.tree.leaves, (one, other)), strict=True))


def test_a_warm_start_equals_a_plain_loop_of_two_stages(domain, model):
    settings, splits, key = config(learning_rate=0.03, num_epochs=5), domain.split(0), jax.random.key(5)
    loss = aw.WarmStart(LOSSES["mse"], LOSSES["entropy"], share=0.4, rate=0.5)
    trained = train(key, splits, loss, model, settings, problem=domain.problem)
    stages = {0: (LOSSES["mse"], 0.03), 2: (LOSSES["entropy"], 0.015)}
    loop = plain_loop(key, splits, LOSSES["entropy"], model, settings, domain.problem, stages)
    np.testing.assert_allclose(trained.history.train_loss, loop[0], rtol=1e-6)
    np.testing.assert_allclose(trained.history.validation_loss, loop[1], rtol=1e-6)
    assert trained.best_epoch == 1 + np.argmin(loop[1])
    with pytest.raises(aw.InvalidInputError, match="WarmStart changes with the epochs"):
        train(key, splits.train, loss, model, settings, problem=domain.problem)


def test_fewer_validations_change_what_is_known_and_not_what_is_learned(domain, model):
    always, seldom = (
        train(jax.random.key(5), domain.split(0), LOSSES["mse"], model, settings, problem=domain.problem)
        for settings in (config(num_epochs=6), config(num_epochs=6, validate_every=3, block_size=1))
    )
    np.testing.assert_allclose(seldom.history.train_loss, always.history.train_loss, rtol=1e-12)
    seen = np.asarray(always.history.validation_loss)[[2, 5]]
    np.testing.assert_allclose(np.asarray(seldom.history.validation_loss)[[2, 5]], seen, rtol=1e-12)
    assert np.isnan(np.asarray(seldom.history.validation_loss)[[0, 1, 3, 4]]).all()
    assert seldom.best_epoch == (3, 6)[np.argmin(seen)]


@pytest.mark.parametrize("block_size", [1, 3])
def test_the_block_size_changes_nothing(domain, model, block_size):
    def result(settings):
        trained = train(jax.random.key(1), domain.split(0), LOSSES["entropy"], model, settings, problem=domain.problem)
        return trained.model, trained.history, trained.best_epoch

    assert same_bits(result(config()), result(config(block_size=block_size)))


def test_patience_stops_and_keeps_what_was_best(domain, model):
    def result(**changes):
        settings = config(num_epochs=40, learning_rate=0.3, block_size=7, **changes)
        return train(jax.random.key(1), domain.split(0), LOSSES["nll"], model, settings, problem=domain.problem)

    patient, hasty = result(), result(patience=3)
    losses = np.asarray(patient.history.validation_loss)
    best_so_far = np.minimum.accumulate(losses)
    waited = [epoch - int(np.argmin(losses[: epoch + 1])) for epoch in range(len(losses))]
    stop = waited.index(3) + 1
    assert stop < 40, "the test needs a run that gets worse for three epochs"
    assert hasty.stopped_early
    assert not patient.stopped_early
    np.testing.assert_array_equal(hasty.history.validation_loss, losses[:stop])
    assert losses[hasty.best_epoch - 1] == best_so_far[stop - 1]


def test_without_validation_the_training_loss_decides(domain, model):
    trained = train(jax.random.key(1), domain.cohorts, LOSSES["mse"], model, config(), problem=domain.problem)
    assert np.isnan(trained.history.validation_loss).all()
    assert trained.best_epoch == 1 + int(np.argmin(trained.history.train_loss))


@pytest.mark.parametrize("quality", ["decomposed", "joint"])
def test_validation_quality_is_that_of_the_evaluation(domain, model, quality):
    settings = config(quality=quality, select_by="quality", quality_trajectories=50)
    splits = domain.split(0)
    trained = train(jax.random.key(1), splits, LOSSES["entropy"], model, settings, problem=domain.problem)
    side = splits.validation
    predicted = jax.vmap(trained.model)(side.features)
    given = (predicted, side.true_transitions, domain.problem, side.budget)
    if quality == "decomposed":
        expected = aw.decomposed_decision_quality(*given).normalised
    else:
        returns = [
            [
                np.mean(
                    aw.simulate(
                        jax.random.key(0),
                        side[n].true_transitions,
                        order[n],
                        domain.problem,
                        budget,
                        50,
                        ids=side[n].ids,
                    )
                )
                for n in range(side.num_cohorts)
            ]
            for order, budget in (
                (jax.vmap(lambda t: aw.whittle_indices(t, domain.problem))(predicted), 2),
                (jnp.zeros(predicted.shape[:3]), 0),
                (jax.vmap(lambda t: aw.whittle_indices(t, domain.problem))(side.true_transitions), 2),
            )
        ]
        achieved, never, perfect = np.mean(returns, axis=1)
        expected = (achieved - never) / (perfect - never)
    best = trained.history.validation_quality[trained.best_epoch - 1]
    np.testing.assert_allclose(best, expected, rtol=1e-9)
    assert best == jnp.max(trained.history.validation_quality)


def test_single_precision_is_the_default_and_double_a_choice(domain, model):
    for precision in ("float32", "float64"):
        settings = TrainConfig(num_epochs=2, precision=precision)
        trained = train(jax.random.key(1), domain.split(0), LOSSES["entropy"], model, settings, problem=domain.problem)
        assert {leaf.dtype for leaf in jax.tree.leaves((trained.model, trained.history))} == {jnp.dtype(precision)}
    assert TrainConfig().precision == "float32"


@pytest.mark.usefixtures("user_precision")
def test_double_precision_without_x64_is_refused(domain, model):
    with pytest.raises(aw.InvalidInputError, match="jax_enable_x64"):
        train(jax.random.key(1), domain.split(0), LOSSES["mse"], model, config(), problem=domain.problem)


def test_any_equinox_module_will_do(domain):
    class Same(eqx.Module):
        logits: jax.Array

        def __call__(self, features):
            return jnp.broadcast_to(jax.nn.softmax(self.logits), (features.numeric.shape[0], 2, 2, 2))

    settings = config(num_epochs=1000, learning_rate=0.05, batch_size=10)
    trained = train(jax.random.key(1), domain, aw.MeanSquaredError(), Same(jnp.zeros((2, 2, 2))), settings)
    mean = jnp.mean(domain.cohorts.true_transitions, axis=(0, 1))  # what minimises the squared error
    np.testing.assert_allclose(jax.nn.softmax(trained.model.logits), mean, atol=1e-9)


def test_fast_dec_dfl_learns_on_the_synthetic_domain():
    domain = synthetic(0)
    splits = domain.split(0)
    model = Linear(jax.random.key(0), domain.cohorts.features, num_states=2)
    loss = aw.DecDFL(aw.EntropyMixture(0.1))
    trained = train(jax.random.key(1), splits, loss, model, TrainConfig(num_epochs=100), problem=domain.problem)
    test = splits.test
    predicted = jax.vmap(trained.model)(test.features)
    quality = aw.decomposed_decision_quality(predicted, test.true_transitions, domain.problem, test.budget)
    assert quality.normalised > 0.85


def test_training_that_diverges_says_so(model):
    features = Features(numeric=np.full((2, 3, 16), 1e300))
    cohorts = Cohorts(features, np.full((2, 3, 2, 2, 2), 0.5), np.ones((2, 3, 2, 2, 2)), 1)
    with pytest.raises(aw.ConvergenceError, match="diverged at learning rate 1e"):
        train(jax.random.key(0), cohorts, LOSSES["nll"], model, config(learning_rate=1e300), problem=aw.Problem())


@pytest.mark.parametrize("quality", ["joint", "decomposed"])
@pytest.mark.parametrize("has_effect", [True, False], ids=["diverged", "no effect"])
@pytest.mark.parametrize("seed", [3, 4])
def test_training_that_no_quality_can_judge_says_so(model, quality, has_effect, seed):
    domain = synthetic(seed, num_cohorts=10, num_arms=12, budget=2, width=20, num_layers=3)
    cohorts = domain.cohorts
    if not has_effect:  # acting or not, it is all the same: there is nothing to gain
        passive = cohorts.true_transitions[:, :, :, :1]
        cohorts = dataclasses.replace(cohorts, true_transitions=jnp.concatenate([passive, passive], axis=3))
    settings = config(learning_rate=1e308 if has_effect else 0.01, quality=quality, select_by="quality", num_epochs=2)
    splits = Splits(cohorts[:6], cohorts[6:8], cohorts[8:])
    message = "finite validation quality: training diverged .* Or no call changes anything in the validation cohorts"
    with pytest.raises(aw.ConvergenceError, match=message):
        train(jax.random.key(0), splits, LOSSES["mse"], model, settings, problem=domain.problem)


def test_weights_from_before_a_run_diverged_are_kept(domain, model):
    settings = config(learning_rate=1.0, quality="joint", select_by="quality", quality_trajectories=3)
    sound = train(jax.random.key(0), domain.split(0), LOSSES["mse"], model, settings, problem=domain.problem)
    wild = aw.WarmStart(aw.MeanSquaredError(), aw.MeanSquaredError(), share=0.5, rate=1e308)
    trained = train(jax.random.key(0), domain.split(0), wild, model, settings, problem=domain.problem)
    assert np.isnan(trained.history.validation_quality[2:]).all()
    assert trained.best_epoch in (1, 2)
    np.testing.assert_allclose(trained.history.validation_quality[:2], sound.history.validation_quality[:2])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_epochs": 0}, "num_epochs"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"learning_rate": float("nan")}, "learning_rate"),
        ({"learning_rate": -1.0}, "learning_rate"),
        ({"weight_decay": -0.1}, "weight_decay"),
        ({"batch_size": 0}, "batch_size"),
        ({"patience": 0}, "patience"),
        ({"validate_every": 3}, "3 does not divide 100"),
        ({"quality": "best"}, "quality must be one of"),
        ({"select_by": "quality"}, "needs a quality"),
        ({"select_by": "luck"}, "select_by must be one of"),
        ({"precision": "float16"}, "precision must be one of"),
    ],
)
def test_settings_that_cannot_be_are_refused(changes, message):
    with pytest.raises(aw.InvalidInputError, match=message):
        TrainConfig(**changes)


def test_a_wrong_kind_of_argument_is_refused_with_an_example():
    for wrong in ("dec", None, aw.DecDFL):
        with pytest.raises(aw.InvalidInputError, match=r"loss must be a loss, such as MeanSquaredError\(\), not "):
            check_loss(wrong)
    for wrong in ({"num_epochs": 3}, 3):
        with pytest.raises(aw.InvalidInputError, match=r"config must be a TrainConfig, as in .*, not "):
            checked_config(wrong)
    for wrong in (None, aw.Linear):
        with pytest.raises(aw.InvalidInputError, match="model must be a model, not "):
            check_callable(wrong, "a model")
    check_callable(aw.Linear, "a model", may_be_class=True)


def test_arguments_that_do_not_fit_are_refused(domain, model):
    key, splits, loss = jax.random.key(0), domain.split(0), LOSSES["mse"]
    given = {"problem": domain.problem}
    with pytest.raises(aw.InvalidInputError, match="no cohort to train on"):
        train(key, domain.cohorts[:0], loss, model, config(), **given)
    with pytest.raises(aw.InvalidInputError, match="measured on validation cohorts"):
        train(key, splits.train, loss, model, config(quality="decomposed"), **given)
    with pytest.raises(aw.InvalidInputError, match="hold validation cohorts already"):
        train(key, splits, loss, model, config(), validation=splits.test, **given)
    other = synthetic(0, num_cohorts=2, num_arms=5, width=5)
    with pytest.raises(aw.InvalidInputError, match="the same arms, states and features"):
        train(key, splits.train, loss, model, config(), validation=other.cohorts, **given)
    with pytest.raises(aw.InvalidInputError, match=r"transitions of shape \[12, 2, 2, 2\]"):
        train(key, splits, loss, Linear(key, domain.cohorts.features, num_states=3), config(), **given)
    wide = eqx.tree_at(lambda one: one.true_transitions, splits.train, splits.train.true_transitions * (1 + 9e-6))
    with pytest.raises(aw.InvalidInputError, match=r"true_transitions .* cohort 0, .* discount of 0\.9999"):
        train(key, wide, loss, model, config(), problem=aw.Problem(discount=0.9999))


def test_progress_goes_to_stderr_and_only_when_asked(domain, model, capfd):
    for progress in (None, False, True):
        given = {"problem": domain.problem, "progress": progress}
        train(jax.random.key(0), domain.split(0), LOSSES["mse"], model, config(), **given)
        captured = capfd.readouterr()
        assert captured.out == ""
        assert ("training" in captured.err) == (progress is True)


@pytest.mark.parametrize("options", [{"xla_cpu_no_such_option": "1"}, {"xla_cpu_scheduler_type": "NO_SUCH_VALUE"}])
def test_options_that_this_compiler_does_not_know_are_left_out(monkeypatch, options):
    monkeypatch.setattr(engine, "_OPTIONS", {jax.default_backend(): options})
    assert engine._options_for_small_kernels() == {}


def test_options_that_the_user_has_chosen_are_left_to_her(monkeypatch):
    assert engine._options_for_small_kernels() == engine._OPTIONS["cpu"]
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_scheduler_type=CPU_SCHEDULER_TYPE_CONCURRENCY_OPTIMIZED")
    assert engine._options_for_small_kernels() == {}
