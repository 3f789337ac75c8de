"""The interface of all losses: prepared once from the true data of a cohort, then called with each prediction.

Every loss is an average over arms, so that a weighted sum means the same for cohorts of any size. Every loss is
minimised: decision-focused losses are the negative of a return.
"""

import abc
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.typing
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from armwise._validation import ArrayLike, as_float_array, check_finite
from armwise.errors import InvalidInputError
from armwise.losses.truth import CohortTruth


class EpochObjective(NamedTuple):
    """What an epoch minimises; by default, the loss itself.

    Attributes:
        loss: to minimise in this epoch.
        rate: factor by which the learning rate is multiplied.
        begins: whether a new stage begins, so that the optimiser is reset.
    """

    loss: "Loss"
    rate: float | Float[Array, ""] = 1.0
    begins: bool | Bool[Array, ""] = False


def _takes_one_truth(prepare: Callable[[Any, CohortTruth], Any]) -> Callable[[Any, CohortTruth], Any]:
    """The ``prepare`` method, with an error for calls that pass the truth as several arguments."""

    @functools.wraps(prepare)
    def checked(self: Any, truth: Any = None, *others: Any, **named: Any) -> Any:
        if others or named or not isinstance(truth, CohortTruth):
            raise InvalidInputError(
                "prepare takes one CohortTruth: loss.prepare(CohortTruth(transitions, problem, budget=1)), with counts "
                "and ids as further arguments of CohortTruth."
            )
        return prepare(self, truth)

    return checked


class Loss(eqx.Module):
    """A measure of how bad predicted transitions are, for one cohort; ``vmap`` over cohorts.

    Losses add up and can be weighted: ``0.9 * DecDFL(mixture) + 0.1 * NegativeLogLikelihood()``. A new loss defines
    ``prepare`` and the call.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "prepare" in vars(cls):
            cls.prepare = _takes_one_truth(cls.prepare)  # type: ignore[method-assign,assignment]

    @abc.abstractmethod
    def prepare(self, truth: CohortTruth) -> Any:
        """Compute once everything that does not depend on the predictions.

        Args:
            truth: the true data of the cohort.

        Returns:
            A pytree to pass to the loss; it can be stacked over cohorts.
        """

    @abc.abstractmethod
    def __call__(
        self, predicted_transitions: ArrayLike, prepared: Any, key: PRNGKeyArray | None = None
    ) -> Float[Array, ""]:
        """The loss of a prediction, to be minimised.

        Args:
            predicted_transitions: ``[arms, states, actions, states]``.
            prepared: what ``prepare`` returned for these arms.
            key: a random key; only losses that simulate need it.
        """

    def objective_at_epoch(self, epoch: Int[Array, ""], num_epochs: int) -> EpochObjective:
        """The objective of an epoch, counted from 0. Validation always uses the loss itself."""
        del epoch, num_epochs
        return EpochObjective(self)

    def compile_ahead(self, num_states: int, num_actions: int, dtype: jnp.dtype) -> None:
        """Compile code that is not JAX, for cohorts of this size. By default, compile that of the losses inside.

        ``prepare`` does this too, except inside ``jit``: tracing must not compile anything as a side effect.
        """
        for part in jax.tree.leaves(self, is_leaf=lambda node: isinstance(node, Loss) and node is not self):
            if isinstance(part, Loss):
                part.compile_ahead(num_states, num_actions, dtype)

    def __mul__(self, weight: jax.typing.ArrayLike) -> "WeightedSum":
        """The loss times a number."""
        return WeightedSum((self,), (weight,))

    __rmul__ = __mul__

    def __add__(self, other: "Loss") -> "WeightedSum":
        """The sum of two losses."""
        if not isinstance(other, Loss):
            return NotImplemented
        parts = [part if isinstance(part, WeightedSum) else WeightedSum((part,), (1.0,)) for part in (self, other)]
        return WeightedSum(parts[0].losses + parts[1].losses, parts[0].weights + parts[1].weights)


class WeightedSum(Loss):
    """Several losses at once, each with its weight; written ``0.9 * first + 0.1 * second``."""

    losses: tuple[Loss, ...]
    weights: tuple[jax.typing.ArrayLike, ...]

    def __check_init__(self) -> None:
        if len(self.losses) != len(self.weights):
            raise InvalidInputError(f"{len(self.losses)} losses need as many weights, not {len(self.weights)}.")
        for weight in self.weights:
            check_finite("weight", as_float_array("weight", weight))
        for loss in self.losses:
            if type(loss).objective_at_epoch is not Loss.objective_at_epoch:
                name = type(loss).__name__
                raise InvalidInputError(
                    f"{name} changes with the epochs and cannot be part of a sum: put the sum into it."
                )

    def prepare(self, truth: CohortTruth) -> tuple[Any, ...]:
        """What each part prepares."""
        return tuple(loss.prepare(truth) for loss in self.losses)

    def __call__(
        self, predicted_transitions: ArrayLike, prepared: tuple[Any, ...], key: PRNGKeyArray | None = None
    ) -> Float[Array, ""]:
        """The weighted sum; each part draws its own random numbers."""
        total: Any = 0.0
        for number, (loss, weight, part) in enumerate(zip(self.losses, self.weights, prepared, strict=True)):
            own_key = None if key is None else jax.random.fold_in(key, number)
            total = total + weight * loss(predicted_transitions, part, own_key)
        return total

    def __mul__(self, weight: jax.typing.ArrayLike) -> "WeightedSum":
        """All weights times a number."""
        return WeightedSum(self.losses, tuple(jnp.multiply(weight, own) for own in self.weights))

    __rmul__ = __mul__


def check_prepared(prepared: object, expected: type, loss: Loss) -> None:
    """Refuse what another loss prepared."""
    if not isinstance(prepared, expected):
        name = type(loss).__name__
        raise InvalidInputError(f"{name} needs what {name}.prepare returned, not {type(prepared).__name__}.")
