"""What a data analyst would try first: the population's chain, and scikit-learn on hand-made features of the past."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from armwise.data import Trajectories, one_hot
from reproduction.studies.next_state.data import RealHistory, Split

RECENT = 4
PENALTIES = (1e-5, 1e-4, 1e-3, 1e-2, 0.1)
# Fewer choices (3 or 12 leaves, 60 or 240 trees, 4 folds) cost boosting 0.009 of log-loss on CTN-0051.
TREES = {"max_leaf_nodes": [3, 8, 16], "max_iter": [60, 120, 240]}
NAMES = ("last state", "streak", "rate from 0", "rate from 1", "recent share", "overall share", "engaged last 2")


class Columns(NamedTuple):
    """What the ways to predict are made of, one row per case: a person and a step whose state is predicted."""

    now: np.ndarray
    past: np.ndarray
    demographics: np.ndarray


def history_features(history: Trajectories) -> Float[np.ndarray, "people steps 7"]:
    """Of each step, what a person did in all steps before it; in the order of ``NAMES``.

    The last state; for how many observed steps it has lasted (in logarithms, negative if it is 0); the share of
    transitions to 1 from each state, with one made-up case of each kind; the shares of 1 among the last four steps
    and among all, with the same; and whether both of the last two states were 1.
    """
    states, observed = np.asarray(history.states), np.asarray(history.observed)
    tally = _Tally(len(states))
    features = np.zeros((*states.shape, len(NAMES)))
    for step in range(states.shape[1]):
        features[:, step] = tally.features()
        tally.add(states[:, step], observed[:, step])
    return features


class _Tally:
    """What is counted of each person as steps go by."""

    def __init__(self, num_people: int):
        self.moves = np.ones((num_people, 2, 2))
        self.visits = np.ones((num_people, 2))
        self.recent = np.full((num_people, RECENT), np.nan)
        self.streak = np.zeros(num_people)
        self.last = np.full(num_people, -1)
        self.was_observed = np.zeros(num_people, bool)

    def add(self, state: np.ndarray, observed: np.ndarray) -> None:
        """Count one step."""
        moved = np.flatnonzero(observed & self.was_observed)
        self.moves[moved, self.last[moved], state[moved]] += 1
        seen = np.flatnonzero(observed)
        self.visits[seen, state[seen]] += 1
        self.streak[seen] = np.where(self.last[seen] == state[seen], self.streak[seen] + 1, 1)
        self.recent[seen] = np.column_stack([self.recent[seen, 1:], state[seen]])
        self.last[seen] = state[seen]
        self.was_observed = observed

    def features(self) -> Float[np.ndarray, "people 7"]:
        """What ``history_features`` says of the next step."""
        known = ~np.isnan(self.recent)
        recent = (1 + np.nansum(self.recent, axis=1)) / (2 + known.sum(axis=1))
        columns = [
            self.last.clip(0),
            np.where(self.last == 1, 1, -1) * np.log1p(self.streak),
            *(self.moves[:, :, 1] / self.moves.sum(axis=2)).T,
            recent,
            self.visits[:, 1] / self.visits.sum(axis=1),
            (self.recent[:, -2:] == 1).all(axis=1),
        ]
        return np.column_stack(columns)


def columns_of(data: RealHistory, cases: np.ndarray, past: np.ndarray) -> Columns:
    """The columns of some cases.

    Args:
        data: the people and their steps.
        cases: a mask ``[people, steps]``.
        past: ``history_features`` of the steps.
    """
    person, step = np.nonzero(cases)
    states, actions = np.asarray(data.history.states), np.asarray(data.history.actions)
    last, action = states[person, step - 1], actions[person, step - 1]
    now = np.column_stack([last, action, last * action])
    return Columns(now, past[person, step], np.asarray(one_hot(data.features))[person])


def predict_baselines(data: RealHistory, split: Split) -> dict[str, np.ndarray]:
    """The predicted probability of state 1 in each judged case, by the name of the way."""
    past = history_features(data.history)
    known, asked = (columns_of(data, cases, past) for cases in (split.learned, split.judged))
    target = np.asarray(data.history.states)[split.learned]
    people = np.nonzero(split.learned)[0]
    predictions = {"population's chain": _population_chain(known.now, target, asked.now)}
    for name, make, parts in _ways():
        matrices = [np.concatenate([getattr(each, part) for part in parts], axis=1) for each in (known, asked)]
        num_free = matrices[0].shape[1] - known.demographics.shape[1] * ("demographics" in parts)
        fitted = make(num_free).fit(matrices[0], target, groups=people)
        predictions[name] = fitted.predict_proba(matrices[1])[:, 1]
    return predictions


def _ways() -> list[tuple[str, Callable[[int], GridSearchCV], tuple[str, ...]]]:
    everything = ("now", "past", "demographics")
    return [
        ("demographics and last state", _logistic, ("now", "demographics")),
        ("logistic regression on history", _logistic, ("now", "past")),
        ("logistic regression, with demographics", _logistic, everything),
        ("gradient boosting on history", _boosting, ("now", "past")),
        ("gradient boosting, with demographics", _boosting, everything),
    ]


def _population_chain(known: np.ndarray, target: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """The share that moved to 1 among all learned cases with the same last state and action."""
    moves = np.ones((2, 2, 2))
    np.add.at(moves, (known[:, 0], known[:, 1], target), 1)
    return (moves[..., 1] / moves.sum(axis=-1))[asked[:, 0], asked[:, 1]]


def _logistic(num_free: int) -> GridSearchCV:
    stretch = FunctionTransformer(_stretch, kw_args={"num_free": num_free})
    model = make_pipeline(StandardScaler(), stretch, LogisticRegression(solver="newton-cholesky", max_iter=1000))
    return _tuned(model, {"logisticregression__C": PENALTIES})


def _stretch(matrix: np.ndarray, num_free: int) -> np.ndarray:
    """Make the first columns 30 times larger, so that a penalty hardly shrinks them and shrinks demographics only."""
    return matrix * np.where(np.arange(matrix.shape[1]) < num_free, 30.0, 1.0)


def _boosting(_: int) -> GridSearchCV:
    return _tuned(HistGradientBoostingClassifier(learning_rate=0.05, early_stopping=False, random_state=0), TREES)


def _tuned(model: Any, grid: dict[str, Any]) -> GridSearchCV:
    """Settings by the log-loss of people left out, so that the ways to compare with are as good as they can be."""
    return GridSearchCV(model, grid, scoring="neg_log_loss", cv=GroupKFold(5))
