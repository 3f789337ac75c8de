"""The interface of every decision layer (the paper's Equation 9)."""

import abc
from collections.abc import Sequence
from typing import Any

import equinox as eqx
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int

Values = ArrayLike | Sequence[Any]  # what `jnp.asarray` takes: arrays, numbers, nested lists of numbers


class MixtureSolution(eqx.Module):
    """A mixture over each arm's policies that keeps to the budget, with evidence that it is the best one.

    Gradients flow through `mixture` and `budget_price`; the other fields describe the solve and carry none.

    Attributes:
        mixture: share of each policy, the paper's Z, `[arms, policies]`; rows sum to one.
        budget_price: the value of one more unit of budget, the paper's λ; 0 when the budget does not bind.
        converged: whether this is the solution. Inside `jit` the caller must check it; outside, a failure raises. A
            budget that equals the spend of the cheapest policies up to rounding just pays for them (`edge.py`).
        num_steps: how many trial prices the search evaluated.
        budget_used: spend of the mixture; at most the discounted budget, up to the rounding of sums: 16 machine
            epsilons times the larger of the budget and the spend of the cheapest policies.
        gap: upper bound on how much the objective could still improve (dual minus primal value), up to rounding;
            infinite where no mixture keeps to the budget.
    """

    mixture: Float[Array, "arms policies"]
    budget_price: Float[Array, ""]
    converged: Bool[Array, ""]
    num_steps: Int[Array, ""]
    budget_used: Float[Array, ""]
    gap: Float[Array, ""]


class Mixture(eqx.Module):
    """A decision layer: the best budget-constrained mixture over each arm's policies.

    It maximises ⟨mixture, reward_returns⟩ + regulariser, with each row of the mixture on the simplex and
    ⟨mixture, budget_returns⟩ ≤ discounted_budget. It is not specific to bandits: rows can be customers and columns
    offers, with a value and a cost for each.
    """

    @abc.abstractmethod
    def __call__(
        self,
        reward_returns: Values,
        budget_returns: Values,
        discounted_budget: Values,
        *,
        initial_price: Values | None = None,
    ) -> MixtureSolution:
        """Solve one problem; `vmap` for many.

        Args:
            reward_returns: value of each arm's policies, J, `[arms, policies]`.
            budget_returns: spend of each arm's policies, J̄, `[arms, policies]`.
            discounted_budget: the most that may be spent, B / (1 − γ).
            initial_price: the first price to try, such as the price of the last solution; it changes only the speed.

        Raises:
            InvalidInputError: a shape or a value is impossible (outside `jit` only).
            ConvergenceError: no mixture keeps to the budget, or no finite price does (outside `jit` only).
        """

    def measure(self, budget_returns: Float[Array, "arms policies"], discounted_budget: Float[Array, ""]) -> Any:
        """The values that this mixture computes once for many rewards under one budget; by default None."""
        del budget_returns, discounted_budget

    def solve_measured(
        self, reward_returns: Values, budget_returns: Values, discounted_budget: Values, measured: Any
    ) -> MixtureSolution:
        """Solve one problem like the call, with the result of `measure` for this budget."""
        del measured
        return self(reward_returns, budget_returns, discounted_budget)
