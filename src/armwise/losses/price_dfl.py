"""Decision quality at given prices of budget: each arm for itself, with no budget to share and no price to search for.

DEC-DFL asks what the arms earn together when the true spend is kept to the budget. Its predictions need not know what
a policy spends, and the Whittle indices computed from them, which depend on predicted spend alone, can be poor although
its own objective is nearly perfect. Here an arm pays the price λ for every call out of its own pocket:

    choose    Z = softmax((Ĵ − λ Ĵ̄) / temperature)      from the predictions, reward and spend alike
    receive   Σ_j Z_j (J_j − λ J̄_j)                       by the truth

A policy's first action changes exactly where λ crosses an index, so this trains the indices near λ; several prices,
those at which budgets around the real one would bind, train them around the cut that decides who is called. As the
temperature falls, the true transitions minimise every arm's term at every price (as Theorem 2 says of Equation 7), and
no prediction can "buy" budget (Theorem 1), because nothing is shared.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from armwise._validation import ArrayLike, check_budget, check_transitions
from armwise.errors import InvalidInputError
from armwise.losses.dec_dfl.loss import POLICY_SETS, UNITS, Places, returns_of, spread, state_places
from armwise.losses.loss import Loss, check_prepared, check_same_shape
from armwise.mixtures import LinearMixture
from armwise.mixtures.calls import check_temperature
from armwise.rmab import Problem


class PreparedPrices(NamedTuple):
    """What never changes: the true returns, and the prices to train at."""

    reward_returns: Float[Array, "arms policies"]
    budget_returns: Float[Array, "arms policies"]
    prices: Float[Array, " prices"]
    unit: Float[Array, ""] | None  # of the temperature; None where it is a return's
    problem: Problem
    places: Places = None


class PriceDFL(Loss):
    """The negative return less what it spends, averaged over arms and over some prices of budget.

    Args:
        temperature: of the choice among policies, above 0.
        budget_shares: the prices are those at which these multiples of the budget would just be spent, under the true
            transitions and without a regulariser (the dual of Equation 7).
        policies: which per-arm policies there are: "all", "threshold", "index" or "near-index", as in ``DecDFL``.
        unit: what the temperature is measured in: a "return", or the "spread" of the true returns of an arm's policies.
    """

    temperature: ArrayLike = 0.1
    budget_shares: tuple[float, ...] = eqx.field(static=True, default=(0.5, 1.0, 2.0), converter=tuple)
    policies: str = eqx.field(static=True, default="all")
    unit: str = eqx.field(static=True, default="return")

    def __check_init__(self) -> None:
        check_temperature(self.temperature)
        if not self.budget_shares or not all(0 < share < float("inf") for share in self.budget_shares):
            raise InvalidInputError(
                f"budget_shares must be at least one finite number above 0, such as (0.5, 1, 2), not "
                f"{self.budget_shares}."
            )
        for name, value, allowed in (("policies", self.policies, POLICY_SETS), ("unit", self.unit, UNITS)):
            if value not in allowed:
                raise InvalidInputError(f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}.")

    def prepare(
        self,
        true_transitions: ArrayLike,
        problem: Problem,
        budget: ArrayLike,
        *,
        counts: ArrayLike | None = None,
        ids: ArrayLike | None = None,
    ) -> PreparedPrices:
        """Returns of every policy under the true transitions, and the prices at which each budget would be spent."""
        del counts, ids
        true = check_transitions(true_transitions)
        places = state_places(self.policies, true, problem)
        rewards, spend = returns_of(self.policies, true, problem, places)
        discounted = check_budget(budget).astype(true.dtype) / (1 - problem.discount.astype(true.dtype))
        prices = [LinearMixture()(rewards, spend, share * discounted).budget_price for share in self.budget_shares]
        unit = spread(rewards) if self.unit == "spread" else None
        return PreparedPrices(rewards, spend, jnp.stack(prices), unit, problem, places)

    def __call__(
        self, predicted_transitions: ArrayLike, prepared: PreparedPrices, key: PRNGKeyArray | None = None
    ) -> Float[Array, ""]:
        """The negative mean, over arms and prices, of the true return less its cost."""
        del key
        check_prepared(prepared, PreparedPrices, self)
        predicted = check_transitions(predicted_transitions)
        rewards, spend = returns_of(self.policies, predicted, prepared.problem, prepared.places)
        temperature = jnp.asarray(self.temperature, rewards.dtype)
        if prepared.unit is not None:
            temperature = temperature * prepared.unit
        check_same_shape(
            "returns of predicted_transitions", rewards.shape, "those prepared", prepared.budget_returns.shape
        )

        def value(price: Float[Array, ""]) -> Float[Array, ""]:
            chosen = jax.nn.softmax((rewards - price * spend) / temperature, axis=-1)
            return jnp.sum(chosen * (prepared.reward_returns - price * prepared.budget_returns))

        return -jnp.mean(jax.vmap(value)(prepared.prices)) / rewards.shape[0]
