import jax
import jax.numpy as jnp
import numpy as np
import pytest

import armwise as aw
from tests.oracles import random_transitions


def test_mean_squared_error_is_numpys(rng):
    true, predicted = random_transitions(rng, "dense", 7, 3), random_transitions(rng, "dense", 7, 3)
    loss = aw.MeanSquaredError()
    got = loss(predicted, loss.prepare(aw.CohortTruth(true, aw.Problem(num_states=3), budget=1)))
    np.testing.assert_allclose(got, ((predicted - true) ** 2).sum() / 7, rtol=1e-12)


def test_likelihood_of_counts_is_that_of_the_trajectories(rng):
    """Step by step along each trajectory, against the counts of its transitions."""
    true, predicted = random_transitions(rng, "dense", 5, 3), random_transitions(rng, "dense", 5, 3)
    problem = aw.Problem(num_states=3)
    trace = aw.simulate_trace(jax.random.key(1), true, rng.normal(size=(5, 3)), problem, budget=2, horizon=12)
    states, actions = np.asarray(trace.states)[0], np.asarray(trace.actions)[0]
    counts, log_likelihood = np.zeros(true.shape), 0.0
    for step in range(11):
        for arm in range(5):
            place = arm, states[step, arm], actions[step, arm], states[step + 1, arm]
            counts[place] += 1
            log_likelihood += np.log(predicted[place])
    loss = aw.NegativeLogLikelihood()
    got = loss(predicted, loss.prepare(aw.CohortTruth(true, problem, budget=2, counts=counts)))
    np.testing.assert_allclose(got, -log_likelihood / 5, rtol=1e-12)


def test_what_was_never_observed_does_not_matter():
    """Not even at a predicted probability of 0, whose logarithm is infinite: value and gradient stay finite."""
    predicted = jnp.array([[[[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]]])
    counts = np.zeros((1, 2, 2, 2))
    counts[0, 0, 0, 0] = 3
    counts[0, 1, 1, 1] = 2
    loss = aw.NegativeLogLikelihood()
    prepared = loss.prepare(aw.CohortTruth(predicted, aw.Problem(), budget=1, counts=counts))
    value, gradient = jax.value_and_grad(loss)(predicted, prepared)
    np.testing.assert_allclose(value, 2 * np.log(2), rtol=1e-12)
    expected = np.zeros((1, 2, 2, 2))
    expected[0, 0, 0, 0], expected[0, 1, 1, 1] = -3, -4
    np.testing.assert_allclose(gradient, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (None, "needs the observed transition counts"),
        (np.zeros((2, 2, 2, 2)), r"counts has the shape \[2, 2, 2, 2\], but transitions has \[3, 2, 2, 2\]"),
        (np.full((3, 2, 2, 2), -1.0), r"counts must not be negative or missing, but counts\[0, 0, 0, 0\] is -1"),
        (np.full((3, 2, 2, 2), np.nan), r"counts must not be negative or missing, but counts\[0, 0, 0, 0\] is nan"),
    ],
)
def test_wrong_counts_are_named(counts, message):
    with pytest.raises(aw.InvalidInputError, match=message):
        aw.NegativeLogLikelihood().prepare(
            aw.CohortTruth(np.full((3, 2, 2, 2), 0.5), aw.Problem(), budget=1, counts=counts)
        )


def test_predictions_for_other_arms_are_refused():
    loss = aw.MeanSquaredError()
    prepared = loss.prepare(aw.CohortTruth(np.full((3, 2, 2, 2), 0.5), aw.Problem(), budget=1))
    with pytest.raises(aw.InvalidInputError, match=r"predicted_transitions has the shape \[1, 2, 2, 2\]"):
        loss(np.full((1, 2, 2, 2), 0.5), prepared)
