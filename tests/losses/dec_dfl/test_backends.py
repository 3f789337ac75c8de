"""Which backend computes a loss: by name, by itself, and never by compiling while JAX traces."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import armwise as aw
from armwise import native
from armwise.native import library
from tests.oracles import random_transitions

KERNEL = "armwise_dec_dfl"  # its name in a program
ENTROPY = aw.EntropyMixture(0.1)


@pytest.fixture
def truth(rng):
    return aw.CohortTruth(random_transitions(rng, "dense", 6, 2), aw.Problem(), 2)


@pytest.fixture
def no_compiler(monkeypatch):
    """A process in which no kernel was compiled, and a compiler that must not be called."""

    def fail(*_):
        raise AssertionError("compiled")

    monkeypatch.setattr(native.dec_dfl, "_registered", set())
    monkeypatch.setattr(native.dec_dfl, "load", fail)
    native.dec_dfl._register.cache_clear()
    yield
    native.dec_dfl._register.cache_clear()


@pytest.mark.parametrize("backend", ["reference", "fused", "native"])
def test_every_backend_is_chosen_by_name_inside_jit_and_out(backend, truth, rng):
    if backend == "native" and not native.compile_kernel(np.dtype("float64"), 2, 4):
        pytest.skip("needs a C++ compiler, and ARMWISE_NATIVE not to be 0")
    predicted = jnp.asarray(random_transitions(rng, "dense", 6, 2))
    loss, auto = aw.DecDFL(ENTROPY, backend=backend), aw.DecDFL(ENTROPY)
    prepared = loss.prepare(truth)
    assert (KERNEL in str(jax.make_jaxpr(loss)(predicted, prepared))) == (backend == "native")
    for value in (loss(predicted, prepared), jax.jit(loss)(predicted, prepared)):
        np.testing.assert_allclose(value, auto(predicted, prepared), rtol=1e-12)


@pytest.mark.parametrize(
    ("settings", "lacking"),
    [
        ({"mixture": aw.QuadraticMixture(0.1)}, "an EntropyMixture"),
        ({"constraint": "predicted"}, 'constraint="true"'),
        ({"policies": "index"}, 'policies="all" or policies="threshold"'),
        ({"unit": "spread"}, 'unit="return"'),
    ],
)
@pytest.mark.parametrize("backend", ["fused", "native"])
def test_a_backend_that_cannot_serve_is_an_error_that_names_those_that_can(backend, settings, lacking, truth):
    loss = aw.DecDFL(**{"mixture": ENTROPY} | settings, backend=backend)
    with pytest.raises(aw.InvalidInputError, match=f"backend='{backend}' cannot compute this loss: it needs") as error:
        loss(truth.transitions, loss.prepare(truth))
    assert lacking in str(error.value)
    assert str(error.value).endswith("Use backend='auto' or 'reference'.")


def test_too_many_policies_for_one_backend_are_named(rng):
    truth = aw.CohortTruth(random_transitions(rng, "dense", 6, 5), aw.Problem(num_states=5), 2)
    loss = aw.DecDFL(ENTROPY, backend="fused")
    with pytest.raises(aw.InvalidInputError, match="needs at most 8 policies"):
        jax.jit(loss)(truth.transitions, loss.prepare(truth))


def test_another_backend_than_there_is_is_refused():
    with pytest.raises(
        aw.InvalidInputError, match="backend must be one of 'auto', 'reference', 'native', 'fused', not"
    ):
        aw.DecDFL(ENTROPY, backend="gpu")


def test_nothing_is_compiled_while_jax_traces(truth, rng, no_compiler):
    """Under jit, "auto" leaves a kernel that is not there to the reference, and "native" says what is missing."""
    predicted = jnp.asarray(random_transitions(rng, "dense", 6, 2))

    def of(loss):
        return jax.jit(lambda predicted, truth: loss(predicted, loss.prepare(truth)))(predicted, truth)

    np.testing.assert_allclose(of(aw.DecDFL(ENTROPY)), of(aw.DecDFL(ENTROPY, backend="reference")), rtol=1e-12)
    with pytest.raises(aw.InvalidInputError, match="its kernel, which prepare compiles outside of jit"):
        of(aw.DecDFL(ENTROPY, backend="native"))


@pytest.mark.parametrize("num_cohorts", [None, 3])
def test_prepare_compiles_the_kernel_also_under_vmap(num_cohorts, truth, no_compiler):
    def prepare(loss):
        if num_cohorts is None:
            return loss.prepare(truth)
        return jax.vmap(loss.prepare)(jax.tree.map(lambda leaf: jnp.stack([leaf] * num_cohorts), truth))

    with pytest.raises(AssertionError, match="compiled"):
        prepare(aw.DecDFL(ENTROPY))
    prepare(aw.DecDFL(ENTROPY, backend="reference"))  # which needs none


def test_a_loss_that_is_made_of_others_compiles_what_they_need(no_compiler):
    whole = aw.WarmStart(aw.MeanSquaredError(), 0.5 * aw.DecDFL(ENTROPY) + 0.5 * aw.MeanSquaredError())
    with pytest.raises(AssertionError, match="compiled"):
        whole.compile_ahead(2, 2, np.dtype("float64"))
    aw.MeanSquaredError().compile_ahead(2, 2, np.dtype("float64"))


def test_the_switch_turns_the_kernel_off(truth, monkeypatch, no_compiler):
    monkeypatch.setattr(native.dec_dfl, "load", library.load)
    monkeypatch.setenv(library.SWITCH, "0")
    library.load.cache_clear()
    loss = aw.DecDFL(ENTROPY)
    prepared = loss.prepare(truth)
    assert KERNEL not in str(jax.make_jaxpr(loss)(truth.transitions, prepared))
    library.load.cache_clear()
