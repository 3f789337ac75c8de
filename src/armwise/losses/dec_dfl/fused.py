"""Fast DEC-DFL's loss and gradient in few passes over memory, for accelerators and few states.

On an accelerator, nearly all time goes to passes over memory. By default JAX writes every intermediate result of the
loss and of its derivative to memory, most of them with the arms as the first axis. Here every array is a row over the
arms, and these passes remain:

1. the return of each policy (Algorithm 3);
2. the search for the price, a pass for each price tried (Algorithm 2);
3. the sums over arms that the loss and its gradient need;
4. the gradient with respect to each transition.

The last is Equation 12 by elimination. With a slack budget, the derivative of an arm's worth with respect to a
policy's return is share · (R − R̄) / temperature. Where the budget binds, a higher return also moves the price. The
derivative is then share · (R − R̄ − β (C − C̄)) / temperature: the regression of R − R̄ on the spend, over all arms, is
subtracted, with β = Σ cov(R, C) / Σ var(C).

The barriers keep the passes apart. Without them XLA would recompute a pass in every kernel that uses its result.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import product
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from armwise.mixtures.budgeted import Found, Spending, charge_budget, part_to_trim
from armwise.mixtures.entropy import ENTROPY
from armwise.mixtures.policy_sums import MANY_POLICIES
from armwise.mixtures.rounding import accurate_and_plain_sums
from armwise.rmab import Problem
from armwise.rmab.elimination import solve
from armwise.rmab.returns import in_precision_of

MOST_POLICIES = MANY_POLICIES  # each policy is written out as its own row: more would take long to compile

Row = Float[Array, " arms"]
Rows = Sequence[Row]  # one for each policy, or each state
PerPolicy = Float[Array, "policies arms"]
Moves = Float[Array, "states actions states arms"]
Policies = Int[np.ndarray, "policies states"]


def loss_and_gradient(
    predicted: Float[Array, "arms states actions states"],
    true_reward_returns: PerPolicy,
    spending: Spending,
    temperature: Float[Array, ""],
    problem: Problem,
    policies: Policies,
) -> tuple[Float[Array, ""], Float[Array, "arms states actions states"]]:
    """The loss of ``DecDFL(EntropyMixture(temperature))`` and its derivative with respect to the predictions.

    Args:
        predicted: probability of each next state.
        true_reward_returns: J of each policy, under the true transitions.
        spending: what ``EntropyMixture.measure`` returned for the true spend and the budget.
        temperature: of the mixture.
        problem: rewards, discount and first states.
        policies: the action of each policy in each state.
    """
    moves = lax.optimization_barrier(jnp.moveaxis(predicted, 0, -1))
    rewards, first, _, discount = in_precision_of(predicted, problem)
    shape = moves.shape[0], moves.shape[-1]
    chains = _Chains(
        moves, list(jnp.broadcast_to(rewards.T, shape)), list(jnp.broadcast_to(first.T, shape)), discount, policies
    )
    returns = lax.optimization_barrier(chains.returns())
    budgeted, _, found = charge_budget(ENTROPY, jnp.stack(returns), spending, temperature, jnp.zeros_like(temperature))
    known = found, true_reward_returns, budgeted.spend, temperature
    used, rest, earned, least, shared, variance = _totals(*known)
    moved = part_to_trim((used - budgeted.budget) + rest, budgeted.budget)
    loss = -(earned + moved * (least - earned)) / len(predicted)
    binds = (found.price > 0) & jnp.isfinite(found.price) & (variance > 0)
    slope = jnp.where(binds, shared / jnp.where(binds, variance, 1), 0)
    # Recompute instead of storing: memory traffic costs more than arithmetic here.
    slope, known = lax.optimization_barrier((slope, known))
    shares, worth, spread = _choices(*known)
    weight = -1 / (temperature * len(predicted))
    pull = [weight * share * (own - slope * other) for share, own, other in zip(shares, worth, spread, strict=True)]
    gradient = lax.optimization_barrier(chains.gradient(pull))
    return loss, jnp.moveaxis(jnp.stack(gradient).reshape(moves.shape), -1, 0)


def _choices(
    found: Found, rewards: PerPolicy, spend: PerPolicy, temperature: Float[Array, ""]
) -> tuple[Rows, Rows, Rows]:
    """Each policy's share, and how far its reward and its spend are from its arm's mean."""
    net = [near - found.left_to_charge * row for near, row in zip(found.nearby, spend, strict=True)]
    best = reduce(jnp.maximum, net)
    weights = [jnp.exp((row - best) / temperature) for row in net]
    total = _sum(weights)
    shares = [weight / total for weight in weights]
    return shares, _from_mean(shares, list(rewards)), _from_mean(shares, list(spend))


def _totals(
    found: Found, rewards: PerPolicy, spend: PerPolicy, temperature: Float[Array, ""]
) -> tuple[Float[Array, ""], ...]:
    """Sums over all arms: spend, its rounding error, reward, reward of the cheapest, covariance, variance of spend."""
    shares, worth, spread = _choices(found, rewards, spend, temperature)
    cheap = [(row <= 0).astype(row.dtype) for row in spend]
    return accurate_and_plain_sums(
        _dot(shares, list(spend)),
        _dot(shares, list(rewards)),
        _dot(cheap, list(rewards)) / _sum(cheap),
        _dot(shares, worth, spread),
        _dot(shares, spread, spread),
    )


class _Chains(NamedTuple):
    """The chain of every arm under each policy."""

    moves: Moves
    rewards: Rows
    first: Rows
    discount: Float[Array, ""]
    policies: Policies

    def returns(self) -> list[Row]:
        """Each policy's reward return."""
        return [_dot(self._visits(policy), self.rewards) for policy in self.policies]

    def gradient(self, pull: Rows) -> list[Row]:
        """The derivative with respect to each transition, from the derivative with respect to each policy's return."""
        num_states, num_actions = self.moves.shape[:2]
        parts: dict[tuple[int, int, int], list[Row]] = defaultdict(list)
        for policy, weight in zip(self.policies, pull, strict=True):
            values = solve(self._system(policy), [weight * reward for reward in self.rewards])
            for (state, visits), (following, value) in product(enumerate(self._visits(policy)), enumerate(values)):
                parts[state, int(policy[state]), following].append(visits * value)
        places = product(range(num_states), range(num_actions), range(num_states))
        none = jnp.zeros_like(pull[0])  # the gradient of a transition that no policy makes
        return [self.discount * _sum(parts[place] or [none]) for place in places]

    def _visits(self, policy: Int[np.ndarray, " states"]) -> list[Row]:
        """How often, discounted, each state is visited."""
        return solve(list(zip(*self._system(policy), strict=True)), self.first)

    def _system(self, policy: Int[np.ndarray, " states"]) -> list[list[Row]]:
        """I − γT under a policy."""
        states = range(len(policy))
        return [[float(s == t) - self.discount * self.moves[s, policy[s], t] for t in states] for s in states]


def _from_mean(shares: Rows, values: Rows) -> list[Row]:
    """Each policy's value minus the arm's mean, computed relative to the policy with most weight to avoid rounding."""
    largest = reduce(jnp.maximum, shares)
    main = [(share == largest).astype(share.dtype) for share in shares]
    origin = _dot(main, values) / _sum(main)
    values = [value - origin for value in values]
    mean = _dot(shares, values)
    return [value - mean for value in values]


def _sum(rows: Iterable[Row]) -> Row:
    return reduce(jnp.add, rows)


def _dot(*factors: Rows) -> Row:
    return _sum(reduce(jnp.multiply, row) for row in zip(*factors, strict=True))
