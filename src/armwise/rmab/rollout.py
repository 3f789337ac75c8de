"""The engine of the simulation: it moves all arms step by step, in many trajectories at once.

Two ideas make it fast:

- The (arm, state) pairs are ranked once (``choices``). A step then needs no sort: it acts on the arms whose rank is
  below a cut. A binary search that counts the arms below the cut finds it in ``log₂(arms · states)`` passes.
- Trajectories are the last axis, so each operation is one vector operation over many trajectories. A table is read by
  comparing the state with each of its few values, not by gathering.

Trajectories are simulated in blocks that fit in the cache. Draws belong to an arm, a trajectory and a step
(``draws``), so neither the blocks nor the order of rows change any result.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Integer, PRNGKeyArray, UInt32

from armwise.rmab.choices import Rule, States, look_up
from armwise.rmab.draws import arm_words, uniforms
from armwise.rmab.problem import Problem

# Elements (arms × trajectories) simulated together: at four bytes each, about ten live arrays fit in a 16 MB cache.
BLOCK_ELEMENTS = 2**18
# From this number of states on, bisection finds the next state. With fewer states, comparing with every boundary is
# faster; with more, that is many times slower (docs/performance.md).
FEWEST_STATES_SEARCHED = 7


class Trace(NamedTuple):
    """What happened to each arm at each step of each trajectory, stored in the smallest integers that fit."""

    states: Int[Array, "trajectories steps arms"]  # before acting
    actions: Int[Array, "trajectories steps arms"]


class Arms(eqx.Module):
    """The arms in the order of their ids, with the tables that a step looks up."""

    words: UInt32[Array, "arms 2"]
    first: Float[Array, "#arms states"]  # cumulative distribution of the first state
    next: Float[Array, "arms situations states"]  # of the next state; situation = state · actions + action
    rewards: Float[Array, "#arms states"]
    costs: Float[Array, " actions"]
    discount: Float[Array, ""]


@eqx.filter_jit
def tabulate(
    key: PRNGKeyArray,
    transitions: Float[Array, "arms states actions states"],
    problem: Problem,
    ids: Integer[Array, " arms"],
    order: Int[Array, " arms"],
) -> Arms:
    """Prepare the tables that the steps look up, with the arms in the given order."""

    def per_arm(values: Float[Array, "..."]) -> Float[Array, "#arms states"]:
        rows = values.astype(transitions.dtype)
        return rows[None] if rows.ndim == 1 else rows[order]

    def cumulative(rows: Float[Array, "*rows states"]) -> Float[Array, "*rows states"]:
        """Cumulative sums that end at exactly 1, so that rounding in a row never lets an impossible state happen."""
        sums = jnp.cumsum(rows, axis=-1)
        return sums / sums[..., -1:]

    num_arms, num_states, num_actions, _ = transitions.shape
    return Arms(
        words=arm_words(key, ids[order]),
        first=cumulative(per_arm(problem.initial)),
        next=cumulative(transitions[order]).reshape(num_arms, num_states * num_actions, num_states),
        rewards=per_arm(problem.rewards),
        costs=problem.costs.astype(transitions.dtype),
        discount=problem.discount.astype(transitions.dtype),
    )


def _draw(uniform: Float[Array, "2 arms pairs"], thresholds: Callable[[int], Array], num_states: int) -> States:
    """The state whose interval of the cumulative distribution holds the uniform draw."""
    state = jnp.zeros(uniform.shape, jnp.int32)
    for boundary in range(num_states - 1):
        state = state + (uniform >= thresholds(boundary)).astype(jnp.int32)
    return state


def _search(
    uniform: Float[Array, "2 arms pairs"], table: Float[Array, "arms situations states"], row: States
) -> States:
    """The same state as ``_draw``, by bisection: a few gathers instead of a comparison with each entry of each row."""
    num_arms, _, num_states = table.shape
    size = 1 << (num_states - 1).bit_length()
    # The last boundary is 1, above every draw.
    padded = jnp.pad(table, [(0, 0), (0, 0), (0, size - num_states)], constant_values=2)
    flat, first = padded.ravel(), jnp.arange(num_arms, dtype=jnp.int32)[None, :, None] * table.shape[1]
    base, state = (first + row) * size, jnp.zeros(row.shape, jnp.int32)
    for bit in reversed(range(size.bit_length() - 1)):
        higher = state + (1 << bit)
        boundary = flat.at[base + higher - 1].get(mode="promise_in_bounds")
        state = jnp.where(uniform >= boundary, higher, state)
    return state


def first_states(arms: Arms, pairs: UInt32[Array, " pairs"]) -> States:
    """The state in which each arm begins each trajectory."""
    draws = uniforms(arms.words, pairs, jnp.uint32(0), arms.next.dtype)
    return _draw(draws, lambda boundary: arms.first[None, :, boundary, None], arms.next.shape[2])


def next_states(
    arms: Arms, pairs: UInt32[Array, " pairs"], states: States, actions: States, step: Int[Array, ""]
) -> States:
    """Each arm's next state. Step t uses the draws numbered t + 1; the draws numbered 0 chose the first states."""
    draws = uniforms(arms.words, pairs, (step + 1).astype(jnp.uint32), arms.next.dtype)
    situation = states * arms.costs.shape[0] + actions
    if arms.next.shape[2] >= FEWEST_STATES_SEARCHED:
        return _search(draws, arms.next, situation)
    return _draw(draws, lambda boundary: look_up(arms.next[..., boundary], situation), arms.next.shape[2])


@eqx.filter_jit
def run(
    arms: Arms, choose: Rule, num_trajectories: int, steps: int
) -> tuple[Float[Array, " trajectories"], Float[Array, " trajectories"]]:
    """Discounted reward and cost of all arms together in each trajectory, computed in blocks of trajectories."""
    dtype = arms.next.dtype

    def block(pairs: UInt32[Array, " pairs"]) -> tuple[Array, Array]:
        def step(carry, time):  # type: ignore[no-untyped-def]
            states, memory, reward, cost, weight = carry
            actions = choose(states, pairs, time, memory)
            reward = reward + weight * jnp.sum(look_up(arms.rewards, states), axis=1)
            cost = cost + weight * jnp.sum(look_up(arms.costs[None], actions), axis=1)
            following = next_states(arms, pairs, states, actions, time)
            memory = choose.next_memory(memory, states, following, time)
            return (following, memory, reward, cost, weight * arms.discount), None

        nothing = jnp.zeros((2, pairs.size), dtype)
        states = first_states(arms, pairs)
        start = (states, choose.first_memory(states), nothing, nothing, jnp.ones((), dtype))
        (_, _, reward, cost, _), _ = jax.lax.scan(step, start, jnp.arange(steps))
        return reward.T, cost.T

    totals = jax.lax.map(block, blocks(num_trajectories, arms.next.shape[0]))
    reward, cost = (total.reshape(-1)[:num_trajectories] for total in totals)
    return reward, cost


@eqx.filter_jit
def run_traced(arms: Arms, choose: Rule, num_trajectories: int, steps: int) -> Trace:
    """Each arm's state and action at each step of each trajectory of ``run``."""
    state_type, action_type = (_smallest_integer(count) for count in (arms.next.shape[2], arms.costs.shape[0]))

    def block(pairs: UInt32[Array, " pairs"]) -> Trace:
        def step(carry, time):  # type: ignore[no-untyped-def]
            states, memory = carry
            actions = choose(states, pairs, time, memory)
            seen = Trace(states.astype(state_type), actions.astype(action_type))
            following = next_states(arms, pairs, states, actions, time)
            return (following, choose.next_memory(memory, states, following, time)), seen

        states = first_states(arms, pairs)
        _, seen = jax.lax.scan(step, (states, choose.first_memory(states)), jnp.arange(steps))
        return jax.tree.map(lambda values: jnp.transpose(values, (3, 1, 0, 2)), seen)

    seen = jax.lax.map(block, blocks(num_trajectories, arms.next.shape[0]))
    return jax.tree.map(lambda values: values.reshape(-1, steps, values.shape[-1])[:num_trajectories], seen)


def _smallest_integer(count: int) -> np.dtype:
    """The smallest signed type that holds 0 … count − 1."""
    return np.min_scalar_type(-count)


def blocks(num_trajectories: int, num_arms: int) -> UInt32[Array, "blocks pairs"]:
    """Numbers p of the pairs of trajectories (2p, 2p + 1); the simulation runs one row at a time."""
    num_pairs = -(-num_trajectories // 2)
    at_most = max(1, BLOCK_ELEMENTS // (2 * max(1, num_arms)))
    num_blocks = -(-num_pairs // at_most)
    per_block = -(-num_pairs // num_blocks)
    return jnp.arange(num_blocks * per_block, dtype=jnp.uint32).reshape(num_blocks, per_block)
