"""Backtests that learn nothing, so that what is around the learning can be tested in a moment."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from armwise.data import transition_counts
from armwise.planner import refitting
from armwise.programme.sample import sample_programme
from armwise.rmab import Problem


class Learned(NamedTuple):
    """What one fit of a backtest was given."""

    frame: object
    states: np.ndarray
    actions: np.ndarray


class FakePlanner:
    """Predicts the same chain for everyone, the one seen most often, and no order at all."""

    def __init__(self, trajectories):
        pooled = np.asarray(transition_counts(trajectories), dtype=float).sum(axis=0) + 0.5
        self.chain = pooled / pooled.sum(axis=-1, keepdims=True)
        # Without rewards there is no order.
        self.problem_ = Problem(rewards=np.zeros(len(pooled)))

    def predict_transitions(self, people, known):
        assert len(people) == len(known)
        return np.broadcast_to(self.chain, (len(people), *self.chain.shape))


def record_fits(monkeypatch) -> list[Learned]:
    """Learn nothing from here on, and note what there was to learn from."""
    seen = []

    def refit(_, frame, trajectories, **__):
        seen.append(Learned(frame, np.asarray(trajectories.states), np.asarray(trajectories.actions)))
        return FakePlanner(trajectories)

    monkeypatch.setattr(refitting, "refit_cheaply", refit)
    return seen


def write_sample(folder: Path, num_people: int, seed: int = 0, **assumed: Any) -> Path:
    """A sample programme's files without a model; the path of programme.toml."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in sample_programme(seed, num_people=num_people, **assumed).contents.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "programme.toml"
