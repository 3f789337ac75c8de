"""The few policies of an arm that can be best at some price of calls, instead of all 2^S.

Let an arm pay λ for each call. A policy is then worth ``J − λJ̄`` to it. So the policies that are best at some price are
the corners of the upper envelope of the points (J̄, J), and a mixture without a regulariser uses only these. At price λ,
an indexable arm acts exactly in the states whose index is above λ. As λ falls from ∞, its active set grows by one state
at a time, from no state to all states. So the corners are among S + 1 *nested* policies, in the order of the Whittle
indices.

This holds if reward and spend come from the same transitions. It does not tell which policies look best by predicted
rewards at their true spend (Equation 7). That is a decision process under two models at once. No order of states solves
it, and no efficient exact method is known (Steimle, Kaufman and Denton 2021, *Multi-model Markov decision processes*).
However, the errors of a prediction show in the policies next to the best ones, which act in one state more or in one
state fewer. A model learns the order from these *neighbours* (``docs/performance.md``).

**Returns.** Neighbours differ in one row of ``A = I − γT_π``, so all returns follow from one table per arm,

    [γ(T¹ − T⁰); initial] · A⁻¹ · [I | R | costs]

by rank-one updates. Let U be the table, and u its row s with the cost of a call added to the last entry. Acting in one
more state s gives ``U + U[:, s] ⊗ u / (1 − U[s, s])``; not acting in s gives ``U − U[:, s] ⊗ u / (1 + U[s, s])``. All
S² − S + 2 returns of an arm cost O(S³), as much as one of them by elimination. ``whittle.py`` uses the same table, its
tableau, to find the order.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Int32

from armwise._validation import ArrayLike, check_transitions, check_two_actions
from armwise.rmab.problem import Problem
from armwise.rmab.returns import check_fits, in_precision_of, split_costs
from armwise.rmab.whittle import departure_ranks

StateRanks = Int32[Array, "arms states"]
Table = Float[Array, "rows columns arms"]


def index_policies(
    transitions: ArrayLike, problem: Problem, *, neighbours: bool = False
) -> Int32[Array, "arms policies states"]:
    """Each arm's own policies, nested in the order of its Whittle indices: never, the first state only, …, always.

    For an indexable arm (``is_indexable``) these S + 1 policies have the same upper envelope of (spend, reward) as all
    its policies, for every first state. So ``LinearMixture`` over them is worth as much as over all 2^S. An arm without
    indices uses the order in which its states leave when leaving is final; its policies may miss a corner.

    Args:
        transitions: ``[arms, states, 2, states]``; action 1 is the call.
        problem: rewards, discount and costs.
        neighbours: also return all policies that differ from one of these in a single state: S² − S + 2 in all.

    Returns:
        Integers ``[arms, policies, states]``, the nested policies first, for ``policy_returns``.

    Example:
        A call helps in state 1 only, so that state comes first.

        >>> transitions = np.array([[[[0.9, 0.1], [0.9, 0.1]], [[0.5, 0.5], [0.1, 0.9]]]])
        >>> index_policies(transitions, Problem()).tolist()
        [[[0, 0], [0, 1], [1, 1]]]
    """
    ranks = departure_ranks(transitions, problem)
    patterns = jnp.asarray(_patterns(ranks.shape[1], neighbours), jnp.int32)
    return jax.vmap(lambda own: patterns[:, own])(ranks)


def index_policy_returns(
    transitions: ArrayLike, problem: Problem, ranks: StateRanks, *, neighbours: bool = False
) -> tuple[Float[Array, "arms policies"], Float[Array, "arms policies"]]:
    """The returns of the policies of ``index_policies``, in O(S³) per arm; equal to ``policy_returns``; differentiable.

    Args:
        transitions: ``[arms, states, 2, states]``; the order may come from other transitions.
        problem: rewards, discount, first states and costs.
        ranks: each state's rank in its arm's order, from ``departure_ranks``.
        neighbours: as in ``index_policies``.

    Returns:
        The reward returns J and the budget returns J̄, each ``[arms, policies]``.
    """
    array = check_transitions(transitions)
    check_two_actions("An order of states by index", array.shape[2])
    check_fits(problem, array)
    return _returns(array, problem, ranks, neighbours)


def _members(num_states: int, neighbours: bool) -> list[tuple[int, int | None]]:
    """Each policy as a pair: how many first places it acts in, and the one place where it differs from that, or None.

    Some flips of the nested policy of k places are left out, because they give a policy that is in the list already.
    Flipping place k or k − 1 gives the next or the previous nested policy. Flipping place k − 2 gives the same policy
    as adding place k − 1 to the nested policy of k − 2 places.
    """
    nested: list[tuple[int, int | None]] = [(size, None) for size in range(num_states + 1)]
    sizes, places = range(num_states + 1), range(num_states)
    beside = [(size, place) for size in sizes for place in places if place < size - 2 or place > size]
    return [*nested, *beside] if neighbours else nested


def _patterns(num_states: int, neighbours: bool) -> Int[np.ndarray, "policies states"]:
    """The policies as actions by place in the arm's order."""
    members = _members(num_states, neighbours)
    patterns = np.array([[place < size for place in range(num_states)] for size, _ in members])
    for pattern, (_, flipped) in zip(patterns, members, strict=True):
        if flipped is not None:
            pattern[flipped] ^= True
    return patterns.astype(np.int32)


@eqx.filter_jit
def _returns(
    transitions: Float[Array, "arms states 2 states"], problem: Problem, ranks: StateRanks, neighbours: bool
) -> tuple[Float[Array, "arms policies"], Float[Array, "arms policies"]]:
    """The returns by a scan over the nested policies; written out, the updates would take minutes to compile."""
    known, unavoidable = split_costs(*in_precision_of(transitions, problem))
    table, call_cost = _first_table(transitions, *known, ranks)
    num_states = ranks.shape[1]

    def widen(table: Table, size: Int[Array, ""]) -> tuple[Table, tuple[Array, Array]]:
        flipped = _one_flipped(table, size, call_cost) if neighbours else jnp.zeros(())
        return _act_in(table, jnp.minimum(size, num_states - 1), call_cost), (table[-1, num_states:], flipped)

    _, (nested, flipped) = jax.lax.scan(widen, table, jnp.arange(num_states + 1))
    returns = [nested]
    if neighbours:
        for size in range(num_states + 1):
            returns += [flipped[size, : max(size - 2, 0)], flipped[size, size + 1 :]]
    reward_returns, budget_returns = jnp.moveaxis(jnp.concatenate(returns), 1, 0)
    return reward_returns.T, budget_returns.T + unavoidable


def _first_table(
    transitions: Float[Array, "arms states 2 states"],
    rewards: Float[Array, "#arms states"],
    initial: Float[Array, "#arms states"],
    costs: Float[Array, " 2"],
    discount: Float[Array, ""],
    ranks: StateRanks,
) -> tuple[Table, Float[Array, ""]]:
    """The table of the policy that never acts, each arm's states in its own order, and the extra cost of a call."""
    num_arms, num_states = ranks.shape
    order = jnp.argsort(ranks, axis=1)

    def in_order(values: Any, *axes: int) -> Any:
        for axis in axes:
            along = jnp.expand_dims(order, [other for other in range(1, values.ndim) if other != axis])
            values = jnp.take_along_axis(values, along, axis=axis)
        return jnp.moveaxis(values, 0, -1)

    moves = discount * in_order(transitions, 1, 3)
    start = in_order(jnp.broadcast_to(initial, (num_arms, num_states)), 1)
    worth = in_order(jnp.broadcast_to(rewards, (num_arms, num_states)), 1)
    identity = jnp.eye(num_states, dtype=transitions.dtype)[:, :, None]
    stacked = jnp.concatenate([identity - moves[:, 0], moves[:, 1] - moves[:, 0], start[None]])
    table = _divide(stacked)
    reward = jnp.sum(table * worth[None], axis=1, keepdims=True)
    cost = jnp.sum(table, axis=1, keepdims=True) * costs[0]
    return jnp.concatenate([table, reward, cost], axis=1), costs[1] - costs[0]


def _divide(stacked: Float[Array, "_ states arms"]) -> Table:
    """``B A⁻¹`` of ``[A; B]``, by column elimination; ``A = I − γT`` needs no pivoting."""
    num_states = stacked.shape[1]

    def eliminate(stacked: Array, pivot: Int[Array, ""]) -> tuple[Array, None]:
        column = stacked[:, pivot] / stacked[pivot, pivot][None]
        here = (jnp.arange(num_states) == pivot)[None, :, None]
        return jnp.where(here, column[:, None], stacked - column[:, None] * stacked[pivot][None]), None

    return jax.lax.scan(eliminate, stacked, jnp.arange(num_states))[0][num_states:]


def _act_in(table: Table, place: Int[Array, ""], call_cost: Float[Array, ""]) -> Table:
    """The table of the policy that also acts in one more place."""
    row = table[place].at[-1].add(call_cost)
    factor = table[:, place] / (1 - table[place, place])[None]
    return table + factor[:, None] * row[None]


def _one_flipped(table: Table, size: Int[Array, ""], call_cost: Float[Array, ""]) -> Float[Array, "states 2 arms"]:
    """The two returns of acting in the first ``size`` places with one place flipped, for each place."""
    num_states = table.shape[1] - 2
    sign = jnp.where(jnp.arange(num_states) < size, -1, 1).astype(table.dtype)[:, None]
    stay = jnp.moveaxis(jnp.diagonal(table[:num_states, :num_states]), -1, 0)
    visits = sign * table[-1, :num_states] / (1 - sign * stay)
    gains = table[:num_states, num_states:].at[:, -1].add(call_cost)
    return table[-1, num_states:][None] + visits[:, None] * gains
