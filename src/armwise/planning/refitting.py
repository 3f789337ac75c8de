"""A planner fitted again without a search for its settings: what a backtest can afford for every week and fold."""

from typing import TYPE_CHECKING, Any

import numpy as np

from armwise.losses import Loss
from armwise.planner import Fit, Predictions
from armwise.planner.past import until
from armwise.planning.fitting import Examples
from armwise.rmab.checks import check_count
from armwise.training import TrainConfig, recommended_loss

if TYPE_CHECKING:
    from armwise.planning.planner import OutreachPlanner

# Enough to learn the weights of some dozens of levels; more people cost more time in every fold.
MAX_PEOPLE = 10_000
# Epochs without a better validation loss, after which a backtest's planner has learned enough.
PATIENCE = 20


def fit_in_the_past(planner: "OutreachPlanner", examples: Examples, loss: Loss | None) -> Fit:
    """What a backtest does with a planner: fit a copy to some people's early steps, and predict others.

    Args:
        planner: gives the parameters.
        examples: all people with their histories.
        loss: to learn by instead of the planner's own.
    """
    copy = type(planner)(**planner.get_params())
    # By quality, training fails where no call is worth making, as where calls hurt.
    config = TrainConfig(patience=PATIENCE) if planner.config is None else planner.config
    copy.set_params(loss=loss, config=config, num_states=examples.trajectories.num_states)

    def fit(taught: np.ndarray, last_step: int, judged: np.ndarray) -> Predictions:
        seen = until(examples.trajectories, last_step)[taught]
        fitted = refit_cheaply(copy, examples.frame[taught], seen)
        others = examples.frame[judged]
        return Predictions(fitted.predict_transitions(others), fitted.whittle_indices(others))

    return fit


def refit_cheaply(
    planner: "OutreachPlanner",
    features: Any,
    trajectories: Any,
    *,
    ids: Any = None,
    max_people: int = MAX_PEOPLE,
    num_splits: int = 1,
) -> "OutreachPlanner":
    """A new planner with the same parameters, fitted by one run, not the recipe's 50; the given one is not changed.

    It learns by the loss and the learning rate that the planner has come to: those that the recipe chose, if it is
    fitted; else those that it was given; else the recommended loss at its middle weight. The cohorts, the split, the
    choice of the epoch and the share of calls are those of ``planner.fit``.

    One run varies more than the average of five that ``fit`` keeps. With ``num_splits=5`` the refit of a fitted planner
    on the same people is what the recipe came to, for five times the time.

    In a backtest, give a planner that is not fitted, or one that was fitted on no later week than the first one judged:
    what the recipe chose on all weeks has seen the weeks to be judged.

    Fits of equal shapes share their compiled programs: as many people, the same levels of features, the same
    parameters. Only the first of them compiles.

    Args:
        planner: fitted or not.
        features: as in ``planner.fit``.
        trajectories: as in ``planner.fit``.
        ids: as in ``planner.fit``.
        max_people: learn from about so many at most, drawn at random; at least from one cohort.
        num_splits: random splits whose models are averaged; the recipe's are 5.
    """
    size = check_count("cohort_size", planner.cohort_size, minimum=1)
    affordable = check_count("max_people", max_people, minimum=1) // size
    copy = type(planner)(**planner.get_params())
    fitted = hasattr(planner, "model_")
    loss, config = (planner.loss_, planner.config_) if fitted else (planner.loss, planner.config)
    copy.set_params(
        loss=recommended_loss() if loss is None else loss,
        config=config,
        max_cohorts=max(1, min(check_count("max_cohorts", planner.max_cohorts, minimum=1), affordable)),
    )
    return copy._learn(features, trajectories, ids, False, check_count("num_splits", num_splits, minimum=1))
