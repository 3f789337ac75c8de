"""Rules that choose which arms each step of the simulation acts on.

The choice is by priority, by a fixed policy for each arm, in turn, at random, or longest wait first. At each step the
simulation calls a rule with the arms' states, and the rule returns their actions. Trajectories are the last axis.
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

# Draws with smaller numbers move the arms from state to state; draws from this number on choose whom to act on.
_FIRST_TICKET = np.uint32(2**31)
_NUM_TICKETS = 2**30
# How many ranks the walk examines before it checks whether it can stop.
RANKS_AT_ONCE = 16
# With more states there are more ranks to examine, and bisection is as fast (docs/performance.md).
MOST_STATES_WALKED = 3
# Per pair of trajectories. With more ranks per pair, too few trajectories share each vector operation.
MOST_RANKS_WALKED = 8


class Rule(eqx.Module):
    """A rule that chooses which arms to act on at each step.

    Most rules use only the current states. Their memory is None, an empty pytree, which adds nothing to the program.
    """

    @abc.abstractmethod
    def __call__(self, states: States, pairs: Pairs, step: Step, memory: Any = None) -> States:
        """The action of each arm in each trajectory.

        Args:
            states: the arms' states before acting.
            pairs: the numbers of the trajectory pairs.
            step: the number of this step.
            memory: what the rule remembers from earlier steps.
        """

    def first_memory(self, states: States) -> Any:
        """What the rule remembers before the first step, when the arms are in these states."""
        del states

    def next_memory(self, memory: Any, states: States, next_states: States, step: Step) -> Any:
        """What the rule remembers after a step that led from ``states`` to ``next_states``."""
        del memory, states, next_states, step


class Priorities(Rule):
    """Act on the arms whose (arm, state) pairs rank highest (Equation 3)."""

    ranks: Int32[Array, "arms states"]
    order: Int[Array, " ranked"]  # the (arm, state) pairs from the first to the last, as arm · states + state
    eligible: Int[Array, ""]  # only pairs with a rank below this may be acted on
    budget: Int[Array, ""]

    def __call__(self, states: States, pairs: Pairs, step: Step, memory: Any = None) -> States:
        """Action 1 for the arms whose current state ranks among the best, in each trajectory."""
        del pairs, step, memory
        rank = look_up(self.ranks, states)
        if _worth_walking(self.ranks.shape, states.shape[2]):
            cut = _cut_by_walking(states, self.order, self.ranks.shape[1], self.budget, self.eligible)
        else:
            cut = _cut(rank, self.budget, self.ranks.size)
        return (rank < jnp.minimum(cut, self.eligible)[:, None]).astype(jnp.int32)


class FixedPolicy(Rule):
    """Choose each arm's action from its own state only."""

    policy: Int32[Array, "arms states"]

    def __call__(self, states: States, pairs: Pairs, step: Step, memory: Any = None) -> States:
        """The action of each arm in its current state."""
        del pairs, step, memory
        return look_up(self.policy, states)


class Turns(Rule):
    """Act on the arms in turn, around a circle; their states do not matter."""

    places: Int32[Array, " arms"]  # positions on the circle
    starts: Int32[Array, " steps"]  # the position at which each step begins
    budget: Int[Array, ""]

    def __call__(self, states: States, pairs: Pairs, step: Step, memory: Any = None) -> States:
        """Action 1 for the next arms on the circle, the same in all trajectories."""
        del pairs, memory
        to_go = (self.places - self.starts[step]) % self.places.size
        return jnp.broadcast_to((to_go < self.budget).astype(jnp.int32)[None, :, None], states.shape)


class Lots(Rule):
    """Act on ``budget`` arms drawn at random, anew at each step; every set of arms is equally likely."""

    words: UInt32[Array, "arms 2"]
    places: Int32[Array, " arms"]
    budget: Int[Array, ""]

    def __call__(self, states: States, pairs: Pairs, step: Step, memory: Any = None) -> States:
        """Action 1 for the arms with the lowest tickets."""
        del states, memory
        tickets = (bits(self.words, pairs, step.astype(jnp.uint32) + _FIRST_TICKET) >> 2).astype(jnp.int32)
        cut = _cut(tickets, self.budget, _NUM_TICKETS)
        called = tickets < cut[:, None]
        # With a million arms, about one step in a thousand has two equal tickets at the cut. Places break such ties.
        num_arms = self.places.size
        tied = jnp.where(tickets == cut[:, None], self.places[None, :, None], num_arms)
        last = jnp.minimum(_cut(tied, self.budget - jnp.sum(called, axis=1, dtype=jnp.int32), num_arms), num_arms)
        return (called | (tied < last[:, None])).astype(jnp.int32)


class Waiting(Rule):
    """Act on the arms in the lowest states, longest wait first; remembers when each arm entered its state."""

    levels: Int32[Array, "#arms states"]  # of the states; equally good states have equal levels
    places: Int32[Array, " arms"]  # break ties between arms that have waited equally long
    num_steps: int = eqx.field(static=True)
    budget: Int[Array, ""]

    def __call__(self, states: States, pairs: Pairs, step: Step, memory: Any = None) -> States:
        """Action 1 for the arms with the lowest level; earlier arrival, then the lower place, breaks ties."""
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
    """Rank all (arm, state) pairs, highest priority first; the arm's random word, then its id, breaks ties."""
    words = jnp.broadcast_to(tie_breaker[:, None], priorities.shape)
    order = jnp.lexsort((words.ravel(), -priorities.ravel()))
    eligible = jnp.sum(priorities > -jnp.inf)
    return Priorities(_inverse(order).reshape(priorities.shape), order, eligible, budget)


class Schedule(eqx.Module):
    """A way to choose whom to call, used instead of a table of priorities."""

    @abc.abstractmethod
    def rule(
        self,
        words: UInt32[Array, "arms 2"],
        budget: Int[Array, ""],
        num_steps: int,
        rewards: Float[Array, "#arms states"],
    ) -> Rule:
        """The rule that the simulation uses for this schedule.

        Args:
            words: the arms' random words, in the order of their ids.
            budget: how many arms are acted on at each step.
            num_steps: how many steps there will be.
            rewards: the reward of being in each state.
        """


class RoundRobin(Schedule):
    """Call everyone in turn, around a circle, so the next is whoever has waited longest; a hash of ids sets the order.

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
    """Call people drawn at random, anew at each step; a draw depends only on the person, trajectory and step."""

    def rule(
        self,
        words: UInt32[Array, "arms 2"],
        budget: Int[Array, ""],
        num_steps: int,
        rewards: Float[Array, "#arms states"],
    ) -> Lots:
        """The rule that calls the arms with the lowest tickets."""
        del num_steps, rewards
        return Lots(words, _places(words), budget)


class LongestFirst(Schedule):
    """Call disengaged people first, longest disengaged first.

    The state with the lowest reward has priority. Among people in equally good states, whoever has been there for the
    most steps in a row has priority. The arm's random word, then its id, breaks remaining ties. Waiting is counted
    from the first step of the simulation. A person who is called and stays in the same state is called again.

    Example:
        There is one call per step. It goes to the person who is not engaged.

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
    """``table[arm, index[..., arm, ...]]``, by comparison, which on short tables is 3× as fast as a gather."""
    entry = jnp.broadcast_to(table[None, :, :1], index.shape)
    for column in range(1, table.shape[1]):
        entry = jnp.where(index == column, table[None, :, column, None], entry)
    return entry


def _cut(rank: States, budget: Int[Array, "..."], num_ranks: int) -> Int32[Array, "2 pairs"]:
    """The largest cut with at most ``budget`` arms ranked below it in each trajectory, by bisection on its bits."""
    cut = jnp.zeros((2, rank.shape[2]), jnp.int32)
    for bit in reversed(range(num_ranks.bit_length())):
        higher = cut + (1 << bit)
        below = jnp.sum((rank < higher[:, None]).astype(jnp.int32), axis=1)
        cut = jnp.where(below <= budget, higher, cut)
    return cut


def _lowest(keys: tuple[tuple[States, int], ...], budget: Int[Array, ""]) -> States:
    """1 for the ``budget`` arms with the lowest first key in each trajectory; later keys break ties.

    Args:
        keys: each with the number of values that it can take; no two arms share a value of the last key.
        budget: how many arms to choose.
    """
    called = jnp.zeros(keys[0][0].shape, bool)
    tied = ~called  # arms that a later key may choose
    for key, num_values in keys:
        left = budget - jnp.sum(called, axis=1, dtype=jnp.int32)
        among = jnp.where(tied, key, num_values)
        cut = jnp.minimum(_cut(among, left, num_values), num_values)[:, None]
        called, tied = called | (among < cut), tied & (among == cut)
    return called.astype(jnp.int32)


def _worth_walking(shape: tuple[int, ...], num_pairs: int) -> bool:
    """Whether walking down the ranks is faster than bisection; never on an accelerator, where a loop test is slow."""
    num_arms, num_states = shape
    few = num_states <= MOST_STATES_WALKED and num_arms * num_states <= MOST_RANKS_WALKED * num_pairs
    return few and on_cpu()


def _cut_by_walking(
    states: States, order: Int[Array, " ranked"], num_states: int, budget: Int[Array, ""], eligible: Int[Array, ""]
) -> Int32[Array, "2 pairs"]:
    """A cut with ``budget`` arms below it in each trajectory, found by walking down the ranks.

    When few of many arms are called, the walk examines a small part of the ranks, and each rank reads one arm's states.
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
    """Each arm's place in the order of the arms' first words; the id breaks ties."""
    return _inverse(jnp.argsort(words[:, 0], stable=True))


def _inverse(order: Int[Array, " items"]) -> Int32[Array, " items"]:
    places = jnp.arange(order.size, dtype=jnp.int32)
    return jnp.zeros(order.size, jnp.int32).at[order].set(places, unique_indices=True)
