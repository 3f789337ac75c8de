"""The base class of the smooth mixtures: a temperature, and one search for the price (`budgeted.py`).

A smooth mixture adds only a rule: how an arm divides itself among its policies.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from armwise.mixtures.arguments import check_temperature, raise_unless_converged, read_inputs, read_price
from armwise.mixtures.budgeted import RowRule, Spending, measure, solve
from armwise.mixtures.solution import Mixture, MixtureSolution, Values

_solve = jax.jit(solve, static_argnums=0)
_measure = jax.jit(measure)


class SmoothMixture(Mixture):
    """A mixture with a regulariser, so that gradients flow through it; its rule says which regulariser."""

    rule: eqx.AbstractClassVar[RowRule]
    temperature: ArrayLike

    def __check_init__(self) -> None:
        check_temperature(self.temperature)

    def __call__(
        self,
        reward_returns: Values,
        budget_returns: Values,
        discounted_budget: Values,
        *,
        initial_price: Values | None = None,
    ) -> MixtureSolution:
        """See `Mixture`."""
        return self._solve(reward_returns, budget_returns, discounted_budget, initial_price, None)

    def measure(self, budget_returns: Float[Array, "arms policies"], discounted_budget: Float[Array, ""]) -> Spending:
        """See `Mixture`."""
        spending: Spending = _measure(budget_returns, discounted_budget)
        return spending

    def solve_measured(
        self, reward_returns: Values, budget_returns: Values, discounted_budget: Values, measured: Spending
    ) -> MixtureSolution:
        """See `Mixture`."""
        return self._solve(reward_returns, budget_returns, discounted_budget, None, measured)

    def _solve(
        self,
        reward_returns: Values,
        budget_returns: Values,
        discounted_budget: Values,
        initial_price: Values | None,
        measured: Spending | None,
    ) -> MixtureSolution:
        """Check, solve, and raise if there is no solution."""
        inputs = read_inputs(reward_returns, budget_returns, discounted_budget)
        dtype = inputs.reward_returns.dtype
        start = read_price(0.0 if initial_price is None else initial_price, dtype)
        spending = _measure(inputs.budget_returns, inputs.discounted_budget) if measured is None else measured
        spending = jax.tree.map(lambda value: value.astype(dtype), spending)
        temperature = jnp.asarray(self.temperature, dtype)
        solution: MixtureSolution = _solve(self.rule, inputs.reward_returns, spending, temperature, start)
        raise_unless_converged(solution, inputs)
        return solution
