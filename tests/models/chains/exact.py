"""The posterior of one person, exactly: its likelihood by the forward algorithm, its moments by quadrature."""

import itertools

import numpy as np

from armwise.data import Trajectories
from tests.models.chains.worlds import Truth, next_state_chances, row_covariates


def log_likelihoods(truth: Truth, history: Trajectories, person: int, theta: np.ndarray) -> np.ndarray:
    """Of one person's weeks, given her first observed state, for many θ ``[draws, 2 × states]``."""
    states, observed = np.asarray(history.states)[[person]], np.asarray(history.observed)[[person]]
    actions, size = np.asarray(history.actions)[person], truth.num_states
    seen = np.flatnonzero(observed[0])
    belief = np.zeros((len(theta), size))
    belief[:, states[0, seen[0]]] = 1
    total = np.zeros(len(theta))
    for week in range(seen[0], seen[-1]):
        covariates = row_covariates(states[:, : week + 1], observed[:, : week + 1], size)[0]
        odds = theta[:, :size] + actions[week] * theta[:, size:] + np.sum(truth.slopes * covariates, axis=1)
        moves = np.stack([next_state_chances(odds[:, row], truth.cuts[row]) for row in range(size)], axis=1)
        belief = np.einsum("ns,nst->nt", belief, moves)
        if observed[0, week + 1]:
            belief = belief * np.eye(size)[states[0, week + 1]]
        total, belief = total + np.log(belief.sum(axis=1)), belief / belief.sum(axis=1, keepdims=True)
    return total


def exact_moments(
    truth: Truth, history: Trajectories, person: int, prior: np.ndarray, near: tuple[np.ndarray, np.ndarray], nodes: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Mean and covariance of θ_i given her weeks, and the log-likelihood of the weeks with θ_i integrated out.

    Gauss and Hermite's nodes in each direction, around a Gaussian ``near`` the posterior (mean and covariance), a
    little wider than it.
    """
    points, log_weights = np.polynomial.hermite_e.hermegauss(nodes)
    lower = np.linalg.cholesky(1.3 * near[1])
    grid = np.array(list(itertools.product(points, repeat=len(prior))))
    theta = near[0] + grid @ lower.T
    log_weight = sum(np.meshgrid(*[np.log(log_weights)] * len(prior), indexing="ij")).ravel()
    away = np.linalg.solve(np.linalg.cholesky(truth.covariance), (theta - prior).T)
    scale = np.linalg.slogdet(lower)[1] - np.linalg.slogdet(truth.covariance)[1] / 2
    # hermegauss integrates against exp(−x²/2): its factor of √(2π) in each direction cancels that of the prior.
    log_weight = log_weight + (grid**2).sum(axis=1) / 2 - (away**2).sum(axis=0) / 2 + scale
    log_weight = log_weight + log_likelihoods(truth, history, person, theta) - len(prior) * np.log(2 * np.pi) / 2
    total = np.logaddexp.reduce(log_weight)
    weight = np.exp(log_weight - total)
    mean = weight @ theta
    return mean, (weight[:, None] * (theta - mean)).T @ (theta - mean), float(total)
