"""The GPU kernel of SIM-DFL, run as plain JAX on any machine, against the same simulation by XLA."""

from functools import partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import armwise as aw
from armwise.losses.sim_dfl import estimate, kernel, simulation
from armwise.rmab.rollout import tabulate
from tests.oracles import random_transitions


def make_case(rng, arms, states, budget, temperature):
    """What a simulation is given, in float32."""
    true, predicted = (jnp.asarray(random_transitions(rng, "dense", arms, states), jnp.float32) for _ in range(2))
    rewards = jnp.asarray(rng.random((arms, states)) if states == 3 else np.arange(states), jnp.float32)
    problem = aw.Problem(rewards=rewards, discount=0.9)
    indices = aw.whittle_indices(predicted, problem).astype(jnp.float32)
    ids = jnp.asarray(rng.permutation(1000)[:arms], jnp.uint32)
    tables = tabulate(jax.random.key(3), true, problem, ids, jnp.argsort(ids))
    words = jax.random.bits(jax.random.key(5), (1, 2), jnp.uint32)
    return indices, jnp.float32(temperature), tables, words, jnp.asarray(budget)


def by_xla(case, num_trajectories, num_steps, credit="own"):
    indices, temperature, tables, words, budget = case
    pairs = jnp.arange(-(-num_trajectories // 2), dtype=jnp.uint32)
    counted = (2 * pairs[None] + jnp.arange(2, dtype=jnp.uint32)[:, None]) < num_trajectories
    steps = simulation.simulate(indices, temperature, tables, words, budget, pairs, num_steps)
    return simulation.look_back(steps, tables, counted, temperature, credit)


def by_kernel(case, num_trajectories, num_steps, *, with_gradient=True):
    pairs = jnp.arange(-(-num_trajectories // 2), dtype=jnp.uint32)
    options = {"with_gradient": with_gradient, "interpret": True}
    return kernel.simulate(*case, pairs, num_trajectories, num_steps, **options)


@pytest.mark.parametrize(
    ("arms", "states", "budget", "temperature", "trajectories", "steps"),
    [
        (7, 2, 2, 0.1, 3, 5),
        (1, 2, 1, 0.1, 1, 3),
        (20, 3, 4, 0.02, 10, 20),
        (50, 5, 5, 0.1, 5, 30),
        (76, 2, 3, 0.5, 6, 66),
        (30, 8, 29, 2.0, 4, 12),
        (128, 2, 64, 0.1, 2, 10),
        (128, 2, 127, 0.1, 2, 10),
    ],
)
def test_the_kernel_simulates_what_xla_does(
    user_precision, rng, arms, states, budget, temperature, trajectories, steps
):
    """The same calls, unless a draw falls within a millionth of the end of an arm's stretch; here none does."""
    case = make_case(rng, arms, states, budget, temperature)
    value, gradient = by_xla(case, trajectories, steps)
    ours, its_gradient = by_kernel(case, trajectories, steps)
    np.testing.assert_allclose(ours, value, rtol=1e-5)
    np.testing.assert_allclose(its_gradient, gradient, rtol=1e-4, atol=1e-5 * float(jnp.abs(gradient).max() + 1e-9))
    assert arms == 1 or float(jnp.abs(gradient).max()) > 0


@pytest.mark.parametrize("budget", [0, 12])
def test_calls_to_nobody_and_to_all_have_no_gradient(user_precision, rng, budget):
    case = make_case(rng, 12, 2, budget, 0.1)
    value, gradient = by_kernel(case, 4, 10)
    np.testing.assert_allclose(value, by_xla(case, 4, 10)[0], rtol=1e-5)
    np.testing.assert_array_equal(gradient, 0)


def test_the_value_needs_no_gradient(user_precision, rng):
    case = make_case(rng, 12, 2, 3, 0.1)
    value, gradient = by_kernel(case, 4, 10, with_gradient=False)
    np.testing.assert_allclose(value, by_kernel(case, 4, 10)[0])
    np.testing.assert_array_equal(gradient, 0)


def test_many_cohorts_side_by_side_are_each_their_own(user_precision, rng):
    cases = [make_case(rng, 9, 2, budget, 0.1) for budget in (2, 5)]
    together = jax.tree.map(lambda *leaves: jnp.stack(leaves), *cases)
    values, gradients = jax.vmap(lambda *case: by_kernel(case, 4, 6))(*together)
    for case, value, gradient in zip(cases, values, gradients, strict=True):
        alone, its_gradient = by_kernel(case, 4, 6)
        np.testing.assert_allclose(value, alone, rtol=1e-6)
        np.testing.assert_allclose(gradient, its_gradient, rtol=1e-5, atol=1e-6)


def test_as_many_are_called_as_the_budget_allows(user_precision, rng):
    """Two states, the upper one reached by a call and by nothing else: rewards count the calls."""
    transitions = jnp.zeros((40, 2, 2, 2)).at[:, :, 0, 0].set(1).at[:, :, 1, 1].set(1)
    problem = aw.Problem(discount=1 - 1e-7, initial=jnp.array([1.0, 0.0]))
    indices = jnp.asarray(rng.normal(size=(40, 2)), jnp.float32)
    for budget in (1, 7, 39):
        tables = tabulate(jax.random.key(0), transitions, problem, jnp.arange(40, dtype=jnp.uint32), jnp.arange(40))
        words = jax.random.bits(jax.random.key(budget), (1, 2), jnp.uint32)
        case = (indices, jnp.float32(0.3), tables, words, jnp.asarray(budget))
        value, _ = by_kernel(case, 10, 21, with_gradient=False)
        np.testing.assert_allclose(value, 10 * 20 * budget, rtol=1e-4)


@pytest.mark.parametrize(("arms", "states"), [(76, 2), (100, 5), (128, 8)])
def test_the_kernel_can_be_lowered_for_a_gpu(user_precision, rng, arms, states):
    """Only what Triton knows is used; needs no GPU."""
    case = make_case(rng, arms, states, 3, 0.1)
    pairs = jnp.arange(50, dtype=jnp.uint32)

    def run(*case):
        return kernel.simulate(*case, pairs, 100, 66, with_gradient=True)

    lowered = jax.jit(jax.vmap(run)).trace(*jax.tree.map(lambda leaf: leaf[None], case))
    assert "triton" in lowered.lower(lowering_platforms=("cuda",)).as_text()


def sample(chances, start, count):
    arm = jnp.arange(128)
    padded = jnp.pad(jnp.asarray(chances, jnp.float32), (0, 128 - len(chances)))
    args = jnp.float32(start), jnp.float32(count), arm, arm == len(chances) - 1
    return np.asarray(kernel._systematic_sample(padded, *args))[: len(chances)]


def test_the_last_arm_makes_up_what_rounding_left(user_precision):
    """The points lie at the very end of the stretches, which rounding has made too short to hold the last of them."""
    chances = np.full(100, 0.03 - 3e-7)
    for start in (1 - 2**-24, 1 - 2**-20, 0.5, 2**-24, 0.0):
        assert sample(chances, start, 3).sum() == 3


def test_equal_chances_are_equal_for_the_last_arm_too(user_precision, rng):
    """With points drawn evenly, each of 128 arms is called once in 128 times, whatever rounding makes of 1 / 128."""
    for share in (1 / 128, 1 / 127, 1 / 101):
        count = round(1 / share)
        calls = sum(sample(np.full(count, share), start, 1) for start in (np.arange(4096) + 0.5) / 4096)
        np.testing.assert_allclose(calls, 4096 * share, atol=1)


@pytest.mark.parametrize(
    ("arms", "states", "precision", "fits"),
    [
        (128, 8, "float32", True),
        (129, 2, "float32", False),
        (9, 9, "float32", False),
        (9, 1, "float32", False),
        (9, 2, "float64", False),
    ],
)
def test_what_does_not_fit_is_left_to_xla(arms, states, precision, fits):
    assert kernel.fits(arms, states, jnp.dtype(precision)) == fits


@pytest.mark.parametrize(
    ("backend", "capability", "available"),
    [("cpu", "", False), ("gpu", "9.0", True), ("gpu", "8.0", True), ("gpu", "7.5", False), ("gpu", "gfx90a", False)],
)
def test_where_triton_does_not_compile_xla_does(monkeypatch, backend, capability, available):
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    monkeypatch.setattr(jax, "devices", lambda: [SimpleNamespace(compute_capability=capability)])
    assert kernel.is_available() == available


def test_a_gpu_is_given_the_kernel(user_precision, rng, monkeypatch):
    """Where there is one that can run it, and for the credit that it gives."""
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    case = make_case(rng, 10, 2, 2, 0.1)
    for can_run, credit, expected in ((True, "own", True), (False, "own", False), (True, "all", False)):
        monkeypatch.setattr(kernel, "is_available", lambda can_run=can_run: can_run)
        of_case = partial(estimate.estimate, (4, 3, credit), with_gradient=True)
        traced = jax.make_jaxpr(of_case)(*case)
        assert ("pallas_call" in str(traced)) == expected


@pytest.mark.skipif(jax.default_backend() != "gpu", reason="needs an NVIDIA GPU")
@pytest.mark.parametrize("arms", [20, 100, 128])
def test_a_gpu_runs_it(user_precision, rng, arms):
    case = make_case(rng, arms, 2, 20, 0.1)
    found = estimate.estimate((21, 66, "own"), *case, with_gradient=True)
    value, gradient = by_xla(case, 21, 66)
    np.testing.assert_allclose(found[0] * 21 * arms, value, rtol=1e-5)
    np.testing.assert_allclose(found[1] * 21 * arms, gradient, rtol=1e-3, atol=1e-4 * float(jnp.abs(gradient).max()))
