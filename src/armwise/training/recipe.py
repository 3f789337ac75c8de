"""The training recipe that armwise recommends by default (``docs/choosing-a-loss.md``).

The loss is ``PriceDFL`` plus a weight times the squared error: the first teaches decisions where the data allow it, the
second teaches accuracy elsewhere. The right weight depends on the programme, and no rule of thumb gives it. So the
recipe tries a few weights and learning rates on a few random splits. It keeps the settings whose calls on validation
cohorts are worth as much as the best one's, within a standard error. Of these it takes the one with the most weight on
accuracy, because a small lead of a less cautious loss may be luck. Finally it averages the models of the splits. Each
learned from other cohorts, so the average has learned from nearly all of them and usually errs less than one model.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray

from armwise.data import Cohorts, Domain, SplitNumbers
from armwise.errors import ConvergenceError, InvalidInputError
from armwise.evaluation.model_quality import with_problem
from armwise.losses import Loss, MeanSquaredError, PriceDFL
from armwise.models import average_models
from armwise.rmab import Problem
from armwise.training.config import TrainConfig
from armwise.training.many import TrainedRuns, train_many
from armwise.training.single import why_not_finite

TEMPERATURE = 0.1
ACCURACY_WEIGHTS = (0.0, 1.0, 3.0, 10.0, 30.0)
LEARNING_RATES = (1e-2, 1e-3)
RECOMMENDED_CONFIG = TrainConfig(quality="joint", quality_trajectories=20, select_by="quality", patience=20)


class Recommended(NamedTuple):
    """The result of the recipe.

    Attributes:
        model: the average of the chosen setting's models, one per split.
        loss: the chosen loss.
        config: the settings with the chosen learning rate.
        validation_quality: the chosen setting's quality on the validation cohorts, averaged over the splits.
        runs: all runs that were tried.
        members: the runs that are averaged, one per split on which training did not diverge.
    """

    model: Any
    loss: Loss
    config: TrainConfig
    validation_quality: float
    runs: TrainedRuns
    members: tuple[int, ...]


def recommended_loss(accuracy_weight: float = 3.0) -> Loss:
    """``PriceDFL`` plus the squared error times a weight."""
    return PriceDFL(TEMPERATURE) + accuracy_weight * MeanSquaredError()


def train_recommended(
    key: PRNGKeyArray,
    cohorts: Cohorts | Domain,
    model: Callable[[PRNGKeyArray], Any],
    config: TrainConfig = RECOMMENDED_CONFIG,
    *,
    splits: Sequence[SplitNumbers],
    problem: Problem | None = None,
    accuracy_weights: Sequence[float] = ACCURACY_WEIGHTS,
    learning_rates: Sequence[float] = LEARNING_RATES,
    **options: Any,
) -> Recommended:
    """Train by the recommended recipe: try a few settings, choose one by its calls, average its models.

    Args:
        key: a JAX random key.
        cohorts: all of them; or a ``Domain``, which brings its problem.
        model: makes a model with random first weights from a key.
        config: the settings of every run. It must measure a quality to choose by. ``learning_rates`` replaces its
            learning rate.
        splits: a few, from ``split_numbers``. More splits give a surer choice and a better average.
        problem: rewards, discount, first states and costs, such as ``domain.problem``; not needed with a ``Domain``.
        accuracy_weights: the weights of the squared error to try; ``PriceDFL`` has weight 1.
        learning_rates: of Adam.
        **options: ``optimizer``, ``chunk_size``, ``folder`` and ``progress`` of ``train_many``.
    """
    losses = [recommended_loss(weight) for weight in sorted(accuracy_weights)]
    rates = list(learning_rates)
    return train_averaged(
        key, cohorts, losses, model, config, splits=splits, learning_rates=rates, problem=problem, **options
    )


def train_averaged(
    key: PRNGKeyArray,
    cohorts: Cohorts | Domain,
    losses: Sequence[Loss],
    model: Callable[[PRNGKeyArray], Any],
    config: TrainConfig,
    **options: Any,
) -> Recommended:
    """Train on several splits, choose a loss and a learning rate by ``choose_cautiously``, and average over the splits.

    Args:
        key: a JAX random key.
        cohorts: all of them; or a ``Domain``, which brings its problem.
        losses: to choose among. They may differ only in their numbers, and the most cautious comes last.
        model: makes a model with random first weights from a key.
        config: the settings of every run; it must measure a quality to choose by.
        **options: ``splits``, ``learning_rates``, ``problem`` and the others of ``train_many``.
    """
    if config.quality is None:
        raise InvalidInputError('config must measure a quality to choose by: TrainConfig(quality="joint", …).')
    if options.get("num_initialisations", 1) != 1:
        raise InvalidInputError("The recipe takes one initialisation per split. Leave num_initialisations out.")
    everyone, problem = with_problem(cohorts, options.pop("problem", None))
    _refuse_calls_without_effect(everyone)
    runs = train_many(key, everyone, losses, model, config, problem=problem, **options)
    quality, table = runs.at_best("quality"), runs_by_setting(runs)
    if not np.isfinite(quality).any():
        rates = np.unique(runs.setting.learning_rate).tolist()
        raise ConvergenceError(f"Not one run had a finite validation quality: {why_not_finite('quality', rates)}")
    chosen = table[:, choose_cautiously(quality[table], runs.setting.loss[table[0]])]
    members = tuple(chosen[np.isfinite(quality[chosen])].tolist())
    first = members[0]
    return Recommended(
        model=average_models([runs.model(run) for run in members]),
        loss=losses[int(runs.setting.loss[first])],
        config=dataclasses.replace(config, learning_rate=float(runs.setting.learning_rate[first])),
        validation_quality=float(quality[list(members)].mean()),
        runs=runs,
        members=members,
    )


def _refuse_calls_without_effect(cohorts: Cohorts) -> None:
    """Refuse, before training, cohorts in which calls change nothing: no setting would be better than another."""
    true = np.asarray(cohorts.true_transitions)
    if np.ptp(true, axis=-2).max() <= 10 * np.finfo(np.float32).eps:
        raise ConvergenceError(
            "There is nothing to choose by: no call changes anything in the validation cohorts, nor in any other. All "
            "transitions are the same with a call and without. Check that calls were recorded."
        )


def runs_by_setting(runs: TrainedRuns) -> Int[np.ndarray, "splits settings"]:
    """The numbers of the runs as a table: a row per split, a column per learning rate and loss.

    It assumes one initialisation per split.
    """
    return np.arange(len(runs.best_epoch)).reshape(int(runs.setting.split.max()) + 1, -1)


def choose_cautiously(quality: Float[np.ndarray, "splits settings"], caution: Int[np.ndarray, " settings"]) -> int:
    """The most cautious setting whose quality, paired by split, is within a standard error of the best one's.

    The quality is that of each run's best epoch, which favours the settings that vary most. With one split there is no
    standard error, so the best setting is taken. A setting that fails on more splits than another is not taken.

    Args:
        quality: on validation cohorts; NaN where training diverged. At least one must be finite.
        caution: higher is more cautious. Among equally cautious settings, the one with the better quality is taken.
    """
    finite = np.isfinite(quality)
    candidates = np.flatnonzero(finite.sum(axis=0) == finite.sum(axis=0).max()).tolist()
    means = {setting: quality[finite[:, setting], setting].mean() for setting in candidates}
    best = max(candidates, key=lambda setting: (means[setting], caution[setting]))
    near = [each for each in candidates if each == best or _is_little(quality[:, best] - quality[:, each])]
    return max(near, key=lambda setting: (caution[setting], means[setting]))


def _is_little(behind: Float[np.ndarray, " splits"]) -> bool:
    known = behind[np.isfinite(behind)]
    return len(known) > 1 and bool(known.mean() <= known.std(ddof=1) / len(known) ** 0.5)
