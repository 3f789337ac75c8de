"""The optimizer of a run: any optax transformation, or a function that makes one from a learning rate."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import optax
from jaxtyping import Array, Float, PyTree

from armwise.errors import InvalidInputError
from armwise.training.config import TrainConfig

Rate = float | Float[Array, ""]
Optimizer: TypeAlias = optax.GradientTransformation | Callable[[Rate], optax.GradientTransformation]


@dataclass(frozen=True)
class AdamW:
    """The default: Adam with weight decay. It is a value, not a closure, so that it compiles once."""

    weight_decay: float

    def __call__(self, learning_rate: Rate) -> optax.GradientTransformation:
        """The transformation at a learning rate."""
        return optax.adamw(learning_rate, weight_decay=self.weight_decay)


def check_optimizer(optimizer: Any, config: TrainConfig) -> Optimizer:
    """The given optimizer, or by default Adam. Refuse what is not an optimizer, and settings that it would ignore."""
    if optimizer is None:
        return AdamW(config.weight_decay)
    try:
        made = optimizer if has_own_rate(optimizer) or not callable(optimizer) else optimizer(config.learning_rate)
    except TypeError:
        made = None  # a function of something else than a learning rate
    if not isinstance(made, optax.GradientTransformation):
        raise InvalidInputError(
            "optimizer must be an optax transformation, such as optax.adam(1e-2), or a function that makes one from a "
            f"learning rate, such as optax.adam, not {optimizer!r}."
        )
    for name in ("learning_rate", "weight_decay"):
        follows = name == "learning_rate" and not has_own_rate(optimizer)
        if getattr(config, name) != getattr(TrainConfig, name) and not follows:
            raise InvalidInputError(
                f"config.{name} = {getattr(config, name):g} is for the default optimizer, but optimizer is given. Put "
                f"it into the optimizer, such as optax.adamw(1e-2, weight_decay=0.1), and leave config.{name} out."
            )
    return made if has_own_rate(optimizer) else optimizer


def has_own_rate(optimizer: Any) -> bool:
    """Whether the optimizer has its own learning rate, so that it is not a function of one."""
    return isinstance(optimizer, optax.GradientTransformation)


def at_rate(optimizer: Optimizer, learning_rate: Rate, share: Rate) -> optax.GradientTransformation:
    """The transformation at a run's learning rate, times the share that the loss sets for an epoch."""
    if not isinstance(optimizer, optax.GradientTransformation):
        return optimizer(learning_rate * share)
    if isinstance(share, float) and share == 1.0:
        return optimizer
    return optax.GradientTransformation(optimizer.init, _scaled(optimizer, share))


def _scaled(optimizer: optax.GradientTransformation, share: Rate) -> Callable[..., tuple[PyTree, PyTree]]:
    """The update times a number. ``optax.chain`` would change the state, whose structure must stay the same."""

    def update(updates: PyTree, state: PyTree, params: PyTree | None = None) -> tuple[PyTree, PyTree]:
        moves, state = optimizer.update(updates, state, params)
        return jax.tree.map(lambda move: share * move, moves), state

    return update


def describe_optimizer(optimizer: Optimizer, learning_rate: Rate, weights: PyTree) -> list[Any]:
    """What the optimizer computes: JAX's program text and its constants.

    Optax transformations are closures, which look different in every process. So their programs are compared: equal
    programs compute the same. A program that calls back into Python contains an address, so it never counts as equal.
    """
    transformation = at_rate(optimizer, learning_rate, 1.0)
    state = jax.eval_shape(transformation.init, weights)
    programs = (
        jax.make_jaxpr(transformation.init)(weights),
        jax.make_jaxpr(transformation.update)(weights, state, weights),
    )
    return [(str(program.jaxpr), program.consts) for program in programs]
