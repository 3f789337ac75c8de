"""Gradient and curvature of the likelihood of the shared coefficients, with each θ_i integrated out.

For quadratic evidence, θ_i has the posterior N(m_i, V_i). With μ_i = W x_i, the slope of the likelihood in μ_i is
Σ⁻¹(m_i − μ_i) and its curvature Σ⁻¹ − Σ⁻¹ V_i Σ⁻¹. The shared coefficients w and c follow in the same way. If θ_i were
held fixed instead, the fit would take hundreds of turns when people have few calls.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from armwise.models.chains.population import Block, Population
from armwise.models.chains.posterior import combine, person_evidence
from armwise.models.chains.weeks import Evidence


class People(NamedTuple):
    """One block of people in a fit, with their present posterior."""

    design: Float[Array, "people columns"]
    block: Block
    gaps: bool
    means: Float[Array, "parameters people"]
    covariances: Float[Array, "parameters parameters people"]
    real: Float[Array, " people"]  # 0 for rows that fill up the block


class Sums(NamedTuple):
    """Sums over people, for the Newton step."""

    weight_gradient: Float[Array, "parameters columns"]
    fixed_gradient: Float[Array, "states fixed"]
    weight_bend: Float[Array, "parameters parameters columns columns"]
    cross_bend: Float[Array, "parameters columns states fixed"]
    fixed_bend: Float[Array, "states fixed states fixed"]


@eqx.filter_jit
def newton_sums(population: Population, people: People, found: Evidence) -> Sums:
    """The contribution of some people to gradient and curvature of the likelihood, with θ_i integrated out."""
    prior = population.weights @ people.design.T
    means, covariances = combine(population, prior, *person_evidence(population, found))
    precision, size, states = jnp.linalg.inv(population.covariance), len(prior), population.num_states
    away = (means - prior) * people.real[None]
    # C_i: the curvature of the evidence between θ_i and the shared coefficients. It is zero between different states.
    tie = jnp.zeros((size, states, found.linear.shape[1] - 2, prior.shape[1]))
    for state in range(states):
        tie = tie.at[state, state].set(found.curvature[state, 0, 2:])
        tie = tie.at[states + state, state].set(found.curvature[state, 1, 2:])
    tie = tie * people.real[None, None, None]
    bend = precision[:, :, None] - jnp.einsum("ab,bcn,cd->adn", precision, covariances, precision)
    pull = jnp.einsum("abn,bsfn->asfn", covariances, tie)
    shared = jnp.concatenate([population.slopes, -population.cuts[:, 1:]], axis=1)
    fixed = found.linear[:, 2:] - jnp.einsum("sfgn,sg->sfn", found.curvature[:, 2:, 2:], shared)
    fixed = fixed * people.real[None, None] - jnp.einsum("asfn,an->sfn", tie, means)
    own = jnp.einsum("sfgn,n->sfg", found.curvature[:, 2:, 2:], people.real)
    own = jnp.einsum("sfg,st->sftg", own, jnp.eye(states))
    x, hot = people.design * people.real[:, None], people.design
    upper = {(a, b): (x * bend[a, b][:, None]).T @ hot for a in range(size) for b in range(a, size)}
    weight_bend = jnp.stack([jnp.stack([upper[min(a, b), max(a, b)] for b in range(size)]) for a in range(size)])
    return Sums(
        weight_gradient=precision @ away @ hot,
        fixed_gradient=fixed.sum(axis=-1),
        weight_bend=weight_bend,
        cross_bend=jnp.einsum("ab,bsfn,nj->ajsf", precision, pull, hot),
        fixed_bend=own - jnp.einsum("asfn,atgn->sftg", tie, pull),
    )


def add_up(parts: Iterable[Any]) -> Any:
    """The sum over blocks, in double precision."""
    total: Any = None
    for part in parts:
        exact = jax.tree.map(lambda leaf: np.asarray(leaf, dtype=float), part)
        total = exact if total is None else jax.tree.map(np.add, total, exact)
    return total
