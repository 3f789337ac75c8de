"""How a planner learns: it encodes people, fits their chains and, with a loss or a model, trains a correction."""

from typing import NamedTuple

import numpy as np

from armwise._validation import check_count, check_not_negative, check_share
from armwise.data import Features, Trajectories, first_state_shares, transition_counts
from armwise.errors import InvalidInputError
from armwise.losses import Loss
from armwise.models.chains import ChainModel, fit_chains
from armwise.models.chains.fitting import MAX_PEOPLE, NUM_TURNS
from armwise.models.corrections import CorrectedChains, known_chains
from armwise.planner.base_planner import BasePlanner, seed_of
from armwise.planner.call_gains import estimate_call_gains
from armwise.planner.correction import PreparedCohorts, fit_model, prepare_cohorts
from armwise.planner.learning_data import (
    Examples,
    check_calls,
    data_hash_parts,
    feature_columns,
    fit_encoder,
    hash_people,
    refuse_overlap,
    refuse_same_table,
)
from armwise.planner.past_lists import until
from armwise.programme.personal_columns import refuse_personal
from armwise.rmab import Problem
from armwise.training import TrainConfig
from armwise.training.checkpoint import fingerprint
from armwise.training.engine import progress_bar


class Refit(NamedTuple):
    """How to fit a planner that only predicts.

    Attributes:
        num_splits: random splits whose models are averaged.
        max_people: the most people to learn chains from.
        chains: chains learned before from exactly the same people and weeks; None if there are none.
    """

    num_splits: int
    max_people: int
    chains: ChainModel | None = None


def learn(planner: BasePlanner, examples: Examples, progress: bool | None, refit: Refit | None = None) -> None:
    """Learn, and set the planner's attributes whose names end in an underscore.

    Args:
        planner: gives the parameters, and gets what is learned.
        examples: people to learn from.
        progress: whether to show a bar on stderr; None shows it on a terminal.
        refit: how to learn only what predictions need; None to learn everything.
    """
    check_parameters(planner)
    if refit is None:
        # Not in a refit: in half of the people, as in a backtest, more values belong to one person only.
        refuse_names(planner, examples)
    planner.encoder_ = fit_encoder(examples.frame, planner.categorical, planner.numeric, planner.num_bins)
    if knows_chains(planner):
        _learn_chains(planner, examples, progress, refit)
    else:
        _learn_by_loss(planner, examples, progress, refit)
    planner.data_ = fingerprint(*data_hash_parts(examples, planner.encoder_))
    planner._learned_from = hash_people(examples.ids) if examples.has_ids else None
    if refit is None:
        # Not in a refit: it takes seconds, and the many refits of a backtest only predict.
        rewards = planner.problem_.rewards
        planner.call_gains_ = estimate_call_gains(examples.trajectories, rewards, seed_of(planner))


def knows_chains(planner: BasePlanner) -> bool:
    """Whether the planner learns people's chains without a correction: it has neither a loss nor a model."""
    return planner.loss is None and planner.model is None


def _learn_chains(planner: BasePlanner, examples: Examples, progress: bool | None, refit: Refit | None) -> None:
    history = examples.trajectories
    counts = np.asarray(transition_counts(history))
    check_calls(counts)
    features = planner.encoder_.transform(examples.frame).features
    planner.problem_ = Problem(discount=planner.discount, initial=first_state_shares(history))
    planner.model_ = _fit_chains(planner, features, history, progress, refit)
    planner.loss_ = planner.config_ = planner.history_ = None
    planner.pool_ = counts.sum(axis=0)
    planner.metrics_ = {
        "num_people": float(len(examples.ids)),
        "num_transitions": float(counts.sum()),
        "num_calls": float(counts[:, :, 1].sum()),
    }


def _fit_chains(
    planner: BasePlanner, features: Features, history: Trajectories, progress: bool | None, refit: Refit | None
) -> ChainModel:
    if refit is not None and refit.chains is not None:
        return refit.chains
    most = MAX_PEOPLE if refit is None else refit.max_people
    with progress_bar("Learning", NUM_TURNS, progress) as tick:
        return fit_chains(features, history, seed=seed_of(planner), max_people=most, advance=lambda: tick(1))


def _learn_by_loss(planner: BasePlanner, examples: Examples, progress: bool | None, refit: Refit | None) -> None:
    """Learn a correction of people's posterior chains. It predicts from the early steps and is taught by all steps."""
    features, history = planner.encoder_.transform(examples.frame).features, examples.trajectories
    check_calls(np.asarray(transition_counts(history)))
    chains = _fit_chains(planner, features, history, progress, refit)
    known = known_chains(chains.posterior(features, until(history, history.num_steps // 2 - 1)), features)
    prepared = make_cohorts(planner, examples, None, known, chains.posterior(features, history).transitions())
    share = check_share("validation_share", planner.validation_share)
    kind = "linear" if planner.model is None else planner.model
    num_splits = None if refit is None else refit.num_splits
    trained = fit_model(prepared, planner.loss, kind, planner.config, share, seed_of(planner), progress, num_splits)
    planner.model_, planner.problem_ = CorrectedChains(chains, trained.model), prepared.problem
    planner.loss_, planner.config_ = trained.loss, trained.config
    planner.history_, planner.pool_ = trained.history, prepared.pool
    planner.metrics_ = {
        "num_people": float(len(examples.ids)),
        "best_epoch": float(trained.best_epoch),
        "train_loss": float(trained.history.train_loss[trained.best_epoch - 1]),
        "validation_loss": float(trained.history.validation_loss[trained.best_epoch - 1]),
    }


def make_cohorts(
    planner: BasePlanner,
    examples: Examples,
    others: np.ndarray | None = None,
    features: Features | None = None,
    chains: np.ndarray | None = None,
) -> PreparedCohorts:
    """Cohorts of the people, with the planner's parameters.

    Args:
        planner: gives the parameters.
        examples: the people.
        others: transitions of further people who belong to the same pool.
        features: people's features; by default from the planner's encoder.
        chains: the chains that count as true; by default those estimated from people's counts.
    """
    return prepare_cohorts(
        examples,
        planner.encoder_.transform(examples.frame).features if features is None else features,
        planner.discount,
        check_not_negative("prior_strength", planner.prior_strength),
        check_count("cohort_size", planner.cohort_size, minimum=1),
        check_share("budget_share", planner.budget_share),
        check_count("max_cohorts", planner.max_cohorts, minimum=1),
        seed_of(planner),
        others,
        chains,
    )


def check_parameters(planner: BasePlanner) -> None:
    """Refuse parameters that cannot be right, including those that only an evaluation uses."""
    for name, kind in (("loss", Loss), ("config", TrainConfig)):
        value = getattr(planner, name)
        if value is not None and not isinstance(value, kind):
            raise InvalidInputError(f"{name} must be an armwise.{kind.__name__} or None, not {value!r}.")
    for name in ("cohort_size", "max_cohorts"):
        check_count(name, getattr(planner, name), minimum=1)
    for name in ("budget_share", "validation_share"):
        check_share(name, getattr(planner, name))
    check_not_negative("prior_strength", planner.prior_strength)
    if not planner.budget_share:
        raise InvalidInputError(
            f"budget_share must be above 0 and at most 1, not {planner.budget_share!r}: without calls there is nothing "
            "to learn. Give the calls per person and step, such as 42 / 1000."
        )


def refuse_names(planner: BasePlanner, examples: Examples) -> None:
    """Refuse to learn from columns with personal values, such as names."""
    refuse_personal(examples.frame, *feature_columns(examples.frame, planner.categorical, planner.numeric))


def refuse_those_learned_from(planner: BasePlanner, examples: Examples) -> None:
    """Refuse to judge the planner by people whom it learned from."""
    learned_from = getattr(planner, "_learned_from", None)
    if learned_from is not None and examples.has_ids:
        refuse_overlap(learned_from, hash_people(examples.ids))
    else:
        refuse_same_table(planner.data_, fingerprint(*data_hash_parts(examples, planner.encoder_)))
