"""The priors of the shared coefficients, with variances that are learned.

The weights of each column of features have a prior N(0, τ²). For the log-odds without a call, there is one τ for each
column and state. For the effects of calls, there is one τ for each column, shared by all states, because few people are
called. The prior density of τ² favours small values, so that columns that do not help end with τ close to 0 and do no
harm. τ² has a closed form, given the squared coefficients and how many of them the data determine (MacKay 1992).
"""

import numpy as np

from armwise.data import Features
from armwise.models.chains.memory import NUM_COVARIATES, NUM_MEMORY
from armwise.models.chains.newton import Sums
from armwise.models.chains.population import Population, num_fixed

# Prior standard deviations of log-odds, of the average effect of a call, and of the cuts between states.
INTERCEPT_SCALE, EFFECT_SCALE, CUT_SCALE = 3.0, 1.0, 3.0
# The prior density of a column's variance τ² is proportional to τ^(−2 × SPARSITY). Chosen on simulated programmes with
# 44 columns that explain little: 2 was as good as a model without features, 0.5 followed noise.
SPARSITY = 2.0
# Variances start large. With a start of 0.03, an important column in a small programme stayed near 0.
FIRST_VARIANCE, SMALLEST_VARIANCE, LARGEST_VARIANCE = 1.0, 1e-8, 100.0


class Shrinkage:
    """The priors of the shared coefficients: learned for feature columns and memory, fixed for the others."""

    def __init__(self, features: Features, num_states: int):
        groups, fixed = _groups(features, num_states)
        self.groups, self.num_groups = groups, int(groups.max()) + 1
        self.variances = np.where(groups < 0, fixed, FIRST_VARIANCE)

    def step(self, population: Population, sums: Sums) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return weights, slopes and cuts after a Newton step, and learn new variances of their priors."""
        weights = np.asarray(population.weights, dtype=float)
        slopes, cuts = np.asarray(population.slopes, dtype=float), np.asarray(population.cuts, dtype=float)
        shared = np.concatenate([slopes, -cuts[:, 1:]], axis=1)
        now = np.concatenate([weights.ravel(), shared.ravel()])
        gradient = np.concatenate([sums.weight_gradient.ravel(), sums.fixed_gradient.ravel()])
        covariance = np.linalg.inv(_bend(sums) + np.diag(1 / self.variances))
        then = now + covariance @ (gradient - now / self.variances)
        self._learn(then, np.diag(covariance))
        weights, shared = then[: weights.size].reshape(weights.shape), then[weights.size :].reshape(shared.shape)
        fixed = np.concatenate([np.zeros((len(cuts), 1)), -shared[:, slopes.shape[1] :]], axis=1)
        return weights, shared[:, : slopes.shape[1]], fixed

    def _learn(self, values: np.ndarray, variances: np.ndarray) -> None:
        """Learn the variance of each group: its squared coefficients divided by a count.

        The count is how many coefficients the data determine, plus 2 × ``SPARSITY``.
        """
        mine = self.groups >= 0
        groups = self.groups[mine]
        squares = np.bincount(groups, values[mine] ** 2, minlength=self.num_groups)
        determined = np.bincount(groups, 1 - variances[mine] / self.variances[mine], minlength=self.num_groups)
        learned = squares / (np.maximum(determined, 0.0) + 2 * SPARSITY)
        self.variances[mine] = np.clip(learned, SMALLEST_VARIANCE, LARGEST_VARIANCE)[groups]


def _bend(sums: Sums) -> np.ndarray:
    size = sums.weight_gradient.size
    weights = sums.weight_bend.transpose(0, 2, 1, 3).reshape(size, size)
    fixed = sums.fixed_bend.reshape(sums.fixed_gradient.size, -1)
    cross = sums.cross_bend.reshape(size, -1)
    return np.block([[weights, cross], [cross.T, fixed]])


def _groups(features: Features, num_states: int) -> tuple[np.ndarray, np.ndarray]:
    """The group of each shared coefficient (−1 if its prior is fixed), and the variances of the fixed priors."""
    columns = [-1, *[0] * num_states, *range(1, 1 + features.numeric.shape[-1])]
    for level in features.levels:
        columns += [max(columns) + 1] * level
    each = np.array(columns)
    number = int(each.max()) + 1
    # In each column the effects of calls in all states share a group: evidence in one state counts in the others.
    weights = np.stack([np.where(each < 0, -1, each + min(row, num_states) * number) for row in range(2 * num_states)])
    after = (num_states + 1) * number
    memory = [
        after + 2 * state + (place >= NUM_MEMORY) for state in range(num_states) for place in range(NUM_COVARIATES)
    ]
    shared = np.full((num_states, num_fixed(num_states)), -1)
    shared[:, :NUM_COVARIATES] = np.array(memory).reshape(num_states, NUM_COVARIATES)
    scales = [INTERCEPT_SCALE] * num_states + [EFFECT_SCALE] * num_states
    fixed = np.broadcast_to(np.array(scales)[:, None] ** 2, weights.shape)
    return np.concatenate([weights.ravel(), shared.ravel()]), np.concatenate(
        [fixed.ravel(), np.full(shared.size, CUT_SCALE**2)]
    )
