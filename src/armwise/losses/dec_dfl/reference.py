"""The loss by solving for the mixture and differentiating through it, in JAX. It serves every case."""

import dataclasses
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from armwise._validation import ArrayLike, check_transitions
from armwise.losses.policy_sets import StateRanks, returns_of
from armwise.losses.truth import check_same_shape
from armwise.mixtures import Mixture, MixtureSolution
from armwise.rmab import Problem


class PreparedReturns(NamedTuple):
    """What Algorithm 1 needs of the truth: it never changes, so it is computed once.

    Stored the way the mixtures compute, a row per policy with the arms innermost.
    """

    reward_rows: Float[Array, "policies arms"]  # J under the true transitions: what a mixture is really worth
    budget_rows: Float[Array, "policies arms"]  # J̄ under the true transitions: what it really spends
    discounted_budget: Float[Array, ""]
    measured: Any  # what the mixture has to know of the true spend and the budget
    unit: Float[Array, ""] | None  # of the temperature; None where it is a return's
    problem: Problem
    ranks: StateRanks = None

    @property
    def reward_returns(self) -> Float[Array, "arms policies"]:
        """J under the true transitions."""
        return self.reward_rows.T

    @property
    def budget_returns(self) -> Float[Array, "arms policies"]:
        """J̄ under the true transitions."""
        return self.budget_rows.T


def negative_return(
    mixture: Mixture, constraint: str, policies: str, predicted_transitions: ArrayLike, prepared: PreparedReturns
) -> Float[Array, ""]:
    """The loss: the negative mean return, under the true transitions, of the mixture that the predictions choose."""
    solution = solve(mixture, constraint, policies, predicted_transitions, prepared)
    return -jnp.mean(jnp.sum(solution.mixture.T * prepared.reward_rows, axis=0))


def solve(
    mixture: Mixture, constraint: str, policies: str, predicted_transitions: ArrayLike, prepared: PreparedReturns
) -> MixtureSolution:
    """The mixture that the predictions choose; see ``DecDFL.solve``."""
    predicted = check_transitions(predicted_transitions)
    reward_returns, budget_returns = returns_of(policies, predicted, prepared.problem, prepared.ranks)
    check_same_shape(
        "returns of predicted_transitions", reward_returns.shape, "those prepared", prepared.budget_returns.shape
    )
    if prepared.unit is not None:
        # A temperature in other units is returns in these units: the same mixture, at a price in these units.
        reward_returns = reward_returns / prepared.unit
    if constraint == "predicted":
        solution = mixture(reward_returns, budget_returns, prepared.discounted_budget)
    else:
        true_spend = (prepared.budget_returns, prepared.discounted_budget, prepared.measured)
        solution = mixture.solve_measured(reward_returns, *true_spend)
    if prepared.unit is None:
        return solution
    in_returns = {name: getattr(solution, name) * prepared.unit for name in ("budget_price", "gap")}
    return dataclasses.replace(solution, **in_returns)
