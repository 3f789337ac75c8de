"""The kernel against the same loss computed with JAX, which other tests hold to independent oracles."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import armwise as aw
from armwise import native
from tests.oracles import random_transitions

KERNEL = "armwise_dec_dfl"  # its name in a program
SHAPES = [(1, 2, "all"), (33, 2, "all"), (9, 3, "threshold"), (17, 4, "all")]  # arms, states, policies

pytestmark = pytest.mark.skipif(
    not native.compile_kernel(np.dtype("float64"), 2, 4), reason="needs a C++ compiler, and ARMWISE_NATIVE not to be 0"
)


@cache
def paths(policies):
    """Value and gradient by the kernel and with JAX; compiled once for all numbers."""

    def of(backend):
        def value(predicted, prepared, temperature):
            loss = aw.DecDFL(aw.EntropyMixture(temperature), policies=policies, backend=backend)
            return loss(predicted, prepared)

        return jax.jit(jax.value_and_grad(value))

    return of("native"), of("reference")


def problem_of(seed, kind, shape, discount, share, cost=1.5, unit=1.0):
    """A cohort whose budget is a share of what all of its arms can spend; rewards are given in a unit."""
    arms, states, policies = shape
    rng = np.random.default_rng(seed)
    true, predicted = random_transitions(rng, "dense", arms, states), random_transitions(rng, kind, arms, states)
    problem = aw.Problem(rewards=unit * rng.random((arms, states)), discount=discount, costs=(0.0, cost))
    prepared = aw.DecDFL(aw.EntropyMixture(1.0), policies=policies).prepare(
        aw.CohortTruth(true, problem, cost * arms * share)
    )
    return jnp.asarray(predicted), prepared


def narrow(tree):
    """In float32, with the kernel for it: these cohorts were prepared in float64."""
    for _, states, policies in SHAPES:
        aw.DecDFL(aw.EntropyMixture(1.0), policies=policies).compile_ahead(states, 2, np.dtype("float32"))
    return jax.tree.map(lambda leaf: leaf.astype(np.float32), tree)


def check_equal(found, expected, epsilon, temperature, discount):
    """Equal up to what rounding a return does to a share, and a share to the price.

    If one arm alone is undecided, the budget binds it too, and gradients are sums that cancel down to rounding errors.
    """
    (value, gradient), (expected_value, slope) = found, expected
    conditioning = 1 / ((1 - discount) * temperature)
    np.testing.assert_allclose(value, expected_value, rtol=epsilon * (100 + 25 * conditioning))
    noise = 50 * epsilon * conditioning / (1 - discount)
    largest = np.abs(slope).max()
    np.testing.assert_allclose(gradient, slope, rtol=0, atol=epsilon * (1e4 + 500 * conditioning) * largest + noise)


@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(["dense", "skewed", "sparse", "deterministic"]),
    shape=st.sampled_from(SHAPES),
    temperature=st.floats(-3, 2).map(lambda power: 10**power),
    share=st.floats(-6, 1).map(lambda power: 10**power),
    discount=st.sampled_from([0.0, 0.5, 0.9, 0.999]),
)
@example(seed=0, kind="dense", shape=SHAPES[1], temperature=0.001, share=1e-6, discount=0.999)
@example(seed=0, kind="dense", shape=SHAPES[1], temperature=100.0, share=1e-6, discount=0.999)
@example(seed=0, kind="dense", shape=SHAPES[3], temperature=0.001, share=0.1, discount=0.999)
@example(seed=1311104, kind="skewed", shape=SHAPES[0], temperature=1.0, share=1.0, discount=0.999)
def test_equals_jax_in_both_precisions(seed, kind, shape, temperature, share, discount):
    predicted, prepared = problem_of(seed, kind, shape, discount, share)
    by_kernel, with_jax = paths(shape[2])
    expected = with_jax(predicted, prepared, temperature)
    check_equal(by_kernel(predicted, prepared, temperature), expected, 2**-52, temperature, discount)
    # In float32 the problem itself is rounded, 1 − discount above all.
    single = by_kernel(*narrow((predicted, prepared)), np.float32(temperature))
    assert single[0].dtype == single[1].dtype == np.float32
    check_equal(single, expected, 2**-23 * (1 + 0.05 / (1 - discount)), temperature, discount)


@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.sampled_from(SHAPES),
    share=st.floats(-4, 0.3).map(lambda power: 10**power),
    cost=st.floats(-8, 9).map(lambda power: 10**power),
    unit=st.floats(-6, 6).map(lambda power: 10**power),
)
def test_the_units_of_costs_and_rewards_change_nothing(seed, shape, share, cost, unit):
    """But for the loss, which is in the unit of the rewards, as the temperature is."""
    temperature, discount = 0.1, 0.9
    by_kernel, with_jax = paths(shape[2])
    expected = with_jax(*problem_of(seed, "skewed", shape, discount, share), temperature)
    scaled = problem_of(seed, "skewed", shape, discount, share, cost, unit)
    for epsilon, shorten, number in ((2**-52, lambda tree: tree, float), (2**-22, narrow, np.float32)):
        value, gradient = by_kernel(*shorten(scaled), number(temperature * unit))
        found = float(value) / unit, np.asarray(gradient, float) / unit
        check_equal(found, expected, epsilon, temperature, discount)


def test_equal_returns_share_equally():
    """No policy gains anything, so every arm mixes evenly at price 0, and all prices are worth the same."""
    predicted, prepared = problem_of(0, "dense", (20, 2, "all"), 0.9, 10)
    value, _ = paths("all")[0](jnp.full_like(predicted, 0.5), prepared, 0.1)
    assert float(value) == pytest.approx(-float(prepared.reward_returns.mean(axis=1).mean()), rel=1e-12)


def test_many_arms_in_float32():
    shape, share, temperature = (200_003, 2, "all"), 0.05, 0.01
    predicted, prepared = problem_of(3, "dense", shape, 0.9, share)
    expected, slope = paths("all")[1](predicted, prepared, temperature)
    value, gradient = paths("all")[0](*narrow((predicted, prepared)), np.float32(temperature))
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    np.testing.assert_allclose(gradient, slope, rtol=0, atol=1e-3 * np.abs(slope).max())


@pytest.mark.parametrize("budget", [0.0, 1e-12])
def test_a_budget_out_of_reach_is_the_cheapest_policies(budget):
    """As with JAX: the status says so, the loss is that of the limit."""
    predicted, prepared = problem_of(1, "dense", SHAPES[1], 0.9, budget)
    (value, gradient), (expected, slope) = (path(predicted, prepared, 0.1) for path in paths("all"))
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-9)
    (value, gradient), _ = (path(*narrow((predicted, prepared)), np.float32(0.1)) for path in paths("all"))
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    np.testing.assert_allclose(gradient, slope, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("cost", [1e-6, 1e8])
@pytest.mark.parametrize("shorten", [lambda tree: tree, narrow])
def test_calls_may_cost_next_to_nothing_or_a_fortune(cost, shorten):
    rng = np.random.default_rng(0)
    true, predicted = (random_transitions(rng, "dense", 20, 2) for _ in range(2))
    prepared = aw.DecDFL(aw.EntropyMixture(0.1)).prepare(aw.CohortTruth(true, aw.Problem(costs=(0.0, cost)), 2 * cost))
    expected = paths("all")[1](jnp.asarray(predicted), prepared, 0.1)
    value, gradient = paths("all")[0](*shorten((jnp.asarray(predicted), prepared)), 0.1)
    np.testing.assert_allclose(value, expected[0], rtol=1e-6)
    np.testing.assert_allclose(gradient, expected[1], rtol=0, atol=1e-4 * np.abs(expected[1]).max())


@pytest.mark.parametrize("shorten", [lambda tree: tree, narrow])
def test_nan_is_passed_on(shorten):
    predicted, prepared = shorten(problem_of(1, "dense", SHAPES[1], 0.9, 0.1))
    value, gradient = paths("all")[0](predicted.at[3, 0, 0, 0].set(jnp.nan), prepared, 0.1)
    assert jnp.isnan(value)
    assert jnp.isnan(gradient).any()


def test_a_batch_is_its_cohorts_to_the_last_bit():
    cohorts = [problem_of(seed, "dense", SHAPES[1], 0.9, 0.1) for seed in range(3)]
    predicted, prepared = jax.tree.map(lambda *leaves: jnp.stack(leaves), *cohorts)
    temperatures = jnp.array([0.05, 0.5])

    def of(predicted, prepared, temperature):
        return jax.value_and_grad(aw.DecDFL(aw.EntropyMixture(temperature)))(predicted, prepared)

    over_cohorts = jax.vmap(of, in_axes=(0, 0, None))
    batched = jax.jit(jax.vmap(over_cohorts, in_axes=(None, None, 0)))(predicted, prepared, temperatures)
    for i, temperature in enumerate(temperatures):
        for j, cohort in enumerate(cohorts):
            value, gradient = paths("all")[0](*cohort, temperature)
            np.testing.assert_array_equal(batched[0][i, j], value)
            np.testing.assert_array_equal(batched[1][i, j], gradient)


def test_arms_that_share_rewards_and_first_states(rng):
    true, predicted = (random_transitions(rng, "dense", 20, 3) for _ in range(2))
    problem = aw.Problem(rewards=[0.0, 0.3, 1.0], initial=rng.dirichlet(np.ones(3), 20))
    prepared = aw.DecDFL(aw.EntropyMixture(0.1)).prepare(aw.CohortTruth(true, problem, 2))
    found, expected = (path(jnp.asarray(predicted), prepared, 0.1) for path in paths("all"))
    check_equal(found, expected, 2**-52, 0.1, 0.9)


def test_gradients_of_everything_else_are_those_of_jax():
    """The kernel has only the predictions' gradient; asked for another, it leaves the work to JAX."""
    predicted, prepared = problem_of(2, "dense", SHAPES[1], 0.9, 0.1)

    def of(backend):
        def value(temperature, predicted, prepared):
            return aw.DecDFL(aw.EntropyMixture(temperature), backend=backend)(predicted, prepared)

        return jax.jit(jax.grad(value, argnums=(0, 1, 2)))(0.1, predicted, prepared)

    found, expected = of("native"), of("reference")
    assert float(found[0]) != 0
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12), found, expected)


def test_settings_without_a_kernel_are_left_to_jax(rng):
    """Another constraint, other actions, values that are there to see, mixed precisions: all still work."""
    true = random_transitions(rng, "dense", 5, 2)
    three = random_transitions(rng, "dense", 5, 2, num_actions=3)
    entropy = aw.EntropyMixture(0.1)
    for loss, transitions, costs in (
        (aw.DecDFL(entropy, constraint="predicted"), true, (0, 1)),
        (aw.DecDFL(aw.QuadraticMixture(0.1)), true, (0, 1)),
        (aw.DecDFL(entropy), three, (0, 1, 2)),
    ):
        prepared = loss.prepare(aw.CohortTruth(transitions, aw.Problem(costs=costs), 1))
        assert KERNEL not in str(jax.make_jaxpr(loss)(transitions, prepared))
        assert jnp.isfinite(jax.jit(loss)(transitions, prepared))
    loss = aw.DecDFL(entropy)
    prepared = loss.prepare(aw.CohortTruth(true, aw.Problem(), 1))
    assert KERNEL in str(jax.make_jaxpr(loss)(true, prepared))
    assert KERNEL not in str(jax.make_jaxpr(loss)(true.astype(np.float32), prepared))
    assert jnp.isfinite(jax.jit(loss)(true.astype(np.float32), prepared))


def test_predictions_for_other_arms_are_refused_inside_jit(rng):
    loss = aw.DecDFL(aw.EntropyMixture(0.1))
    prepared = loss.prepare(aw.CohortTruth(random_transitions(rng, "dense", 5, 2), aw.Problem(), 1))
    with pytest.raises(aw.InvalidInputError, match=r"returns of predicted_transitions has the shape \[4, 4\]"):
        jax.jit(loss)(random_transitions(rng, "dense", 4, 2), prepared)
