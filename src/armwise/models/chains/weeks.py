"""One pass over everyone's weeks: the evidence about each person's log-odds, as a quadratic function.

The log-likelihood of a trial with the log-odds η = zᵀβ is averaged over the uncertainty about the person,
θ_i ~ N(mean, covariance), and replaced by its second-order expansion. The rest of the fit needs only the sums over her
weeks of the curvature κ z zᵀ and of z (y − p + κ η), with β = (u_is, v_is, w_s, −c_s) for each state s.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Num

from armwise.models.chains.gaps import pair_weights
from armwise.models.chains.memory import no_memory, remember
from armwise.models.chains.population import Block, Population, num_fixed, standardised
from armwise.models.chains.rows import Covariances, Means, row_moments
from armwise.models.chains.trials import average_trial


class Evidence(NamedTuple):
    """What a person's weeks say about β in each state: ``−½ βᵀ curvature β + βᵀ linear``.

    Attributes:
        curvature: ``[states, 2 + fixed, 2 + fixed, people]``.
        linear: ``[states, 2 + fixed, people]``.
    """

    curvature: Float[Array, "states coefficients coefficients people"]
    linear: Float[Array, "states coefficients people"]


def evidence(population: Population, block: Block, means: Means, covariances: Covariances, gaps: bool) -> Evidence:
    """The evidence of some people: the sums over all their weeks.

    Args:
        population: the shared parameters.
        block: their weeks.
        means: of θ_i now.
        covariances: of θ_i now.
        gaps: whether these people have unobserved weeks between observed ones. If so, the states that a person may
            have been in count by their probability, given all her weeks.
    """
    num_states, num_people = population.num_states, block.states.shape[1]
    start = no_evidence(population, num_people)
    weights = pair_weights(population, block, means, covariances) if gaps else _observed_pairs(block, num_states)

    def add(carry, week):  # type: ignore[no-untyped-def]
        memory, total = carry
        state, action, observed, pairs = week
        memory = remember(memory, state, observed, num_states)
        rows = standardised(population, memory)
        return (memory, add_week(population, total, rows, action, pairs, means, covariances)), None

    columns = (block.states[:-1], block.actions[:-1], block.observed[:-1], weights)
    (_, total), _ = jax.lax.scan(add, (no_memory(num_people), start), columns)
    return total


def no_evidence(population: Population, num_people: int) -> Evidence:
    """The evidence of people without weeks: all sums are 0."""
    states, size = population.num_states, 2 + num_fixed(population.num_states)
    return Evidence(jnp.zeros((states, size, size, num_people)), jnp.zeros((states, size, num_people)))


def _observed_pairs(block: Block, num_states: int) -> Float[Array, "transitions states states people"]:
    """1 for the pair of states of each observed transition, 0 for all other pairs."""
    hot = jax.nn.one_hot(block.states, num_states, axis=1) * block.observed[:, None]
    return hot[:-1, :, None] * hot[1:, None]


def add_week(
    population: Population,
    total: Evidence,
    rows: Float[Array, "states covariates people"],
    action: Num[Array, " people"],
    pairs: Float[Array, "states states people"],
    means: Means,
    covariances: Covariances,
) -> Evidence:
    """Add one week to the sums.

    Args:
        population: the shared parameters.
        total: the sums so far.
        rows: the covariates of each state's row, standardised.
        action: 1 for a call.
        pairs: the probability of each pair of a state and the next one.
        means: of θ_i now.
        covariances: of θ_i now.
    """
    num_states = population.num_states
    called = action.astype(means.dtype)
    mean, variance = row_moments(means, covariances, called, num_states)
    mean = mean + jnp.sum(population.slopes[:, :, None] * rows, axis=1)
    at_least = jnp.cumsum(pairs[:, ::-1], axis=1)[:, ::-1]
    curvature, linear = total
    for trial in range(num_states - 1):
        log_odds = mean - population.cuts[:, trial, None]
        chance, slope = average_trial(log_odds, jnp.maximum(variance, 0.0))
        tried, climbed = at_least[:, trial], at_least[:, trial + 1]
        shape = (num_states, num_states - 2, means.shape[1])
        which = jnp.broadcast_to((jnp.arange(1, num_states - 1) == trial)[None, :, None], shape)
        ones = jnp.ones((num_states, 1, means.shape[1]))
        z = jnp.concatenate([ones, ones * called[None, None], rows, which.astype(means.dtype)], axis=1)
        bend = tried * slope
        curvature = curvature + bend[:, None, None] * z[:, :, None] * z[:, None]
        linear = linear + z * (climbed - tried * chance + bend * log_odds)[:, None]
    return Evidence(curvature, linear)


def have_gaps(observed: Bool[np.ndarray, "people steps"]) -> Bool[np.ndarray, " people"]:
    """Whether each person has an unobserved week between two observed ones."""
    first, from_end = observed.argmax(axis=1), observed[:, ::-1].argmax(axis=1)
    return observed.any(axis=1) & (observed.sum(axis=1) < observed.shape[1] - from_end - first)
