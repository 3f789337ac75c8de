"""DEC-DFL in plain JAX: solve for the mixture and differentiate through it. It serves every case."""

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
    """What Algorithm 1 needs from the truth. Predictions do not change it, so it is computed once.

    Stored as the mixtures use it: one row per policy, with the arms as the last axis.
    """

    reward_rows: Float[Array, "policies arms"]  # J under the true transitions: what a policy is really worth
    budget_rows: Float[Array, "policies arms"]  # J̄ under the true transitions: what it really spends
    discounted_budget: Float[Array, ""]
    measured: Any  # what the mixture needs to know about the true spend and the budget
    unit: Float[Array, ""] | None  # of the temperature; None if the unit is "return"
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
        # Dividing the returns is the same as multiplying the temperature: same mixture, with the price in this unit.
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
