"""From people and their history to a model: encode, count, estimate, divide into cohorts, train."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import polars as pl
from jaxtyping import PRNGKeyArray

from armwise.data import (
    Cohorts,
    Encoder,
    Features,
    SplitNumbers,
    Trajectories,
    estimate_transitions,
    first_state_shares,
    partition,
    split_numbers,
    transition_counts,
)
from armwise.data.long_table import COLUMNS
from armwise.errors import InvalidInputError
from armwise.losses import Loss
from armwise.models import Linear, MultiLayerPerceptron, average_models
from armwise.planning.cohort_shape import FEWEST_COHORTS, cohort_shape
from armwise.planning.frames import LABELS, as_frame, as_series, as_text_ids, check_distinct
from armwise.rmab import Problem
from armwise.training import RECOMMENDED_CONFIG, History, TrainConfig, recommended_loss, train, train_recommended
from armwise.training.recipe import train_averaged

# Random splits on which the recipe tries its settings and whose models it averages: more are better and take longer.
RECIPE_SPLITS = 5
# Indices and policies of more states than this fit in no memory.
MOST_STATES = 1000
MODELS = {"linear": None, "medium": (64, 2), "large": (500, 4)}


class Examples(NamedTuple):
    """People to learn from, in the order of their ids; without ids, rows are numbered, which tells nobody apart.

    ``order`` is the row of the table that each of them comes from.
    """

    ids: pl.Series
    frame: pl.DataFrame
    trajectories: Trajectories
    order: np.ndarray
    has_ids: bool = True


def read_examples(features: Any, trajectories: Any, ids: Any, id_column: Any, num_states: Any = None) -> Examples:
    """People with their history, in the order of their ids, so that the order of rows cannot matter.

    Args:
        features: a table with one row per person.
        trajectories: ``Trajectories`` in the order of the table's rows, or a long table with the columns id, step,
            state and action.
        ids: of the people, the name of a column or values; by default the table's column ``id_column`` if it has one,
            else the row numbers.
        id_column: the name of the column of ids.
        num_states: by default as many as the history shows.
    """
    frame = as_frame("features", features, [_check_name(id_column)])
    names = _ids(frame, ids, id_column)
    frame = frame.drop(ids if isinstance(ids, str) else id_column, LABELS, strict=False)
    if not frame.height:
        raise InvalidInputError(
            "features has no rows, or no column besides the ids. Check the file or the filter that it comes from."
        )
    if isinstance(trajectories, Trajectories):
        history = _in_rows(trajectories, frame.height)
        _check_states(history)
    elif names is None:
        raise InvalidInputError(
            f"features has no column {id_column!r}, so that nobody can be found in the history. Add the column, or say "
            "with ids which one it is; or give the history as Trajectories, row i the person of row i."
        )
    else:
        check_distinct(names)
        history = _from_long_table(trajectories, names, id_column, num_states)
    # Rows without ids are numbered with leading zeros, so that their order as text is that of the rows.
    known = pl.Series("id", np.arange(frame.height)).cast(pl.String).str.zfill(10) if names is None else names
    check_distinct(known)
    order = known.arg_sort()
    history = jax.tree.map(lambda leaf: leaf[order.to_numpy()], history)
    return Examples(known.gather(order), frame[order], history, order.to_numpy(), has_ids=names is not None)


def _check_name(id_column: Any) -> str:
    if not isinstance(id_column, str):
        raise InvalidInputError(f"id_column must be the name of a column, not {id_column!r}.")
    return id_column


def _ids(frame: pl.DataFrame, ids: Any, id_column: str) -> pl.Series | None:
    """The ids of the rows; none if the table does not have any."""
    if ids is not None and not isinstance(ids, str):
        return as_text_ids(as_series("ids", ids, frame.height))
    if isinstance(ids, str) and ids not in frame.columns:
        raise InvalidInputError(f"The table has no column {ids!r}. Correct its name.")
    name = next((name for name in (ids or id_column, LABELS) if name in frame.columns), None)
    return None if name is None else as_text_ids(frame[name])


def _in_rows(trajectories: Trajectories, num_people: int) -> Trajectories:
    if trajectories.num_arms != num_people:
        raise InvalidInputError(
            f"features has {num_people} people and trajectories {trajectories.num_arms}. Row i of both must be "
            "the same person; or give trajectories as a table with ids."
        )
    return trajectories


def _from_long_table(table: Any, ids: pl.Series, id_column: str, num_states: Any) -> Trajectories:
    """The trajectories of these people, in their order; someone without rows was never observed."""
    long = as_frame("trajectories", table, [id_column, *COLUMNS])
    name = id_column if id_column in long.columns else "id"
    absent = [each for each in (name, *COLUMNS[1:]) if each not in long.columns]
    if absent:
        present = ", ".join(map(repr, long.columns)) or "none"
        raise InvalidInputError(
            f"trajectories has no column {', '.join(map(repr, absent))}, but {present}. It needs the columns "
            f"{', '.join((name, *COLUMNS[1:]))}, one row for each person and step observed."
        )
    long = long.select(as_text_ids(long[name]).alias("id"), *COLUMNS[1:])
    strangers = long["id"].filter(~long["id"].is_in(ids.implode()))
    if len(strangers):
        raise InvalidInputError(
            f"trajectories has rows of id {strangers[0]!r}, whom features does not know. Add the person there, or "
            "leave these rows out."
        )
    history, _ = Trajectories.from_table(long.to_dict(), num_states, ids=ids.to_numpy())
    _check_states(history)
    return history


def _check_states(history: Trajectories) -> None:
    """Refuse numbers of states or steps that nothing can be learned from, before arrays of that size are made."""
    if history.num_states > MOST_STATES:
        raise InvalidInputError(
            f"trajectories has state {history.num_states - 1}, and at most {MOST_STATES} states can be learned. Number "
            "the states 0, 1, 2, …, or merge some."
        )
    observed = np.asarray(history.observed)
    if not (observed[:, 1:] & observed[:, :-1]).any():
        raise InvalidInputError(
            "Nobody in trajectories was observed in two steps in a row, so that there is no transition to learn from. "
            "Number the steps one by one (week 0, 1, 2, …); dates and days are not steps."
        )


class Material(NamedTuple):
    """What a model learns from, or is judged on; and how often everyone together made each transition."""

    cohorts: Cohorts
    problem: Problem
    pool: np.ndarray


def make_material(
    examples: Examples,
    features: Features,
    discount: Any,
    prior_strength: float,
    cohort_size: int,
    budget_share: float,
    max_cohorts: int,
    seed: int,
    others: np.ndarray | None = None,
) -> Material:
    """Random cohorts of the people, each with its share of the budget, and the problem that they pose.

    ``others`` are transitions of further people, ``[states, actions, states]``, who belong to the same pool.
    """
    counts = np.asarray(transition_counts(examples.trajectories))
    # To the pool, the others are one more person.
    everyone = counts if others is None else np.concatenate([counts, others[None]])
    if not everyone[:, :, 1].any():
        raise InvalidInputError(
            "Nobody in trajectories was called in a step after which they were observed: action 1 was never seen, and "
            "nothing can be learned of what calls achieve. Add the calls that were made."
        )
    everyone = np.concatenate([everyone, _calls_not_tried(everyone.sum(axis=0))[None]])
    transitions = np.asarray(estimate_transitions(everyone, prior_strength))[: len(counts)]
    shape = cohort_shape(len(examples.ids), budget_share, cohort_size, max_cohorts)
    people = partition(seed, features, transitions, counts, shape.size, shape.budget)
    initial = first_state_shares(examples.trajectories)
    # Who is with whom is random, so the first cohorts are as good as any.
    cohorts = people.cohorts[: shape.number]
    return Material(cohorts, Problem(discount=discount, initial=initial), counts.sum(axis=0))


def _calls_not_tried(pool: np.ndarray) -> np.ndarray:
    """Transitions for calls in states in which nobody was ever called: as if those calls did nothing.

    Programmes that call only people who are disengaged have never called anyone who is engaged.
    """
    tried = pool[:, 1:].sum(axis=2, keepdims=True) > 0
    assumed = np.zeros_like(pool)
    assumed[:, 1:] = np.where(tried | ~tried.any(), 0, pool[:, :1])
    return assumed


class Fitted(NamedTuple):
    """A model, and by what it was trained."""

    model: Any
    loss: Loss
    config: TrainConfig
    history: History
    best_epoch: int


def fit_model(
    material: Material,
    loss: Loss | None,
    kind: Any,
    config: TrainConfig | None,
    validation_share: float,
    seed: int,
    progress: bool | None,
    num_splits: int | None = None,
) -> Fitted:
    """Train on some cohorts, choose by others, and make neutral what no one taught; without a loss, by the recipe.

    ``num_splits`` is the number of random splits whose models are averaged: by default 1 with a loss, and
    ``RECIPE_SPLITS`` without. If it is given, the settings are by default the recommended ones, with a loss too.
    """
    cohorts, problem, _ = material
    held_out = min(cohorts.num_cohorts - 1, max(1, round(validation_share * cohorts.num_cohorts)))
    sizes = (cohorts.num_cohorts - held_out, held_out, 0)
    number = (RECIPE_SPLITS if loss is None else 1) if num_splits is None else num_splits
    splits = [split_numbers(cohorts.num_cohorts, seed + each, *sizes) for each in range(number)]
    key = jax.random.key(seed)
    recommended = held_out and (loss is None or num_splits is not None)
    usual = RECOMMENDED_CONFIG if recommended else TrainConfig()
    settings = _long_enough(usual, cohorts.num_cohorts) if config is None else config
    if held_out and (loss is None or number > 1):
        return _fit_averaged(key, cohorts, problem, kind, loss, settings, splits, progress)
    if not held_out:
        # With a single cohort nobody is held back to measure a quality on: the training loss chooses the epoch.
        settings = dataclasses.replace(settings, quality=None, select_by="loss")
    taught, validation = cohorts[splits[0].train], cohorts[splits[0].validation] if held_out else None
    fitted = _fit_by_loss(key, taught, validation, problem, kind, loss, settings, progress)
    return fitted._replace(model=neutralise(fitted.model, taught.features))


def _long_enough(config: TrainConfig, num_cohorts: int) -> TrainConfig:
    """The settings with more epochs where there are few cohorts, and so few steps in each: as many steps as of five.

    Of 300 people in a single cohort, 100 steps left the weights on their way.
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
    """One run; by the recipe's loss at its middle weight if there is no one to choose a weight by."""
    first, order = jax.random.split(key)
    model = make_model(kind, first, cohorts.features, cohorts.true_transitions.shape[-1])
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
    """The average of the models of all splits, by one loss; without one, by the recipe's choice of loss and rate."""
    if settings.quality is None:
        settings = dataclasses.replace(settings, quality="joint", select_by="quality")
    options: dict[str, Any] = {"splits": splits, "problem": problem, "progress": progress}

    def model(key: PRNGKeyArray) -> Any:
        return make_model(kind, key, cohorts.features, cohorts.true_transitions.shape[-1])

    if loss is None:
        chosen = train_recommended(key, cohorts, model, settings, **options)
    else:
        chosen = train_averaged(key, cohorts, [loss], model, settings, **options)
    # Each member learned from its own split: a level that no one taught one of them may have been taught to another.
    members = [
        neutralise(chosen.runs.model(run), cohorts[splits[chosen.runs.setting.split[run]].train].features)
        for run in chosen.members
    ]
    first = chosen.members[0]
    history = jax.tree.map(lambda values: values[first], chosen.runs.history)
    best_epoch = int(chosen.runs.best_epoch[first])
    return Fitted(average_models(members), chosen.loss, chosen.config, history, best_epoch)


def make_model(kind: Any, key: Any, features: Features, num_states: int) -> Any:
    """The model of a kind: a name in ``MODELS``, or a function of a key, features and the number of states."""
    if callable(kind):
        return kind(key, features, num_states)
    if not isinstance(kind, str) or kind not in MODELS:
        raise InvalidInputError(f"model must be one of {', '.join(map(repr, MODELS))} or a function, not {kind!r}.")
    shape = MODELS[kind]
    if shape is None:
        return Linear(key, features, num_states)
    return MultiLayerPerceptron(key, features, num_states, width=shape[0], depth=shape[1])


def neutralise(model: Any, features: Features) -> Any:
    """The model with the weights of levels that no one taught replaced by the average person's of that column.

    Otherwise they would stay at their random start, and whoever has a value that is new, or missing for the first
    time, would be called or not by chance.
    """
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


def data_hash_parts(examples: Examples, encoder: Encoder) -> tuple[Any, ...]:
    """What the fingerprint of the data learned from is made of: codes and history, no ids."""
    codes = np.asarray(encoder.transform(examples.frame).features.codes)
    return codes, examples.trajectories
