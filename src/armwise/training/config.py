"""The settings of a training run: one frozen dataclass."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from armwise._validation import check_count, check_rate
from armwise.errors import InvalidInputError

QUALITIES = (None, "decomposed", "joint")
SELECTIONS = ("loss", "quality")
PRECISIONS = ("float32", "float64")


@dataclass(frozen=True)
class TrainConfig:
    """The settings of a training run. The defaults are the paper's where it states them.

    Attributes:
        num_epochs: passes over the training cohorts.
        learning_rate: of Adam, or of an optimizer that is a function of it.
        batch_size: cohorts per gradient step; their losses are averaged.
        weight_decay: at each step, every weight shrinks towards 0 by this number times the learning rate (as in
            AdamW); for the default optimizer only.
        quality: the decision quality to measure on the validation cohorts after each epoch, "decomposed" (exact) or
            "joint" (simulated); None measures none.
        quality_trajectories: simulated runs for each joint quality.
        select_by: how to choose the best epoch on the validation cohorts: the lowest "loss" or the highest "quality".
        validate_every: measure loss and quality on the validation cohorts only once in this many epochs. It must
            divide ``num_epochs``. In the epochs between, both are NaN, and none of them can be the best epoch.
        patience: stop after this many epochs in a row that were not better than the best; None never stops early.
        block_size: epochs between two updates of progress, checkpoints and early stopping. It changes no result.
        precision: "float32", or "float64" (which needs ``jax.config.update("jax_enable_x64", True)``).
    """

    num_epochs: int = 100
    learning_rate: float = 1e-2
    batch_size: int = 1
    weight_decay: float = 0.0
    quality: str | None = None
    quality_trajectories: int = 100
    select_by: str = "loss"
    validate_every: int = 1
    patience: int | None = None
    block_size: int = 10
    precision: str = "float32"

    def __post_init__(self) -> None:
        for name in ("num_epochs", "batch_size", "quality_trajectories", "block_size", "validate_every"):
            check_count(name, getattr(self, name), minimum=1)
        if self.num_epochs % self.validate_every:
            raise InvalidInputError(
                "validate_every must divide num_epochs, so that the last epoch is validated, but "
                f"{self.validate_every} does not divide {self.num_epochs}."
            )
        if self.patience is not None:
            check_count("patience", self.patience, minimum=1)
        check_rate("learning_rate", self.learning_rate, positive=True)
        check_rate("weight_decay", self.weight_decay, positive=False)
        for name, allowed in (("quality", QUALITIES), ("select_by", SELECTIONS), ("precision", PRECISIONS)):
            if getattr(self, name) not in allowed:
                raise InvalidInputError(
                    f"{name} must be one of {', '.join(map(repr, allowed))}, not {getattr(self, name)!r}."
                )
        if self.select_by == "quality" and self.quality is None:
            raise InvalidInputError(
                'select_by="quality" needs a quality to select by: set quality to "decomposed" or "joint".'
            )

    @property
    def dtype(self) -> jnp.dtype:
        """The floating type of all arrays in training."""
        if self.precision == "float64" and not jax.config.read("jax_enable_x64"):
            raise InvalidInputError(
                'precision="float64" needs JAX to allow it: jax.config.update("jax_enable_x64", True), at the start.'
            )
        return jnp.dtype(self.precision)
