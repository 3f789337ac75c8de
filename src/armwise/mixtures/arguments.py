"""The arguments of a mixture as checked arrays, with a clear error for impossible ones.

Values are checked only outside `jit`, `vmap` and `grad`. Inside them, the solution's `converged` reports a failure.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from armwise._validation import refuse_boolean
from armwise.errors import ConvergenceError, InvalidInputError
from armwise.mixtures.edge import MARGIN
from armwise.mixtures.rounding import epsilon
from armwise.mixtures.solution import MixtureSolution, Values


class Inputs(NamedTuple):
    """A problem as arrays of one floating-point type."""

    reward_returns: Float[Array, "arms policies"]
    budget_returns: Float[Array, "arms policies"]
    discounted_budget: Float[Array, ""]


def read_inputs(reward_returns: Values, budget_returns: Values, discounted_budget: Values) -> Inputs:
    """The problem as arrays; checks the shapes and, outside `jit`, the values."""
    given = [jnp.asarray(value) for value in (reward_returns, budget_returns, discounted_budget)]
    dtype = jnp.result_type(*given[:2], jnp.float32)
    _check_shapes(*given)
    inputs = Inputs(*(value.astype(dtype) for value in given))
    for name, value in zip(Inputs._fields, inputs, strict=True):
        check_finite(name, value)
    return inputs


def read_price(price: Values, dtype: jnp.dtype) -> Float[Array, ""]:
    """A starting price as an array, checked outside `jit`."""
    start = jnp.asarray(price, dtype)
    if start.ndim:
        raise InvalidInputError(f"initial_price has shape {start.shape}; pass one number, or vmap over many.")
    check_finite("initial_price", start)
    return start


def _check_shapes(reward_returns: Array, budget_returns: Array, budget: Array) -> None:
    if reward_returns.ndim != 2 or 0 in reward_returns.shape:
        raise InvalidInputError(
            f"reward_returns has shape {reward_returns.shape}; it must be [arms, policies], both at least 1. "
            "For several cohorts, vmap over the first axis."
        )
    if reward_returns.shape != budget_returns.shape:
        raise InvalidInputError(
            f"reward_returns has shape {reward_returns.shape} and budget_returns {budget_returns.shape}; pass one "
            "value and one spend for every arm and policy."
        )
    if budget.ndim:
        raise InvalidInputError(f"discounted_budget has shape {budget.shape}; pass one number, or vmap over many.")


def check_finite(name: str, value: Array) -> None:
    """Refuse NaN and infinity; the error names the first wrong entry."""
    if isinstance(value, jax.core.Tracer):
        return
    wrong = np.argwhere(~np.isfinite(np.asarray(value)))
    if len(wrong):
        place = tuple(int(index) for index in wrong[0])
        where = f"{name}[{', '.join(map(str, place))}]" if place else name
        raise InvalidInputError(
            f"{where} is {float(value[place])} (and {len(wrong) - 1} more); every value must be a finite number. "
            "Look for missing data or a division by zero upstream."
        )


def check_temperature(temperature: object) -> None:
    """Refuse a temperature that is not a positive finite number."""
    refuse_boolean("temperature", temperature)
    if not isinstance(temperature, int | float | np.ndarray | np.generic | jax.Array) or isinstance(
        temperature, jax.core.Tracer
    ):
        return
    values = np.asarray(temperature)
    if not np.all(np.isfinite(values) & (values > 0)):
        raise InvalidInputError(
            f"temperature is {temperature}; it must be a finite number above 0. For no regulariser at all, use "
            "LinearMixture()."
        )


def raise_unless_converged(solution: MixtureSolution, inputs: Inputs) -> None:
    """Outside `jit`, raise an error for a failed solution that says why and what to do."""
    if isinstance(solution.converged, jax.core.Tracer) or bool(solution.converged):
        return
    if any(isinstance(value, jax.core.Tracer) for value in inputs):
        return
    budget = float(inputs.discounted_budget)
    spend = np.min(np.asarray(inputs.budget_returns, np.float64), axis=1)
    cheapest, rounding = float(spend.sum()), MARGIN * epsilon(inputs.budget_returns) * float(np.abs(spend).sum())
    if cheapest > budget + rounding:
        raise ConvergenceError(
            f"No mixture keeps to the budget: every arm's cheapest policy together spend {cheapest:.6g}, "
            f"discounted_budget is {budget:.6g}. Raise the budget, or give each arm a policy that spends less."
        )
    if np.isinf(float(solution.budget_price)):
        raise ConvergenceError(
            f"No finite price exists: discounted_budget {budget:.6g} pays for the cheapest policies and nothing more, "
            "but this regulariser gives every policy a share. Raise the budget, or use QuadraticMixture or "
            "LinearMixture."
        )
    raise ConvergenceError(
        f"The price of budget was not found in {int(solution.num_steps)} steps (at {float(solution.budget_price):.6g} "
        f"the spend is {float(solution.budget_used):.6g}, discounted_budget {budget:.6g}). Raise the temperature, or "
        "rescale returns that span many orders of magnitude."
    )
