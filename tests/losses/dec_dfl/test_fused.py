"""The loss row by row, which accelerators run, against the loss by solution, which the other tests hold to oracles."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import armwise as aw
from tests.oracles import random_transitions

VALUE_AND_GRADIENT = jax.jit(jax.value_and_grad(lambda predicted, loss, prepared: loss(predicted, prepared)))


def both(loss, predicted, prepared):
    loss = jax.tree.map(jnp.asarray, loss)  # not a number to compile for
    backends = (dataclasses.replace(loss, backend=backend) for backend in ("fused", "reference"))
    return tuple(VALUE_AND_GRADIENT(jnp.asarray(predicted), own, prepared) for own in backends)


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
        prepared = loss.prepare(aw.CohortTruth(true, aw.Problem(num_states=num_states), budget))
        assert_same(*both(loss, predicted, prepared), 1e-9)


def test_no_budget_leaves_the_cheapest_policies(rng):
    loss = aw.DecDFL(aw.EntropyMixture(0.1))
    true, predicted = (random_transitions(rng, "dense", 6, 2) for _ in range(2))
    found, expected = both(loss, predicted, loss.prepare(aw.CohortTruth(true, aw.Problem(), 0)))
    assert_same(found, expected, 1e-12)
    assert not np.any(found[1])


def test_rewards_and_first_states_of_each_arm(rng):
    problem = aw.Problem(rewards=rng.random((9, 3)), initial=rng.dirichlet(np.ones(3), 9), num_states=3)
    loss = aw.DecDFL(aw.EntropyMixture(0.5))
    true, predicted = (random_transitions(rng, "dense", 9, 3) for _ in range(2))
    assert_same(*both(loss, predicted, loss.prepare(aw.CohortTruth(true, problem, 2))), 1e-10)


@pytest.mark.parametrize("temperature", [0.1, 0.01])
def test_float32_is_as_near_to_float64_as_the_loss_by_solution(rng, temperature):
    loss = aw.DecDFL(aw.EntropyMixture(temperature))
    true, predicted = (random_transitions(rng, "dense", 5000, 2) for _ in range(2))
    _, exact = both(loss, predicted, loss.prepare(aw.CohortTruth(true, aw.Problem(), 200)))
    short = [value.astype(np.float32) for value in (true, predicted)]
    found, by_solution = both(loss, short[1], loss.prepare(aw.CohortTruth(short[0], aw.Problem(), 200)))
    assert found[1].dtype == jnp.float32
    np.testing.assert_allclose(found[0], exact[0], rtol=1e-5)
    error, usual = (np.abs(np.asarray(one[1]) - np.asarray(exact[1])).max() for one in (found, by_solution))
    assert error <= 2 * usual


def test_actions_that_no_policy_takes(rng):
    loss = aw.DecDFL(aw.EntropyMixture(0.1), policies="threshold")
    true, predicted = (random_transitions(rng, "dense", 7, 2, num_actions=3) for _ in range(2))
    found, expected = both(loss, predicted, loss.prepare(aw.CohortTruth(true, aw.Problem(costs=(0, 1, 2)), 1)))
    assert_same(found, expected, 1e-9)
    assert not np.any(found[1][:, :, 2])


SETTINGS = {
    "all": (aw.DecDFL(aw.EntropyMixture(0.1)), True),
    "threshold": (aw.DecDFL(aw.EntropyMixture(0.1), policies="threshold"), True),
    "index": (aw.DecDFL(aw.EntropyMixture(0.1), policies="index"), False),
    "spread": (aw.DecDFL(aw.EntropyMixture(0.1), unit="spread"), False),
    "L2": (aw.DecDFL(aw.QuadraticMixture(0.1)), False),
}


@pytest.mark.parametrize("num_states", [2, 4])
@pytest.mark.parametrize("name", SETTINGS)
def test_where_there_is_an_accelerator_a_program_placed_on_the_cpu_works(rng, monkeypatch, name, num_states):
    """Which losses go row by row there; and no kernel is called that was never made."""
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    loss, is_served = SETTINGS[name]
    true, predicted = (random_transitions(rng, "dense", 6, num_states) for _ in range(2))
    prepared = loss.prepare(aw.CohortTruth(true, aw.Problem(num_states=num_states), 1))

    def value(temperature, predicted):
        return dataclasses.replace(loss, mixture=type(loss.mixture)(temperature))(predicted, prepared)

    def by_reference(temperature, predicted):
        own = dataclasses.replace(loss, mixture=type(loss.mixture)(temperature), backend="reference")
        return own(predicted, prepared)

    for place in (0, 1):  # the temperature's gradient, which does not come at once, and that of the predictions
        found, expected = (jax.jit(jax.grad(one, argnums=place))(0.1, predicted) for one in (value, by_reference))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    program = str(jax.make_jaxpr(value)(0.1, predicted))
    assert "armwise_dec_dfl" not in program
    assert ("platform_index" in program) == (is_served and (num_states == 2 or name == "threshold"))


def test_many_cohorts_at_once(rng):
    loss = aw.DecDFL(aw.EntropyMixture(0.1), backend="fused")
    prepared = loss.prepare(aw.CohortTruth(random_transitions(rng, "dense", 8, 2), aw.Problem(), 1))
    predicted = jnp.stack([random_transitions(rng, "dense", 8, 2) for _ in range(4)])
    value_and_gradient = jax.value_and_grad(lambda own: loss(own, prepared))
    found = jax.vmap(value_and_gradient)(predicted)
    for number, own in enumerate(predicted):
        expected = value_and_gradient(own)
        assert_same([part[number] for part in found], expected, 1e-12)
