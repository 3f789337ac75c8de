"""The public model of chains: a learned population, and the chain of each person from now on."""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from scipy.special import ndtri

from armwise.data import Features, Trajectories
from armwise.models.chains.memory import Memory
from armwise.models.chains.population import Population, shared_odds, standardised
from armwise.models.chains.posterior import block_size, blocks, posterior_block, together
from armwise.models.chains.rows import predicted_rows, row_moments
from armwise.models.chains.small_systems import cholesky
from armwise.models.chains.trials import average_difference, row
from armwise.models.chains.update import believe, next_week

# The level of the interval of an effect.
LEVEL = 0.9


class ChainModel(eqx.Module):
    """The model that ``fit_chains`` learned: how people of a programme differ. It infers each person's own chain."""

    population: Population

    @property
    def num_states(self) -> int:
        """How many states there are."""
        return self.population.num_states

    def posterior(self, features: Features, history: Trajectories | None) -> "PersonPosterior":
        """What is known about each person, given her features and her own weeks; without weeks, the prior.

        Args:
            features: of each person.
            history: row i is the person of row i of the features. None if nobody was ever observed.
        """
        self.population.check(features)
        with jax.default_matmul_precision("highest"):
            done = [(part.rows, posterior_block(self.population, part)) for part in blocks(features, history)]
        means, covariances, prior, memory = together(done)
        return PersonPosterior(self.population, means, covariances, prior, memory)

    def prior(self, features: Features) -> "PersonPosterior":
        """What is known about newcomers, who have no observed week."""
        return self.posterior(features, None)

    def predict_steps(
        self, features: Features, history: Trajectories, first_step: int
    ) -> Float[np.ndarray, "people steps states"]:
        """The distribution of the state in each step, predicted from the steps before it and the actions taken.

        Args:
            features: of each person.
            history: row i is the person of row i of the features.
            first_step: the first step to predict; all later steps are predicted too.
        """
        return np.stack([self._predict(features, history, step) for step in range(first_step, history.num_steps)], 1)

    def _predict(self, features: Features, history: Trajectories, step: int) -> Float[np.ndarray, "people states"]:
        before = jax.tree.map(lambda part: part[:, :step], history)
        known = self.posterior(features, before)
        return known.next_states(np.asarray(history.actions)[:, step - 1])


class PersonPosterior(NamedTuple):
    """What is known about each person: θ_i ~ N(means, covariances), and the memory of her weeks.

    People are the first axis of every array.

    Attributes:
        population: the shared parameters.
        means: ``[people, 2 × states]``: log-odds by state without a call, then what a call adds to each.
        covariances: ``[people, 2 × states, 2 × states]``.
        prior_means: the means without her own weeks, from the population and her features.
        memory: of her weeks up to now.
    """

    population: Population
    means: Float[np.ndarray, "people parameters"]
    covariances: Float[np.ndarray, "people parameters parameters"]
    prior_means: Float[np.ndarray, "people parameters"]
    memory: Memory

    def transitions(self) -> Float[np.ndarray, "people states 2 states"]:
        """The chain of each person from now on, averaged over the uncertainty about her."""
        return self._in_blocks(lambda part: _mean_chains(self.population, *part))

    def next_states(self, actions: Int[np.ndarray, " people"]) -> Float[np.ndarray, "people states"]:
        """The distribution of each person's state one step later.

        Args:
            actions: the actions of the present step, 1 for a call.
        """
        return self._in_blocks(lambda part: _next_states(self.population, *part), np.asarray(actions, np.int32))

    def sample(self, seed: int, num_samples: int) -> Float[np.ndarray, "samples people states 2 states"]:
        """Draw random chains from each person's posterior."""
        draws = np.random.default_rng(seed).standard_normal((num_samples, *self.means.shape)).astype(self.means.dtype)
        return np.stack([self._in_blocks(lambda part: drawn_chains(self.population, *part), each) for each in draws])

    def effects(self) -> tuple[Float[np.ndarray, "people states"], ...]:
        """What a call adds to the probability of a state above the lowest, by state: mean, and a 90 % interval."""
        return self._in_blocks(lambda part: _effects(self.population, *part))

    @property
    def own_share(self) -> Float[np.ndarray, " people"]:
        """How much of what is known about a person comes from her own weeks, from 0 to 1.

        It is the share of the prior's variance that her weeks remove, for the log-odds in her present state without a
        call. For someone never observed, it is the average over the states.
        """
        states = self.population.num_states
        left = np.diagonal(self.covariances, axis1=1, axis2=2)[:, :states]
        shares = 1 - left / np.diag(np.asarray(self.population.covariance))[:states]
        now = np.asarray(self.memory.state)
        own = np.where(now >= 0, np.take_along_axis(shares, np.maximum(now, 0)[:, None], 1)[:, 0], shares.mean(axis=1))
        return np.clip(own, 0.0, 1.0)

    def update(
        self,
        states: Int[np.ndarray, " people"],
        actions: Int[np.ndarray, " people"],
        observed: Bool[np.ndarray, " people"],
    ) -> "PersonPosterior":
        """The posterior one step later, without going through the earlier weeks again.

        The present posterior becomes the prior, and the move to the new state is the only evidence. The result differs
        little from the posterior of all weeks, which fits one Gaussian to all of them at once.

        Args:
            states: in the new step; any value if not observed.
            actions: taken in the step before it.
            observed: whether the new step was observed.
        """
        new = (np.asarray(states, np.int32), np.asarray(actions, np.int32), np.asarray(observed, bool))
        means, covariances, memory = self._in_blocks(lambda part: _after_week(self.population, *part), *new)
        return self._replace(means=means, covariances=covariances, memory=memory)

    def _in_blocks(self, function: Any, *columns: np.ndarray) -> Any:
        """Apply a function to blocks of one shape. Its arguments have people last, its results have people first."""
        content, number = (self.means, self.covariances, self.memory, *columns), len(self.means)
        starts = range(0, max(1, number), block_size())
        parts = [function(jax.tree.map(partial(_block, start), content)) for start in starts]
        return jax.tree.map(lambda *leaves: np.concatenate([np.asarray(leaf) for leaf in leaves])[:number], *parts)


def _block(start: int, column: np.ndarray) -> Array:
    """The rows of one block, filled up with copies of its last row, with people as the last axis."""
    rows = column[start : start + block_size()]
    mode: Any = "edge" if len(rows) else "constant"
    wide = np.pad(rows, [(0, block_size() - len(rows))] + [(0, 0)] * (rows.ndim - 1), mode=mode)
    return jnp.moveaxis(jnp.asarray(wide), 0, -1)


@eqx.filter_jit
def _mean_chains(population: Population, means: Any, covariances: Any, memory: Memory) -> Array:
    rows = standardised(population, memory)
    each = [predicted_rows(population, rows, jnp.full(means.shape[1], a), means, covariances) for a in (0.0, 1.0)]
    return jnp.transpose(jnp.stack(each, axis=1), (3, 0, 1, 2))


@eqx.filter_jit
def drawn_chains(population: Population, means: Any, covariances: Any, memory: Memory, draws: Any) -> Array:
    """Random chains of some people, from standard normal ``draws``. The arguments have people as the last axis."""
    drawn = means + jnp.sum(cholesky(covariances) * draws[None], axis=1)
    states, shared = population.num_states, shared_odds(population, memory)
    odds = [drawn[:states] + shared, drawn[:states] + drawn[states:] + shared]
    rows = jnp.stack([jnp.stack([row(each[s], population.cuts[s]) for each in odds]) for s in range(states)])
    return jnp.transpose(rows, (3, 0, 1, 2))


@eqx.filter_jit
def _effects(population: Population, means: Any, covariances: Any, memory: Memory) -> tuple[Array, Array, Array]:
    states, shared = population.num_states, shared_odds(population, memory)
    passive, variance = row_moments(means, covariances, 0.0, states)
    cross = jnp.stack([covariances[s, states + s] for s in range(states)])
    own = jnp.stack([covariances[states + s, states + s] for s in range(states)])
    mean, square = average_difference(passive + shared, variance, means[states:], own, cross)
    half = float(ndtri(0.5 + LEVEL / 2)) * jnp.sqrt(jnp.maximum(square - mean**2, 0.0))
    return mean.T, (mean - half).T, (mean + half).T


def _after_week(population: Population, *part: Any) -> Any:
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -1, 0), next_week(population, *part))


@eqx.filter_jit
def _next_states(population: Population, means: Any, covariances: Any, memory: Memory, action: Any) -> Array:
    rows = standardised(population, memory)
    called = action.astype(means.dtype)
    alone = predicted_rows(population, rows, jnp.zeros_like(called), means, covariances)
    moves = predicted_rows(population, rows, called, means, covariances)
    return jnp.sum(believe(alone, memory, population.first_shares)[:, None] * moves, axis=0).T
