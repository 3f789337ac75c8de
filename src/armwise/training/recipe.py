"""The recipe that armwise recommends where no one has reason to choose another (``docs/choosing-a-loss.md``).

``PriceDFL`` beside some weight of the squared error: decisions where the data teach them, accuracy where they do not.
How much of which depends on the programme, and no rule of thumb tells it, so a few weights and learning rates are tried
on a few random splits, and the pair whose calls are worth most on validation cohorts, on average, is taken.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import PRNGKeyArray

from armwise.data import Cohorts, SplitNumbers
from armwise.losses import Loss, MeanSquaredError, PriceDFL
from armwise.rmab import Problem
from armwise.training.config import TrainConfig
from armwise.training.many import TrainedRuns, train_many

TEMPERATURE = 0.1
ACCURACY_WEIGHTS = (0.0, 1.0, 3.0, 10.0, 30.0)
LEARNING_RATES = (1e-2, 1e-3)
RECOMMENDED_CONFIG = TrainConfig(quality="joint", quality_trajectories=20, select_by="quality", patience=20)


class Recommended(NamedTuple):
    """What the recipe has come to.

    Attributes:
        model: of the setting that was chosen, trained on the first split.
        loss: that was chosen.
        config: that was chosen.
        validation_quality: the chosen setting's joint quality on the validation cohorts, averaged over the splits.
        runs: everything that was tried.
        run: which of the runs the model is.
    """

    model: Any
    loss: Loss
    config: TrainConfig
    validation_quality: float
    runs: TrainedRuns
    run: int


def recommended_loss(accuracy_weight: float = 3.0) -> Loss:
    """``PriceDFL`` and so much of the squared error."""
    return PriceDFL(TEMPERATURE) + accuracy_weight * MeanSquaredError()


def train_recommended(
    key: PRNGKeyArray,
    cohorts: Cohorts,
    model: Callable[[PRNGKeyArray], Any],
    config: TrainConfig = RECOMMENDED_CONFIG,
    *,
    splits: Sequence[SplitNumbers],
    problem: Problem | None = None,
    accuracy_weights: Sequence[float] = ACCURACY_WEIGHTS,
    learning_rates: Sequence[float] = LEARNING_RATES,
    **options: Any,
) -> Recommended:
    """Train by the recommended recipe: try a few settings, keep the one whose calls are worth most.

    Args:
        key: a JAX random key.
        cohorts: all of them.
        model: makes a model with random first weights from a key.
        config: the settings of every run; it must measure a quality to choose by.
        splits: from ``split_numbers``; the more, the surer the choice. The first one trains the model that is kept.
        problem: rewards, discount, first states and costs.
        accuracy_weights: of the squared error beside ``PriceDFL``.
        learning_rates: of Adam.
        **options: ``chunk_size``, ``folder`` and ``progress`` of ``train_many``.
    """
    losses = [recommended_loss(weight) for weight in accuracy_weights]
    rates = list(learning_rates)
    runs = train_many(
        key, cohorts, losses, model, config, splits=splits, learning_rates=rates, problem=problem, **options
    )
    run = int(runs.select("quality")[0, 0])
    same = (runs.setting.loss == runs.setting.loss[run]) & (
        runs.setting.learning_rate == runs.setting.learning_rate[run]
    )
    chosen = dataclasses.replace(config, learning_rate=float(runs.setting.learning_rate[run]))
    quality = float(np.mean(runs.at_best("quality")[same]))
    return Recommended(runs.model(run), losses[int(runs.setting.loss[run])], chosen, quality, runs, run)
