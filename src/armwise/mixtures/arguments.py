"""The edge of the package: turn what callers pass into arrays, and say clearly what is wrong with it.

Values are checked only when they are there to see: inside `jit`, `vmap` and `grad` the solution's `converged` speaks.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from armwise._validation import refuse_boolean
from armwise.errors import ConvergenceError, InvalidInputError
from armwise.mixtures.budgeted import RowRule, Spending, measure, solve
from armwise.mixtures.edge import MARGIN
from armwise.mixtures.rounding import epsilon
from armwise.mixtures.solution import MixtureSolution, Values

_solve = jax.jit(solve, static_argnums=0)
_measure = jax.jit(measure)


class Inputs(NamedTuple):
    """A problem as arrays of one floating type."""

    reward_returns: Float[Array, "arms policies"]
    budget_returns: Float[Array, "arms policies"]
    discounted_budget: Float[Array, ""]


def solve_smooth(
    rule: RowRule,
    reward_returns: Values,
    budget_returns: Values,
    discounted_budget: Values,
    temperature: ArrayLike,
    initial_price: Values | None,
    spending: Spending | None = None,
) -> MixtureSolution:
    """Check, solve, and raise if there is no solution; `spending` is what `measure_spending` said of the budget."""
    inputs = read_inputs(reward_returns, budget_returns, discounted_budget)
    dtype = inputs.reward_returns.dtype
    start = read_price(0.0 if initial_price is None else initial_price, dtype)
    measured = _measure(inputs.budget_returns, inputs.discounted_budget) if spending is None else spending
    measured = jax.tree.map(lambda value: value.astype(dtype), measured)
    solution: MixtureSolution = _solve(rule, inputs.reward_returns, measured, jnp.asarray(temperature, dtype), start)
    raise_unless_converged(solution, inputs)
    return solution


def measure_spending(budget_returns: Float[Array, "arms policies"], discounted_budget: Float[Array, ""]) -> Spending:
    """What `solve_smooth` would compute of the budget alone, to compute it once for many rewards."""
    spending: Spending = _measure(budget_returns, discounted_budget)
    return spending


def read_inputs(reward_returns: Values, budget_returns: Values, discounted_budget: Values) -> Inputs:
    """The problem as arrays, with shapes and, outside `jit`, values checked."""
    rewards, spend, budget = (jnp.asarray(value) for value in (reward_returns, budget_returns, discounted_budget))
    dtype = jnp.result_type(rewards, spend, jnp.float32)
    _check_shapes(rewards, spend, budget)
    inputs = Inputs(rewards.astype(dtype), spend.astype(dtype), budget.astype(dtype))
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


def _check_shapes(rewards: Array, spend: Array, budget: Array) -> None:
    if rewards.ndim != 2 or 0 in rewards.shape:
        raise InvalidInputError(
            f"reward_returns has shape {rewards.shape}; it must be [arms, policies], both at least 1. "
            "For several cohorts, vmap over the first axis."
        )
    if rewards.shape != spend.shape:
        raise InvalidInputError(
            f"reward_returns has shape {rewards.shape} and budget_returns {spend.shape}; pass one value and one "
            "spend for every arm and policy."
        )
    if budget.ndim:
        raise InvalidInputError(f"discounted_budget has shape {budget.shape}; pass one number, or vmap over many.")


def check_finite(name: str, value: Array) -> None:
    """Refuse NaN and infinity, naming the first place where one stands."""
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
    """Outside `jit`, turn a failed status into an error that says why and what to do."""
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
