"""Train one model: the function ``train``."""

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, PRNGKeyArray

from armwise._validation import check_key
from armwise.data import Cohorts, Domain, Splits
from armwise.errors import ConvergenceError, InvalidInputError
from armwise.evaluation.model_quality import with_problem
from armwise.losses import Loss
from armwise.rmab import Problem
from armwise.training.checkpoint import Checkpoints, fingerprint
from armwise.training.config import TrainConfig
from armwise.training.engine import cast, prepare_cohorts, progress_bar, run_all
from armwise.training.optimizer import Optimizer, check_optimizer, describe_optimizer, has_own_rate
from armwise.training.run import History, Run, State, first_state


class Trained(NamedTuple):
    """The result of a training run.

    Attributes:
        model: with the weights of the best epoch.
        best_epoch: its number, counted from 1.
        history: losses and, if asked for, validation quality after each epoch, each ``[epochs]``.
        stopped_early: whether patience ran out before the last epoch.
    """

    model: Any
    best_epoch: int
    history: History
    stopped_early: bool


def train(
    key: PRNGKeyArray,
    cohorts: Cohorts | Splits | Domain,
    loss: Loss,
    model: Any,
    config: TrainConfig | None = None,
    *,
    problem: Problem | None = None,
    optimizer: Optimizer | None = None,
    validation: Cohorts | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Trained:
    """Train a predictor of transitions by gradient descent on a loss (Section 5, "Hyperparameter Tuning").

    A pure function of its arguments. Each step takes ``config.batch_size`` cohorts, in a new random order each epoch.
    The result is the model of the epoch that was best on the validation cohorts. Blocks of ``config.block_size`` epochs
    run as one compiled program.

    Args:
        key: a JAX random key, for the order of the cohorts and for losses that simulate.
        cohorts: to learn from; or ``Splits``, to learn from its training cohorts and validate on its validation
            cohorts (its test cohorts are not used); or a ``Domain``, to learn from all its cohorts.
        loss: to minimise.
        model: any Equinox module from ``Features`` to transitions ``[arms, states, actions, states]``, such as
            ``Linear``, with its first weights.
        config: the settings.
        problem: rewards, discount, first states and costs, such as ``domain.problem``; not needed with a ``Domain``.
        optimizer: any optax transformation, such as ``optax.sgd(0.1)``, or a function that makes one from
            ``config.learning_rate``, such as ``optax.sgd``; by default Adam with ``config.learning_rate`` and
            ``config.weight_decay``.
        validation: cohorts to choose the best epoch by. Without them, the training loss decides.
        folder: where to save checkpoints. A call with the same arguments continues from the last one, to the same
            result to the bit.
        progress: whether to show a bar on stderr; by default only on a terminal.

    Returns:
        The model of the best epoch, and how it got there.

    Example:
        >>> from armwise.data import synthetic
        >>> from armwise.losses import MeanSquaredError
        >>> from armwise.models import Linear
        >>> domain = synthetic(0, num_cohorts=10, num_arms=20, width=50)
        >>> model = Linear(jax.random.key(0), domain.cohorts.features, num_states=2)
        >>> settings = TrainConfig(num_epochs=5)
        >>> cohorts, loss = domain.split(0), MeanSquaredError()
        >>> trained = train(jax.random.key(1), cohorts, loss, model, settings, problem=domain.problem)
        >>> trained.history.validation_loss.shape, bool(jnp.all(jnp.diff(trained.history.train_loss) < 0))
        ((5,), True)
    """
    key = as_key(key)
    config = checked_config(config)
    check_loss(loss)
    check_callable(model, "any Equinox module, such as Linear(key, features, num_states=2)")
    given, problem = with_problem(cohorts, problem)
    optimizer = check_optimizer(optimizer, config)
    everyone, run = _one_run(key, given, validation, loss, config)
    check_predictions(model, everyone)
    weights, frozen = eqx.partition(cast(model, config.dtype), eqx.is_inexact_array)
    prepared = prepare_cohorts(everyone, [loss], frozen, problem, config)
    checkpoints = None
    if folder is not None:
        program = describe_optimizer(optimizer, run.learning_rate, weights)
        checkpoints = Checkpoints(folder, fingerprint(run, everyone, loss, model, problem, config, program))
    state = first_state(weights, run.learning_rate, config, optimizer)
    with progress_bar("training", config.num_epochs, progress) as tick:
        state = run_all(state, run, prepared, config, optimizer, checkpoints, "run", tick)
    rates = None if has_own_rate(optimizer) else [config.learning_rate]
    return _trained(state, frozen, config, rates)


def as_key(key: Any) -> Key[Array, ""]:
    """A checked JAX key of the new style: an array of keys has no extra axis for the words of a key."""
    check_key(key)
    return key if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else jax.random.wrap_key_data(key)


def _one_run(
    key: PRNGKeyArray, cohorts: Cohorts | Splits, validation: Cohorts | None, loss: Loss, config: TrainConfig
) -> tuple[Cohorts, Run]:
    """The training cohorts followed by the validation cohorts, and the run that names both by number."""
    learn_from, judge_by = _sides(cohorts, validation)
    num_train, num_validation = learn_from.num_cohorts, 0 if judge_by is None else judge_by.num_cohorts
    check_sides(num_train, num_validation, config, [loss])
    everyone = learn_from
    if judge_by is not None and num_validation:
        _check_alike(learn_from, judge_by)
        everyone = jax.tree.map(lambda *parts: jnp.concatenate(parts), learn_from, judge_by)
    numbers = jnp.arange(num_train + num_validation)
    rate = jnp.asarray(config.learning_rate, config.dtype)
    return everyone, Run(key, rate, jnp.zeros((), int), numbers[:num_train], numbers[num_train:])


def _sides(cohorts: Cohorts | Splits, validation: Cohorts | None) -> tuple[Cohorts, Cohorts | None]:
    if not isinstance(cohorts, Splits):
        return cohorts, validation
    if validation is not None:
        raise InvalidInputError("Splits hold validation cohorts already: pass cohorts=splits.train to use others.")
    return cohorts.train, cohorts.validation


def _check_alike(first: Cohorts, second: Cohorts) -> None:
    shapes = [jax.tree.map(lambda leaf: leaf.shape[1:], cohorts) for cohorts in (first, second)]
    if not eqx.tree_equal(*shapes):
        raise InvalidInputError(
            "Training and validation cohorts must have the same arms, states and features, but true_transitions is "
            f"{list(first.true_transitions.shape)} and {list(second.true_transitions.shape)}, and the feature levels "
            f"are {first.features.levels} and {second.features.levels}."
        )


def checked_config(config: Any) -> TrainConfig:
    """The settings of a run, by default those of ``TrainConfig()``."""
    if config is None:
        return TrainConfig()
    if not isinstance(config, TrainConfig):
        raise InvalidInputError(f"config must be a TrainConfig, as in TrainConfig(num_epochs=30), not {config!r:.60}.")
    return config


def check_loss(loss: Any) -> None:
    """Refuse what is not a loss, such as the class of one."""
    if not isinstance(loss, Loss):
        raise InvalidInputError(f"loss must be a loss, such as MeanSquaredError(), not {loss!r:.60}.")


def check_callable(model: Any, such_as: str, *, may_be_class: bool = False) -> None:
    """Refuse a model that cannot be called; and, if not allowed, the class of a model instead of a model."""
    if not callable(model) or (isinstance(model, type) and not may_be_class):
        raise InvalidInputError(f"model must be {such_as}, not {model!r:.60}.")


def check_sides(num_train: int, num_validation: int, config: TrainConfig, losses: Sequence[Loss]) -> None:
    """Refuse a run with no training cohorts, or without the validation cohorts that its quality or loss needs."""
    if not num_train:
        raise InvalidInputError("There is no cohort to train on.")
    if config.quality is not None and not num_validation:
        raise InvalidInputError(
            f"quality={config.quality!r} is measured on validation cohorts, but there are none. Pass validation."
        )

    changing = [type(loss).__name__ for loss in losses if type(loss).objective_at_epoch is not Loss.objective_at_epoch]
    if changing and not num_validation:
        raise InvalidInputError(
            f"{changing[0]} changes with the epochs, so that training losses cannot tell the best one. Pass validation."
        )


def check_predictions(model: Any, cohorts: Cohorts) -> None:
    """Refuse a model whose predictions are not transitions of these cohorts."""
    expected = cohorts.true_transitions.shape[1:]
    predicted = eqx.filter_eval_shape(model, jax.tree.map(lambda leaf: leaf[0], cohorts.features))
    shape = getattr(predicted, "shape", None)
    if shape != expected:
        raise InvalidInputError(
            f"model must turn features of {expected[0]} arms into transitions of shape {list(expected)}, but returns "
            f"{list(shape) if shape is not None else type(predicted).__name__}."
        )


def _trained(state: State, frozen: Any, config: TrainConfig, rates: list[float] | None) -> Trained:
    best, last = int(state.best_epoch), int(state.epoch)
    if not best:
        raise ConvergenceError(
            f"Not one of {last} epochs had a finite validation {config.select_by}: "
            f"{why_not_finite(config.select_by, rates)}"
        )
    # NumPy cuts the arrays, because JAX would compile a program for every number of epochs.
    history = jax.tree.map(lambda values: jnp.asarray(np.asarray(values)[:last]), state.history)
    return Trained(eqx.combine(state.best_weights, frozen), best, history, bool(state.stopped))


def why_not_finite(measure: str, learning_rates: Sequence[float] | None) -> str:
    """Why a validation "loss" or "quality" may be finite in no epoch, with the remedy.

    ``learning_rates`` is None if the optimizer has its own learning rate.
    """
    rates = " or ".join(f"{rate:g}" for rate in learning_rates or ())
    at = f"learning rate {rates}" if learning_rates else "the optimizer's learning rate"
    diverged = f"training diverged at {at}. Lower it, or look for missing values in the features."
    if measure == "loss":
        return diverged
    return f"{diverged} Or no call changes anything in the validation cohorts: compare their transitions by action."
