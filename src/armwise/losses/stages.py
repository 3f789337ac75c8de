"""Losses that change with the epochs: one loss first and another then, or numbers that move.

Validation does not change: it is always by the loss that training ends with, so that the best epoch is found across the
stages by one yardstick.
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
    """Train by one loss in the first epochs and by another in the rest: accuracy first, then decisions.

    Adam begins anew with the second loss, whose gradients may be of another size altogether. Each of the two gets
    at least one epoch, so training needs two or more. Neither may change with the epochs itself.

    Args:
        first: to begin with, such as ``MeanSquaredError()``.
        then: to end with, such as ``DecDFL(EntropyMixture(0.1))``; validation is by this one in all epochs.
        share: of the epochs that the first loss gets, between 0 and 1.
        rate: of learning in the rest, as a multiple of the learning rate.

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
        """How many epochs the first loss gets: the share, but at least one for each of the two."""
        if num_epochs < 2:
            raise InvalidInputError(
                f"WarmStart trains by two losses in turn and needs at least 2 epochs, not {num_epochs}. Raise "
                "num_epochs, or train by one of the two losses."
            )
        return min(max(round(self.share * num_epochs), 1), num_epochs - 1)


class _OneOfTwo(Loss):
    """The loss of the stage that training is in."""

    first: Loss
    then: Loss
    is_first: Bool[Array, ""]

    def prepare(self, truth: CohortTruth) -> Any:
        """It is given what ``WarmStart`` prepared."""
        raise NotImplementedError

    def __call__(
        self, predicted_transitions: ArrayLike, prepared: tuple[Any, Any], key: PRNGKeyArray | None = None
    ) -> Float[Array, ""]:
        """One of the two; under ``vmap``, where runs may be in different stages, both are computed."""
        return lax.cond(
            self.is_first,
            lambda predicted: self.first(predicted, prepared[0], key),
            lambda predicted: self.then(predicted, prepared[1], key),
            jnp.asarray(predicted_transitions),
        )


class Annealed(Loss):
    """A loss whose numbers move from those of one to those of another, by equal ratios from epoch to epoch.

    Args:
        start: the loss of the first epoch, such as ``DecDFL(EntropyMixture(1.0))``.
        end: the loss of the last, alike but for its numbers, all above 0; validation is by this one in all epochs.
            It may not change with the epochs itself.

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
        """What the loss prepares; no loss prepares anything that depends on its numbers."""
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
    """Refuse a loss that changes with the epochs inside another one: two schedules over the same epochs."""
    for part, loss in losses.items():
        if type(loss).objective_at_epoch is not Loss.objective_at_epoch:
            raise InvalidInputError(
                f"{part} is {type(loss).__name__}, which changes with the epochs and cannot be part of {name}. "
                "Train in several runs instead, each from the weights of the one before."
            )
