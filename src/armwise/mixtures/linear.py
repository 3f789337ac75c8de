"""The linear mixture: Equation 9 without a regulariser, solved exactly as a fractional multiple-choice knapsack.

A solution uses only the upper concave envelope of an arm's (spend, reward) points. Each step along the envelope buys
less reward per unit of budget than the step before. So we sort the steps of all arms by this efficiency and buy them
until the budget is spent, the last one in part (Sinha and Zoltners 1979). At most one arm ends up between two policies.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from armwise.mixtures.arguments import raise_unless_converged, read_inputs, read_price
from armwise.mixtures.edge import above_cheapest, left_over
from armwise.mixtures.rounding import accurate_cumulative_sum, accurate_sum
from armwise.mixtures.solution import Mixture, MixtureSolution, Values


class _Envelope(NamedTuple):
    """Each arm's policies along its envelope, and the steps between them (at cost 0 after the last policy)."""

    policies: Int[Array, "arms policies"]
    costs: Float[Array, "arms steps"]
    efficiencies: Float[Array, "arms steps"]


class _Walk(NamedTuple):
    """The arms' positions on their envelopes, and what they have passed; steps are the first axis."""

    step: Int[Array, ""]
    here: Int[Array, " arms"]
    efficiency: Float[Array, " arms"]
    passed: _Envelope


class LinearMixture(Mixture):
    """Maximise ⟨mixture, rewards⟩ under the budget: the exact linear programme, for evaluation.

    The mixture is constant almost everywhere, so its gradient is zero; the code stops gradients explicitly. Train with
    a smooth mixture. `num_steps` is 0, because there is no search. `gap` is computed independently, from the dual.

    Example:
        The budget covers one and a half visits: the more efficient visit, and half of the other.

        >>> from armwise.mixtures import LinearMixture
        >>> solution = LinearMixture()([[0.0, 1.0], [0.0, 2.0]], [[0.0, 1.0], [0.0, 1.0]], 1.5)
        >>> solution.mixture.tolist(), float(solution.budget_price)
        ([[0.5, 0.5], [0.0, 1.0]], 1.0)
    """

    def __call__(
        self,
        reward_returns: Values,
        budget_returns: Values,
        discounted_budget: Values,
        *,
        initial_price: Values | None = None,
    ) -> MixtureSolution:
        """See `Mixture`; `initial_price` is checked and otherwise ignored."""
        inputs = read_inputs(reward_returns, budget_returns, discounted_budget)
        read_price(0.0 if initial_price is None else initial_price, inputs.reward_returns.dtype)
        solution: MixtureSolution = _solve(*lax.stop_gradient(inputs))
        raise_unless_converged(solution, inputs)
        return solution


@jax.jit
def _solve(
    reward_returns: Float[Array, "arms policies"],
    budget_returns: Float[Array, "arms policies"],
    budget: Float[Array, ""],
) -> MixtureSolution:
    above, cheapest = above_cheapest(budget_returns.T)
    spend = above.T
    left, least, least_rest = left_over(budget, cheapest)
    feasible = left >= 0
    envelope = _envelope(reward_returns, spend)
    bought, price = _buy(envelope, jnp.maximum(left, 0))
    mixture = _mix(envelope, bought)
    used, rest = accurate_sum(jnp.sum(mixture * spend, axis=1))
    net = reward_returns - price * spend
    regret = jnp.max(net, axis=1) - jnp.sum(mixture * net, axis=1)
    return MixtureSolution(
        mixture=mixture,
        budget_price=price,
        converged=feasible & jnp.isfinite(jnp.sum(reward_returns)) & jnp.isfinite(used),
        num_steps=jnp.zeros((), jnp.int32),
        budget_used=used + least + (rest + least_rest),
        gap=jnp.where(feasible, jnp.sum(regret) + price * (left - used - rest), jnp.inf),
    )


def _envelope(reward_returns: Float[Array, "arms policies"], spend: Float[Array, "arms policies"]) -> _Envelope:
    """The upper concave envelope of every arm, by always taking the most efficient step (gift wrapping).

    The walk starts at the best of the arm's cheapest policies, which spend 0. It stops once all arms have reached the
    end of their envelopes. An arm of S states could pass all 2^S policies, but rarely passes many more than S + 1
    (``rmab/index_policies.py`` says why).
    """
    start = jnp.argmax(jnp.where(spend <= 0, reward_returns, -jnp.inf), axis=1)
    num_arms, num_steps = spend.shape[0], spend.shape[1] - 1
    nothing = jnp.zeros((num_steps, num_arms), spend.dtype)
    if num_steps == 0:  # JAX does not write into an array of no rows, even in a loop that never runs
        return _Envelope(start[:, None], nothing.T, nothing.T)

    def under_way(state: _Walk) -> Bool[Array, ""]:
        return (state.step < num_steps) & jnp.any(state.efficiency > 0)

    def advance(state: _Walk) -> _Walk:
        following, length, efficiency = _next_policy(reward_returns, spend, state.here, state.efficiency)
        row = state.step
        passed = _Envelope(
            state.passed.policies.at[row].set(following),
            state.passed.costs.at[row].set(length),
            state.passed.efficiencies.at[row].set(efficiency),
        )
        return _Walk(row + 1, following, efficiency, passed)

    passed = _Envelope(jnp.zeros((num_steps, num_arms), start.dtype), nothing, nothing)
    end = lax.while_loop(
        under_way, advance, _Walk(jnp.zeros((), int), start, jnp.full_like(spend[:, 0], jnp.inf), passed)
    )
    arrived = jnp.arange(num_steps)[:, None] >= end.step
    policies = jnp.where(arrived, end.here[None], end.passed.policies)
    return _Envelope(jnp.concatenate([start[None], policies]).T, end.passed.costs.T, end.passed.efficiencies.T)


def _next_policy(
    reward_returns: Float[Array, "arms policies"],
    spend: Float[Array, "arms policies"],
    here: Int[Array, " arms"],
    last_efficiency: Float[Array, " arms"],
) -> tuple[Int[Array, " arms"], Float[Array, " arms"], Float[Array, " arms"]]:
    """Each arm's most efficient step: the policy it leads to, its cost, and its reward per unit of budget."""
    gain, cost = (values - jnp.take_along_axis(values, here[:, None], axis=1) for values in (reward_returns, spend))
    useful = (gain > 0) & (cost > 0)
    efficiency = jnp.where(useful, gain / jnp.where(useful, cost, 1), 0)
    best = jnp.max(efficiency, axis=1)
    # Take the longest of equally efficient steps, so that each step is less efficient than the one before.
    following = jnp.argmax(jnp.where(efficiency >= best[:, None], cost, -jnp.inf), axis=1)
    following = jnp.where(best > 0, following, here)
    length = jnp.where(best > 0, jnp.take_along_axis(cost, following[:, None], axis=1)[:, 0], 0)
    # Rounding may make a later step look better; an arm must still take its steps in order.
    return following, length, jnp.minimum(best, last_efficiency)


def _buy(envelope: _Envelope, left: Float[Array, ""]) -> tuple[Float[Array, "arms steps"], Float[Array, ""]]:
    """The bought part of each step, and the efficiency of the last bought step, which is the price of budget."""
    shape = envelope.costs.shape
    efficiencies = envelope.efficiencies.ravel()
    if efficiencies.size == 0:
        return jnp.zeros(shape, left.dtype), jnp.zeros_like(left)
    # A stable sort keeps an arm's own steps in order.
    order = jnp.argsort(-efficiencies, stable=True)
    costs = envelope.costs.ravel()[order]
    affordable = accurate_cumulative_sum(costs) <= left
    num_whole = jnp.argmin(jnp.append(affordable, False))
    position = jnp.arange(len(costs))
    spent, rest = accurate_sum(jnp.where(position < num_whole, costs, 0))
    last = jnp.minimum(num_whole, len(costs) - 1)
    part = jnp.clip(((left - spent) - rest) / jnp.where(costs[last] > 0, costs[last], 1), 0, 1)
    shares = jnp.where(position < num_whole, 1, jnp.where(position == num_whole, part, 0)).astype(left.dtype)
    price = jnp.where(num_whole < len(costs), efficiencies[order[last]], 0)
    return jnp.zeros_like(shares).at[order].set(shares).reshape(shape), price


def _mix(envelope: _Envelope, bought: Float[Array, "arms steps"]) -> Float[Array, "arms policies"]:
    """The mixture: a policy's share is the part of the step to it minus the part of the step onward."""
    arms = jnp.arange(len(bought))
    ones, zeros = jnp.ones((len(bought), 1), bought.dtype), jnp.zeros((len(bought), 1), bought.dtype)
    stay = jnp.concatenate([ones, bought], axis=1) - jnp.concatenate([bought, zeros], axis=1)
    return jnp.zeros_like(stay).at[arms[:, None], envelope.policies].add(stay)
