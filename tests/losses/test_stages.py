"""Losses that change with the epochs: what each epoch is trained by, and what it is measured by."""

import jax.numpy as jnp
import numpy as np
import pytest

import armwise as aw
from tests.oracles import random_transitions

MSE, PRICE = aw.MeanSquaredError(), aw.PriceDFL(0.2)


@pytest.fixture
def pair(rng):
    return [random_transitions(rng, "dense", 6, 2) for _ in range(2)]


def at(loss, epoch, num_epochs=10):
    return loss.objective_at_epoch(jnp.asarray(epoch), num_epochs)


def test_the_first_loss_teaches_first_and_the_second_measures(pair):
    true, predicted = pair
    loss = aw.WarmStart(MSE, PRICE, share=0.3, rate=0.1)
    prepared = loss.prepare(aw.CohortTruth(true, aw.Problem(), 2))
    alone = [one(predicted, one.prepare(aw.CohortTruth(true, aw.Problem(), 2))) for one in (MSE, PRICE)]
    taught = [float(at(loss, epoch).loss(predicted, prepared)) for epoch in range(10)]
    np.testing.assert_allclose(taught, [alone[0]] * 3 + [alone[1]] * 7)
    np.testing.assert_allclose([float(at(loss, epoch).rate) for epoch in (0, 2, 3, 9)], [1, 1, 0.1, 0.1])
    assert [bool(at(loss, epoch).begins) for epoch in range(10)] == [epoch == 3 for epoch in range(10)]
    np.testing.assert_allclose(loss(predicted, prepared), alone[1])


def test_numbers_move_by_equal_ratios_and_end_where_they_are_measured(pair):
    true, predicted = pair
    loss = aw.Annealed(PRICE * 3.0 + MSE, aw.PriceDFL(0.002) * 3.0 + MSE)
    temperatures = [float(at(loss, epoch, 3).loss.losses[0].temperature) for epoch in range(3)]
    np.testing.assert_allclose(temperatures, [0.2, 0.02, 0.002])
    np.testing.assert_allclose(at(loss, 1, 3).loss.weights, [3, 1])
    prepared = loss.prepare(aw.CohortTruth(true, aw.Problem(), 2))
    np.testing.assert_allclose(at(loss, 2, 3).loss(predicted, prepared), loss(predicted, prepared), rtol=1e-12)
    assert float(at(loss, 0, 1).loss.losses[0].temperature) == 0.2  # of a single epoch


@pytest.mark.parametrize(("share", "num_first"), [(0.99, 9), (0.001, 1), (0.5, 5)])
def test_each_stage_gets_at_least_one_epoch(share, num_first):
    objectives = [at(aw.WarmStart(MSE, PRICE, share=share), epoch) for epoch in range(10)]
    assert [bool(objective.loss.is_first) for objective in objectives] == [epoch < num_first for epoch in range(10)]
    assert [bool(objective.begins) for objective in objectives] == [epoch == num_first for epoch in range(10)]


def test_two_stages_need_two_epochs():
    with pytest.raises(aw.InvalidInputError, match="needs at least 2 epochs, not 1"):
        at(aw.WarmStart(MSE, PRICE), 0, num_epochs=1)


def test_whole_numbers_move_too():
    loss = aw.Annealed(aw.PriceDFL(4), aw.PriceDFL(1))
    assert [float(at(loss, epoch, 3).loss.temperature) for epoch in range(3)] == [4, 2, 1]


def test_other_losses_teach_by_themselves():
    objective = at(PRICE, 7)
    assert objective.loss is PRICE
    assert (objective.rate, objective.begins) == (1.0, False)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: aw.WarmStart(MSE, PRICE, share=1.0), "share must be above 0 and below 1, not 1.0"),
        (lambda: aw.WarmStart(MSE, PRICE, rate=0.0), "rate must be a finite number above 0, not 0.0"),
        (lambda: aw.Annealed(MSE, PRICE), "must be the same loss but for its numbers"),
        (lambda: aw.Annealed(0.0 * MSE, 1.0 * MSE), "all must be above 0, not 0"),
        (lambda: 0.5 * aw.WarmStart(MSE, PRICE), "WarmStart changes with the epochs and cannot be part of a sum"),
        (lambda: aw.WarmStart(aw.Annealed(PRICE, PRICE), MSE), "first is Annealed, which changes with the epochs"),
        (lambda: aw.WarmStart(MSE, aw.WarmStart(MSE, PRICE)), "then is WarmStart, which changes with the epochs"),
        (lambda: aw.Annealed(*[aw.Annealed(PRICE, PRICE)] * 2), "start is Annealed.* cannot be part of Annealed"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(aw.InvalidInputError, match=message):
        make()
