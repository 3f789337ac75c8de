"""Programmes simulated from the formulas of ``models/chains``, in NumPy, with nothing of the code that is tested.

The covariates are recomputed in each week from the list of observed states, not step by step.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from armwise.data import Features, Trajectories
from armwise.models.chains import Population

KEPT = (0.7, 0.9)
NUM_COVARIATES = 5


class Truth(NamedTuple):
    """The parameters of a world; ``slopes`` are of the covariates as they are, not standardised."""

    weights: np.ndarray  # [2 × states, 1 + states + numeric]
    covariance: np.ndarray  # [2 × states, 2 × states]
    slopes: np.ndarray  # [states, 5]
    cuts: np.ndarray  # [states, states − 1]
    first_shares: np.ndarray  # [states]

    @property
    def num_states(self) -> int:
        return len(self.cuts)

    def population(self, last_age: float = 1e6) -> Population:
        """The same world as the library holds it."""
        numeric = self.weights.shape[1] - 1 - self.num_states
        dtype = jnp.zeros(()).dtype
        zeros, ones = np.zeros_like(self.slopes), np.ones_like(self.slopes)
        parts = (self.weights, self.covariance, self.slopes, self.cuts, zeros, ones, self.first_shares)
        more = (np.zeros(numeric), np.ones(numeric), last_age)
        return Population(*(jnp.asarray(part, dtype) for part in (*parts, *more)), ())


class World(NamedTuple):
    """A simulated programme and what nobody sees: each person's θ."""

    features: Features
    history: Trajectories
    theta: np.ndarray  # [people, 2 × states]


def two_states(
    *,
    effects: tuple[float, float] = (0.8, 0.4),
    passive_spread: float = 1.0,
    effect_spread: float = 0.5,
    memory: bool = True,
    drift: bool = True,
    feature_weights: np.ndarray | None = None,
) -> Truth:
    """Engagement with a memory: who has been out for long comes back less often, and everyone tires a little."""
    slopes = np.zeros((2, NUM_COVARIATES))
    if memory:
        slopes[:, 0], slopes[:, 2] = (-0.4, 0.2), (0.6, 0.9)
    if drift:
        slopes[:, 3] = -0.2
    first = np.array([[-0.2, 0.2], [-0.1, 0.1], [0.0, 0.0], [0.0, 0.0]])
    weights = np.concatenate([np.array([[-0.9], [0.7], *([each] for each in effects)]), first], axis=1)
    if feature_weights is not None:
        weights = np.concatenate([weights, feature_weights], axis=1)
    spreads = np.array([passive_spread, 0.8 * passive_spread, effect_spread, 0.8 * effect_spread])
    correlations = np.eye(4)
    correlations[0, 1] = correlations[1, 0] = 0.5
    correlations[0, 2] = correlations[2, 0] = -0.2
    return Truth(weights, correlations * np.outer(spreads, spreads), slopes, np.zeros((2, 1)), np.array([0.4, 0.6]))


def three_states(effect_spread: float = 0.4) -> Truth:
    """Not engaged, half engaged, engaged: a sequential logit with two trials."""
    slopes = np.zeros((3, NUM_COVARIATES))
    slopes[:, 0], slopes[:, 1], slopes[:, 4] = (-0.3, 0.0, 0.2), 0.5, -0.1
    first = np.array([[-0.3, 0.0, 0.3], [-0.2, 0.0, 0.2], [-0.1, 0.0, 0.1], *[[0.0] * 3] * 3])
    weights = np.concatenate([np.array([-0.4, 0.5, 1.2, 0.7, 0.5, 0.2])[:, None], first], axis=1)
    spreads = np.array([0.9, 0.8, 0.9, *[effect_spread] * 3])
    correlations = np.eye(6)
    correlations[:3, :3] += 0.4 * (1 - np.eye(3))
    cuts = np.array([[0.0, 0.8], [0.0, 0.3], [0.0, -0.2]])
    return Truth(weights, correlations * np.outer(spreads, spreads), slopes, cuts, np.array([0.3, 0.3, 0.4]))


def simulate(
    seed: int,
    truth: Truth,
    num_people: int,
    num_weeks: int,
    share_called: float,
    share_unseen: float = 0.0,
    numeric: np.ndarray | None = None,
    useless: np.ndarray | None = None,
) -> World:
    """People, their weeks, and calls by lot; who has an unobserved week is not called in it."""
    rng = np.random.default_rng(seed)
    size, columns = truth.num_states, np.zeros((num_people, 0)) if numeric is None else numeric
    first = rng.choice(size, num_people, p=truth.first_shares)
    design = np.concatenate([np.ones((num_people, 1)), np.eye(size)[first] - truth.first_shares, columns], axis=1)
    theta = design @ truth.weights.T + rng.normal(size=(num_people, 2 * size)) @ np.linalg.cholesky(truth.covariance).T
    observed = rng.random((num_people, num_weeks)) >= share_unseen
    observed[:, 0] = True
    actions = (rng.random((num_people, num_weeks)) < share_called) & observed
    states = np.zeros((num_people, num_weeks), int)
    states[:, 0] = first
    for week in range(num_weeks - 1):
        covariates = row_covariates(states[:, : week + 1], observed[:, : week + 1], size)
        now, people = states[:, week], np.arange(num_people)
        odds = theta[people, now] + actions[:, week] * theta[people, size + now]
        odds = odds + np.sum(truth.slopes[now] * covariates[people, now], axis=1)
        states[:, week + 1] = climb(rng.random(num_people), odds, truth.cuts[now])
    everything = columns if useless is None else np.concatenate([columns, useless], axis=1)
    history = Trajectories.from_arrays(states, actions.astype(int), observed, num_states=size)
    return World(Features(numeric=everything), history, theta)


def next_state_chances(odds: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """The sequential logit, states last: reach a state and climb no further."""
    climbs = 1 / (1 + np.exp(cuts - odds[..., None]))
    reached = np.concatenate([np.ones_like(climbs[..., :1]), np.cumprod(climbs, axis=-1)], axis=-1)
    return reached * np.concatenate([1 - climbs, np.ones_like(climbs[..., :1])], axis=-1)


def climb(draws: np.ndarray, odds: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """The next states, by one uniform draw for each person."""
    below = np.cumsum(next_state_chances(odds, cuts), axis=1)[:, :-1]
    return np.sum(draws[:, None] > below, axis=1)


def row_covariates(states: np.ndarray, observed: np.ndarray, num_states: int) -> np.ndarray:
    """The covariates ``[people, states, 5]`` in the last week of each state's row, from the weeks up to it."""
    return np.stack([_of_row(states, observed, row, num_states) for row in range(num_states)], axis=1)


def _of_row(states: np.ndarray, observed: np.ndarray, row: int, num_states: int) -> np.ndarray:
    weeks = states.shape[1]
    last = np.where(observed, np.arange(weeks), -1).max(axis=1)
    changes = (last < 0) | (states[np.arange(len(states)), last] != row)
    # A change to the row's state is one more observed week at the end.
    states = np.concatenate([states, np.full((len(states), 1), row)], axis=1)
    observed = np.concatenate([observed, changes[:, None]], axis=1)
    later = np.cumsum(observed[:, ::-1], axis=1)[:, ::-1] - observed
    unbroken = np.cumsum((observed & (states != row))[:, ::-1], axis=1)[:, ::-1] == 0
    columns = [np.log(np.sum(observed & unbroken, axis=1))]
    for kept in KEPT:
        weight = observed * kept**later
        columns.append(np.sum(weight * states, axis=1) / (num_states - 1) / np.sum(weight, axis=1))
    first = np.where(observed[:, :weeks].any(axis=1), observed[:, :weeks].argmax(axis=1), weeks - 1)
    age = weeks - 1 - first
    return np.stack([*columns, age / 10, np.log1p(age)], axis=1)
