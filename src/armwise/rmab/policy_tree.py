"""The returns of all policies of an arm, by elimination along the tree of policies (Algorithm 3, shared work).

Two policies that agree on the first k states share the first k steps of the elimination of ``(I − γT_π) value = R_π``,
because step s needs only row s, the row of the action that the policy takes there. So the policies form a tree. Its
root is the arm. A node's children are the actions in the next state. The leaves are the A^S policies in the order of
``all_policies``. Eliminating a state costs one update for each child instead of one for each policy. At 5 states and
two actions this is a sixth of the work.

Each node holds a table `[rows, columns]`: its arm after the states above are eliminated. The table has a row for every
action in every remaining state, and a last row for the distribution of the first state. It has a column for every
remaining state, and two for what accrues on the way there: reward and budget. Eliminating the first remaining state
replaces every visit to it by the result of repeating one of its rows until the arm leaves the state:

    child[row, column]  =  table[row, column]  +  table[row, first] · table[action, column] / (1 − table[action, first])

At the leaves only the last row remains, and it holds the returns. Arrays are `[nodes, rows, columns, arms]`: the arms
are the last axis, so that every operation is one vector operation over them.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Table = Float[Array, "nodes rows columns arms"]
Children = Float[Array, "children rows_left columns_left arms"]
_ACCRUED = 2  # columns of what accrues: reward and budget
# With fewer states there is little work to share: a training step on 76 arms × 2 states takes as long either way, and
# the returns of 1,000,000 arms × 2 states took twice as long by the tree, because its tables then go through memory.
FEWEST_STATES = 4


def all_policy_returns(
    transitions: Float[Array, "arms states actions states"],
    rewards: Float[Array, "#arms states"],
    initial: Float[Array, "#arms states"],
    costs: Float[Array, " actions"],
    discount: Float[Array, ""],
) -> tuple[Float[Array, "arms policies"], Float[Array, "arms policies"]]:
    """The reward and budget returns of every policy, in the order of ``all_policies``."""
    table = _root(transitions, rewards, initial, costs, discount)
    for _ in range(transitions.shape[1] - 1):
        table = _eliminate(table)
    reward_returns, budget_returns = _leaves(table)
    return reward_returns.T, budget_returns.T


def _root(transitions, rewards, initial, costs, discount):  # type: ignore[no-untyped-def]
    """The whole arm as a table."""
    arms, states, actions, _ = transitions.shape
    moves = discount * jnp.moveaxis(transitions, 0, -1)
    reward = jnp.broadcast_to(rewards.T[:, None, None], (states, actions, 1, arms))
    cost = jnp.broadcast_to(costs[None, :, None, None], (states, actions, 1, arms))
    rows = jnp.concatenate([moves, reward, cost], axis=2).reshape(states * actions, states + _ACCRUED, arms)
    start = jnp.broadcast_to(initial.T, (states, arms))
    start = jnp.concatenate([start, jnp.zeros((_ACCRUED, arms), start.dtype)])
    return jnp.concatenate([rows, start[None]])[None]


@jax.custom_vjp
def _eliminate(table: Table) -> Children:
    """The tables of the children, one for each action in the first remaining state."""
    return _forward(table)[0]


def _forward(table: Table) -> tuple[Children, tuple[Array, Array, Array]]:
    num_actions = (table.shape[1] - 1) // (table.shape[2] - _ACCRUED)
    pivots, rows = table[:, :num_actions], table[:, num_actions:]
    visits = 1 / (1 - pivots[:, :, 0])  # expected visits before the arm leaves the state
    onward = pivots[:, :, 1:] * visits[:, :, None]
    arriving = rows[:, :, 0]
    children = rows[:, None, :, 1:] + arriving[:, None, :, None] * onward[:, :, None]
    return children.reshape(-1, *children.shape[2:]), (arriving, onward, visits)


def _backward(saved: tuple[Array, Array, Array], cotangent: Children) -> tuple[Table]:
    """The derivative, by hand: JAX's derivative of a slice pads, and padded sums are not vector operations."""
    arriving, onward, visits = saved
    children = cotangent.reshape(*onward.shape[:2], *cotangent.shape[1:])
    to_onward = _add(children * arriving[:, None, :, None], axis=2)
    to_arriving = _add(_add(children * onward[:, :, None], axis=3), axis=1)
    to_rows = jnp.concatenate([to_arriving[:, :, None], _add(children, axis=1)], axis=2)
    to_pivots = to_onward * visits[:, :, None]
    to_first = _add(to_pivots * onward, axis=2)
    to_pivots = jnp.concatenate([to_first[:, :, None], to_pivots], axis=2)
    return (jnp.concatenate([to_pivots, to_rows], axis=1),)


@jax.custom_vjp
def _leaves(table: Table) -> tuple[Float[Array, "leaves arms"], Float[Array, "leaves arms"]]:
    """The last elimination: reward and budget returns.

    Each is computed on its own as one quotient, because XLA repeats every operation except division wherever a result
    is used.
    """
    return _leaves_forward(table)[0]


def _leaves_forward(table: Table) -> tuple[tuple[Array, Array], tuple[Array, Array, Array]]:
    pivots, start = table[:, :-1], table[:, -1:]
    leaving = 1 - pivots[:, :, 0]

    def accrued(column: int) -> Float[Array, "leaves arms"]:
        returns = (start[:, :, column] * leaving + start[:, :, 0] * pivots[:, :, column]) / leaving
        return returns.reshape(-1, returns.shape[-1])

    return (accrued(1), accrued(2)), _forward(table)[1]


def _leaves_backward(saved: tuple[Array, Array, Array], cotangents: tuple[Array, Array]) -> tuple[Table]:
    return _backward(saved, jnp.stack(cotangents, axis=1)[:, None])


def _add(values: Float[Array, "..."], axis: int) -> Float[Array, "..."]:
    """The sum over a short axis, written out because XLA's own reduction takes one element at a time on a CPU."""
    first, *others = jnp.moveaxis(values, axis, 0)
    return sum(others, start=first)


_eliminate.defvjp(_forward, _backward)
_leaves.defvjp(_leaves_forward, _leaves_backward)
