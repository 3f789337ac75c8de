"""A grid of training runs as one program: splits × first weights × learning rates × losses (``train_many``).

The paper's protocol is 10 splits × 5 initialisations × 4 learning rates × 2 temperatures: 400 runs for one loss.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from armwise._hardware import on_cpu
from armwise._validation import check_count, check_rate
from armwise.data import Cohorts, Domain, SplitNumbers
from armwise.errors import InvalidInputError
from armwise.evaluation.model_quality import with_problem
from armwise.losses import Loss
from armwise.rmab import Problem
from armwise.training.checkpoint import Checkpoints, fingerprint
from armwise.training.config import TrainConfig
from armwise.training.engine import cast, prepare_cohorts, progress_bar, run_all
from armwise.training.optimizer import Optimizer, check_optimizer, describe_optimizer, has_own_rate
from armwise.training.run import History, PreparedCohorts, Run, State, first_state
from armwise.training.single import (
    as_key,
    check_callable,
    check_loss,
    check_predictions,
    check_sides,
    checked_config,
)

# The default number of runs side by side, and the memory that they may use. The runs are enough to fill the machine.
# The memory is a constant for each kind of machine, so that the same call gives the same bits on all of that kind.
_CPU_CHUNK, _CPU_BYTES = 50, 2**31
_ACCELERATOR_CHUNK, _ACCELERATOR_BYTES = 400, 2**35
# What a run holds in memory at once: this many copies of its weights (Adam's moments, the best so far, gradients), and
# this many copies of the returns of all policies for the arms that it processes together.
_COPIES_OF_WEIGHTS, _COPIES_OF_RETURNS = 8, 16


Index = int | Int[Array, ""]


class Setting(NamedTuple):
    """The setting of each run. Every array is ``[runs]``."""

    split: Int[np.ndarray, " runs"]
    initialisation: Int[np.ndarray, " runs"]
    learning_rate: Float[np.ndarray, " runs"]  # without meaning if the optimizer has its own
    loss: Int[np.ndarray, " runs"]  # its index among the losses


class TrainedRuns(NamedTuple):
    """The result of a grid of runs. Every array has a leading axis over runs and is in host memory.

    Attributes:
        models: one model in which every weight has that axis; ``model(run)`` returns the model of one run.
        setting: split, initialisation, learning rate and loss of each run.
        best_epoch: counted from 1; 0 if no epoch had a finite score.
        history: losses and, if asked for, validation quality by epoch, each ``[runs, epochs]``.
    """

    models: Any
    setting: Setting
    best_epoch: Int[np.ndarray, " runs"]
    history: History

    def model(self, run: int) -> Any:
        """The model of one run."""
        # Only weights have the axis. Other arrays, such as an order of columns, are the same in all runs.
        return jax.tree.map(lambda leaf: jnp.asarray(leaf[run]) if eqx.is_inexact_array(leaf) else leaf, self.models)

    def at_best(self, measure: str = "loss") -> Float[np.ndarray, " runs"]:
        """The validation "loss" or "quality" at each run's best epoch; NaN for a run without a best epoch."""
        values = {"loss": self.history.validation_loss, "quality": self.history.validation_quality}.get(measure)
        if values is None:
            raise InvalidInputError(f'measure must be "loss" or "quality", not {measure!r}.')
        chosen = np.take_along_axis(np.asarray(values), np.maximum(self.best_epoch - 1, 0)[:, None], axis=1)[:, 0]
        return np.where(self.best_epoch > 0, chosen, np.nan)

    def select(self, by: str = "loss", *, shared: bool = True) -> Int[np.ndarray, "splits initialisations"]:
        """The run to report for each split and initialisation: the one with the best learning rate and loss.

        Args:
            by: best is the lowest validation "loss", as in the paper, or the highest validation "quality".
            shared: if true, one choice for all splits and initialisations, by the average, as in the paper. If false,
                a separate choice for each.
        """
        score = self.at_best(by) * (1 if by == "loss" else -1)
        score = np.where(np.isfinite(score), score, np.inf)
        table = score.reshape(self.setting.split.max() + 1, self.setting.initialisation.max() + 1, -1)
        runs = np.arange(score.size).reshape(table.shape)
        choice = np.broadcast_to(table.mean(axis=(0, 1)), table.shape) if shared else table
        return np.take_along_axis(runs, choice.argmin(axis=-1)[..., None], axis=-1)[..., 0]


def train_many(
    key: PRNGKeyArray,
    cohorts: Cohorts | Domain,
    losses: Loss | Sequence[Loss],
    model: Callable[[PRNGKeyArray], Any],
    config: TrainConfig | None = None,
    *,
    splits: Sequence[SplitNumbers],
    num_initialisations: int = 1,
    learning_rates: Sequence[float] | None = None,
    problem: Problem | None = None,
    optimizer: Optimizer | None = None,
    chunk_size: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> TrainedRuns:
    """Train every combination of split, first weights, learning rate and loss; each run equals ``train`` on its own.

    ``chunk_size`` runs at a time go side by side under ``vmap``, on one copy of the data. A run equals
    ``train(run_key(key, split, initialisation, num_initialisations)[1], …)`` on the split's cohorts. It starts from the
    weights of ``model(run_key(key, split, initialisation, num_initialisations)[0])``. So learning rates and losses are
    compared with the same first weights and the same order of cohorts.

    Args:
        key: a JAX random key.
        cohorts: all of them; or a ``Domain``, which brings its problem.
        losses: one, or several that differ only in numbers: ``[DecDFL(EntropyMixture(t)) for t in (1.0, 0.1)]``.
        model: makes a model with random first weights from a key: ``lambda key: Linear(key, features, 2)``.
        config: the settings of every run. If ``learning_rates`` is given, ``config.learning_rate`` is not used.
        splits: the cohorts to train and validate on, from ``split_numbers``; all splits must have the same sizes.
        num_initialisations: the number of random first weights per split.
        learning_rates: of the optimizer; by default only ``config.learning_rate``.
        problem: rewards, discount, first states and costs, such as ``domain.problem``; not needed with a ``Domain``.
        optimizer: as in ``train``. To try several learning rates it must be a function of one, such as ``optax.sgd``.
        chunk_size: runs side by side; by default as many as fit in memory.
        folder: where to save checkpoints. A call with the same arguments continues from the last one, to the same
            result to the bit.
        progress: whether to show a bar on stderr; by default only on a terminal.

    Returns:
        All runs, in the order of split, initialisation, learning rate, loss (the last varies fastest).
    """
    key = as_key(key)
    config = checked_config(config)
    maker = "a function from a key to a model, such as lambda key: Linear(key, features, 2)"
    check_callable(model, maker, may_be_class=True)
    losses = list(losses) if isinstance(losses, Sequence) else [losses]
    for loss in losses:
        check_loss(loss)
    everyone, problem = with_problem(cohorts, problem)
    optimizer = check_optimizer(optimizer, config)
    rates = _rates(learning_rates, optimizer, config)
    setting = _grid(splits, num_initialisations, rates, losses, config)
    _check_numbers(splits, everyone.num_cohorts)
    model_keys, runs = _runs(key, setting, splits, num_initialisations, config)
    first = cast(model(model_keys[0]), config.dtype)
    check_predictions(first, everyone)
    weights, frozen = eqx.partition(first, eqx.is_inexact_array)
    prepared = prepare_cohorts(everyone, losses, frozen, problem, config)
    size = min(_chunk_size(chunk_size, first, everyone, splits[0], config), len(setting.split))
    checkpoints = None
    if folder is not None:
        program = describe_optimizer(optimizer, runs.learning_rate[0], weights)
        owner = fingerprint(key, runs, everyone, losses, first, problem, config, size, program)
        checkpoints = Checkpoints(folder, owner)
    chunks = [np.arange(start, start + size) for start in range(0, len(setting.split), size)]
    with progress_bar("training", len(chunks) * config.num_epochs, progress) as tick:
        given = (model, model_keys, runs, prepared, config, optimizer, checkpoints, tick)
        done = [_run_chunk(chunk, *given) for chunk in chunks]
    whole = jax.tree.map(lambda *parts: np.concatenate(parts)[: len(setting.split)], *done)
    models = eqx.combine(whole.best_weights, frozen)
    return TrainedRuns(models, setting, whole.best_epoch, whole.history)


def run_key(key: PRNGKeyArray, split: Index, initialisation: Index, num_initialisations: int) -> Key[Array, "2"]:
    """The two random keys of a run: one for its first weights, one for its training."""
    return jax.random.split(jax.random.fold_in(key, split * num_initialisations + initialisation))


def _rates(learning_rates: Sequence[float] | None, optimizer: Optimizer, config: TrainConfig) -> list[float]:
    if learning_rates is None:
        return [config.learning_rate]
    if has_own_rate(optimizer):
        raise InvalidInputError(
            "learning_rates are given, but optimizer has a learning rate of its own. Pass a function of the learning "
            "rate, such as optimizer=optax.sgd or lambda rate: optax.sgd(rate, momentum=0.9), or no learning_rates."
        )
    return list(learning_rates)


def _grid(
    splits: Sequence[SplitNumbers],
    num_initialisations: int,
    rates: list[float],
    losses: list[Loss],
    config: TrainConfig,
) -> Setting:
    check_count("num_initialisations", num_initialisations, minimum=1)
    for name, values in (("splits", splits), ("learning_rates", rates), ("losses", losses)):
        if not len(values):
            raise InvalidInputError(f"{name} is empty: there is nothing to train.")
    for number, rate in enumerate(rates):
        check_rate(f"learning_rates[{number}]", rate, positive=True)
    sizes = {(len(split.train), len(split.validation)) for split in splits}
    if len(sizes) > 1:
        raise InvalidInputError(f"All splits must have the same sizes (train, validation), not {sorted(sizes)}.")
    check_sides(*sizes.pop(), config, losses)
    places = np.indices((len(splits), num_initialisations, len(rates), len(losses))).reshape(4, -1)
    return Setting(places[0], places[1], np.asarray(rates, dtype=float)[places[2]], places[3])


def _runs(
    key: PRNGKeyArray, setting: Setting, splits: Sequence[SplitNumbers], num_initialisations: int, config: TrainConfig
) -> tuple[Key[Array, " runs"], Run]:
    """The key of each run's first weights, and the runs, stacked."""
    make_keys = jax.vmap(lambda split, start: run_key(key, split, start, num_initialisations))
    keys = make_keys(jnp.asarray(setting.split), jnp.asarray(setting.initialisation))
    train, validation = (
        jnp.asarray(np.stack([getattr(split, side) for split in splits])[setting.split])
        for side in ("train", "validation")
    )
    rates = jnp.asarray(setting.learning_rate, config.dtype)
    return keys[:, 0], Run(keys[:, 1], rates, jnp.asarray(setting.loss), train, validation)


def _run_chunk(
    chunk: Int[np.ndarray, " chunk"],
    model: Callable[[PRNGKeyArray], Any],
    model_keys: Key[Array, " runs"],
    runs: Run,
    cohorts: PreparedCohorts,
    config: TrainConfig,
    optimizer: Optimizer,
    checkpoints: Checkpoints | None,
    tick: Any,
) -> State:
    """Train a chunk of runs. The last chunk is filled up with its last run, so that all chunks use one program."""
    inside = jnp.asarray(np.minimum(chunk, len(runs.learning_rate) - 1))
    models = eqx.filter_vmap(model)(model_keys[inside])
    weights = eqx.filter(cast(models, config.dtype), eqx.is_inexact_array)
    own = jax.tree.map(lambda leaf: leaf[inside], runs)
    state = jax.vmap(lambda weights, rate: first_state(weights, rate, config, optimizer))(weights, own.learning_rate)
    done = run_all(state, own, cohorts, config, optimizer, checkpoints, f"runs-{chunk[0]:06d}", tick)
    return jax.tree.map(np.asarray, done)


def _check_numbers(splits: Sequence[SplitNumbers], num_cohorts: int) -> None:
    """Refuse cohort numbers that do not exist. JAX would use the last cohort instead, without an error."""
    for place, split in enumerate(splits):
        for number in (*split.train, *split.validation):
            if not 0 <= number < num_cohorts:
                raise InvalidInputError(
                    f"splits[{place}] names cohort {number}, but there are {num_cohorts}, numbered from 0."
                )


def _chunk_size(chunk_size: int | None, model: Any, cohorts: Cohorts, split: SplitNumbers, config: TrainConfig) -> int:
    if chunk_size is not None:
        return check_count("chunk_size", chunk_size, minimum=1)
    most, memory = (_CPU_CHUNK, _CPU_BYTES) if on_cpu() else (_ACCELERATOR_CHUNK, _ACCELERATOR_BYTES)
    num_weights = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)))
    num_states = cohorts.true_transitions.shape[-1]
    returns = max(config.batch_size, len(split.validation)) * cohorts.num_arms * num_states * 2**num_states
    numbers = _COPIES_OF_WEIGHTS * num_weights + _COPIES_OF_RETURNS * returns
    return int(np.clip(memory // (numbers * config.dtype.itemsize), 1, most))
