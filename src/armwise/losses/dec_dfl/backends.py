"""Which way computes the loss of ``DecDFL``: one table says what each backend serves, and one rule what "auto" takes.

"reference" solves for the mixture and differentiates through it, in JAX (``reference.py``). "native" is one C++ kernel
(``armwise.native``) and "fused" a few passes over memory (``fused.py``): both give the value and its gradient with
respect to the predictions in one call. A gradient of anything else is always the reference's.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from armwise import native
from armwise._hardware import on_cpu
from armwise.errors import InvalidInputError
from armwise.losses.dec_dfl import fused
from armwise.losses.dec_dfl.reference import PreparedReturns, negative_return
from armwise.losses.policy_sets import policies_of
from armwise.mixtures import EntropyMixture, Mixture

BACKENDS = ("auto", "reference", "native", "fused")


class Case(NamedTuple):
    """What decides whether a backend can serve; known while JAX traces."""

    mixture: Mixture
    constraint: str
    policies: str
    unit: str
    num_states: int
    num_actions: int
    num_policies: int
    dtype: jnp.dtype  # of the predictions
    true_dtype: jnp.dtype  # of what was prepared

    @property
    def kernel(self) -> tuple[jnp.dtype, int, int]:
        """What names the native kernel of this case."""
        return self.dtype, self.num_states, self.num_policies


Requirement = tuple[str, Callable[[Case], bool]]  # in words, and as a test

_VALUE_AND_GRADIENT: tuple[Requirement, ...] = (
    ("an EntropyMixture", lambda case: isinstance(case.mixture, EntropyMixture)),
    ('constraint="true"', lambda case: case.constraint == "true"),
    ('policies="all" or policies="threshold"', lambda case: case.policies in ("all", "threshold")),
    ('unit="return"', lambda case: case.unit == "return"),
    ("predictions in the precision of the truth", lambda case: case.dtype == case.true_dtype),
)
_KERNEL: tuple[Requirement, ...] = (
    ("a CPU", lambda _: on_cpu()),
    (native.COVERED, lambda case: native.covers(*case.kernel, case.num_actions)),
)
_IS_COMPILED: Requirement = (
    "its kernel, which prepare compiles outside of jit where there is a C++ compiler and ARMWISE_NATIVE is not 0",
    lambda case: native.is_compiled(*case.kernel),
)
SERVES: dict[str, tuple[Requirement, ...]] = {
    "reference": (),
    "native": (*_VALUE_AND_GRADIENT, *_KERNEL, _IS_COMPILED),
    "fused": (
        *_VALUE_AND_GRADIENT,
        (f"at most {fused.MOST_POLICIES} policies", lambda case: case.num_policies <= fused.MOST_POLICIES),
    ),
}


class Choice(NamedTuple):
    """A backend for programs that run on a CPU, and one for all others."""

    cpu: str
    elsewhere: str


REFERENCE = Choice("reference", "reference")


def choose(backend: str, case: Case) -> Choice:
    """The backends that compute a case inside a program; asking for one that cannot serve it is an error.

    Where there is an accelerator, "auto" leaves programs that are placed on the CPU to the reference.
    """
    if backend != "auto":
        refuse_unserved(backend, case)
        return Choice(backend, backend)
    elsewhere = "reference" if missing("fused", case) else "fused"
    if not on_cpu():
        return Choice("reference", elsewhere)
    return REFERENCE if missing("native", case) else Choice("native", elsewhere)


def missing(backend: str, case: Case) -> list[str]:
    """What a backend needs and the case has not, in words."""
    return [words for words, holds in SERVES[backend] if not holds(case)]


def refuse_unserved(backend: str, case: Case) -> None:
    """Refuse a backend that cannot serve the case, and name those that can."""
    if lacking := missing(backend, case):
        able = ["auto", *(other for other in SERVES if not missing(other, case))]
        raise InvalidInputError(
            f"backend={backend!r} cannot compute this loss: it needs {' and '.join(lacking)}. "
            f"Use backend={' or '.join(map(repr, able))}."
        )


def compile_kernel(backend: str, case: Case) -> None:
    """Compile the native kernel if this backend may use it for the case; never called while JAX writes a program."""
    if backend in ("auto", "native") and all(holds(case) for _, holds in (*_VALUE_AND_GRADIENT, *_KERNEL)):
        native.compile_kernel(*case.kernel)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def value_by(
    choice: Choice, policies: str, mixture: Mixture, predicted: Float[Array, "..."], prepared: PreparedReturns
) -> Float[Array, ""]:
    """The loss by a backend that computes the gradient with it; the constraint is the true one."""
    return _value_and_gradient(choice, policies, mixture, predicted, prepared)[0]


def _value_and_gradient(
    choice: Choice, policies: str, mixture: Mixture, predicted: Array, prepared: PreparedReturns
) -> tuple[Array, Array]:
    cpu, elsewhere = (partial(_COMPUTE[name], policies) for name in choice)
    if choice.cpu == choice.elsewhere:
        return cpu(mixture, predicted, prepared)
    return jax.lax.platform_dependent(mixture, predicted, prepared, cpu=cpu, default=elsewhere)


def _by_reference(policies: str, mixture: Mixture, predicted: Array, prepared: PreparedReturns) -> tuple[Array, Array]:
    def value(predicted: Array) -> Array:
        return negative_return(mixture, "true", policies, predicted, prepared)

    return jax.value_and_grad(value)(predicted)


def _by_native(policies: str, mixture: Mixture, predicted: Array, prepared: PreparedReturns) -> tuple[Array, Array]:
    del policies  # the kernel's are those of its number of policies
    value, gradient = native.loss_and_gradient(_kernel_inputs(mixture, predicted, prepared))
    return value, jnp.moveaxis(gradient, -1, 0)


def _kernel_inputs(mixture: Mixture, predicted: Array, prepared: PreparedReturns) -> native.Inputs:
    problem, measured = prepared.problem, prepared.measured
    assert isinstance(mixture, EntropyMixture)
    numbers = [problem.discount, mixture.temperature, measured.left, measured.widest]
    per_state = (value.T for value in jnp.broadcast_arrays(problem.rewards, problem.initial))
    known = [jnp.asarray(value, predicted.dtype).reshape(-1) for value in (*numbers, *per_state)]
    spend = measured.spend.astype(predicted.dtype)
    return native.Inputs(jnp.moveaxis(predicted, 0, -1), prepared.reward_rows, spend, jnp.concatenate(known))


def _by_fused(policies: str, mixture: Mixture, predicted: Array, prepared: PreparedReturns) -> tuple[Array, Array]:
    assert isinstance(mixture, EntropyMixture)
    return fused.loss_and_gradient(
        predicted,
        prepared.reward_rows,
        jax.tree.map(lambda known: known.astype(predicted.dtype), prepared.measured),
        jnp.asarray(mixture.temperature, predicted.dtype),
        prepared.problem,
        policies_of(policies, *predicted.shape[1:3]),
    )


_COMPUTE: dict[str, Callable[[str, Mixture, Array, PreparedReturns], tuple[Array, Array]]] = {
    "reference": _by_reference,
    "native": _by_native,
    "fused": _by_fused,
}


def _forward(choice, policies, *inputs):  # type: ignore[no-untyped-def]
    """The value and the gradient that came with it, which is that of the predictions.

    If another is asked for, such as the temperature's, everything is computed by the reference.
    """
    mixture, predicted, prepared = jax.tree.map(lambda leaf: leaf.value, inputs)
    if any(leaf.perturbed for leaf in jax.tree.leaves((inputs[0], inputs[2]))):

        def by_reference(mixture, predicted, prepared):  # type: ignore[no-untyped-def]
            return negative_return(mixture, "true", policies, predicted, prepared)

        return jax.vjp(by_reference, mixture, predicted, prepared)
    return _value_and_gradient(choice, policies, mixture, predicted, prepared)


def _backward(choice, policies, saved, cotangent):  # type: ignore[no-untyped-def]
    del choice, policies
    return saved(cotangent) if callable(saved) else (None, cotangent * saved, None)


value_by.defvjp(_forward, _backward, symbolic_zeros=True)
