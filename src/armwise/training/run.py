"""One training run as a pure function: a gradient step, an epoch, a block of epochs.

Everything here is written for one run. ``train`` calls it as it is, and ``train_many`` calls it under ``vmap``. All
runs share the ``PreparedCohorts``. A ``Run`` holds what differs between runs. A ``State`` holds what changes with the
epochs.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray, PyTree

from armwise.data import Features
from armwise.evaluation.decision_quality import CohortReturns
from armwise.losses import Loss
from armwise.training.config import TrainConfig
from armwise.training.optimizer import Optimizer, at_rate
from armwise.training.quality import validation_quality


class PreparedCohorts(eqx.Module):
    """All cohorts, and what each loss prepared from them. All runs share it, so that no run holds a copy.

    Runs may differ in the numbers of their loss, such as the temperature. So ``losses`` and ``prepared`` have a leading
    axis over losses.
    """

    features: Features  # [cohorts, arms, …]
    losses: Loss  # [losses, …]
    prepared: PyTree  # [losses, cohorts, …]
    returns: CohortReturns | None  # of all cohorts, if a quality is measured
    frozen: PyTree  # the model without its weights


class Run(eqx.Module):
    """What differs between runs."""

    key: Key[Array, "*runs"]
    learning_rate: Float[Array, "*runs"]
    loss: Int[Array, "*runs"]  # which of the losses
    train: Int[Array, "*runs train"]  # which cohorts
    validation: Int[Array, "*runs validation"]


class History(NamedTuple):
    """One number per epoch; NaN if nothing was measured or training had stopped."""

    train_loss: Float[Array, "*runs_epochs"]  # mean over the epoch's steps, each with the weights before that step
    validation_loss: Float[Array, "*runs_epochs"]
    validation_quality: Float[Array, "*runs_epochs"]


class State(eqx.Module):
    """The state of a run after some epochs."""

    weights: PyTree
    optimizer_state: PyTree
    best_weights: PyTree
    best_score: Float[Array, "*runs"]  # lower is better
    best_epoch: Int[Array, "*runs"]  # counted from 1; 0 until an epoch has a finite score
    epoch: Int[Array, "*runs"]
    stopped: Bool[Array, "*runs"]
    history: History


def first_state(weights: PyTree, learning_rate: Float[Array, ""], config: TrainConfig, optimizer: Optimizer) -> State:
    """The state before the first step."""
    zero, missing = jnp.zeros((), jnp.int32), jnp.full(config.num_epochs, jnp.nan, config.dtype)
    best_score = jnp.asarray(jnp.inf, config.dtype)
    history = History(missing, missing, missing)
    optimizer_state = at_rate(optimizer, learning_rate, 1.0).init(weights)
    return State(weights, optimizer_state, weights, best_score, zero, zero, jnp.asarray(False), history)


def run_block(
    state: State,
    run: Run,
    cohorts: PreparedCohorts,
    config: TrainConfig,
    optimizer: Optimizer,
    last: Int[Array, ""],
) -> State:
    """Train up to the epoch ``last`` or until patience runs out.

    The compiler does not know where the loop ends. So blocks of all sizes use the same program, and the block size
    changes no bit of the result.
    """
    return lax.while_loop(
        lambda state: (state.epoch < last) & ~state.stopped,
        lambda state: run_epochs(state, run, cohorts, config, optimizer),
        state,
    )


def run_epochs(state: State, run: Run, cohorts: PreparedCohorts, config: TrainConfig, optimizer: Optimizer) -> State:
    """Train for ``validate_every`` epochs, then validate.

    The number of passes is fixed. Skipping validation by a condition would save nothing: under ``vmap`` both branches
    run.
    """
    learned, train_losses = run_passes(state, run, cohorts, config, optimizer)
    measured = validate(learned.weights, train_losses, run, cohorts)
    score = measured.validation_loss[-1] if run.validation.size else measured.train_loss[-1]
    if config.select_by == "quality":
        score = -measured.validation_quality[-1]
    epochs = state.epoch + jnp.arange(config.validate_every)
    history = jax.tree.map(lambda past, values: past.at[epochs].set(values), state.history, measured)
    return keep_best(state, learned, history, score, config)


class Learned(NamedTuple):
    """What a gradient step changes."""

    weights: PyTree
    optimizer_state: PyTree


def run_passes(
    state: State, run: Run, cohorts: PreparedCohorts, config: TrainConfig, optimizer: Optimizer
) -> tuple[Learned, Float[Array, " epochs"]]:
    """The passes over the training cohorts until the next validation, and the mean training loss of each."""

    def one(learned: Learned, number: int | Int[Array, ""]) -> tuple[Learned, Float[Array, ""]]:
        learned, values = run_pass(learned, state.epoch + number, run, cohorts, config, optimizer)
        return learned, jnp.mean(values)

    learned = Learned(state.weights, state.optimizer_state)
    if config.validate_every > 1:
        return lax.scan(one, learned, jnp.arange(config.validate_every))
    learned, loss = one(learned, 0)
    return learned, loss[None]


def run_pass(
    learned: Learned,
    epoch: Int[Array, ""],
    run: Run,
    cohorts: PreparedCohorts,
    config: TrainConfig,
    optimizer: Optimizer,
) -> tuple[Learned, Float[Array, " steps"]]:
    """One pass over the training cohorts in a new random order. Returns the new weights and the loss of each step."""
    loss, share, begins = pick(cohorts.losses, run.loss).objective_at_epoch(epoch, config.num_epochs)
    transformation = at_rate(optimizer, run.learning_rate, share)
    if begins is not False:
        learned = _begin_anew(learned, begins, transformation)
    order_key, draw_key = jax.random.split(jax.random.fold_in(run.key, epoch))
    batches = in_batches(jax.random.permutation(order_key, run.train), config.batch_size)
    keys = jax.random.split(draw_key, batches.size).reshape(batches.shape)

    def mean_loss(weights: PyTree, numbers: Int[Array, " batch"], keys: Key[Array, " batch"]) -> Float[Array, ""]:
        losses = losses_of(weights, jnp.maximum(numbers, 0), keys, run, loss, cohorts)
        return jnp.mean(losses, where=numbers >= 0)

    def step(learned: Learned, batch: tuple[Array, Array]) -> tuple[Learned, Array]:
        weights, state = learned
        value, gradient = jax.value_and_grad(mean_loss)(weights, *batch)
        moves, state = transformation.update(gradient, state, weights)
        return Learned(optax.apply_updates(weights, moves), state), value

    return lax.scan(step, learned, (batches, keys))


def _begin_anew(learned: Learned, begins: Any, transformation: optax.GradientTransformation) -> Learned:
    """Reset the optimizer if a new stage of the loss begins."""
    first = transformation.init(learned.weights)
    state = jax.tree.map(lambda new, old: jnp.where(begins, new, old), first, learned.optimizer_state)
    return learned._replace(optimizer_state=state)


def in_batches(order: Int[Array, " cohorts"], size: int) -> Int[Array, "batches batch"]:
    """The cohorts in batches; the last batch is filled up with -1."""
    return jnp.pad(order, (0, -order.size % size), constant_values=-1).reshape(-1, size)


def losses_of(
    weights: PyTree,
    numbers: Int[Array, " batch"],
    keys: Key[Array, " batch"],
    run: Run,
    loss: Loss,
    cohorts: PreparedCohorts,
) -> Float[Array, " batch"]:
    """The loss of each cohort of a batch."""
    model = eqx.combine(weights, cohorts.frozen)

    def of_cohort(number: Int[Array, ""], key: PRNGKeyArray) -> Float[Array, ""]:
        prepared = pick(pick(cohorts.prepared, run.loss), number)
        return loss(model(pick(cohorts.features, number)), prepared, key)

    if numbers.size == 1:  # a batch axis of one costs a third more: vmap keeps loops in step over it
        return of_cohort(numbers[0], keys[0])[None]
    return jax.vmap(of_cohort)(numbers, keys)


def validate(weights: PyTree, train_losses: Float[Array, " epochs"], run: Run, cohorts: PreparedCohorts) -> History:
    """The history since the last validation: the training loss of each epoch, and the validation of the last epoch.

    The validation cohorts get the same random draws in every epoch, so that only the weights differ between epochs.
    """
    missing = jnp.full_like(train_losses, jnp.nan)
    if not run.validation.size:
        return History(train_losses, missing, missing)
    loss = pick(cohorts.losses, run.loss)
    keys = jax.random.split(jax.random.fold_in(run.key, 2**32 - 1), run.validation.size)
    validation = missing.at[-1].set(jnp.mean(losses_of(weights, run.validation, keys, run, loss, cohorts)))
    quality = missing
    if cohorts.returns is not None:
        model = eqx.combine(weights, cohorts.frozen)
        predicted = jax.vmap(model)(pick(cohorts.features, run.validation))
        measured = validation_quality(cohorts.returns, run.validation, predicted)
        quality = missing.at[-1].set(measured.astype(missing.dtype))
    return History(train_losses, validation, quality)


def keep_best(state: State, learned: Learned, history: History, score: Float[Array, ""], config: TrainConfig) -> State:
    """The state after a validation: the best weights so far, and whether patience has run out."""
    epoch = state.epoch + config.validate_every
    better = score < state.best_score  # false for NaN: a run that diverged keeps its best weights
    best_epoch = jnp.where(better, epoch, state.best_epoch)
    best_weights = jax.tree.map(lambda new, old: jnp.where(better, new, old), learned.weights, state.best_weights)
    stopped = state.stopped if config.patience is None else epoch - best_epoch >= config.patience
    best_score = jnp.where(better, score, state.best_score)
    return State(*learned, best_weights, best_score, best_epoch, epoch, stopped, history)


def pick(tree: Any, index: Int[Array, "*batch"]) -> Any:
    """The entries at an index of the leading axis. An axis of length 1 needs no copy."""

    def of_leaf(leaf: Any) -> Any:
        if not eqx.is_array(leaf):
            return leaf
        return leaf[0] if leaf.shape[0] == 1 and not index.ndim else leaf[index]

    return jax.tree.map(of_leaf, tree)
