"""The starting point of a fit: one chain for all people, calls without effect, and covariates in comparable units."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from armwise.data import Features, Trajectories, first_state_shares
from armwise.models.chains.memory import NUM_COVARIATES, covariates, no_memory, remember
from armwise.models.chains.population import Block, Population, num_columns
from armwise.models.chains.posterior import blocks
from armwise.models.chains.spread import prior_covariance


def first_population(features: Features, history: Trajectories) -> Population:
    """The population from which a fit starts: one chain for all people, and calls have no effect."""
    num_states = history.num_states
    means, scales, last_age = _covariate_scales(history)
    numeric = np.asarray(features.numeric, dtype=float)
    spread = numeric.std(axis=0) if len(numeric) else np.zeros(0)
    passive, cuts = _pooled_odds(history)
    weights = np.zeros((2 * num_states, num_columns(features.levels, numeric.shape[1], num_states)))
    weights[:num_states, 0] = passive
    parts = {
        "weights": weights,
        "covariance": prior_covariance(num_states),
        "slopes": np.zeros((num_states, NUM_COVARIATES)),
        "cuts": cuts,
        "means": means,
        "scales": scales,
        "first_shares": first_state_shares(history),
        "numeric_means": numeric.mean(axis=0),
        "numeric_scales": np.where(spread > 0, spread, 1.0),
        "last_age": last_age,
    }
    dtype = jnp.zeros(()).dtype
    return Population(**{name: jnp.asarray(part, dtype) for name, part in parts.items()}, levels=features.levels)


def _pooled_odds(history: Trajectories) -> tuple[np.ndarray, np.ndarray]:
    """The log-odds of the first trial in each state, pooled over all people, and the cuts of the trials."""
    states, observed = np.asarray(history.states), np.asarray(history.observed)
    both, size = observed[:, :-1] & observed[:, 1:], history.num_states
    moves = np.zeros((size, size))
    np.add.at(moves, (states[:, :-1][both], states[:, 1:][both]), 1.0)
    at_least = moves[:, ::-1].cumsum(axis=1)[:, ::-1] + 0.5 * np.arange(size + 1, 1, -1)
    climbed = at_least[:, 1:] / at_least[:, :-1]
    odds = np.log(climbed / (1 - climbed))
    return odds[:, 0], odds[:, :1] - odds


def _covariate_scales(history: Trajectories) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means and standard deviations of the covariates in each state, and the longest time since a first week."""
    size = history.num_states
    sums = np.zeros((3, size, NUM_COVARIATES))
    oldest = 0.0
    for _, _, block, _ in blocks(Features(numeric=np.zeros((history.num_arms, 0))), history):
        added, age = _covariate_sums(block, size)
        sums += np.asarray(added, dtype=float)
        oldest = max(oldest, float(age))
    number, total, squares = np.maximum(sums[0], 1.0), sums[1], sums[2]
    means = total / number
    variance = squares / number - means**2
    return means, np.where(variance > 1e-6, np.sqrt(np.maximum(variance, 1e-6)), 1.0), np.asarray(oldest)


@eqx.filter_jit
def _covariate_sums(block: Block, num_states: int) -> tuple[Array, Array]:
    def add(carry, week):  # type: ignore[no-untyped-def]
        memory, total, oldest = carry
        state, observed, followed = week
        memory = remember(memory, state, observed, num_states)
        counted = (observed & followed).astype(memory.streak.dtype)
        each = []
        for row in range(num_states):
            values = covariates(memory, row, num_states, jnp.inf)
            mine = (counted * (state == row))[None]
            each.append(jnp.stack([mine + 0 * values, mine * values, mine * values**2]).sum(axis=-1))
        oldest = jnp.maximum(oldest, jnp.max(memory.age * counted))
        return (memory, total + jnp.stack(each, axis=1), oldest), None

    start = (no_memory(block.states.shape[1]), jnp.zeros((3, num_states, NUM_COVARIATES)), jnp.zeros(()))
    columns = (block.states[:-1], block.observed[:-1], block.observed[1:])
    return jax.lax.scan(add, start, columns)[0][1:]
