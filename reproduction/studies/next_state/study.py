"""The study of next states: each person's chain against simpler ways to predict, on real histories, out of time."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from armwise.data import Features, Trajectories
from reproduction.markdown import Row, write_rows
from reproduction.studies.next_state.data import Mask, Protocol, RealHistory, Split, history_to_learn_from, read_all

ARMWISE, WITHOUT = "armwise", "armwise, without demographics"
NUM_BINS, NUM_RESAMPLES = 10, 1000


class Judged(NamedTuple):
    """Predictions of one data set, and what came true; a case is a person and a step.

    Attributes:
        people: whose case it is.
        states: the state that came.
        predictions: the probability of state 1, by the name of the way.
    """

    people: Int[np.ndarray, " cases"]
    states: Int[np.ndarray, " cases"]
    predictions: dict[str, Float[np.ndarray, " cases"]]


def run(data: Path, out: Path) -> None:
    """Predict and judge all data sets; write ``summary.csv`` and ``calibration.csv``."""
    summary: list[Row] = []
    calibration: list[Row] = []
    for protocol, history in read_all(data):
        judged = judge(protocol, history)
        summary += summarise(history.name, protocol.num_splits, judged)
        calibration += reliability(history.name, judged)
        print(
            *(f"{row['data']}: {row['way']} {row['log_loss']}" for row in summary[-len(judged.predictions) :]), sep="\n"
        )
    write_rows(out / "summary.csv", summary)
    write_rows(out / "calibration.csv", calibration)


def judge(protocol: Protocol, data: RealHistory) -> Judged:
    """Every way's predictions over all splits."""
    return _together([predict_all(data, protocol.split(data, seed)) for seed in range(protocol.num_splits)])


def predict_all(data: RealHistory, split: Split) -> Judged:
    """Every way's predictions in one split."""
    from reproduction.studies.next_state.baselines import predict_baselines

    without = RealHistory(data.name, Features(numeric=np.zeros((len(data.history), 0))), data.history)
    predictions = {ARMWISE: predict_chains(data, split), WITHOUT: predict_chains(without, split)}
    states = np.asarray(data.history.states)[split.judged]
    return Judged(np.nonzero(split.judged)[0], states, predictions | predict_baselines(data, split))


def predict_chains(data: RealHistory, split: Split) -> Float[np.ndarray, " cases"]:
    """The model of each person's chain: population from the learned cases, the person from her own steps."""
    from armwise.models.chains import fit_chains

    model = fit_chains(*history_to_learn_from(data, split), seed=0)
    person, step = np.nonzero(split.judged)
    known = model.posterior(data.features[person], pasts(data.history, split.judged))
    actions = np.asarray(data.history.actions)[person, step - 1]
    return np.asarray(known.next_states(actions))[:, 1].astype(float)


def pasts(history: Trajectories, cases: Mask) -> Trajectories:
    """One row per case: the steps before it, moved to the end of the row, with unobserved ones in front.

    All rows have one length, so that one compiled function predicts all cases. ``predict_steps`` compiles one for each
    step, which takes too long for the 900 steps of HeartSteps.
    """
    person, step = np.nonzero(cases)
    length = int(step.max())
    source = np.arange(length) - (length - step)[:, None]
    rows = (person[:, None], source.clip(0))
    states, actions, observed = (np.asarray(part)[rows] for part in (history.states, history.actions, history.observed))
    return Trajectories.from_arrays(states, actions, observed & (source >= 0), history.num_states)


def _together(parts: list[Judged]) -> Judged:
    people, states = (np.concatenate([getattr(part, name) for part in parts]) for name in ("people", "states"))
    names = parts[0].predictions
    return Judged(people, states, {name: np.concatenate([part.predictions[name] for part in parts]) for name in names})


def log_losses(judged: Judged) -> Float[np.ndarray, "cases ways"]:
    """Minus the logarithm of the probability that each way gave to what came true."""
    predictions = np.column_stack(list(judged.predictions.values()))
    return -np.log(np.where(judged.states[:, None] == 1, predictions, 1 - predictions))


def summarise(name: str, num_splits: int, judged: Judged) -> list[Row]:
    """One row per way: log-loss, its difference to that of armwise, and standard errors by resampling people.

    A person who is judged in several splits is one person: all her cases are drawn together.
    """
    numbers, person = np.unique(judged.people, return_inverse=True)
    losses = log_losses(judged)
    sums = np.zeros((len(numbers), losses.shape[1]))
    np.add.at(sums, person, losses)
    means = np.array(list(_resampled_means(sums, np.bincount(person))))
    errors, of_differences = (each.std(axis=0, ddof=1) for each in (means, means - means[:, :1]))
    first = losses[:, 0].mean()
    return [
        {
            "data": name,
            "way": way,
            "splits": num_splits,
            "people": len(numbers),
            "cases": len(losses) // num_splits,
            "log_loss": round(losses[:, place].mean(), 4),
            "error": round(errors[place], 4),
            "difference": round(losses[:, place].mean() - first, 4),
            "difference_error": round(of_differences[place], 4),
            "calibration_error": round(calibration_error(judged.predictions[way], judged.states), 4),
        }
        for place, way in enumerate(judged.predictions)
    ]


def _resampled_means(
    sums: Float[np.ndarray, "people ways"], cases: Int[np.ndarray, " people"]
) -> Iterator[Float[np.ndarray, " ways"]]:
    rng = np.random.default_rng(0)
    for _ in range(NUM_RESAMPLES):
        weights = np.bincount(rng.integers(len(sums), size=len(sums)), minlength=len(sums))
        yield weights @ sums / (weights @ cases)


class Bin(NamedTuple):
    """Cases with similar predictions: how many, the mean prediction, and the share in which state 1 came."""

    cases: int
    predicted: float
    came: float


def bins_of(predictions: Float[np.ndarray, " cases"], states: Int[np.ndarray, " cases"]) -> list[Bin]:
    """Tenths of the cases by predicted probability; fewer where predictions are equal.

    Example:
        >>> bins_of(np.array([0.2, 0.2, 0.8, 0.8]), np.array([0, 1, 1, 1]))
        [Bin(cases=2, predicted=0.2, came=0.5), Bin(cases=2, predicted=0.8, came=1.0)]
    """
    edges = np.unique(np.quantile(predictions, np.arange(1, NUM_BINS) / NUM_BINS))
    place = np.searchsorted(edges, predictions, side="left")
    cases = np.bincount(place, minlength=len(edges) + 1)
    predicted, came = (np.bincount(place, values, minlength=len(cases)) for values in (predictions, states))
    return [Bin(int(n), float(p / n), float(c / n)) for n, p, c in zip(cases, predicted, came, strict=True) if n]


def calibration_error(predictions: Float[np.ndarray, " cases"], states: Int[np.ndarray, " cases"]) -> float:
    """The mean distance between predicted and true shares, over bins, weighted by cases."""
    bins = bins_of(predictions, states)
    return sum(each.cases * abs(each.predicted - each.came) for each in bins) / len(states)


def reliability(name: str, judged: Judged) -> list[Row]:
    """One row per way and bin; cases are those of all splits together."""
    return [
        {
            "data": name,
            "way": way,
            "cases": each.cases,
            "predicted": round(each.predicted, 4),
            "came": round(each.came, 4),
        }
        for way, predictions in judged.predictions.items()
        for each in bins_of(predictions, judged.states)
    ]
