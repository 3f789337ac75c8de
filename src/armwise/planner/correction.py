"""Train a correction of people's chains by a loss: divide people into cohorts, train, and choose by validation."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from armwise.data import (
    Cohorts,
    Features,
    SplitNumbers,
    estimate_transitions,
    first_state_shares,
    partition,
    split_numbers,
    transition_counts,
)
from armwise.errors import InvalidInputError
from armwise.evaluation import priority_decision_quality
from armwise.losses import Loss
from armwise.models import Linear, MultiLayerPerceptron, average_models
from armwise.models.corrections import Correction, num_history, silent
from armwise.planner.cohort_shape import FEWEST_COHORTS, cohort_shape
from armwise.planner.learning_data import Examples, check_calls
from armwise.rmab import Problem, whittle_indices
from armwise.training import RECOMMENDED_CONFIG, History, TrainConfig, recommended_loss, train, train_recommended
from armwise.training.recipe import train_averaged

# The recipe tries its settings on so many random splits and averages their models. More are better and take longer.
RECIPE_SPLITS = 5
# Simulated runs of each cohort that compare the recipe's correction with the posterior alone.
JUDGED_RUNS = 100
MODELS = {"linear": None, "medium": (64, 2), "large": (500, 4)}


class PreparedCohorts(NamedTuple):
    """Cohorts and the problem that a model learns from or is judged on, and everyone's counts of transitions."""

    cohorts: Cohorts
    problem: Problem
    pool: np.ndarray


def prepare_cohorts(
    examples: Examples,
    features: Features,
    discount: Any,
    prior_strength: float,
    cohort_size: int,
    budget_share: float,
    max_cohorts: int,
    seed: int,
    others: np.ndarray | None = None,
    chains: np.ndarray | None = None,
) -> PreparedCohorts:
    """Random cohorts of the people, each with its share of the budget, and their problem.

    ``others`` are transitions of further people, ``[states, actions, states]``, who belong to the same pool. ``chains``
    count as the true chains; by default they are estimated from counts.
    """
    counts = np.asarray(transition_counts(examples.trajectories))
    # In the pool, the others count as one more person.
    everyone = counts if others is None else np.concatenate([counts, others[None]])
    check_calls(everyone)
    everyone = np.concatenate([everyone, _calls_not_tried(everyone.sum(axis=0))[None]])
    estimated = np.asarray(estimate_transitions(everyone, prior_strength))[: len(counts)]
    transitions = estimated if chains is None else chains
    shape = cohort_shape(len(examples.ids), budget_share, cohort_size, max_cohorts)
    people = partition(seed, features, transitions, counts, shape.size, shape.budget)
    initial = first_state_shares(examples.trajectories)
    # People are assigned to cohorts at random, so the first cohorts are as good as any.
    cohorts = people.cohorts[: shape.number]
    return PreparedCohorts(cohorts, Problem(discount=discount, initial=initial), counts.sum(axis=0))


def _calls_not_tried(pool: np.ndarray) -> np.ndarray:
    """Assumed transitions for calls in states in which nobody was ever called: as if calls did nothing there.

    Some programmes call only people who are disengaged, so their history has no calls to people who are engaged.
    """
    tried = pool[:, 1:].sum(axis=2, keepdims=True) > 0
    assumed = np.zeros_like(pool)
    assumed[:, 1:] = np.where(tried | ~tried.any(), 0, pool[:, :1])
    return assumed


class Fitted(NamedTuple):
    """A model, and the loss and settings that trained it."""

    model: Any
    loss: Loss
    config: TrainConfig
    history: History
    best_epoch: int


def fit_model(
    prepared: PreparedCohorts,
    loss: Loss | None,
    kind: Any,
    config: TrainConfig | None,
    validation_share: float,
    seed: int,
    progress: bool | None,
    num_splits: int | None = None,
) -> Fitted:
    """Train a correction on some cohorts, and choose its epoch and settings on others.

    Levels unseen in training get the column's mean weight. If no loss is given, use the recommended recipe.
    ``num_splits`` is the number of random splits whose models are averaged: by default 1 with a loss, and
    ``RECIPE_SPLITS`` without. If it is given, the default settings are the recommended ones, with a loss too.
    """
    cohorts, problem, _ = prepared
    held_out = min(cohorts.num_cohorts - 1, max(1, round(validation_share * cohorts.num_cohorts)))
    # The recipe compares its correction with the posterior alone, on cohorts not used to learn or to choose.
    # A refit with the recipe's splits must learn from the same cohorts, so it holds out as many.
    by_recipe = loss is None or (num_splits or 1) > 1
    judged = held_out if by_recipe and cohorts.num_cohorts > 2 * held_out else 0
    sizes = (cohorts.num_cohorts - held_out - judged, held_out, judged)
    number = (RECIPE_SPLITS if loss is None else 1) if num_splits is None else num_splits
    splits = [split_numbers(cohorts.num_cohorts, seed + each, *sizes) for each in range(number)]
    key = jax.random.key(seed)
    recommended = held_out and (loss is None or num_splits is not None)
    usual = RECOMMENDED_CONFIG if recommended else TrainConfig()
    settings = _long_enough(usual, cohorts.num_cohorts) if config is None else config
    if held_out and (loss is None or number > 1):
        return _fit_averaged(key, cohorts, problem, kind, loss, settings, splits, progress)
    if not held_out:
        # With a single cohort, nobody is held back to measure a quality, so the training loss chooses the epoch.
        settings = dataclasses.replace(settings, quality=None, select_by="loss")
    taught, validation = cohorts[splits[0].train], cohorts[splits[0].validation] if held_out else None
    fitted = _fit_by_loss(key, taught, validation, problem, kind, loss, settings, progress)
    return fitted._replace(model=neutralise(fitted.model, taught.features))


def _long_enough(config: TrainConfig, num_cohorts: int) -> TrainConfig:
    """The settings with more epochs if there are fewer than five cohorts: as many steps as with five.

    Fewer cohorts mean fewer steps in each epoch. With 300 people in a single cohort, 100 steps were too few for the
    weights to converge.
    """
    longer = -(-FEWEST_COHORTS // num_cohorts)
    patience = None if config.patience is None else config.patience * longer
    return dataclasses.replace(config, num_epochs=config.num_epochs * longer, patience=patience)


def _fit_by_loss(
    key: PRNGKeyArray,
    cohorts: Cohorts,
    validation: Cohorts | None,
    problem: Problem,
    kind: Any,
    loss: Loss | None,
    config: TrainConfig,
    progress: bool | None,
) -> Fitted:
    """Train in one run. Without a loss, it uses the recommended loss at its middle weight."""
    first, order = jax.random.split(key)
    model = make_correction(kind, first, cohorts.features, cohorts.true_transitions.shape[-1])
    loss = recommended_loss() if loss is None else loss
    trained = train(order, cohorts, loss, model, config, problem=problem, validation=validation, progress=progress)
    return Fitted(trained.model, loss, config, trained.history, trained.best_epoch)


def _fit_averaged(
    key: PRNGKeyArray,
    cohorts: Cohorts,
    problem: Problem,
    kind: Any,
    loss: Loss | None,
    settings: TrainConfig,
    splits: list[SplitNumbers],
    progress: bool | None,
) -> Fitted:
    """Average the models of all splits. Without a loss, the recipe chooses a loss and a learning rate."""
    if settings.quality is None:
        settings = dataclasses.replace(settings, quality="joint", select_by="quality")
    options: dict[str, Any] = {"splits": splits, "problem": problem, "progress": progress}

    def model(key: PRNGKeyArray) -> Any:
        return make_correction(kind, key, cohorts.features, cohorts.true_transitions.shape[-1])

    if loss is None:
        chosen = train_recommended(key, cohorts, model, settings, **options)
    else:
        chosen = train_averaged(key, cohorts, [loss], model, settings, **options)
    # Each member learned from its own split, so a level unseen by one member may be known to another.
    members = [
        neutralise(chosen.runs.model(run), cohorts[splits[chosen.runs.setting.split[run]].train].features)
        for run in chosen.members
    ]
    first = chosen.members[0]
    history = jax.tree.map(lambda values: values[first], chosen.runs.history)
    best_epoch = int(chosen.runs.best_epoch[first])
    average = Correction(average_models([member.network for member in members]), members[0].num_history)
    tried = [splits[chosen.runs.setting.split[run]].test for run in chosen.members]
    if loss is None and not helps(key, members, [cohorts[numbers] for numbers in tried], problem):
        average = unsaid(average)
    return Fitted(average, chosen.loss, chosen.config, history, best_epoch)


def helps(key: PRNGKeyArray, corrections: list[Correction], cohorts: list[Cohorts], problem: Problem) -> bool:
    """Whether corrections lead to better calls than the posterior alone, by more than a standard error over cohorts.

    Args:
        key: draws the simulated luck, the same for both.
        corrections: one for each split.
        cohorts: for each split, the cohorts not used to learn or to choose the correction.
        problem: rewards, discount and first states.
    """
    leads = [
        _returns(key, each, own, problem) - _returns(key, unsaid(each), own, problem)
        for each, own in zip(corrections, cohorts, strict=True)
        if own.num_cohorts
    ]
    lead = np.concatenate(leads) if leads else np.zeros(1)
    return len(lead) > 1 and bool(lead.mean() > lead.std(ddof=1) / len(lead) ** 0.5)


def unsaid(correction: Correction) -> Correction:
    """A correction with all weights 0, which leaves the posterior as it is."""
    return jax.tree.map(lambda leaf: jnp.zeros_like(leaf) if eqx.is_inexact_array(leaf) else leaf, correction)


def _returns(key: PRNGKeyArray, correction: Correction, cohorts: Cohorts, problem: Problem) -> np.ndarray:
    """The return in each cohort of calls by the corrected chains, with the cohort's own chains as the truth."""
    predicted = jax.vmap(correction)(cohorts.features)
    indices = jax.vmap(lambda cohort: whittle_indices(cohort, problem))(predicted)
    quality = priority_decision_quality(key, indices, cohorts.true_transitions, problem, cohorts.budget, JUDGED_RUNS)
    return np.asarray(quality.achieved)


def make_correction(kind: Any, key: Any, features: Features, num_states: int) -> Correction:
    """A new correction that changes nothing yet. The features are those of ``known_chains``."""
    size = num_history(num_states)
    history = eqx.tree_at(lambda each: each.numeric, features, features.numeric[..., :size])
    return Correction(silent(make_model(kind, key, history, num_states)), size)


def make_model(kind: Any, key: Any, features: Features, num_states: int) -> Any:
    """Make a model. ``kind`` is a name in ``MODELS``, or a function of a key, features and the number of states."""
    if callable(kind):
        return kind(key, features, num_states)
    if not isinstance(kind, str) or kind not in MODELS:
        raise InvalidInputError(f"model must be one of {', '.join(map(repr, MODELS))} or a function, not {kind!r}.")
    shape = MODELS[kind]
    if shape is None:
        return Linear(key, features, num_states)
    return MultiLayerPerceptron(key, features, num_states, width=shape[0], depth=shape[1])


def neutralise(model: Any, features: Features) -> Any:
    """Replace the weights of levels unseen in training by the average person's weights in that column.

    Otherwise these weights would keep their random start. Chance would then decide whether a person with a new value,
    or a value missing for the first time, is called.
    """
    if isinstance(model, Correction):
        return eqx.tree_at(lambda each: each.network, model, neutralise(model.network, features))
    if not isinstance(model, Linear | MultiLayerPerceptron) or not features.levels:
        return model
    table = np.asarray(model.layer.table)
    codes, ends = np.asarray(features.codes).reshape(-1, len(features.levels)), np.cumsum(features.levels)
    columns = []
    for column, (size, end) in enumerate(zip(features.levels, ends, strict=True)):
        taught = np.bincount(codes[:, column], minlength=size)
        rows = table[end - size : end]
        average = (taught / taught.sum()) @ rows
        columns.append(np.where(taught[:, None] > 0, rows, average[None]))
    filled = jnp.asarray(np.concatenate(columns), dtype=table.dtype)
    return eqx.tree_at(lambda model: model.layer.table, model, filled)
