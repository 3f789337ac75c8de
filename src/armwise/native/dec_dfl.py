"""The loss of Fast DEC-DFL and its gradient in one call of C++ code (``dec_dfl.cpp``)."""

from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from armwise.native.library import load

_MOST_STATES = 8
_MOST_POLICIES = 64
_NUMBERS = {"float32": "float", "float64": "double"}
_registered: set[str] = set()  # names of the kernels that XLA knows in this process


class Inputs(NamedTuple):
    """The kernel's inputs for one cohort, all in one precision, in the order that the kernel expects."""

    predicted_transitions: Float[Array, "states 2 states arms"]
    true_reward_returns: Float[Array, "policies arms"]
    true_spend: Float[Array, "policies arms"]  # minus the spend of each arm's cheapest policy
    # Discount and temperature; left and widest of the budget (`mixtures/budgeted.py`); then the rewards and the first
    # states, both `[states, arms]` or both `[states]`. One array: XLA would select each from all cohorts.
    known: Float[Array, " numbers"]


COVERED = f"two actions, 2 to {_MOST_STATES} states, at most {_MOST_POLICIES} policies and float32 or float64"


def covers(dtype: jnp.dtype, num_states: int, num_policies: int, num_actions: int) -> bool:
    """Whether the kernel can be compiled for such arms."""
    return (
        num_actions == 2
        and 2 <= num_states <= _MOST_STATES
        and num_policies in (2**num_states, num_states + 1)
        and num_policies <= _MOST_POLICIES
        and dtype.name in _NUMBERS
    )


def compile_kernel(dtype: jnp.dtype, num_states: int, num_policies: int) -> bool:
    """Compile the kernel, register it with XLA, and return whether that worked; a second call costs nothing."""
    return _register(dtype.name, num_states, num_policies)


def is_compiled(dtype: jnp.dtype, num_states: int, num_policies: int) -> bool:
    """Whether this process has the kernel already; compiles nothing."""
    return _target(dtype.name, num_states, num_policies) in _registered


def loss_and_gradient(inputs: Inputs) -> tuple[Float[Array, ""], Float[Array, "states 2 states arms"]]:
    """The loss and its gradient with respect to the predicted transitions, on a CPU; `vmap` for many cohorts."""
    predicted = inputs.predicted_transitions
    target = _target(predicted.dtype.name, predicted.shape[0], inputs.true_reward_returns.shape[0])
    shapes = jax.ShapeDtypeStruct((), predicted.dtype), jax.ShapeDtypeStruct(predicted.shape, predicted.dtype)
    loss, gradient = jax.ffi.ffi_call(target, shapes, vmap_method="expand_dims")(*inputs)
    return loss, gradient


@cache
def _register(dtype: str, num_states: int, num_policies: int) -> bool:
    """Register the kernel with XLA, if it can be compiled."""
    definitions = ("NUMBER", _NUMBERS[dtype]), ("STATES", str(num_states)), ("POLICIES", str(num_policies))
    library = load("dec_dfl.cpp", definitions, "armwise_dec_dfl")
    if library is None:
        return False
    capsule = jax.ffi.pycapsule(library.armwise_dec_dfl)
    target = _target(dtype, num_states, num_policies)
    jax.ffi.register_ffi_target(target, capsule, platform="cpu")
    _registered.add(target)
    return True


def _target(dtype: str, num_states: int, num_policies: int) -> str:
    return f"armwise_dec_dfl_{dtype}_{num_states}_{num_policies}"
