"""Learn what the people of a programme have in common, by maximum likelihood on everyone's weeks.

Nobody's θ_i is known, so the likelihood averages over θ_i. The fit raises a lower bound of it in iterations
(variational EM), in which a Gaussian replaces each person's posterior. One pass over all weeks gives each person's
``Evidence``. The evidence gives the shared coefficients (``newton.py``, ``shrinkage.py``), the spread between people
(``spread.py``) and each person's posterior.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from armwise.data import Features, Trajectories
from armwise.errors import InvalidInputError
from armwise.models.chains.model import ChainModel
from armwise.models.chains.newton import People, add_up, newton_sums
from armwise.models.chains.population import Block, Population, design, first_states
from armwise.models.chains.posterior import blocks, combine, person_evidence
from armwise.models.chains.shrinkage import Shrinkage
from armwise.models.chains.spread import scored, spread_sums
from armwise.models.chains.start import first_population
from armwise.models.chains.weeks import Evidence, evidence

# The most people to learn from: more would add almost nothing about what people have in common.
MAX_PEOPLE = 100_000
# The fit ends when no parameter changes by more than the tolerance, in log-odds.
NUM_TURNS, FEWEST_TURNS, TOLERANCE = 60, 6, 2e-3
# Steps of the spread in each turn of the fit.
NUM_SCORINGS = 2


def fit_chains(
    features: Features,
    history: Trajectories,
    *,
    seed: int = 0,
    max_people: int = MAX_PEOPLE,
    advance: Callable[[], None] = lambda: None,
) -> ChainModel:
    """Learn the population that these people come from.

    Args:
        features: of each person.
        history: her weeks; row i is the person of row i of the features.
        seed: of the random choice of people to learn from, if there are more than ``max_people``.
        max_people: the most people to learn from.
        advance: called after each turn, for a progress bar.
    """
    _check(history)
    rows = _sample(history, seed, max_people)
    # By default accelerators multiply with fewer digits. Covariances could then lose their Cholesky factors.
    with jax.default_matmul_precision("highest"):
        fit = _Fit(features[rows], history[rows])
        for turn in range(NUM_TURNS):
            change = fit.turn()
            advance()
            if turn >= FEWEST_TURNS and change < TOLERANCE:
                break
    return ChainModel(fit.population)


def _check(history: Trajectories) -> None:
    if history.num_actions != 2:
        raise InvalidInputError(
            f"A model of chains knows two actions, leave alone and call, not {history.num_actions}."
        )
    if history.num_states < 2:
        raise InvalidInputError("A model of chains needs at least two states.")
    observed = np.asarray(history.observed)
    if not (observed[:, :-1] & observed[:, 1:]).any():
        raise InvalidInputError(
            "Nobody in the history was observed in two steps in a row, so that nothing tells how people move."
        )


def _sample(history: Trajectories, seed: int, max_people: int) -> np.ndarray:
    seen = np.flatnonzero(np.asarray(history.observed).sum(axis=1) > 1)
    if len(seen) <= max_people:
        return seen
    return np.sort(np.random.default_rng([seed, 2]).choice(seen, max_people, replace=False))


class _Fit:
    """The state of a fit: shared parameters, everyone's present posterior, and the variances of the priors."""

    def __init__(self, features: Features, history: Trajectories):
        self.population = first_population(features, history)
        self.people = [self._first(*each) for each in blocks(features, history)]
        self.shrinkage = Shrinkage(features, history.num_states)

    def _first(self, rows: np.ndarray, features: Features, block: Block, gaps: bool) -> People:
        population = self.population
        columns = design(population, features, first_states(block))
        covariance = jnp.broadcast_to(population.covariance[:, :, None], (*population.covariance.shape, len(columns)))
        real = (jnp.arange(len(columns)) < len(rows)).astype(columns.dtype)
        return People(columns, block, gaps, population.weights @ columns.T, covariance, real)

    def turn(self) -> float:
        """One pass over all weeks, then a step of all parameters. Returns how much the parameters changed."""
        before = self.population
        found = [_pass(before, each.block, each.means, each.covariances, each.gaps) for each in self.people]
        self._step(
            add_up(newton_sums(self.population, each, own) for each, own in zip(self.people, found, strict=True))
        )
        for _ in range(NUM_SCORINGS):
            self._score(found)
        updated = [_update(self.population, each, own) for each, own in zip(self.people, found, strict=True)]
        self.people = [each._replace(means=m, covariances=c) for each, (m, c) in zip(self.people, updated, strict=True)]
        return _change(before, self.population)

    def _step(self, sums: Any) -> None:
        """Take a Newton step of the shared coefficients."""
        parts = self.shrinkage.step(self.population, sums)
        self.population = _replaced(self.population, ("weights", "slopes", "cuts"), parts)

    def _score(self, found: list[Evidence]) -> None:
        """Take a step of the spread between people."""
        parts = (
            spread_sums(self.population, *_own(self.population, people, own), people.real)
            for people, own in zip(self.people, found, strict=True)
        )
        covariance = scored(np.asarray(self.population.covariance, dtype=float), add_up(parts))
        self.population = _replaced(self.population, ("covariance",), (covariance,))


def _replaced(population: Population, names: tuple[str, ...], values: tuple[np.ndarray, ...]) -> Population:
    dtype = population.weights.dtype
    new = tuple(jnp.asarray(value, dtype) for value in values)
    return eqx.tree_at(lambda each: tuple(getattr(each, name) for name in names), population, new)


@eqx.filter_jit
def _pass(population: Population, block: Block, means: Any, covariances: Any, gaps: bool) -> Evidence:
    return evidence(population, block, means, covariances, gaps)


@eqx.filter_jit
def _update(population: Population, people: People, found: Evidence) -> tuple[Array, Array]:
    return combine(population, population.weights @ people.design.T, *person_evidence(population, found))


@eqx.filter_jit
def _own(population: Population, people: People, found: Evidence) -> tuple[Array, Array, Array]:
    """The means of priors, and the evidence about each person alone."""
    return (population.weights @ people.design.T, *person_evidence(population, found))


def _change(before: Population, after: Population) -> float:
    """The largest change of a parameter: weights, shared slopes, and standard deviations between people."""
    parts = [(each.weights, each.slopes, jnp.sqrt(jnp.diag(each.covariance))) for each in (before, after)]
    return max(float(jnp.max(jnp.abs(old - new))) for old, new in zip(*parts, strict=True))
