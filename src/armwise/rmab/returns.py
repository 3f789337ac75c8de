"""The exact discounted return of every policy of every arm, from one small linear system each (Algorithm 3).

Write ``A = I − γT_π`` for the arm's chain under policy π. Algorithm 3 solves ``A · value = R`` and averages the value
over the first state. We solve the transposed system instead, ``Aᵀ · occupancy = initial``. Its solution is the
expected discounted number of visits to each state. One solve then gives the return of any reward:

    reward return  J  = Σ_s occupancy(s) · R(s)
    budget return  J̄  = Σ_s occupancy(s) · cost(π(s))

An arm spends the cost of the cheapest action in every step under every policy: ``min(cost) / (1 − γ)`` in all. Only
the rest of the costs goes through the occupancy, so that this part is the same for all policies to the last bit.

The occupancy is also half of the gradient. The other half is the value of the cotangent-weighted reward
``ḡ·R + ḡ̄·cost``. It takes one more solve, for one return or for both:

    ∂J/∂T(s, π(s), s')  =  γ · occupancy(s) · value(s')

This file works for any list of policies. For all policies of an arm, ``policy_tree.py`` shares most of this work.
"""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from armwise._validation import ArrayLike, as_int_array, check_row_sums, check_transitions
from armwise.errors import InvalidInputError
from armwise.rmab.elimination import LARGEST_WRITTEN_OUT, solve
from armwise.rmab.policies import are_all_policies, check_policies
from armwise.rmab.policy_tree import FEWEST_STATES, all_policy_returns
from armwise.rmab.problem import Problem

Transitions = Float[Array, "arms states actions states"]
PerState = Float[Array, "#arms states"]
Policies = Int[Array, "#arms policies states"]
PerPolicy = Float[Array, "arms policies"]


def policy_returns(
    transitions: ArrayLike, problem: Problem, policies: ArrayLike
) -> tuple[Float[Array, "arms policies"], Float[Array, "arms policies"]]:
    """Exact discounted reward and budget of each policy on each arm (Algorithm 3, once for R and once for the budget).

    Gradients with respect to the transitions and to every part of the problem are exact. For a leading batch axis, such
    as cohorts, use ``jax.vmap``.

    Args:
        transitions: ``[arms, states, actions, states]``, the probability of each next state.
        problem: rewards, discount, first states and costs.
        policies: integers ``[policies, states]``: the action each policy takes in each state; or ``[arms, policies,
            states]`` for different policies per arm, such as ``index_policies``.

    Returns:
        The reward returns J and the budget returns J̄, each ``[arms, policies]``, in the precision of transitions.

    Example:
        A call moves this arm from state 0 to state 1, where it stays (Example 4.1's prediction).

        >>> transitions = np.array([[[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]]])
        >>> problem = Problem(discount=0.9, initial=[1.0, 0.0])
        >>> reward_returns, budget_returns = policy_returns(transitions, problem, np.array([[0, 0], [1, 0]]))
        >>> reward_returns.round(4).tolist(), budget_returns.round(4).tolist()
        ([[0.0, 9.0]], [[0.0, 1.0]])
    """
    array = check_transitions(transitions)
    check_fits(problem, array)
    if as_int_array("policies", policies).ndim == 3:
        return _returns(array, problem, _check_own_policies(policies, array))
    chosen = check_policies(policies, array.shape[1], array.shape[2], "policy")
    if array.shape[1] >= FEWEST_STATES and are_all_policies(policies, array.shape[1], array.shape[2]):
        return _all_returns(array, problem)
    return _returns(array, problem, chosen[None])


def fixed_policy_returns(
    transitions: ArrayLike, problem: Problem, policy: ArrayLike
) -> tuple[Float[Array, " arms"], Float[Array, " arms"]]:
    """Exact discounted reward and budget of one given policy per arm (Algorithm 3).

    Args:
        transitions: ``[arms, states, actions, states]``.
        problem: rewards, discount, first states and costs.
        policy: integers ``[arms, states]``: the action each arm takes in each state.

    Returns:
        The reward return and the budget return of each arm, each ``[arms]``.
    """
    array = check_transitions(transitions)
    check_fits(problem, array)
    chosen = check_arm_policy(policy, array)
    reward_returns, budget_returns = _returns(array, problem, chosen[:, None])
    return reward_returns[:, 0], budget_returns[:, 0]


def passive_returns(transitions: ArrayLike, problem: Problem) -> Float[Array, " arms"]:
    """Exact discounted reward of each arm when no arm is ever acted on; normalised decision quality takes this as 0.

    Args:
        transitions: ``[arms, states, actions, states]``; action 0 is no call.
        problem: rewards, discount, first states and costs.

    Returns:
        The reward return of each arm, ``[arms]``.
    """
    array = check_transitions(transitions)
    reward_returns, _ = policy_returns(array, problem, np.zeros((1, array.shape[1]), dtype=np.int32))
    return reward_returns[:, 0]


def _check_own_policies(policies: ArrayLike, transitions: Transitions) -> Int[Array, "arms policies states"]:
    num_arms, num_states, num_actions, _ = transitions.shape
    chosen = check_policies(policies, num_states, num_actions, "arm", "policy")
    if chosen.shape[0] != num_arms:
        raise InvalidInputError(f"policies has rows for {chosen.shape[0]} arms, but transitions has {num_arms}.")
    return chosen


def check_arm_policy(policy: ArrayLike, transitions: Transitions) -> Int[Array, "arms states"]:
    """One policy per arm, ``[arms, states]``, as an integer array; refuses actions that do not exist."""
    num_arms, num_states, num_actions, _ = transitions.shape
    chosen = check_policies(policy, num_states, num_actions, "arm")
    if chosen.shape[0] != num_arms:
        raise InvalidInputError(f"policy has rows for {chosen.shape[0]} arms, but transitions has {num_arms}.")
    return chosen


def check_fits(problem: Problem, transitions: Transitions) -> None:
    """Refuse a problem whose states, actions or arms do not match the transitions.

    Also refuse transitions whose rows do not sum to 1 as exactly as the problem's discount needs.
    """
    if not isinstance(problem, Problem):
        raise InvalidInputError(f"problem must be an armwise.Problem, not {type(problem).__name__}.")
    num_arms, num_states, num_actions, _ = transitions.shape
    if problem.num_states != num_states:
        raise InvalidInputError(
            f"problem has {problem.num_states} states, but transitions has {num_states}. "
            f"Give rewards of length {num_states}, or Problem(num_states={num_states})."
        )
    if problem.costs.shape != (num_actions,):
        raise InvalidInputError(
            f"problem has costs for {problem.costs.shape[0]} actions, but transitions has {num_actions}. "
            f"Give costs of length {num_actions}."
        )
    for name, value in (("rewards", problem.rewards), ("initial", problem.initial)):
        if value.ndim == 2 and value.shape[0] != num_arms:
            raise InvalidInputError(
                f"problem.{name} has rows for {value.shape[0]} arms, but transitions has {num_arms}."
            )
    check_row_sums("transitions", transitions, problem.discount, "arm", "state", "action", "next state")


@eqx.filter_jit
def _all_returns(transitions: Transitions, problem: Problem) -> tuple[PerPolicy, PerPolicy]:
    known, unavoidable = split_costs(*in_precision_of(transitions, problem))
    reward_returns, budget_returns = all_policy_returns(transitions, *known)
    return reward_returns, budget_returns + unavoidable


@eqx.filter_jit
def _returns(transitions: Transitions, problem: Problem, policies: Policies) -> tuple[PerPolicy, PerPolicy]:
    returns = _solve_returns if problem.num_states <= LARGEST_WRITTEN_OUT else _solve_many_states
    known, unavoidable = split_costs(*in_precision_of(transitions, problem))
    reward_returns, budget_returns = returns(transitions, *known, policies)
    return reward_returns, budget_returns + unavoidable


def in_precision_of(transitions: Transitions, problem: Problem) -> tuple[Array, Array, Array, Array]:
    """Rewards, initial, costs and discount in the precision of the transitions.

    A float64 problem must not silently turn a float32 computation into float64.
    """
    cast = partial(jnp.asarray, dtype=transitions.dtype)
    rewards = cast(problem.rewards).reshape(-1, problem.num_states)
    initial = cast(problem.initial).reshape(-1, problem.num_states)
    return rewards, initial, cast(problem.costs), cast(problem.discount)


def split_costs(
    rewards: PerState, initial: PerState, costs: Float[Array, " actions"], discount: Float[Array, ""]
) -> tuple[tuple[PerState, PerState, Float[Array, " actions"], Float[Array, ""]], Float[Array, ""]]:
    """The problem with the smallest cost subtracted from all costs, and the discounted sum of that smallest cost.

    All policies spend this sum. If it went through the linear systems, it would differ between policies by rounding
    errors of eps / (1 − γ), and a budget that is just enough for it would seem too small.
    """
    least = jnp.min(costs)
    return (rewards, initial, costs - least, discount), least / (1 - discount)


def _solve_many_states(
    transitions: Transitions,
    rewards: PerState,
    initial: PerState,
    costs: Float[Array, " actions"],
    discount: Float[Array, ""],
    policies: Policies,
) -> tuple[PerPolicy, PerPolicy]:
    """The returns by LAPACK, for too many states to write the elimination out; JAX knows its derivative."""
    num_arms, num_states = transitions.shape[:2]
    chosen = jnp.broadcast_to(policies, (num_arms, *policies.shape[1:]))
    arm, state = jnp.arange(num_arms)[:, None, None], jnp.arange(num_states)[None, None]
    system = jnp.eye(num_states, dtype=transitions.dtype)[None, None] - discount * transitions[arm, state, chosen]
    start = jnp.broadcast_to(initial[:, None], chosen.shape)
    occupancy = jnp.linalg.solve(jnp.swapaxes(system, -1, -2), start[..., None])[..., 0]
    return jnp.sum(occupancy * rewards[:, None], axis=-1), jnp.sum(occupancy * costs[chosen], axis=-1)


@jax.custom_vjp
def _solve_returns(
    transitions: Transitions,
    rewards: PerState,
    initial: PerState,
    costs: Float[Array, " actions"],
    discount: Float[Array, ""],
    policies: Policies,
) -> tuple[PerPolicy, PerPolicy]:
    return _forward(transitions, rewards, initial, costs, discount, policies)[0]


def _forward(transitions, rewards, initial, costs, discount, policies):  # type: ignore[no-untyped-def]
    states = range(transitions.shape[1])
    chain = _chain(transitions, policies)
    system = [[float(i == j) - discount * chain[j][i] for j in states] for i in states]  # (I − γT_π)ᵀ
    occupancy = solve(system, [jnp.broadcast_to(initial[:, s, None], chain[0][0].shape) for s in states])
    reward_returns = sum(occupancy[s] * rewards[:, s, None] for s in states)
    budget_returns = sum(occupancy[s] * costs[policies[..., s]] for s in states)
    saved = (transitions, rewards, initial, costs, discount, policies, occupancy)
    return (reward_returns, budget_returns), saved


def _backward(saved, cotangents):  # type: ignore[no-untyped-def]
    transitions, rewards, initial, costs, discount, policies, occupancy = saved
    reward_weight, budget_weight = cotangents
    states, actions = range(transitions.shape[1]), range(transitions.shape[2])
    chain = _chain(transitions, policies)
    system = [[float(i == j) - discount * chain[i][j] for j in states] for i in states]  # I − γT_π
    payoff = [reward_weight * rewards[:, s, None] + budget_weight * costs[policies[..., s]] for s in states]
    value = solve(system, payoff)

    def total(per_policy, like):  # type: ignore[no-untyped-def]
        """Sum over policies, and also over arms if all arms share the argument."""
        per_arm = jnp.sum(per_policy, axis=1)
        return per_arm if like.shape[0] == per_arm.shape[0] else jnp.sum(per_arm, keepdims=True)

    def where_taken(state, action, per_policy):  # type: ignore[no-untyped-def]
        return jnp.where(policies[..., state] == action, per_policy, 0)

    flow = [discount * visits for visits in occupancy]
    to_transitions = [
        [[jnp.sum(where_taken(s, a, flow[s] * value[t]), axis=1) for t in states] for a in actions] for s in states
    ]
    to_rewards = [total(reward_weight * occupancy[s], rewards) for s in states]
    to_initial = [total(value[s], initial) for s in states]
    to_costs = [jnp.sum(sum(where_taken(s, a, budget_weight * occupancy[s]) for s in states)) for a in actions]
    to_discount = sum(jnp.sum(occupancy[s] * chain[s][t] * value[t]) for s in states for t in states)
    return (
        jnp.moveaxis(jnp.array(to_transitions), -1, 0),
        jnp.stack(to_rewards, axis=-1),
        jnp.stack(to_initial, axis=-1),
        jnp.stack(to_costs),
        to_discount,
        None,
    )


_solve_returns.defvjp(_forward, _backward)


def _chain(transitions: Transitions, policies: Policies) -> list[list[PerPolicy]]:
    """Entries of the chain that each policy induces, ``T_π(s, s') = T(s, π(s), s')``, each ``[arms, policies]``."""
    num_states, num_actions = transitions.shape[1:3]

    def entry(state: int, next_state: int) -> PerPolicy:
        action = policies[..., state]
        chosen = jnp.broadcast_to(transitions[:, state, 0, next_state, None], (transitions.shape[0], policies.shape[1]))
        for other in range(1, num_actions):
            chosen = jnp.where(action == other, transitions[:, state, other, next_state, None], chosen)
        return chosen

    return [[entry(s, t) for t in range(num_states)] for s in range(num_states)]
