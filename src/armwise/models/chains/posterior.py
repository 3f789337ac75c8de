"""The posterior of each person, given her own weeks, approximated by the closest Gaussian."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from armwise._hardware import on_cpu
from armwise.data import Features, Trajectories
from armwise.errors import InvalidInputError
from armwise.models.chains.memory import Memory, no_memory, remember
from armwise.models.chains.population import Block, Population, design, first_states
from armwise.models.chains.rows import Covariances, Means
from armwise.models.chains.small_systems import apply, inverse
from armwise.models.chains.weeks import Evidence, evidence, have_gaps

# The number of steps is rounded up to a multiple of this, so that one more week rarely needs a new compilation.
STEPS = 8
# Newton steps to reach a posterior. The last ones make no visible change.
NUM_NEWTON = 8


def block_size() -> int:
    """The number of people in a block. All blocks have this size, so a person's result depends on no other person.

    On a CPU, 1,024 people fit in the cache, and a small programme wastes few rows. An accelerator needs more people.
    """
    return 1024 if on_cpu() else 8192


def person_evidence(population: Population, found: Evidence) -> tuple[Covariances, Means]:
    """The evidence about θ_i alone: its curvature Λ_i, and h_i without the shared part of the log-odds."""
    num_states = population.num_states
    shared = jnp.concatenate([population.slopes, -population.cuts[:, 1:]], axis=1)
    linear = found.linear[:, :2] - jnp.sum(found.curvature[:, :2, 2:] * shared[:, None, :, None], axis=2)
    size = 2 * num_states
    curvature = jnp.zeros((size, size, linear.shape[-1]))
    for state in range(num_states):
        where = jnp.array([state, num_states + state])
        curvature = curvature.at[where[:, None], where[None]].set(found.curvature[state, :2, :2])
    return curvature, jnp.concatenate([linear[:, 0], linear[:, 1]])


def combine(
    population: Population, prior_means: Means, curvature: Covariances, linear: Means
) -> tuple[Means, Covariances]:
    """Mean and covariance of θ_i, from the population and from the evidence of her own weeks."""
    precision = jnp.linalg.inv(population.covariance)
    covariances = inverse(curvature + precision[:, :, None])
    return apply(covariances, linear + precision @ prior_means), covariances


def posterior_block(population: Population, people: "PeopleBlock") -> tuple[Means, Covariances, Means, Memory]:
    """The posterior of some people: means and covariances of θ_i, the means of their priors, and their memory."""
    return _posterior(population, people.features, people.weeks, people.gaps)


@eqx.filter_jit
def _posterior(
    population: Population, features: Features, block: Block, gaps: bool
) -> tuple[Means, Covariances, Means, Memory]:
    prior = population.weights @ design(population, features, first_states(block)).T
    start = jnp.broadcast_to(population.covariance[:, :, None], (*population.covariance.shape, prior.shape[1]))

    def newton(_: Any, now: tuple[Means, Covariances]) -> tuple[Means, Covariances]:
        found = evidence(population, block, *now, gaps)
        return combine(population, prior, *person_evidence(population, found))

    means, covariances = jax.lax.fori_loop(0, NUM_NEWTON, newton, (prior, start))
    return means, covariances, prior, recall(block, population.num_states)


def recall(block: Block, num_states: int) -> Memory:
    """The memory after all weeks of a block."""

    def go(memory: Memory, week: tuple[Array, Array]) -> tuple[Memory, None]:
        return remember(memory, *week, num_states), None

    return jax.lax.scan(go, no_memory(block.states.shape[1]), (block.states, block.observed))[0]


class PeopleBlock(NamedTuple):
    """Some people, filled up to a block.

    Attributes:
        rows: their rows in the tables that they come from.
        features: of each person.
        weeks: of each person, with time as the first axis.
        gaps: true if all of them have unobserved weeks between observed ones, false if nobody has.
    """

    rows: Int[np.ndarray, " rows"]
    features: Features
    weeks: Block
    gaps: bool


def blocks(features: Features, history: Trajectories | None) -> Iterator[PeopleBlock]:
    """All people, in blocks of one shape.

    People with gaps and people without gaps are in different blocks, because they need different programs. So the
    program for a person depends on her own weeks alone.
    """
    num_people = len(features.codes)
    if history is not None and history.num_arms != num_people:
        raise InvalidInputError(
            f"history has {history.num_arms} people and features {num_people}. Give one row of each for every person."
        )
    codes, numeric = np.asarray(features.codes), np.asarray(features.numeric)
    weeks = _weeks(history, num_people)
    gapped, size = have_gaps(weeks[2]), block_size()
    for gaps in (False, True):
        people = np.flatnonzero(gapped == gaps)
        # An empty table also gets one block: it gives the results their shapes.
        for start in range(0, len(people) or (not gaps and not num_people), size):
            rows = people[start : start + size]
            own = [jnp.asarray(_filled(part[rows])) for part in (codes, numeric)]
            block = Block(*(jnp.asarray(_filled(part[rows]).T) for part in weeks))
            known = eqx.tree_at(lambda each: (each.codes, each.numeric), features, (own[0], own[1]))
            yield PeopleBlock(rows, known, block, gaps)


def _weeks(history: Trajectories | None, num_people: int) -> list[np.ndarray]:
    """States, actions and observed, ``[people, steps]``, padded at the start to a multiple of ``STEPS``."""
    if history is None:
        return [np.zeros((num_people, STEPS), kind) for kind in (np.int32, np.int32, bool)]
    steps = STEPS * math.ceil(max(2, history.num_steps) / STEPS)
    parts = (np.asarray(part) for part in (history.states, history.actions, history.observed))
    return [np.pad(part, ((0, 0), (steps - part.shape[1], 0))) for part in parts]


def _filled(rows: np.ndarray) -> np.ndarray:
    return np.pad(rows, [(0, block_size() - len(rows))] + [(0, 0)] * (rows.ndim - 1))


def together(parts: list[tuple[np.ndarray, Any]]) -> Any:
    """Join the results of blocks into arrays with people as the first axis, in the order of their tables.

    Args:
        parts: for each block, the rows of its people, and arrays with people as the last axis.
    """
    rows, results = zip(*parts, strict=True)
    order = np.argsort(np.concatenate(rows))

    def join(*leaves: Array) -> np.ndarray:
        whole = [np.moveaxis(np.asarray(leaf), -1, 0)[: len(own)] for own, leaf in zip(rows, leaves, strict=True)]
        return np.concatenate(whole)[order]

    return jax.tree.map(join, *results)
