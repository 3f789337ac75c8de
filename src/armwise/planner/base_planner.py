"""scikit-learn's convention for parameters, without scikit-learn: a planner keeps its constructor's arguments."""

import inspect
from typing import Any

import numpy as np

from armwise._validation import check_count
from armwise.data import Encoder
from armwise.errors import InvalidInputError, NotFittedError
from armwise.losses import Loss
from armwise.planner.call_gains import CallGains
from armwise.rmab import Problem
from armwise.training import History, TrainConfig


class Parameters:
    """A base for estimators with ``get_params`` and ``set_params``; scikit-learn's ``clone`` and searches need them.

    A class that derives from it stores every argument of its constructor, unchanged, in an attribute of the same name.
    """

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 (scikit-learn passes it)
        """The parameters by name. No parameter has parameters of its own, so ``deep`` changes nothing."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **parameters: Any) -> "Parameters":
        """Change parameters. The change takes effect at the next ``fit``."""
        known = self._names()
        for name, value in parameters.items():
            if name not in known:
                raise InvalidInputError(f"{type(self).__name__} has no parameter {name!r}. It has {', '.join(known)}.")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that a planner takes tables of words and numbers, with gaps, and needs a history.

        Only scikit-learn calls this, so it is safe to import scikit-learn here.
        """
        from sklearn.utils import InputTags, Tags, TargetTags

        inputs = InputTags(two_d_array=True, string=True, categorical=True, allow_nan=True)
        return Tags(estimator_type=None, target_tags=TargetTags(required=True), input_tags=inputs)

    def __repr__(self) -> str:
        defaults = {name: each.default for name, each in inspect.signature(type(self)).parameters.items()}
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not defaults[name]]
        return f"{type(self).__name__}({', '.join(changed)})"


class BasePlanner(Parameters):
    """The attributes of a planner, and checks that it has learned enough."""

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
        """Whether the planner has learned; scikit-learn's ``check_is_fitted`` calls this."""
        return hasattr(self, "model_")

    def _fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("This planner has learned nothing yet. Call fit, or load one that was saved.")

    def _complete(self) -> None:
        """Refuse a planner that cannot say what a call gains."""
        self._fitted()
        if not hasattr(self, "call_gains_"):
            raise NotFittedError("This planner was refitted to predict only. Call fit to plan with it or to save it.")


def seed_of(planner: BasePlanner) -> int:
    """The planner's random seed, after a check."""
    return check_count("random_state", planner.random_state, minimum=0, maximum=2**32 - 1)
