"""The parameters and the learned attributes of a planner, by name and type; what they mean stands in ``planner.py``."""

from typing import Any

import numpy as np

from armwise.data import Encoder
from armwise.errors import NotFittedError
from armwise.losses import Loss
from armwise.planner import CallGains
from armwise.planning.parameters import Parameters
from armwise.rmab import Problem
from armwise.training import History, TrainConfig


class BasePlanner(Parameters):
    """A planner before its verbs: whether it has learned, and enough to plan."""

    loss: Any
    model: Any
    config: Any
    discount: Any
    prior_strength: Any
    cohort_size: Any
    budget_share: Any
    max_cohorts: Any
    validation_share: Any
    num_states: Any
    num_bins: Any
    categorical: Any
    numeric: Any
    id_column: Any
    random_state: Any

    encoder_: Encoder
    model_: Any
    problem_: Problem
    loss_: Loss | None
    config_: TrainConfig | None
    history_: History | None
    pool_: np.ndarray
    call_gains_: CallGains
    metrics_: dict[str, float]
    data_: str
    _learned_from: np.ndarray | None

    def __sklearn_is_fitted__(self) -> bool:
        """What scikit-learn's ``check_is_fitted`` asks."""
        return hasattr(self, "model_")

    def _fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("This planner has learned nothing yet. Call fit, or load one that was saved.")

    def _complete(self) -> None:
        """Refuse planners that cannot say what a call gains."""
        self._fitted()
        if not hasattr(self, "call_gains_"):
            raise NotFittedError("This planner was refitted to predict only. Call fit to plan with it or to save it.")
