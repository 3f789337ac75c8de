"""What a person's last weeks say about the next one, beyond her present state.

People drop out for good, so a chain of fixed probabilities is not enough: someone disengaged for ten weeks comes back
less often than someone disengaged for one, though both are in the same state. The memory holds three numbers: for how
many weeks in a row she has been in her present state, and her recent level of engagement over about three and about
ten weeks. Two more follow the time since her first week, for everyone alike. Weeks that were not observed leave the
memory as it is.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

# How much of the recent level is kept from one week to the next.
KEPT = (0.7, 0.9)
NUM_MEMORY, NUM_DRIFT = 1 + len(KEPT), 2
NUM_COVARIATES = NUM_MEMORY + NUM_DRIFT

PerPerson = Float[Array, " people"]


class Memory(NamedTuple):
    """What is remembered of each person after some weeks. The shapes are ``[people]``, and of levels ``[2, people]``.

    Attributes:
        state: last observed; −1 if never.
        streak: for how many observed weeks in a row.
        levels: recent engagement, 0 in the lowest state and 1 in the highest, times the weight of ``weights``.
        weights: how much the recent weeks weigh together.
        age: weeks since the first observed one; 0 before.
        gap: weeks since the last observed one; 0 if it was the last week.
    """

    state: Int[Array, " people"]
    streak: PerPerson
    levels: Float[Array, "spans people"]
    weights: Float[Array, "spans people"]
    age: PerPerson
    gap: PerPerson


def no_memory(num_people: int) -> Memory:
    """Of people who were never observed."""
    nothing = jnp.zeros(num_people)
    none_yet = jnp.zeros((len(KEPT), num_people))
    return Memory(jnp.full(num_people, -1), nothing, none_yet, none_yet, nothing, nothing)


def remember(memory: Memory, state: Int[Array, " people"], observed: Bool[Array, " people"], num_states: int) -> Memory:
    """The memory after one more week.

    Args:
        memory: before it.
        state: in that week.
        observed: whether it was seen; if not, only time goes on.
        num_states: how many there are.
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
    """The numbers that the log-odds of a state's row depend on, for people in that state now.

    For another state than the one that a person was last seen in, they are what they would be in the first week of a
    change to it. So the rows of one person together are her chain from here on.

    Args:
        memory: of the weeks up to now.
        row: the state.
        num_states: how many there are.
        last_age: time counts no further than this, the longest that was learned from.
    """
    moved = remember(memory, jnp.full_like(memory.state, row), jnp.ones_like(memory.state, bool), num_states)
    same = memory.state == row
    streak = jnp.where(same, memory.streak, 1.0)
    levels = jnp.where(same[None], memory.levels, moved.levels)
    weights = jnp.where(same[None], memory.weights, moved.weights)
    age = jnp.minimum(memory.age, last_age)
    # A person in her first week has a streak of 1 and the level of her state.
    return jnp.concatenate([jnp.log(streak)[None], levels / weights, age[None] / 10, jnp.log1p(age)[None]])
