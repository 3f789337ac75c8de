"""One training run as a pure function: a gradient step, an epoch, a block of epochs.

Everything here is written for one run; ``train`` calls it as it is and ``train_many`` under ``vmap``. What is the same
in all runs is a ``Material``, what tells them apart a ``Run``, what changes with the epochs a ``State``.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray, PyTree

from armwise.data import Features
from armwise.losses import Loss
from armwise.training.config import TrainConfig
from armwise.training.judge import Judge

_adam = optax.scale_by_adam()


class Material(eqx.Module):
    """What all runs share: every cohort, and what each loss prepared from it, so that no run holds a copy.

    Runs may differ in the numbers of their loss, such as the temperature: ``losses`` and ``prepared`` have a leading
    axis over them.
    """

    features: Features  # [cohorts, arms, …]
    losses: Loss  # [losses, …]
    prepared: PyTree  # [losses, cohorts, …]
    judge: Judge | None  # [cohorts, …]
    frozen: PyTree  # the model less its weights


class Run(eqx.Module):
    """What tells one run from another."""

    key: Key[Array, "*runs"]
    learning_rate: Float[Array, "*runs"]
    loss: Int[Array, "*runs"]  # which of the material's losses
    train: Int[Array, "*runs train"]  # which cohorts
    validation: Int[Array, "*runs validation"]


class History(NamedTuple):
    """One number per epoch; NaN where there was nothing to measure, or training had stopped."""

    train_loss: Float[Array, "*runs_epochs"]  # mean over the epoch's steps, each at the weights of its time
    validation_loss: Float[Array, "*runs_epochs"]
    validation_quality: Float[Array, "*runs_epochs"]


class State(eqx.Module):
    """What training has come to."""

    weights: PyTree
    optimiser: PyTree
    best_weights: PyTree
    best_score: Float[Array, "*runs"]  # the lower the better
    best_epoch: Int[Array, "*runs"]  # counted from 1; 0 before any epoch was of use
    epoch: Int[Array, "*runs"]
    stopped: Bool[Array, "*runs"]
    history: History


def first_state(weights: PyTree, config: TrainConfig) -> State:
    """Before the first step."""
    zero, missing = jnp.zeros((), jnp.int32), jnp.full(config.num_epochs, jnp.nan, config.dtype)
    best_score = jnp.asarray(jnp.inf, config.dtype)
    history = History(missing, missing, missing)
    return State(weights, _adam.init(weights), weights, best_score, zero, zero, jnp.asarray(False), history)


def run_block(state: State, run: Run, material: Material, config: TrainConfig, last: Int[Array, ""]) -> State:
    """More epochs, up to the last or until patience runs out.

    A loop whose end is not known to the compiler: all blocks are the same program, so their size changes no bit.
    """
    return lax.while_loop(
        lambda state: (state.epoch < last) & ~state.stopped,
        lambda state: run_epoch(state, run, material, config),
        state,
    )


def run_epoch(state: State, run: Run, material: Material, config: TrainConfig) -> State:
    """A pass over the training cohorts, or as many as there are between two looks, then a look at the validation ones.

    A loop of a fixed number of passes, since under ``vmap`` a look that is left out is one that is taken and forgotten.
    """
    learned = (state.weights, state.optimiser)
    if config.validate_every == 1:
        learned, values = run_pass(learned, state.epoch, run, material, config)
        by_epoch = jnp.mean(values)[None]
    else:

        def one(learned: tuple[PyTree, PyTree], number: Int[Array, ""]) -> tuple[tuple[PyTree, PyTree], Array]:
            learned, values = run_pass(learned, state.epoch + number, run, material, config)
            return learned, jnp.mean(values)

        learned, by_epoch = lax.scan(one, learned, jnp.arange(config.validate_every))
    now = look(learned[0], by_epoch, run, material)
    score = now.validation_loss[-1] if run.validation.size else now.train_loss[-1]
    if config.select_by == "quality":
        score = -now.validation_quality[-1]
    epochs = state.epoch + jnp.arange(config.validate_every)
    history = jax.tree.map(lambda past, values: past.at[epochs].set(values), state.history, now)
    return advance(state, *learned, history, score, config)


def run_pass(
    learned: tuple[PyTree, PyTree], epoch: Int[Array, ""], run: Run, material: Material, config: TrainConfig
) -> tuple[tuple[PyTree, PyTree], Float[Array, " steps"]]:
    """One pass over the training cohorts in a new order: weights and optimiser after it, and the loss of each step."""
    loss, rate, begins = pick(material.losses, run.loss).objective_at_epoch(epoch, config.num_epochs)
    weights, optimiser = learned
    if begins is not False:
        optimiser = jax.tree.map(lambda new, old: jnp.where(begins, new, old), _adam.init(weights), optimiser)
    rate = run.learning_rate * rate
    order_key, draw_key = jax.random.split(jax.random.fold_in(run.key, epoch))
    batches = in_batches(jax.random.permutation(order_key, run.train), config.batch_size)
    keys = jax.random.split(draw_key, batches.size).reshape(batches.shape)

    def mean_loss(weights: PyTree, cohorts: Int[Array, " batch"], keys: Key[Array, " batch"]) -> Float[Array, ""]:
        losses = losses_of(weights, jnp.maximum(cohorts, 0), keys, run, loss, material)
        return jnp.mean(losses, where=cohorts >= 0)

    def step(carry: tuple[PyTree, PyTree], batch: tuple[Array, Array]) -> tuple[tuple[PyTree, PyTree], Array]:
        weights, optimiser = carry
        value, gradient = jax.value_and_grad(mean_loss)(weights, *batch)
        direction, optimiser = _adam.update(gradient, optimiser)
        # Not optax.adamw: the learning rate differs between runs under vmap, so it is an array here.
        weights = jax.tree.map(lambda old, move: old - rate * (move + config.weight_decay * old), weights, direction)
        return (weights, optimiser), value

    return lax.scan(step, (weights, optimiser), (batches, keys))


def in_batches(order: Int[Array, " cohorts"], size: int) -> Int[Array, "batches batch"]:
    """The cohorts in batches; the last is filled up with -1."""
    return jnp.pad(order, (0, -order.size % size), constant_values=-1).reshape(-1, size)


def losses_of(
    weights: PyTree, cohorts: Int[Array, " batch"], keys: Key[Array, " batch"], run: Run, loss: Loss, material: Material
) -> Float[Array, " batch"]:
    """The loss of each cohort of a batch."""
    model = eqx.combine(weights, material.frozen)

    def of_cohort(cohort: Int[Array, ""], key: PRNGKeyArray) -> Float[Array, ""]:
        prepared = pick(pick(material.prepared, run.loss), cohort)
        return loss(model(pick(material.features, cohort)), prepared, key)

    if cohorts.size == 1:  # a batch axis of one costs a third more, in the loops that vmap must keep in step
        return of_cohort(cohorts[0], keys[0])[None]
    return jax.vmap(of_cohort)(cohorts, keys)


def look(weights: PyTree, train_losses: Float[Array, " epochs"], run: Run, material: Material) -> History:
    """What the epochs since the last look have come to: each on the training cohorts, the last on the validation ones.

    The validation cohorts meet the same luck in every epoch, so that epochs differ by their weights alone.
    """
    missing = jnp.full_like(train_losses, jnp.nan)
    if not run.validation.size:
        return History(train_losses, missing, missing)
    loss = pick(material.losses, run.loss)
    keys = jax.random.split(jax.random.fold_in(run.key, 2**32 - 1), run.validation.size)
    validation = missing.at[-1].set(jnp.mean(losses_of(weights, run.validation, keys, run, loss, material)))
    quality = missing
    if material.judge is not None:
        model = eqx.combine(weights, material.frozen)
        predicted = jax.vmap(model)(pick(material.features, run.validation))
        measured = pick(material.judge, run.validation).quality(predicted)
        quality = missing.at[-1].set(measured.astype(missing.dtype))
    return History(train_losses, validation, quality)


def advance(
    state: State, weights: PyTree, optimiser: PyTree, history: History, score: Float[Array, ""], config: TrainConfig
) -> State:
    """The state after a look: the best weights so far, and whether patience has run out."""
    epoch = state.epoch + config.validate_every
    better = score < state.best_score  # never true of NaN: a run that diverged keeps what it had
    best_epoch = jnp.where(better, epoch, state.best_epoch)
    best_weights = jax.tree.map(lambda new, old: jnp.where(better, new, old), weights, state.best_weights)
    stopped = state.stopped if config.patience is None else epoch - best_epoch >= config.patience
    best_score = jnp.where(better, score, state.best_score)
    return State(weights, optimiser, best_weights, best_score, best_epoch, epoch, stopped, history)


def pick(tree: Any, index: Int[Array, "*batch"]) -> Any:
    """The entries at an index of the leading axis; from an axis of one they are taken without a copy."""

    def of_leaf(leaf: Any) -> Any:
        if not eqx.is_array(leaf):
            return leaf
        return leaf[0] if leaf.shape[0] == 1 and not index.ndim else leaf[index]

    return jax.tree.map(of_leaf, tree)
