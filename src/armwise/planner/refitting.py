"""Fit a planner again without a search for its settings, so that a backtest can do it for many weeks and halves."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from armwise._validation import check_count, check_share
from armwise.data import Trajectories
from armwise.errors import InvalidInputError
from armwise.evaluation.effects import check_groups, check_labels
from armwise.evaluation.simple_rules import RULES_OF_THUMB
from armwise.losses import Loss
from armwise.models.chains import ChainModel
from armwise.models.corrections import CorrectedChains
from armwise.planner.backtest import Backtest, run_backtest
from armwise.planner.base_planner import BasePlanner, seed_of
from armwise.planner.learning import Refit, check_parameters, knows_chains, learn, refuse_names
from armwise.planner.learning_data import Examples, read_examples
from armwise.planner.past_lists import ARMWISE, PREDICTED_BY, Fit, Predict, Predictions, Rows
from armwise.planner.scoring import index_chains
from armwise.rmab import Problem
from armwise.training import TrainConfig, recommended_loss

Planner = TypeVar("Planner", bound=BasePlanner)
# Chains by the rows of the people learned from and the number of their steps.
Shared = dict[tuple[bytes, int], ChainModel | None]

# So many people are enough to learn the weights of some dozens of levels; more people cost more time in every refit.
MAX_PEOPLE = 10_000
# A backtest's planner stops learning after so many epochs without a better validation loss.
PATIENCE = 20


def backtest_planner(
    planner: BasePlanner,
    people: Any,
    history: Any,
    ids: Any,
    groups: Any,
    losses: Any,
    num_origins: Any,
    num_resamples: Any,
    advance: Callable[[], None],
) -> Backtest:
    """The work of ``OutreachPlanner.backtest``, which explains the arguments."""
    check_parameters(planner)
    examples = read_examples(people, history, ids, planner.id_column, planner.num_states)
    refuse_names(planner, examples)
    rows = examples.order
    ways = {ARMWISE: planner.loss, **_check_losses(losses)}
    shared: Shared = {}
    return run_backtest(
        examples.trajectories,
        Problem(discount=planner.discount, num_states=examples.trajectories.num_states),
        {name: fit_in_the_past(planner, examples, loss, shared) for name, loss in ways.items()},
        budget_share=check_share("budget_share", planner.budget_share),
        groups={name: check_labels(name, each, len(rows))[rows] for name, each in check_groups(groups).items()},
        num_origins=check_count("num_origins", num_origins, minimum=1),
        num_resamples=check_count("num_resamples", num_resamples, minimum=2),
        seed=seed_of(planner),
        advance=advance,
    )


def _check_losses(losses: Any) -> dict[str, Loss | None]:
    if not isinstance(losses or {}, Mapping):
        raise InvalidInputError(f"losses must be a mapping from names to losses, not {losses!r:.60}.")
    taken = {ARMWISE, *RULES_OF_THUMB, *PREDICTED_BY} & set(losses or {})
    if taken:
        raise InvalidInputError(f"losses has the name of another way: {', '.join(sorted(taken))}. Rename it.")
    return dict(losses or {})


def fit_in_the_past(planner: BasePlanner, examples: Examples, loss: Loss | None, shared: Shared | None = None) -> Fit:
    """Make the ``Fit`` of a planner: it fits a copy to some people's early steps, and predicts other people.

    Args:
        planner: gives the parameters.
        examples: all people. Their histories are not used here; the backtest hands over the steps to learn from.
        loss: replaces the planner's loss.
        shared: chains that another way has learned from the same people and steps.
    """
    shared = {} if shared is None else shared
    copy = type(planner)(**planner.get_params())
    # Stopping by quality would fail where no call is worth making, such as where calls hurt; so stop by the loss.
    config = TrainConfig(patience=PATIENCE) if planner.config is None else planner.config
    copy.set_params(loss=loss, config=config, num_states=examples.trajectories.num_states)

    def fit(taught: Rows, seen: Trajectories, judged: Rows) -> Predict:
        same = (taught.tobytes(), seen.num_steps)
        fitted: Any = refit_cheaply(copy, examples.frame[taught], seen, chains=shared.get(same))
        model = getattr(fitted, "model_", None)
        shared[same] = model.chains if isinstance(model, CorrectedChains) else model
        others = examples.frame[judged]

        def predict(known: Trajectories) -> Predictions:
            chains = fitted.predict_transitions(others, known)
            return Predictions(chains, index_chains(chains, fitted.problem_))

        return predict

    return fit


def refit_cheaply(
    planner: Planner,
    people: Any,
    history: Any,
    *,
    ids: Any = None,
    max_people: int = MAX_PEOPLE,
    num_splits: int = 1,
    chains: ChainModel | None = None,
) -> Planner:
    """A new planner with the same parameters that only predicts. The given planner does not change.

    A planner of people's chains learns as in ``fit``, from fewer people.

    A planner with a loss or a model of features learns in one run, not in the recipe's 50 runs. If the planner is
    fitted, the run uses the loss and learning rate that the recipe chose. Else it uses those that the planner was
    given, or the recommended loss at its middle weight. The cohorts, the split, the choice of the epoch and the share
    of calls are those of ``planner.fit``. One run varies more than the average of five that ``fit`` keeps. With
    ``num_splits=5``, the refit of a fitted planner on the same people equals the recipe's result and takes five times
    as long.

    In a backtest, give a planner that is not fitted, or one fitted on no later week than the first week judged. A
    recipe that chose on all weeks has seen the weeks to be judged.

    Fits of equal shapes share their compiled programs: the same number of people, the same levels of features, the
    same parameters. Only the first fit compiles.

    Args:
        planner: fitted or not.
        people: as in ``planner.fit``.
        history: as in ``planner.fit``.
        ids: as in ``planner.fit``.
        max_people: about the most people to learn from, drawn at random; with a loss at least one cohort.
        num_splits: random splits whose models are averaged; the recipe has 5.
        chains: chains learned before from exactly the same people and weeks, to save the time of learning them.
    """
    most, splits = check_count("max_people", max_people, minimum=1), check_count("num_splits", num_splits, minimum=1)
    copy = type(planner)(**planner.get_params())
    if not knows_chains(planner):
        _take_settings(copy, planner, most)
    learn(
        copy, read_examples(people, history, ids, copy.id_column, copy.num_states), False, Refit(splits, most, chains)
    )
    return copy


def _take_settings(copy: BasePlanner, planner: BasePlanner, max_people: int) -> None:
    """Give the copy the planner's loss and settings (the recipe's choice if it is fitted) and fewer people."""
    affordable = max_people // check_count("cohort_size", planner.cohort_size, minimum=1)
    fitted = hasattr(planner, "model_")
    loss, config = (planner.loss_, planner.config_) if fitted else (planner.loss, planner.config)
    copy.set_params(
        loss=recommended_loss() if loss is None else loss,
        config=config,
        max_cohorts=max(1, min(check_count("max_cohorts", planner.max_cohorts, minimum=1), affordable)),
    )
