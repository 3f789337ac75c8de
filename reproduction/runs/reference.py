"""DEC-DFL with cvxpylayers, the paper's own way: trained step by step, since it does not work inside ``jit``.

Its mathematics is that of our fast mixtures, so that both, trained alike, end in the same weights.
"""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import PRNGKeyArray

from armwise.data import Cohorts, Domain, SplitNumbers
from armwise.losses import CohortTruth, Loss
from armwise.rmab import Problem
from armwise.training import History, TrainedRuns, run_key, train_many
from armwise.training.engine import cast, progress_bar
from armwise.training.many import Setting
from reproduction.runs.protocol import Protocol, check_loss, model_maker


def train_step_by_step(
    key: PRNGKeyArray,
    cohorts: Cohorts,
    losses: Sequence[Loss],
    model: Callable[[PRNGKeyArray], Any],
    num_epochs: int,
    *,
    splits: Sequence[SplitNumbers],
    num_initialisations: int,
    learning_rates: Sequence[float],
    problem: Problem,
    progress: bool | None = None,
) -> TrainedRuns:
    """What ``train_many`` does with these arguments, one plain step after the other, for any loss.

    Args:
        key: a JAX random key; first weights and orders of cohorts are those of ``train_many``.
        cohorts: all of them.
        losses: to train with, each in runs of its own.
        model: makes a model with random first weights from a key.
        num_epochs: passes over the training cohorts.
        splits: which cohorts to train and validate on.
        num_initialisations: how many first weights per split.
        learning_rates: of Adam.
        problem: rewards, discount, first states and costs.
        progress: whether to show a bar; by default on a terminal.
    """
    places = np.indices((len(splits), num_initialisations, len(learning_rates), len(losses))).reshape(4, -1)
    setting = Setting(places[0], places[1], np.asarray(learning_rates, dtype=float)[places[2]], places[3])
    cohorts, problem = cast((cohorts, problem), jnp.dtype("float32"))
    done = []
    with progress_bar("training step by step", places.shape[1] * num_epochs, progress) as tick:
        for split, initialisation, rate, loss in zip(*setting, strict=True):
            first_key, own_key = run_key(key, int(split), int(initialisation), num_initialisations)
            first = cast(model(first_key), jnp.dtype("float32"))
            sides, settings = splits[split], (float(rate), num_epochs)
            done.append(_run(own_key, cohorts, losses[loss], first, sides, settings, problem, tick))
    models, best_epochs, histories = zip(*done, strict=True)
    columns: list[Any] = [np.stack(values) for values in zip(*histories, strict=True)]
    history = History(*columns)
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves) if eqx.is_array(leaves[0]) else leaves[0], *models)
    return TrainedRuns(stacked, setting, np.array(best_epochs), history)


def _run(
    key: PRNGKeyArray,
    cohorts: Cohorts,
    loss: Loss,
    model: Any,
    sides: SplitNumbers,
    settings: tuple[float, int],
    problem: Problem,
    tick: Callable[[int], None],
) -> tuple[Any, int, History]:
    """One run: the model of the best epoch, which that was, and the losses by epoch.

    Some of cvxpylayers' gradients are NaN. No problem can be solved at weights that are, so a run that meets one ends
    there, as one that diverged: it keeps its best epoch so far.
    """
    rate, num_epochs = settings
    optimiser = optax.adam(rate)
    state, best, best_epoch = optimiser.init(eqx.filter(model, eqx.is_inexact_array)), model, 0
    train_losses: list[Any] = []
    validation_losses: list[Any] = []
    prepared = {int(number): _prepare(loss, cohorts[int(number)], problem) for side in sides[:2] for number in side}

    def value(model: Any, number: int) -> Any:
        return loss(model(cohorts[number].features), prepared[number])

    for epoch in range(num_epochs):
        order_key, _ = jax.random.split(jax.random.fold_in(key, epoch))
        values = []
        for number in np.asarray(jax.random.permutation(order_key, jnp.asarray(sides.train))).tolist():
            current, gradient = eqx.filter_value_and_grad(value)(model, number)
            if not all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves(gradient)):
                return best, best_epoch, _history(train_losses, validation_losses, num_epochs)
            updates, state = optimiser.update(gradient, state)
            model = eqx.apply_updates(model, updates)
            values.append(float(current))
        train_losses.append(np.mean(values))
        validation_losses.append(np.mean([float(value(model, int(number))) for number in sides.validation]))
        if validation_losses[-1] == min(validation_losses):
            best, best_epoch = model, epoch + 1
        tick(1)
    return best, best_epoch, _history(train_losses, validation_losses, num_epochs)


def _history(train_losses: list[Any], validation_losses: list[Any], num_epochs: int) -> History:
    """The losses by epoch, NaN after the run has ended; no quality is measured."""
    columns: list[Any] = [
        np.array(values + [np.nan] * (num_epochs - len(values))) for values in (train_losses, validation_losses, [])
    ]
    return History(*columns)


def _prepare(loss: Loss, cohort: Cohorts, problem: Problem) -> Any:
    return loss.prepare(CohortTruth.of(cohort, problem))


def weight_distance(
    slow: str, fast: str, domain: Domain, protocol: Protocol, model: str = "linear", *, progress: bool | None = None
) -> float:
    """How far apart a slow and a fast training end, as a share of how far the weights have moved at most.

    Args:
        slow: the loss trained step by step, such as "dec-entropy-cvxpy".
        fast: the loss trained by ``train_many``, such as "fast-entropy".
        domain: to train on.
        protocol: how much to train; every run of it is compared.
        model: which model.
        progress: whether to show bars; by default on a terminal.
    """
    key, make = jax.random.key(protocol.seed), model_maker(model, domain)
    splits = [domain.split_numbers(seed) for seed in range(protocol.num_splits)]
    grid: dict[str, Any] = {
        "splits": splits,
        "num_initialisations": protocol.num_initialisations,
        "learning_rates": protocol.learning_rates,
        "problem": domain.problem,
        "progress": progress,
    }
    ours = train_many(key, domain.cohorts, protocol.losses(check_loss(fast))[0], make, protocol.config(), **grid)
    losses = protocol.losses(check_loss(slow))[0]
    theirs = train_step_by_step(key, domain.cohorts, losses, make, protocol.num_epochs, **grid)
    places = zip(ours.setting.split.tolist(), ours.setting.initialisation.tolist(), strict=True)
    starts = [make(run_key(key, split, start, protocol.num_initialisations)[0]) for split, start in places]
    first = jax.tree.map(lambda *leaves: np.stack(leaves), *starts)
    moved = _largest(ours.models, first)
    return _largest(ours.models, theirs.models) / moved


def _largest(one: Any, other: Any) -> float:
    """The largest difference of any two weights."""
    leaves = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return max(float(np.max(np.abs(np.asarray(a) - np.asarray(b)))) for a, b in leaves if eqx.is_array(a) and a.size)
