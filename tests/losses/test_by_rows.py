"""The loss row by row, which accelerators run, against the loss by solution, which the other tests hold to oracles."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import armwise as aw
from armwise.losses import dec_dfl
from tests.oracles import random_transitions

BY_ROWS = jax.jit(dec_dfl._by_rows)
BY_SOLUTION = jax.jit(jax.value_and_grad(dec_dfl._by_solution, argnums=1))


def both(loss, predicted, prepared):
    loss = jax.tree.map(jnp.asarray, loss)  # not a number to compile for
    return BY_ROWS(loss, predicted, prepared), BY_SOLUTION(loss, predicted, prepared)


def assert_same(found, expected, tolerance):
    np.testing.assert_allclose(found[0], expected[0], rtol=tolerance)
    scale = np.abs(np.asarray(expected[1])).max()
    np.testing.assert_allclose(found[1], expected[1], rtol=0, atol=tolerance * scale + 1e-13)  # where all but cancels


@pytest.mark.parametrize("kind", ["dense", "skewed", "sparse", "deterministic"])
@pytest.mark.parametrize(("num_states", "policies"), [(2, "all"), (3, "all"), (3, "threshold"), (5, "threshold")])
@pytest.mark.parametrize("temperature", [0.01, 0.1, 10.0])
def test_equals_the_loss_by_solution(rng, kind, num_states, policies, temperature):
    loss = aw.DecDFL(aw.EntropyMixture(temperature), policies=policies)
    for budget in (0.3, 3, 100):  # less than a call, some, more than all arms want
        true, predicted = (random_transitions(rng, kind, 20, num_states) for _ in range(2))
        prepared = loss.prepare(true, aw.Problem(num_states=num_states), budget)
        assert_same(*both(loss, predicted, prepared), 1e-9)


def test_no_budget_leaves_the_cheapest_policies(rng):
    loss = aw.DecDFL(aw.EntropyMixture(0.1))
    true, predicted = (random_transitions(rng, "dense", 6, 2) for _ in range(2))
    found, expected = both(loss, predicted, loss.prepare(true, aw.Problem(), 0))
    assert_same(found, expected, 1e-12)
    assert not np.any(found[1])


def test_rewards_and_first_states_of_each_arm(rng):
    problem = aw.Problem(rewards=rng.random((9, 3)), initial=rng.dirichlet(np.ones(3), 9), num_states=3)
    loss = aw.DecDFL(aw.EntropyMixture(0.5))
    true, predicted = (random_transitions(rng, "dense", 9, 3) for _ in range(2))
    assert_same(*both(loss, predicted, loss.prepare(true, problem, 2)), 1e-10)


def test_float32_is_as_near_to_float64_as_the_loss_by_solution(rng):
    loss = aw.DecDFL(aw.EntropyMixture(0.1))
    true, predicted = (random_transitions(rng, "dense", 5000, 2) for _ in range(2))
    _, exact = both(loss, predicted, loss.prepare(true, aw.Problem(), 200))
    short = [value.astype(np.float32) for value in (true, predicted)]
    found, _ = both(loss, short[1], loss.prepare(short[0], aw.Problem(), 200))
    assert found[1].dtype == jnp.float32
    assert_same(found, exact, 2e-5)


def test_many_cohorts_at_once(rng):
    loss = aw.DecDFL(aw.EntropyMixture(0.1))
    prepared = loss.prepare(random_transitions(rng, "dense", 8, 2), aw.Problem(), 1)
    predicted = jnp.stack([random_transitions(rng, "dense", 8, 2) for _ in range(4)])
    found = jax.vmap(lambda own: dec_dfl._by_rows(loss, own, prepared))(predicted)
    for number, own in enumerate(predicted):
        expected = dec_dfl._by_rows(loss, own, prepared)
        assert_same([part[number] for part in found], expected, 1e-12)
