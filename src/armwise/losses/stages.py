"""Losses that change with the epochs: one loss and then another, or numbers that move gradually.

Validation always uses the loss that training ends with, so that epochs of all stages are compared by one measure.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from armwise._validation import ArrayLike, as_float_array, is_concrete
from armwise.errors import InvalidInputError
from armwise.losses.loss import EpochObjective, Loss
from armwise.losses.truth import CohortTruth


class WarmStart(Loss):
    """Train with one loss in the first epochs and with another in the rest: accuracy first, then decisions.

    The optimiser is reset when the second loss begins, because its gradients may have a very different size. Each loss
    gets at least one epoch, so training needs two or more. Neither loss may itself change with the epochs.

    Args:
        first: the loss to begin with, such as ``MeanSquaredError()``.
        then: the loss to end with, such as ``DecDFL(EntropyMixture(0.1))``; it is used for validation in all epochs.
        share: the share of epochs for the first loss, between 0 and 1.
        rate: in the remaining epochs, the learning rate is multiplied by this.

    Example:
        >>> from armwise.losses import MeanSquaredError, PriceDFL
        >>> loss = WarmStart(MeanSquaredError(), PriceDFL(0.1), share=0.3, rate=0.1)
        >>> [bool(loss.objective_at_epoch(jnp.asarray(epoch), 10).begins) for epoch in (0, 2, 3, 9)]
        [False, False, True, False]
    """

    first: Loss
    then: Loss
    share: float = eqx.field(static=True, default=0.5)
    rate: float = eqx.field(static=True, default=1.0)

    def __check_init__(self) -> None:
        if not 0 < self.share < 1:
            raise InvalidInputError(
                f"share must be above 0 and below 1, not {self.share}; without stages, use one loss."
            )
        if not 0 < self.rate < float("inf"):
            raise InvalidInputError(f"rate must be a finite number above 0, not {self.rate}.")
        _check_not_staged("WarmStart", first=self.first, then=self.then)

    def prepare(self, truth: CohortTruth) -> tuple[Any, Any]:
        """What each of the two prepares."""
        return self.first.prepare(truth), self.then.prepare(truth)

    def __call__(
        self, predicted_transitions: ArrayLike, prepared: tuple[Any, Any], key: PRNGKeyArray | None = None
    ) -> Float[Array, ""]:
        """The loss that training ends with."""
        return self.then(predicted_transitions, prepared[1], key)

    def objective_at_epoch(self, epoch: Int[Array, ""], num_epochs: int) -> EpochObjective:
        """See ``Loss``."""
        switch = self._first_epochs(num_epochs)
        is_first = epoch < switch
        rate = jnp.where(is_first, 1.0, self.rate)
        return EpochObjective(_OneOfTwo(self.first, self.then, is_first), rate, begins=epoch == switch)

    def _first_epochs(self, num_epochs: int) -> int:
        """How many epochs the first loss gets: its share, with at least one epoch for each loss."""
        if num_epochs < 2:
            raise InvalidInputError(
                f"WarmStart trains by two losses in turn and needs at least 2 epochs, not {num_epochs}. Raise "
                "num_epochs, or train by one of the two losses."
            )
        return min(max(round(self.share * num_epochs), 1), num_epochs - 1)


class _OneOfTwo(Loss):
    """The loss of the current stage of training."""

    first: Loss
    then: Loss
    is_first: Bool[Array, ""]

    def prepare(self, truth: CohortTruth) -> Any:
        """Not used: this loss receives what ``WarmStart`` prepared."""
        raise NotImplementedError

    def __call__(
        self, predicted_transitions: ArrayLike, prepared: tuple[Any, Any], key: PRNGKeyArray | None = None
    ) -> Float[Array, ""]:
        """The value of one of the two losses. Under ``vmap`` both are computed: runs may be in different stages."""
        return lax.cond(
            self.is_first,
            lambda predicted: self.first(predicted, prepared[0], key),
            lambda predicted: self.then(predicted, prepared[1], key),
            jnp.asarray(predicted_transitions),
        )


class Annealed(Loss):
    """A loss whose numbers, such as the temperature, change by a constant factor from epoch to epoch.

    Args:
        start: the loss of the first epoch, such as ``DecDFL(EntropyMixture(1.0))``.
        end: the loss of the last epoch. It may differ from ``start`` only in its numbers. All numbers must be above 0.
            It is used for validation in all epochs and may not itself change with the epochs.

    Example:
        >>> from armwise.losses import PriceDFL
        >>> loss = Annealed(PriceDFL(1.0), PriceDFL(0.01))
        >>> [round(float(loss.objective_at_epoch(jnp.asarray(epoch), 5).loss.temperature), 3) for epoch in range(5)]
        [1.0, 0.316, 0.1, 0.032, 0.01]
    """

    start: Loss
    end: Loss

    def __check_init__(self) -> None:
        _check_not_staged("Annealed", start=self.start, end=self.end)
        shapes: list[Any] = [jax.tree.structure(loss) for loss in (self.start, self.end)]
        if shapes[0] != shapes[1]:
            raise InvalidInputError("start and end must be the same loss but for its numbers, such as the temperature.")
        for number in jax.tree.leaves((self.start, self.end)):
            values = as_float_array("number", number)
            if is_concrete(values) and not bool(jnp.all(values > 0)):
                raise InvalidInputError(f"numbers move by ratios, so all must be above 0, not {number}.")

    def prepare(self, truth: CohortTruth) -> Any:
        """What ``end`` prepares. It serves both losses: no loss prepares anything that depends on its numbers."""
        return self.end.prepare(truth)

    def __call__(
        self, predicted_transitions: ArrayLike, prepared: Any, key: PRNGKeyArray | None = None
    ) -> Float[Array, ""]:
        """The loss that training ends with."""
        return self.end(predicted_transitions, prepared, key)

    def objective_at_epoch(self, epoch: Int[Array, ""], num_epochs: int) -> EpochObjective:
        """See ``Loss``."""
        way = epoch / max(1, num_epochs - 1)

        def between(start: ArrayLike, end: ArrayLike) -> Float[Array, "..."]:
            first, last = as_float_array("start", start), as_float_array("end", end)  # a ratio of integers is a float
            return first * (last / first) ** way.astype(first.dtype)

        return EpochObjective(jax.tree.map(between, self.start, self.end))


def _check_not_staged(name: str, **losses: Loss) -> None:
    """Refuse a loss that changes with the epochs inside another such loss: that would be two schedules at once."""
    for part, loss in losses.items():
        if type(loss).objective_at_epoch is not Loss.objective_at_epoch:
            raise InvalidInputError(
                f"{part} is {type(loss).__name__}, which changes with the epochs and cannot be part of {name}. "
                "Train in several runs instead, each from the weights of the one before."
            )
