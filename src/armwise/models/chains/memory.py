"""The memory of a person: what her last weeks say about the next week, in addition to her present state.

Some people drop out for good, so a chain of fixed probabilities is not enough. Someone disengaged for ten weeks comes
back less often than someone disengaged for one week, although both are in the same state. The memory holds three
numbers: for how many weeks in a row she has been in her present state, and her recent level of engagement over about
three and about ten weeks. Unobserved weeks do not change them. Two more numbers depend only on the time since her first
week.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

# The share of the recent level that is kept from one week to the next, for each of the two spans.
KEPT = (0.7, 0.9)
NUM_MEMORY, NUM_DRIFT = 1 + len(KEPT), 2
NUM_COVARIATES = NUM_MEMORY + NUM_DRIFT

PerPerson = Float[Array, " people"]


class Memory(NamedTuple):
    """The memory of each person after some weeks. Shapes are ``[people]``; ``[2, people]`` for levels and weights.

    Attributes:
        state: the last observed state; −1 if never observed.
        streak: for how many observed weeks in a row she has been in it.
        levels: recent engagement (0 in the lowest state, 1 in the highest), times ``weights``.
        weights: the total weight of the recent weeks.
        age: weeks since the first observed week; 0 before.
        gap: weeks since the last observed week; 0 if the last week was observed.
    """

    state: Int[Array, " people"]
    streak: PerPerson
    levels: Float[Array, "spans people"]
    weights: Float[Array, "spans people"]
    age: PerPerson
    gap: PerPerson


def no_memory(num_people: int) -> Memory:
    """The memory of people who were never observed."""
    nothing = jnp.zeros(num_people)
    none_yet = jnp.zeros((len(KEPT), num_people))
    return Memory(jnp.full(num_people, -1), nothing, none_yet, none_yet, nothing, nothing)


def remember(memory: Memory, state: Int[Array, " people"], observed: Bool[Array, " people"], num_states: int) -> Memory:
    """The memory after one more week.

    Args:
        memory: before the week.
        state: in the week.
        observed: whether the week was observed; if not, only time goes on.
        num_states: the number of states.
    """
    seen = memory.state >= 0
    level = state / (num_states - 1)
    kept = jnp.asarray(KEPT)[:, None]
    after = Memory(
        state=state,
        streak=jnp.where(state == memory.state, memory.streak + 1, 1.0),
        levels=kept * memory.levels + level[None],
        weights=kept * memory.weights + 1,
        age=memory.age,
        gap=jnp.zeros_like(memory.gap),
    )
    before = memory._replace(gap=memory.gap + 1)
    chosen = jax.tree.map(lambda new, old: jnp.where(jnp.broadcast_to(observed, new.shape), new, old), after, before)
    return chosen._replace(age=jnp.where(seen, memory.age + 1, 0.0))


def covariates(
    memory: Memory, row: int, num_states: int, last_age: Float[Array, ""] | float
) -> Float[Array, "5 people"]:
    """The covariates in the log-odds of the row of one state, as if each person were in that state now.

    If a person was last seen in another state, they are the values in her first week after a change to this state. So
    the rows of one person together are her chain from now on.

    Args:
        memory: of the weeks up to now.
        row: the state.
        num_states: the number of states.
        last_age: the longest time in the training data; longer times count as this one.
    """
    moved = remember(memory, jnp.full_like(memory.state, row), jnp.ones_like(memory.state, bool), num_states)
    same = memory.state == row
    streak = jnp.where(same, memory.streak, 1.0)
    levels = jnp.where(same[None], memory.levels, moved.levels)
    weights = jnp.where(same[None], memory.weights, moved.weights)
    age = jnp.minimum(memory.age, last_age)
    # In her first week a person has a streak of 1 and the level of her state.
    return jnp.concatenate([jnp.log(streak)[None], levels / weights, age[None] / 10, jnp.log1p(age)[None]])
