"""How long a call's effect lasts: each person's chain without calls, from her own weeks and everyone's.

Each row of a person's chain is drawn from a Dirichlet distribution that all people share, one for each state. Marginal
likelihood gives its mean and strength. So if people differ a lot, each is judged by her own weeks, and if they are
similar, by the average. If everyone had the same chain, lasting differences between people would look like lasting
effects.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import digamma

from armwise.evaluation.decisions import one_hot
from armwise.evaluation.resampling import BLOCK, NUM_RESAMPLES, Resampled, draw_weights

NUM_ITERATIONS, LONGEST_LEAP, SMALLEST = 40, 100.0, 1e-12
# How many steps the shared distribution is worth at the start, and the limits of each of its parameters.
FIRST_STRENGTH, WEAKEST, STRONGEST = 4.0, 1e-3, 1e4

Counts = Float[np.ndarray, "people states states"]
Chains = Float[np.ndarray, "people states states"]
Prior = Float[np.ndarray, "states states"]
Rewards = Float[np.ndarray, " states"]
Samples = Float[np.ndarray, "samples states"]


def fit_prior(counts: Counts, num_resamples: int = NUM_RESAMPLES, seed: int = 0) -> Resampled:
    """The Dirichlet parameters of each state, ``[states, states]``, for everyone and for each resample of people.

    Args:
        counts: how often each person made each transition without a call.
        num_resamples: of people; with the same seed, the same resamples as in ``Regression``.
        seed: of the resamples.
    """
    rows = [_fit_state(counts[:, state], num_resamples, seed) for state in range(counts.shape[1])]
    prior = np.stack(rows, axis=1)
    return Resampled(prior[0], prior[1:])


class People(NamedTuple):
    """The number of people with each count, in each resample."""

    values: Float[np.ndarray, " counts"]
    number: Float[np.ndarray, "samples counts"]


def _fit_state(
    counts: Float[np.ndarray, "people states"], num_resamples: int, seed: int
) -> Float[np.ndarray, "samples states"]:
    """Fit the Dirichlet parameters of one state by Minka's (2000) fixed point.

    It needs only how many people have each count in each column, and how many have each total. So its cost does not
    grow with the number of different people.
    """
    columns = [_count_people(column, num_resamples, seed) for column in counts.T]
    total = _count_people(counts.sum(axis=1), num_resamples, seed)
    logs = np.log(_first_guess(np.stack([number @ values for values, number in columns], axis=1)))
    for _ in range(NUM_ITERATIONS):
        logs = _leap(lambda each: _improve(each, columns, total), logs)
    return np.exp(logs)


def _improve(logs: Samples, columns: Sequence[People], total: People) -> Samples:
    """One step of the fixed point, in logarithms."""
    prior = np.exp(logs)
    above = np.stack([_rise(column, prior[:, state]) for state, column in enumerate(columns)], axis=1)
    ratio = above / np.maximum(_rise(total, prior.sum(axis=1)), SMALLEST)[:, None]
    return np.clip(logs + np.log(np.maximum(ratio, SMALLEST)), np.log(WEAKEST), np.log(STRONGEST))


def _rise(people: People, parameter: Float[np.ndarray, " samples"]) -> Float[np.ndarray, " samples"]:
    """The sum over people of ψ(count + α) − ψ(α)."""
    rise = digamma(people.values + parameter[:, None]) - digamma(parameter)[:, None]
    return np.sum(people.number * rise, axis=1)


def _leap(improve: Callable[[Samples], Samples], logs: Samples) -> Samples:
    """Extrapolate two fixed-point steps (SQUAREM, Varadhan and Roland 2008), which are slow if people are similar."""
    first = improve(logs)
    second = improve(first)
    change = first - logs
    bend = second - first - change
    norms = [np.linalg.norm(each, axis=1, keepdims=True) for each in (change, bend)]
    length = np.clip(norms[0] / np.maximum(norms[1], SMALLEST), 1.0, LONGEST_LEAP)
    far = logs + 2 * length * change + length**2 * bend
    return improve(np.clip(far, np.log(WEAKEST), np.log(STRONGEST)))


def _first_guess(pooled: Float[np.ndarray, "samples states"]) -> Float[np.ndarray, "samples states"]:
    shares = (pooled + 0.5) / np.sum(pooled + 0.5, axis=1, keepdims=True)
    return FIRST_STRENGTH * shares


def _count_people(counts: Float[np.ndarray, " people"], num_resamples: int, seed: int) -> People:
    values, members = np.unique(counts, return_inverse=True)
    number = np.zeros((num_resamples + 1, len(values)))
    for block, start in enumerate(range(0, len(members), BLOCK)):
        part = members[start : start + BLOCK]
        number += draw_weights(len(part), num_resamples, seed, block).astype(float) @ one_hot(part, len(values))
    return People(values, number)


def posterior_chains(counts: Counts, prior: Prior) -> Chains:
    """Each person's expected chain, given her own transitions."""
    total = counts + prior
    return total / total.sum(axis=-1, keepdims=True)


def values_left_alone(chains: Chains, rewards: Rewards, num_steps: int) -> Float[np.ndarray, "steps people states"]:
    """The expected total reward from each state on, without calls.

    Row ``k`` counts the present step and ``k`` more steps.
    """
    values = [np.broadcast_to(rewards, chains.shape[:2])]
    for _ in range(num_steps - 1):
        values.append(rewards + np.matmul(chains, values[-1][..., None])[..., 0])
    return np.stack(values)
