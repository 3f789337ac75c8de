"""DEC-DFL: decision quality without simulation, by mixing per-arm policies under one budget (Algorithm 1).

"Fast" DEC-DFL is a property of the mixture, not of the loss: with ``EntropyMixture`` this is the paper's Fast DEC-DFL,
with ``CvxpyMixture`` its DEC-DFL.
"""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from armwise.errors import InvalidInputError
from armwise.losses.loss import Loss, check_prepared, check_same_shape
from armwise.mixtures import Mixture, MixtureSolution
from armwise.rmab import Problem, all_policies, policy_returns, threshold_policies
from armwise.rmab.checks import ArrayLike, check_budget, check_transitions

POLICY_SETS = ("all", "threshold")
UNITS = ("return", "spread")


class PreparedReturns(NamedTuple):
    """What Algorithm 1 needs of the truth: it never changes, so it is computed once.

    Stored the way the mixtures compute, with the arms innermost.
    """

    rewards: Float[Array, "policies arms"]  # J under the true transitions: what a mixture is really worth
    spend: Float[Array, "policies arms"]  # J̄ under the true transitions: what it really spends
    discounted_budget: Float[Array, ""]
    measured: Any  # what the mixture has to know of the true spend and the budget
    unit: Float[Array, ""] | None  # of the temperature; None where it is a return's
    problem: Problem

    @property
    def reward_returns(self) -> Float[Array, "arms policies"]:
        """J under the true transitions."""
        return self.rewards.T

    @property
    def budget_returns(self) -> Float[Array, "arms policies"]:
        """J̄ under the true transitions."""
        return self.spend.T


class DecDFL(Loss):
    """The negative return, averaged over arms, of the mixture that the predictions make us choose (Algorithm 1).

    The predictions decide which policies look good; the truth decides what they spend and what they are worth. With
    ``constraint="true"`` (Equation 7) the true transitions minimise the loss without a regulariser (Theorem 2). With
    ``constraint="predicted"`` (Hawkins 2003; Equation 5) spend is predicted too: a prediction can then "buy" budget
    by pretending that its policies are cheap, and the truth is no longer a minimiser (Theorem 1). It is here to show
    that.

    Args:
        mixture: the decision layer, such as ``EntropyMixture(0.1)``.
        constraint: under which transitions the mixture keeps to the budget, "true" or "predicted".
        policies: which per-arm policies are mixed: "all" 2^S of them, or the S + 1 "threshold" policies.
        budget_share: train as if there were this multiple of the budget. A loss for several budgets at once is a sum
            of such: ``0.5 * DecDFL(mixture, budget_share=0.5) + 0.5 * DecDFL(mixture, budget_share=2.0)``.
        unit: what the mixture's temperature is measured in: a "return", as in the paper, or the "spread" of the true
            returns of an arm's policies, whatever the size of the rewards.
    """

    mixture: Mixture
    constraint: str = eqx.field(static=True, default="true")
    policies: str = eqx.field(static=True, default="all")
    budget_share: float = eqx.field(static=True, default=1.0)
    unit: str = eqx.field(static=True, default="return")

    def __check_init__(self) -> None:
        if not isinstance(self.mixture, Mixture):
            raise InvalidInputError(f"mixture must be a mixture, such as EntropyMixture(0.1), not {self.mixture!r}.")
        for name, value, allowed in (
            ("constraint", self.constraint, ("true", "predicted")),
            ("policies", self.policies, POLICY_SETS),
            ("unit", self.unit, UNITS),
        ):
            if value not in allowed:
                raise InvalidInputError(f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}.")
        if not 0 < self.budget_share < float("inf"):
            raise InvalidInputError(f"budget_share must be a finite number above 0, not {self.budget_share}.")

    def prepare(
        self,
        true_transitions: ArrayLike,
        problem: Problem,
        budget: ArrayLike,
        *,
        counts: ArrayLike | None = None,
        ids: ArrayLike | None = None,
    ) -> PreparedReturns:
        """Returns of every policy under the true transitions, and the discounted budget B / (1 − γ)."""
        del counts, ids
        true = check_transitions(true_transitions)
        rewards, spend = policy_returns(true, problem, policy_set(self.policies, true))
        share = jnp.asarray(self.budget_share, true.dtype)
        discounted = share * check_budget(budget).astype(true.dtype) / (1 - problem.discount.astype(true.dtype))
        measured = self.mixture.measure(spend, discounted) if self.constraint == "true" else None
        unit = spread(rewards) if self.unit == "spread" else None
        return PreparedReturns(rewards.T, spend.T, discounted, measured, unit, problem)

    def __call__(
        self, predicted_transitions: ArrayLike, prepared: PreparedReturns, key: PRNGKeyArray | None = None
    ) -> Float[Array, ""]:
        """The negative mean return, under the true transitions, of what the predictions choose."""
        del key
        solution = self.solve(predicted_transitions, prepared)
        return -jnp.mean(jnp.sum(solution.mixture.T * prepared.rewards, axis=0))

    def solve(self, predicted_transitions: ArrayLike, prepared: PreparedReturns) -> MixtureSolution:
        """The mixture that the predictions choose, with its price and status."""
        check_prepared(prepared, PreparedReturns, self)
        predicted = check_transitions(predicted_transitions)
        rewards, spend = policy_returns(predicted, prepared.problem, policy_set(self.policies, predicted))
        check_same_shape(
            "returns of predicted_transitions", rewards.shape, "those prepared", prepared.budget_returns.shape
        )
        if prepared.unit is not None:
            # A temperature in other units is returns in these units: the same mixture, at a price in these units.
            rewards = rewards / prepared.unit
        if self.constraint == "predicted":
            solution = self.mixture(rewards, spend, prepared.discounted_budget)
        else:
            known = (prepared.budget_returns, prepared.discounted_budget, prepared.measured)
            solution = self.mixture.solve_measured(rewards, *known)
        if prepared.unit is None:
            return solution
        in_returns = {name: getattr(solution, name) * prepared.unit for name in ("budget_price", "gap")}
        return dataclasses.replace(solution, **in_returns)


def spread(returns: Float[Array, "arms policies"]) -> Float[Array, ""]:
    """How far apart the returns of an arm's policies are: their standard deviation, averaged over arms; never 0."""
    return jnp.maximum(jnp.mean(jnp.std(returns, axis=-1)), jnp.finfo(returns.dtype).tiny)


def policy_set(
    name: str, transitions: Float[Array, "arms states actions states"]
) -> Int[np.ndarray, "policies states"]:
    """The per-arm policies that a loss mixes, for arms like these."""
    _, num_states, num_actions, _ = transitions.shape
    return threshold_policies(num_states) if name == "threshold" else all_policies(num_states, num_actions)
