"""What is timed is training, and an epoch is reckoned from the steps that were timed."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import armwise as aw
from armwise.training import TrainConfig, train
from armwise.training.engine import cast
from reproduction.paper import times
from reproduction.runs.protocol import model_maker
from tests.reproduction.small import small_domain


@pytest.fixture(scope="module")
def parts():
    domain = small_domain()
    model = cast(model_maker("linear", domain)(jax.random.key(0)), jnp.dtype("float32"))
    return domain.cohorts[np.arange(3)], model, domain.problem


def test_what_is_timed_is_training(parts):
    cohorts, model, problem = parts
    run = times.compiled_epochs(aw.MeanSquaredError(), cohorts, model, problem, most=5)
    settings = TrainConfig(num_epochs=3, learning_rate=times.RATE)
    trained = train(jax.random.key(1), cohorts, aw.MeanSquaredError(), model, settings, problem=problem)
    state = run(3)
    np.testing.assert_allclose(state.history.train_loss[:3], trained.history.train_loss, rtol=1e-5)
    assert int(state.epoch) == 3


def test_a_solvers_steps_are_gradients_at_the_first_weights(parts):
    cohorts, model, problem = cast(parts, jnp.dtype("float32"))
    loss = aw.MeanSquaredError()
    gradients = times.solver_steps(loss, *parts)(3)
    assert len(gradients) == 3
    prepared = loss.prepare(aw.CohortTruth.of(cohorts[1], problem))
    expected = eqx.filter_grad(lambda model: loss(model(cohorts[1].features), prepared))(model)
    for ours, theirs in zip(jax.tree.leaves(gradients[1]), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.parametrize(
    ("loss", "step", "epoch", "repeats", "steps"),
    [
        ("mse", 0.25, 0.25, 5, 12),  # a repeat of a second is four epochs of three cohorts
        ("mse", 7.0, 7.0, 1, 3),
        ("dec-l2-cvxpy", 0.5, 1.5, 2, 2),
        ("dec-l2-cvxpy", 45.0, 135.0, 1, 1),
    ],
)
def test_an_epoch_is_reckoned_from_what_was_timed(monkeypatch, loss, step, epoch, repeats, steps):
    """Seconds of an epoch for compiled losses, of a step for a solver's, as a clock would show them."""
    monkeypatch.setattr(times, "_seconds", lambda run, number: step * number)
    (row,) = times.epoch_times("synthetic-2", small_domain(), [loss])
    assert (row.seconds, row.fastest, row.num_repeats, row.num_steps) == (epoch, epoch, repeats, steps)
    assert (row.num_cohorts, row.num_arms) == (3, 6)
