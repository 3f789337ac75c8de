"""What can be known of a person from her weeks alone, where the whole population is known.

A large sample of people from the true population stands for what anyone could know beforehand. Each of them counts by
the probability that she would have lived the weeks that were seen (importance sampling). Their average chain is the
exact posterior mean, up to the error of the sample. No model that knows a person's weeks and not her features can be
closer to her chain on average.
"""

import numpy as np
from jaxtyping import Float

from armwise.data import Trajectories, simulated_programme, transition_counts
from armwise.data.domains.programme import stationary_engaged

NUM_SAMPLED, SEED = 100_000, 10_000
# People at a time: weights of everyone against the whole sample would take a gigabyte.
BLOCK = 256

Chains = Float[np.ndarray, "people 2 2 2"]


def sample_population() -> Chains:
    """Chains of people of the default world."""
    return simulated_programme(SEED, num_people=NUM_SAMPLED, num_weeks=2).transitions


def exact_chains(history: Trajectories, sampled: Chains) -> Chains:
    """The mean of the chains that people may have, given their weeks; without unobserved weeks and decline.

    Args:
        history: of the people, each first seen in a state of her own long run.
        sampled: chains of people drawn from their population.
    """
    counts = np.asarray(transition_counts(history), dtype=float).reshape(len(history), -1)
    first = np.asarray(history.states)[:, 0]
    engaged = stationary_engaged(sampled[:, :, 0, 1])
    log_first, log_moves = np.log([1 - engaged, engaged]), np.log(sampled).reshape(len(sampled), -1).T
    means = []
    for start in range(0, len(first), BLOCK):
        rows = slice(start, start + BLOCK)
        log_weights = counts[rows] @ log_moves + log_first[first[rows]]
        weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
        means.append(np.einsum("ps,sijk->pijk", weights / weights.sum(axis=1, keepdims=True), sampled))
    return np.concatenate(means)
