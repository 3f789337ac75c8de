"""The backends that compute the loss of ``DecDFL``: a table of what each one serves, and the rule behind "auto".

"reference" solves for the mixture and differentiates through it, in JAX (``reference.py``). "native" is one C++ kernel
(``armwise.native``) and "fused" takes a few passes over memory (``fused.py``). Both give the value and its gradient
with respect to the predictions in one call. The reference computes all gradients with respect to anything else.
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
    """Everything that decides which backends can compute the loss. All of it is known while JAX traces."""

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
        """The key of this case's native kernel."""
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
    """One backend for programs that run on a CPU, and one for all other programs."""

    cpu: str
    elsewhere: str


REFERENCE = Choice("reference", "reference")


def choose(backend: str, case: Case) -> Choice:
    """The backends that compute a case. It is an error to ask for a backend that cannot serve it.

    On a machine with an accelerator, "auto" uses the reference for programs placed on the CPU.
    """
    if backend != "auto":
        refuse_unserved(backend, case)
        return Choice(backend, backend)
    elsewhere = "reference" if missing("fused", case) else "fused"
    if not on_cpu():
        return Choice("reference", elsewhere)
    return REFERENCE if missing("native", case) else Choice("native", elsewhere)


def missing(backend: str, case: Case) -> list[str]:
    """The requirements of a backend that the case does not meet, in words."""
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
    """Compile the native kernel if this backend may use it for the case. Never call it while JAX traces."""
    if backend in ("auto", "native") and all(holds(case) for _, holds in (*_VALUE_AND_GRADIENT, *_KERNEL)):
        native.compile_kernel(*case.kernel)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def value_by(
    choice: Choice, policies: str, mixture: Mixture, predicted: Float[Array, "..."], prepared: PreparedReturns
) -> Float[Array, ""]:
    """The loss by a backend that also computes its gradient. The constraint is "true"."""
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
    del policies  # the number of policies tells the kernel which set it is
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
    """The value, and its gradient with respect to the predictions.

    If another gradient is needed, such as that of the temperature, the reference computes everything.
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
