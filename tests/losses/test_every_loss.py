"""The battery that every exported loss faces, with each mixture it can be given."""

import importlib
import inspect
import pkgutil

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import armwise as aw
from armwise import losses
from tests.losses.examples import EXAMPLES
from tests.oracles import random_transitions

ARMS, STATES, BUDGET = 12, 3, 2
KEY = jax.random.key(5)
every_loss = pytest.mark.parametrize("loss", EXAMPLES.values(), ids=EXAMPLES.keys())


def concrete_losses(of=aw.Loss):
    """Every loss of the package that can be used, by its name."""
    for module in pkgutil.walk_packages(losses.__path__, "armwise.losses."):
        importlib.import_module(module.name)
    found = {}
    for kind in of.__subclasses__():
        if kind.__module__.startswith("armwise.losses.") and not kind.__name__.startswith("_"):
            found |= {} if inspect.isabstract(kind) else {kind.__name__: kind}
        found |= concrete_losses(kind)
    return found


def test_every_loss_of_the_package_faces_the_battery_and_is_exported():
    found, with_example = concrete_losses(), {name.split("-")[0] for name in EXAMPLES}
    without = sorted(set(found) - with_example)
    assert not without, f"{without}: add an instance to EXAMPLES in tests/losses/examples.py"
    assert with_example == set(found)
    assert all(getattr(aw, name, None) is kind for name, kind in found.items()), "export it in armwise/__init__.py"


def test_the_truth_in_several_arguments_is_an_error_that_names_the_new_form(cohort):
    true, _, counts = cohort
    problem = aw.Problem(num_states=STATES)
    for loss in EXAMPLES.values():
        for arguments, named in (
            ((true, problem), {"budget": 1}),
            ((true, problem, 1), {"counts": counts}),
            ((true,), {}),
        ):
            with pytest.raises(
                aw.InvalidInputError, match=r"prepare takes one CohortTruth: loss.prepare\(CohortTruth\("
            ):
                loss.prepare(*arguments, **named)


@pytest.fixture
def cohort(rng):
    true, predicted = (random_transitions(rng, "dense", ARMS, STATES) for _ in range(2))
    return true, jnp.asarray(predicted), rng.integers(0, 5, true.shape).astype(float)


def prepare(loss, true, counts, ids=None):
    return loss.prepare(aw.CohortTruth(true, aw.Problem(num_states=STATES), BUDGET, counts=counts, ids=ids))


@every_loss
def test_is_finite_and_differentiable(loss, cohort):
    true, predicted, counts = cohort
    value, gradient = jax.value_and_grad(loss)(predicted, prepare(loss, true, counts), KEY)
    assert value.shape == ()
    assert jnp.isfinite(value)
    assert jnp.isfinite(gradient).all()
    assert (gradient != 0).any()


@every_loss
def test_permuting_the_arms_changes_nothing(loss, cohort, rng):
    true, predicted, counts = cohort
    shuffle, ids = rng.permutation(ARMS), rng.choice(1000, ARMS, replace=False)
    value, gradient = jax.value_and_grad(loss)(predicted, prepare(loss, true, counts, ids), KEY)
    shuffled = prepare(loss, true[shuffle], counts[shuffle], ids[shuffle])
    again, moved = jax.value_and_grad(loss)(predicted[shuffle], shuffled, KEY)
    np.testing.assert_allclose(again, value, rtol=1e-9)
    np.testing.assert_allclose(moved, gradient[shuffle], rtol=1e-6, atol=1e-10)


@every_loss
def test_jit_equals_eager(loss, cohort):
    true, predicted, counts = cohort
    prepared = prepare(loss, true, counts)
    np.testing.assert_allclose(jax.jit(loss)(predicted, prepared, KEY), loss(predicted, prepared, KEY), rtol=1e-9)


@every_loss
def test_vmap_over_cohorts_equals_a_loop(loss, rng):
    true, predicted = (np.stack([random_transitions(rng, "dense", ARMS, STATES) for _ in range(3)]) for _ in range(2))
    counts, keys = rng.integers(0, 5, true.shape).astype(float), jax.random.split(KEY, 3)
    prepared = jax.vmap(lambda t, c: prepare(loss, t, c))(true, counts)
    values, gradients = jax.vmap(jax.value_and_grad(loss))(jnp.asarray(predicted), prepared, keys)
    for i in range(3):
        alone = prepare(loss, true[i], counts[i])
        value, gradient = jax.value_and_grad(loss)(jnp.asarray(predicted[i]), alone, keys[i])
        np.testing.assert_allclose(values[i], value, rtol=1e-9)
        np.testing.assert_allclose(gradients[i], gradient, rtol=1e-6, atol=1e-10)


@every_loss
def test_gradient_steps_improve_a_tiny_problem(loss, cohort):
    """Free logits for every arm, a few steps of Adam: the loss, on fresh random numbers, falls."""
    true, predicted, counts = cohort
    prepared, optimiser = prepare(loss, true, counts), optax.adam(0.05)
    judge = prepare(aw.SimDFL(500), true, counts) if isinstance(loss, aw.SimDFL) else prepared
    judging = aw.SimDFL(500) if isinstance(loss, aw.SimDFL) else loss

    def of_logits(logits, key):
        return loss(jax.nn.softmax(logits, axis=-1), prepared, key)

    @jax.jit
    def train(logits):
        def step(carry, key):
            logits, state = carry
            updates, state = optimiser.update(jax.grad(of_logits)(logits, key), state)
            return (optax.apply_updates(logits, updates), state), None

        return jax.lax.scan(step, (logits, optimiser.init(logits)), jax.random.split(KEY, 100))[0][0]

    start = jnp.log(predicted)
    before, after = (judging(jax.nn.softmax(x, axis=-1), judge, jax.random.key(9)) for x in (start, train(start)))
    assert after < before


@every_loss
def test_users_precision(loss, cohort, user_precision):
    true, predicted, counts = cohort
    single = np.asarray(predicted, np.float32)
    value, gradient = jax.value_and_grad(loss)(jnp.asarray(single), prepare(loss, true.astype(np.float32), counts), KEY)
    assert value.dtype == gradient.dtype == jnp.float32
    assert jnp.isfinite(value)
    assert jnp.isfinite(gradient).all()


def test_weights_multiply_and_add(cohort):
    true, predicted, counts = cohort
    first, second = aw.MeanSquaredError(), aw.NegativeLogLikelihood()
    both = 2 * (0.5 * first + second) + first
    expected = 2 * first(predicted, prepare(first, true, counts)) + 2 * second(predicted, prepare(second, true, counts))
    np.testing.assert_allclose(both(predicted, prepare(both, true, counts)), expected, rtol=1e-12)


@pytest.mark.parametrize("wrong", [lambda loss: loss + 3, lambda loss: 3 + loss, lambda loss: loss + "a"])
def test_only_losses_add_up(wrong):
    with pytest.raises(TypeError):
        wrong(aw.MeanSquaredError())


def test_wrong_weights_are_named():
    losses = (aw.MeanSquaredError(), aw.NegativeLogLikelihood())
    with pytest.raises(aw.InvalidInputError, match="2 losses need as many weights, not 1"):
        aw.WeightedSum(losses, (1.0,))
    with pytest.raises(aw.InvalidInputError, match="weight must be finite"):
        float("nan") * losses[0]
