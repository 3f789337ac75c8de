"""The two-stage baselines: losses that measure accuracy only, not decisions (Section 5, "2-Stage")."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from armwise._validation import ArrayLike, check_transitions
from armwise.errors import InvalidInputError
from armwise.losses.loss import Loss, check_prepared
from armwise.losses.truth import CohortTruth, check_same_shape

Transitions = Float[Array, "arms states actions states"]


class MeanSquaredError(Loss):
    """Squared distance between predicted and true transitions, ‖T̂ − T‖², averaged over arms.

    Example:
        >>> import numpy as np
        >>> from armwise.rmab import Problem
        >>> true = np.full((1, 2, 2, 2), 0.5)
        >>> predicted = np.array([[[[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.3, 0.7]]]])
        >>> loss = MeanSquaredError()
        >>> print(loss(predicted, loss.prepare(CohortTruth(true, Problem(), budget=1))).round(4))
        0.08
    """

    def prepare(self, truth: CohortTruth) -> Transitions:
        """The true transitions."""
        return truth.transitions

    def __call__(
        self, predicted_transitions: ArrayLike, prepared: Transitions, key: PRNGKeyArray | None = None
    ) -> Float[Array, ""]:
        """The mean over arms of the summed squared errors."""
        del key
        predicted = check_transitions(predicted_transitions)
        check_same_shape("predicted_transitions", predicted.shape, "true_transitions", prepared.shape)
        return jnp.sum(jnp.square(predicted - prepared)) / predicted.shape[0]


class PreparedCounts(NamedTuple):
    """How often each transition was observed, as floats: ``[arms, states, actions, states]``."""

    counts: Transitions


class NegativeLogLikelihood(Loss):
    """Negative log-likelihood of the observed trajectories under the predicted transitions, averaged over arms.

    A trajectory's likelihood is a product over its steps, so the loss needs only the counts of its transitions.
    """

    def prepare(self, truth: CohortTruth) -> PreparedCounts:
        """The observed counts, which this loss requires."""
        if truth.counts is None:
            raise InvalidInputError(
                "NegativeLogLikelihood needs the observed transition counts: CohortTruth(transitions, problem, budget, "
                "counts=…)."
            )
        return PreparedCounts(truth.counts)

    def __call__(
        self, predicted_transitions: ArrayLike, prepared: PreparedCounts, key: PRNGKeyArray | None = None
    ) -> Float[Array, ""]:
        """The mean over arms of −Σ counts · log T̂. Transitions never observed add 0, even at probability 0."""
        del key
        check_prepared(prepared, PreparedCounts, self)
        predicted = check_transitions(predicted_transitions)
        counts = prepared.counts.astype(predicted.dtype)
        check_same_shape("predicted_transitions", predicted.shape, "counts", counts.shape)
        seen = counts > 0
        return -jnp.sum(counts * jnp.log(jnp.where(seen, predicted, 1))) / predicted.shape[0]
