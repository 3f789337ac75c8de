"""Decision quality at given budget prices. Each arm counts separately: no shared budget, no search for a price.

DEC-DFL asks what the arms earn together when the true spend is kept to the budget. Its predictions need not know what
a policy spends. But Whittle indices depend on predicted spend alone, so they can be poor although the objective of
DEC-DFL is nearly perfect. Here each arm pays the price λ for every call:

    choose    Z = softmax((Ĵ − λ Ĵ̄) / temperature)      reward and spend both under the predictions
    receive   Σ_j Z_j (J_j − λ J̄_j)                       under the true transitions

A policy's first action changes exactly where λ crosses an index, so this loss trains the indices near λ. It uses
several prices: those at which budgets around the real one would bind. So it trains the indices around the cut that
decides who is called. As the temperature falls, the true transitions minimise every arm's term at every price (as
Theorem 2 says of Equation 7). No prediction can "buy" budget (Theorem 1), because arms share no budget.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from armwise._validation import ArrayLike, check_transitions
from armwise.errors import InvalidInputError
from armwise.losses.loss import Loss, check_prepared
from armwise.losses.policy_sets import POLICY_SETS, UNITS, StateRanks, returns_of, spread, state_ranks
from armwise.losses.truth import CohortTruth, check_same_shape
from armwise.mixtures import LinearMixture
from armwise.mixtures.arguments import check_temperature
from armwise.rmab import Problem


class PreparedPrices(NamedTuple):
    """What predictions do not change: the true returns, and the prices to train at."""

    reward_returns: Float[Array, "arms policies"]
    budget_returns: Float[Array, "arms policies"]
    prices: Float[Array, " prices"]
    unit: Float[Array, ""] | None  # of the temperature; None if the unit is "return"
    problem: Problem
    ranks: StateRanks = None


class PriceDFL(Loss):
    """The negative of the return minus its cost, averaged over arms and over several budget prices.

    Args:
        temperature: of the choice among policies, above 0.
        budget_multiples: one price for each of these multiples of the budget: the price at which it would just be
            spent, under the true transitions and without a regulariser (the dual of Equation 7).
        policies: the per-arm policies to choose from: "all", "threshold", "index" or "near-index", as in ``DecDFL``.
        unit: what the temperature is measured in: a "return", or the "spread" of the true returns of an arm's policies.
    """

    temperature: ArrayLike = 0.1
    budget_multiples: tuple[float, ...] = eqx.field(static=True, default=(0.5, 1.0, 2.0), converter=tuple)
    policies: str = eqx.field(static=True, default="all")
    unit: str = eqx.field(static=True, default="return")

    def __check_init__(self) -> None:
        check_temperature(self.temperature)
        if not self.budget_multiples or not all(0 < multiple < float("inf") for multiple in self.budget_multiples):
            raise InvalidInputError(
                f"budget_multiples must be at least one finite number above 0, such as (0.5, 1, 2), not "
                f"{self.budget_multiples}."
            )
        for name, value, allowed in (("policies", self.policies, POLICY_SETS), ("unit", self.unit, UNITS)):
            if value not in allowed:
                raise InvalidInputError(f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}.")

    def prepare(self, truth: CohortTruth) -> PreparedPrices:
        """Returns of every policy under the true transitions, and the price at which each budget is just spent."""
        true, problem = truth.transitions, truth.problem
        ranks = state_ranks(self.policies, true, problem)
        reward_returns, budget_returns = returns_of(self.policies, true, problem, ranks)
        discounted = truth.budget.astype(true.dtype) / (1 - problem.discount.astype(true.dtype))
        returns = reward_returns, budget_returns
        prices = [LinearMixture()(*returns, multiple * discounted).budget_price for multiple in self.budget_multiples]
        unit = spread(reward_returns) if self.unit == "spread" else None
        return PreparedPrices(*returns, jnp.stack(prices), unit, problem, ranks)

    def __call__(
        self, predicted_transitions: ArrayLike, prepared: PreparedPrices, key: PRNGKeyArray | None = None
    ) -> Float[Array, ""]:
        """The negative mean, over arms and prices, of the true return minus its cost."""
        del key
        check_prepared(prepared, PreparedPrices, self)
        predicted = check_transitions(predicted_transitions)
        reward_returns, budget_returns = returns_of(self.policies, predicted, prepared.problem, prepared.ranks)
        temperature = jnp.asarray(self.temperature, reward_returns.dtype)
        if prepared.unit is not None:
            temperature = temperature * prepared.unit
        check_same_shape(
            "returns of predicted_transitions", reward_returns.shape, "those prepared", prepared.budget_returns.shape
        )

        def value(price: Float[Array, ""]) -> Float[Array, ""]:
            chosen = jax.nn.softmax((reward_returns - price * budget_returns) / temperature, axis=-1)
            return jnp.sum(chosen * (prepared.reward_returns - price * prepared.budget_returns))

        return -jnp.mean(jax.vmap(value)(prepared.prices)) / reward_returns.shape[0]
