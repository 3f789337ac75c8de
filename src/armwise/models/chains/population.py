"""The parameters that all people of a programme share: the population.

Person i has, for each state s, a log-odds u_is of climbing to higher states without a call, and v_is, which a call
adds to it. Together they are θ_i = (u_i, v_i), 2 × states numbers, and

    θ_i ~ N(W x_i, Σ),       η_it = u_is + a_it v_is + w_s · m_it,

where s is her state in week t, and a_it = 1 if she was called. x_i holds a 1, her first observed state and her
features. m_it holds her memory and the time since her first week (``memory.py``). ``trials.py`` turns η_it into the
distribution of the next state.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from armwise.data import Features, one_hot
from armwise.errors import InvalidInputError
from armwise.models.chains.memory import NUM_COVARIATES, Memory, covariates


class Population(eqx.Module):
    """The parameters that ``fit_chains`` learns. They contain no data about single people.

    Attributes:
        weights: W, ``[2 × states, columns]``; the columns are those of ``design``.
        covariance: Σ, ``[2 × states, 2 × states]``.
        slopes: w, by state, for the standardised covariates.
        cuts: c, by state and trial; the first is 0.
        means: of the covariates in each state.
        scales: standard deviations of the covariates in each state.
        first_shares: the share of people first observed in each state.
        numeric_means: of the numeric features.
        numeric_scales: standard deviations of the numeric features.
        last_age: the longest time since a first week in the training data, in weeks. Longer times count as this one.
        levels: the number of levels of each category of the features.
    """

    weights: Float[Array, "parameters columns"]
    covariance: Float[Array, "parameters parameters"]
    slopes: Float[Array, "states covariates"]
    cuts: Float[Array, "states trials"]
    means: Float[Array, "states covariates"]
    scales: Float[Array, "states covariates"]
    first_shares: Float[Array, " states"]
    numeric_means: Float[Array, " numeric"]
    numeric_scales: Float[Array, " numeric"]
    last_age: Float[Array, ""]
    levels: tuple[int, ...] = eqx.field(static=True)

    @property
    def num_states(self) -> int:
        """How many states there are."""
        return self.slopes.shape[0]

    def check(self, features: Features) -> None:
        """Refuse features of another programme."""
        if features.levels != self.levels or features.numeric.shape[-1] != len(self.numeric_means):
            raise InvalidInputError(
                f"The model was made for {len(self.numeric_means)} numeric columns and levels {self.levels}, not for "
                f"{features.numeric.shape[-1]} and {features.levels}. Encode the features as for training."
            )


class Block(NamedTuple):
    """The weeks of some people, ``[steps, people]``. People who only fill up a block are never observed."""

    states: Int[Array, "steps people"]
    actions: Int[Array, "steps people"]
    observed: Bool[Array, "steps people"]


def first_states(block: Block) -> Int[Array, " people"]:
    """The state in which each person was first observed; −1 if never."""
    first = jnp.take_along_axis(block.states, jnp.argmax(block.observed, axis=0)[None], axis=0)[0]
    return jnp.where(block.observed.any(axis=0), first, -1)


def design(population: Population, features: Features, first: Int[Array, " people"]) -> Float[Array, "people columns"]:
    """x_i: a 1, the first observed state, and the features.

    A person's first state tells something about her: people who stay engaged are more often first seen engaged
    (Wooldridge 2005). It enters as the difference from the average, so that someone never observed counts as average.
    """
    num_states = population.num_states
    seen = (first >= 0)[:, None]
    start = jnp.where(seen, jax.nn.one_hot(first, num_states) - population.first_shares[None], 0.0)
    numeric = (features.numeric - population.numeric_means[None]) / population.numeric_scales[None]
    hot = one_hot(eqx.tree_at(lambda each: each.numeric, features, numeric))
    return jnp.concatenate([jnp.ones_like(seen, dtype=start.dtype), start, hot.astype(start.dtype)], axis=1)


def standardised(population: Population, memory: Memory) -> Float[Array, "states covariates people"]:
    """m_it for each row, the covariates in units of their standard deviations."""
    rows = range(population.num_states)
    raw = jnp.stack([covariates(memory, each, population.num_states, population.last_age) for each in rows])
    return (raw - population.means[:, :, None]) / population.scales[:, :, None]


def shared_odds(population: Population, memory: Memory) -> Float[Array, "states people"]:
    """w_s · m_it: what memory and time add to the log-odds of each row."""
    return jnp.sum(population.slopes[:, :, None] * standardised(population, memory), axis=1)


def num_columns(levels: tuple[int, ...], num_numeric: int, num_states: int) -> int:
    """How many columns ``design`` has."""
    return 1 + num_states + num_numeric + sum(levels)


def num_fixed(num_states: int) -> int:
    """How many shared coefficients the row of one state has: one per covariate and per trial after the first."""
    return NUM_COVARIATES + num_states - 2
