"""Whom a step of the simulation acts on: by priority, by a policy of its own, in turn, at random, or longest first.

A rule is called at each step with the arms' states, trajectories along the last axis, and answers with their actions.
"""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Int32, UInt32

from armwise._hardware import on_cpu
from armwise.rmab.draws import bits

States = Int32[Array, "2 arms pairs"]
Pairs = UInt32[Array, " pairs"]
Step = Int[Array, ""]

# Draws below this number move the arms from state to state; those from it on choose whom to act on.
_FIRST_TICKET = np.uint32(2**31)
_NUM_TICKETS = 2**30
# The ranks that a step looks at before it asks whether that was enough.
RANKS_AT_ONCE = 16
# With more states there are more ranks to walk, and bisection is as fast (docs/performance.md).
MOST_STATES_WALKED = 3
# For each pair of trajectories: with fewer side by side, to look at one rank is no vector operation.
MOST_RANKS_WALKED = 8


class Rule(eqx.Module):
    """Whom to act on.

    Most rules see the present states alone. Their memory is None, an empty pytree: it adds nothing to the program.
    """

    @abc.abstractmethod
    def __call__(self, states: States, pairs: Pairs, step: Step, memory: Any = None) -> States:
        """The action of each arm in each trajectory.

        Args:
            states: of the arms before acting.
            pairs: which trajectories these are.
            step: which step this is.
            memory: what the rule remembers of the steps before.
        """

    def first_memory(self, states: States) -> Any:
        """What the rule remembers before the first step, of arms in these states."""
        del states

    def next_memory(self, memory: Any, states: States, next_states: States, step: Step) -> Any:
        """What the rule remembers after a step that led from ``states`` to ``next_states``."""
        del memory, states, next_states, step


class Priorities(Rule):
    """Act on the arms whose (arm, state) pairs rank highest: Equation 3."""

    ranks: Int32[Array, "arms states"]
    order: Int[Array, " ranked"]  # the (arm, state) pairs from the first to the last, as arm · states + state
    eligible: Int[Array, ""]  # pairs ranked below this may be acted on at all
    budget: Int[Array, ""]

    def __call__(self, states: States, pairs: Pairs, step: Step, memory: Any = None) -> States:
        """Action 1 where the arm's rank in its current state is among the best, in each trajectory."""
        del pairs, step, memory
        rank = look_up(self.ranks, states)
        if _worth_walking(self.ranks.shape, states.shape[2]):
            cut = _cut_by_walking(states, self.order, self.ranks.shape[1], self.budget, self.eligible)
        else:
            cut = _cut(rank, self.budget, self.ranks.size)
        return (rank < jnp.minimum(cut, self.eligible)[:, None]).astype(jnp.int32)


class FixedPolicy(Rule):
    """Act on each arm by its own state alone."""

    policy: Int32[Array, "arms states"]

    def __call__(self, states: States, pairs: Pairs, step: Step, memory: Any = None) -> States:
        """The action of each arm in its current state."""
        del pairs, step, memory
        return look_up(self.policy, states)


class Turns(Rule):
    """Act on the arms in turn, around a circle, whatever their states."""

    places: Int32[Array, " arms"]  # on the circle
    starts: Int32[Array, " steps"]  # where each step begins
    budget: Int[Array, ""]

    def __call__(self, states: States, pairs: Pairs, step: Step, memory: Any = None) -> States:
        """Action 1 for the next on the circle, the same in all trajectories."""
        del pairs, memory
        to_go = (self.places - self.starts[step]) % self.places.size
        return jnp.broadcast_to((to_go < self.budget).astype(jnp.int32)[None, :, None], states.shape)


class Lots(Rule):
    """Act on arms drawn anew at each step, every choice of ``budget`` arms equally likely."""

    words: UInt32[Array, "arms 2"]
    places: Int32[Array, " arms"]
    budget: Int[Array, ""]

    def __call__(self, states: States, pairs: Pairs, step: Step, memory: Any = None) -> States:
        """Action 1 for those with the lowest tickets."""
        del states, memory
        tickets = (bits(self.words, pairs, step.astype(jnp.uint32) + _FIRST_TICKET) >> 2).astype(jnp.int32)
        cut = _cut(tickets, self.budget, _NUM_TICKETS)
        called = tickets < cut[:, None]
        # Among a million arms, one step in a thousand has two with the same ticket at the cut: their places decide.
        num_arms = self.places.size
        tied = jnp.where(tickets == cut[:, None], self.places[None, :, None], num_arms)
        last = jnp.minimum(_cut(tied, self.budget - jnp.sum(called, axis=1, dtype=jnp.int32), num_arms), num_arms)
        return (called | (tied < last[:, None])).astype(jnp.int32)


class Waiting(Rule):
    """Act on the arms in the lowest states, of those on whoever has been there longest; remembers since which step."""

    levels: Int32[Array, "#arms states"]  # of the states, equal where they are equally good
    places: Int32[Array, " arms"]  # among arms that have waited equally long
    num_steps: int = eqx.field(static=True)
    budget: Int[Array, ""]

    def __call__(self, states: States, pairs: Pairs, step: Step, memory: Any = None) -> States:
        """Action 1 for the lowest by level, then by the step of arrival, then by place."""
        del pairs, step
        places = jnp.broadcast_to(self.places[None, :, None], states.shape)
        keys = ((look_up(self.levels, states), self.levels.size), (memory, self.num_steps), (places, self.places.size))
        return _lowest(keys, self.budget)

    def first_memory(self, states: States) -> States:
        """All arms arrive at the first step."""
        return jnp.zeros_like(states)

    def next_memory(self, memory: States, states: States, next_states: States, step: Step) -> States:
        """The step at which each arm arrived in the state it is in now."""
        return jnp.where(next_states == states, memory, step.astype(jnp.int32) + 1)


@jax.jit
def rank_priorities(
    priorities: Float[Array, "arms states"], tie_breaker: UInt32[Array, " arms"], budget: Int[Array, ""]
) -> Priorities:
    """Rank all (arm, state) pairs, the highest priority first; ties go by the arm's random word, then its id."""
    words = jnp.broadcast_to(tie_breaker[:, None], priorities.shape)
    order = jnp.lexsort((words.ravel(), -priorities.ravel()))
    eligible = jnp.sum(priorities > -jnp.inf)
    return Priorities(_inverse(order).reshape(priorities.shape), order, eligible, budget)


class Schedule(eqx.Module):
    """A way to choose whom to call that is no table of priorities, and takes its place."""

    @abc.abstractmethod
    def rule(
        self,
        words: UInt32[Array, "arms 2"],
        budget: Int[Array, ""],
        num_steps: int,
        rewards: Float[Array, "#arms states"],
    ) -> Rule:
        """The rule by which the simulation chooses.

        Args:
            words: the arms' random words, in the order of their ids.
            budget: how many arms are acted on at each step.
            num_steps: how many steps there will be.
            rewards: of being in each state.
        """


class RoundRobin(Schedule):
    """Call whoever has waited longest: everyone in turn, around a circle in the order of a hash of the ids.

    Example:
        >>> from armwise import Problem, simulate_trace
        >>> transitions = jnp.full((3, 2, 2, 2), 0.5)
        >>> trace = simulate_trace(jax.random.key(0), transitions, RoundRobin(), Problem(), budget=1, horizon=6)
        >>> trace.actions[0].sum(axis=0).tolist()
        [2, 2, 2]
    """

    def rule(
        self,
        words: UInt32[Array, "arms 2"],
        budget: Int[Array, ""],
        num_steps: int,
        rewards: Float[Array, "#arms states"],
    ) -> Turns:
        """Each step begins where the last one ended."""
        del rewards
        num_arms = len(words)
        stride = budget % num_arms

        def following(start: Array, _: None) -> tuple[Array, Array]:
            return (start + stride) % num_arms, start

        _, starts = jax.lax.scan(following, jnp.zeros_like(stride), length=num_steps)
        return Turns(_places(words), starts.astype(jnp.int32), budget)


class RandomCalls(Schedule):
    """Call people drawn at random, anew at each step; each draw belongs to a person, a trajectory and a step."""

    def rule(
        self,
        words: UInt32[Array, "arms 2"],
        budget: Int[Array, ""],
        num_steps: int,
        rewards: Float[Array, "#arms states"],
    ) -> Lots:
        """The lowest tickets are called."""
        del num_steps, rewards
        return Lots(words, _places(words), budget)


class LongestFirst(Schedule):
    """Call the disengaged first, of them whoever has been disengaged longest.

    Whoever is in the state of lowest reward comes first; of those in equally good states, whoever has been there for
    the most steps in a row; equals go by the arm's random word, then its id. The first step of the simulation is the
    first that anyone remembers. Someone who is called and stays where she is, is called again.

    Example:
        One call, and it goes to the one who is not engaged.

        >>> from armwise import Problem, simulate_trace
        >>> transitions = jnp.tile(jnp.array([[[1.0, 0.0], [0.0, 1.0]], [[0.2, 0.8], [0.0, 1.0]]]), (4, 1, 1, 1))
        >>> trace = simulate_trace(jax.random.key(0), transitions, LongestFirst(), Problem(), budget=1, horizon=4)
        >>> trace.states[0, 0].tolist(), trace.actions[0, 0].tolist()
        ([0, 1, 1, 1], [1, 0, 0, 0])
    """

    def rule(
        self,
        words: UInt32[Array, "arms 2"],
        budget: Int[Array, ""],
        num_steps: int,
        rewards: Float[Array, "#arms states"],
    ) -> Waiting:
        """A state's level is how many rewards are lower than its own."""
        levels = jnp.searchsorted(jnp.sort(rewards.ravel()), rewards.ravel()).reshape(rewards.shape)
        return Waiting(levels.astype(jnp.int32), _places(words), num_steps, budget)


def look_up(table: Array, index: States) -> Array:
    """``table[arm, index[..., arm, ...]]``, by comparison: on short tables 3× as fast as a gather."""
    entry = jnp.broadcast_to(table[None, :, :1], index.shape)
    for column in range(1, table.shape[1]):
        entry = jnp.where(index == column, table[None, :, column, None], entry)
    return entry


def _cut(rank: States, budget: Int[Array, "..."], num_ranks: int) -> Int32[Array, "2 pairs"]:
    """The largest cut with at most ``budget`` arms ranked below it, in each trajectory, by bisection on its bits."""
    cut = jnp.zeros((2, rank.shape[2]), jnp.int32)
    for bit in reversed(range(num_ranks.bit_length())):
        higher = cut + (1 << bit)
        below = jnp.sum((rank < higher[:, None]).astype(jnp.int32), axis=1)
        cut = jnp.where(below <= budget, higher, cut)
    return cut


def _lowest(keys: tuple[tuple[States, int], ...], budget: Int[Array, ""]) -> States:
    """1 for the ``budget`` arms that come first by the first key, equals by the next, in each trajectory.

    Args:
        keys: with the number of values that each can take; the last one differs between all arms.
        budget: how many arms.
    """
    called = jnp.zeros(keys[0][0].shape, bool)
    tied = ~called  # those of whom a later key may choose
    for key, num_values in keys:
        left = budget - jnp.sum(called, axis=1, dtype=jnp.int32)
        among = jnp.where(tied, key, num_values)
        cut = jnp.minimum(_cut(among, left, num_values), num_values)[:, None]
        called, tied = called | (among < cut), tied & (among == cut)
    return called.astype(jnp.int32)


def _worth_walking(shape: tuple[int, ...], num_pairs: int) -> bool:
    """On an accelerator a loop that asks whether to go on waits each time for the answer."""
    num_arms, num_states = shape
    few = num_states <= MOST_STATES_WALKED and num_arms * num_states <= MOST_RANKS_WALKED * num_pairs
    return few and on_cpu()


def _cut_by_walking(
    states: States, order: Int[Array, " ranked"], num_states: int, budget: Int[Array, ""], eligible: Int[Array, ""]
) -> Int32[Array, "2 pairs"]:
    """A cut with as many arms below it as the budget, in each trajectory, by walking down the ranks until all have it.

    Where few of many are called, that is a small part of the ranks, and each takes one look at one arm's states.
    """
    padded = jnp.pad(order, (0, -order.size % RANKS_AT_ONCE), constant_values=-1)  # no arm is in state -1 of arm -1

    def under_way(walk: tuple[Array, Array, Array]) -> Bool[Array, ""]:
        position, found, _ = walk
        return (position < eligible) & jnp.any(found < budget)

    def go_on(walk: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        position, found, cut = walk
        for pair in jax.lax.dynamic_slice_in_dim(padded, position, RANKS_AT_ONCE):
            cut = cut + (found < budget).astype(jnp.int32)
            own = jax.lax.dynamic_index_in_dim(states, pair // num_states, axis=1, keepdims=False)
            found = found + ((own == pair % num_states) & (pair >= 0)).astype(jnp.int32)
        return position + RANKS_AT_ONCE, found, cut

    nothing = jnp.zeros((2, states.shape[2]), jnp.int32)
    return jax.lax.while_loop(under_way, go_on, (jnp.zeros((), int), nothing, nothing))[2]


def _places(words: UInt32[Array, "arms 2"]) -> Int32[Array, " arms"]:
    """Each arm's place in the order of the arms' first words; equal ones go by id."""
    return _inverse(jnp.argsort(words[:, 0], stable=True))


def _inverse(order: Int[Array, " items"]) -> Int32[Array, " items"]:
    places = jnp.arange(order.size, dtype=jnp.int32)
    return jnp.zeros(order.size, jnp.int32).at[order].set(places, unique_indices=True)
