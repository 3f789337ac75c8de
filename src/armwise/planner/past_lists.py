"""Whom each way to choose would have ranked first in past weeks, from what was known then.

People are divided in two halves. A planner learns from one half, from the steps up to an origin only. It scores the
other half in each step from there to the next origin, from their own weeks up to that step. A planner gets only the
weeks that it may know: later weeks never leave this file.
"""

import itertools
from collections.abc import Callable, Mapping
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, Int

from armwise.data import Trajectories, estimate_transitions, transition_counts
from armwise.errors import InvalidInputError
from armwise.evaluation.decisions import Decisions
from armwise.evaluation.lists import simple_scores
from armwise.evaluation.persistence import Counts, fit_prior
from armwise.rmab import Problem, whittle_indices

NUM_ORIGINS, FEWEST_STEPS = 3, 4
ARMWISE = "armwise"
# Simple predictions to compare planners with: one chain for everyone, and each person's own weeks.
PREDICTED_BY = ("population", "own weeks")

# Rows of people to learn from, or of people to judge. "_" is any length, because the two may differ in length.
Rows = Int[np.ndarray, " _"]
Scores = Float[np.ndarray, "people steps"]


class Predictions(NamedTuple):
    """What a planner predicts for people at one step.

    Attributes:
        transitions: each person's predicted chain, ``[people, states, 2, states]``.
        indices: each person's index in each state, ``[people, states]``; the highest comes first.
    """

    transitions: Float[np.ndarray, "people states 2 states"]
    indices: Float[np.ndarray, "people states"]


# Predicts the people to judge from their own weeks so far. The last one is the step to plan: its state is known, and
# its action is still to be chosen.
Predict = Callable[[Trajectories], Predictions]
# Learns from some people (their rows and their weeks so far) how to predict other people (their rows).
Fit = Callable[[Rows, Trajectories, Rows], Predict]


def choose_origins(history: Trajectories, num_origins: int) -> tuple[int, ...]:
    """The steps to plan from. They start in the middle of the history, so that there is a past to learn from."""
    if history.num_steps < FEWEST_STEPS:
        raise InvalidInputError(
            f"A backtest learns from early steps and judges on later ones: it takes {FEWEST_STEPS} steps, and the "
            f"history has {history.num_steps}."
        )
    actions, observed = np.asarray(history.actions), np.asarray(history.observed)
    called = ((actions[:, :-1] > 0) & observed[:, :-1] & observed[:, 1:]).any(axis=0)
    if not called.any():
        raise InvalidInputError(
            "Nobody in the history was called and then observed in the next step, so that nothing tells whether calls "
            "help. Record the calls that were made, or make some by lot."
        )
    # Learning needs a call before the first origin.
    first = max((history.num_steps - 1) // 2, int(np.argmax(called)) + 1)
    last = history.num_steps - 1
    if first >= last:
        raise InvalidInputError(
            f"The first calls were made in step {first} of {history.num_steps}, so that no step is left to judge on. "
            "Wait for another step."
        )
    return tuple(np.unique(np.linspace(first, last, num_origins + 1)[:-1].astype(int)).tolist())


class Past(NamedTuple):
    """What each way to choose would have predicted in the past.

    Attributes:
        scores: by way, each person's score at each step; the highest comes first.
        rows: by predictor, the predicted distribution of the next state for each decision if left alone.
        if_called: the same distribution if called, predicted by armwise.
    """

    scores: dict[str, Scores]
    rows: dict[str, Float[np.ndarray, "people steps states"]]
    if_called: Float[np.ndarray, "people steps states"]


def row_of_action(past: Past, decisions: Decisions) -> Float[np.ndarray, "people steps states"]:
    """The distribution of the next state that armwise predicted for the action that was taken."""
    return np.where(decisions.called[..., None] > 0, past.if_called, past.rows[ARMWISE])


def plan_past(
    history: Trajectories,
    decisions: Decisions,
    problem: Problem,
    fits: Mapping[str, Fit],
    origins: tuple[int, ...],
    seed: int,
    advance: Callable[[], None] = lambda: None,
) -> Past:
    """Each way's scores and predictions at each past step. They use no step later than the planned one."""
    # Use NumPy, because JAX would compile a program for every number of people and steps.
    history = jax.tree.map(np.asarray, history)
    shape = decisions.states.shape
    scores = {name: np.zeros(shape) for name in (*fits, "population index", "least likely to engage")}
    rows = {name: np.zeros((*shape, decisions.num_states)) for name in (*fits, *PREDICTED_BY)}
    past = Past(scores, rows, np.zeros((*shape, decisions.num_states)))
    bounds = (*origins, shape[1])
    for taught, judged in halves(history.num_arms, seed):
        for origin, end in itertools.pairwise(bounds):
            part = _Part(history, decisions, taught, judged, origin, end)
            for name, fit in fits.items():
                _predict_part(past, name, part, fit, np.asarray(problem.rewards))
                advance()
            counts = part.counts()
            pooled = np.asarray(estimate_transitions(counts.sum(axis=0, keepdims=True) + 0.5), dtype=float)
            part.write(scores["population index"], part.pick(np.asarray(whittle_indices(pooled, problem))))
            part.write(rows["population"], part.pick(pooled[:, :, 0]))
            part.write(rows["own weeks"], part.own_rows(counts[:, :, 0]))
    return past._replace(scores={**scores, **simple_scores(decisions, np.asarray(problem.rewards, dtype=float))})


def _predict_part(past: Past, name: str, part: "_Part", fit: Fit, rewards: Float[np.ndarray, " states"]) -> None:
    """Record what a planner predicts for some people, step by step."""
    predict = fit(part.taught, until(part.history, part.origin)[part.taught], part.judged)
    for step in range(part.origin, part.end):
        predicted, now = predict(known_at(part.history, step)[part.judged]), part._replace(origin=step, end=step + 1)
        now.write(past.scores[name], now.pick(predicted.indices))
        now.write(past.rows[name], now.pick(predicted.transitions[:, :, 0]))
        if name == ARMWISE:
            expected = predicted.transitions[:, :, 0] @ rewards
            now.write(past.scores["least likely to engage"], -now.pick(expected))
            now.write(past.if_called, now.pick(predicted.transitions[:, :, 1]))


def halves(num_people: int, seed: int) -> tuple[tuple[Rows, Rows], tuple[Rows, Rows]]:
    """Two halves of the people, each once to learn from and once to judge; both times equally many to learn from."""
    order = np.random.default_rng([seed, 1]).permutation(num_people)
    if num_people < 2:
        raise InvalidInputError("A backtest learns from some people and judges on others: it takes at least 2.")
    first, second = np.sort(order[: num_people // 2]), np.sort(order[num_people // 2 :])
    return (first, second), (second[: len(first)], first)


def check_halves(history: Trajectories, origin: int, seed: int) -> None:
    """Refuse a history if the early steps of one half teach nothing about calls, or about a state without calls."""
    for taught, _ in halves(history.num_arms, seed):
        counts = np.asarray(transition_counts(until(history, origin)[taught])).sum(axis=(0, 3))
        early = f"In the first {origin + 1} of {history.num_steps} steps"
        if not counts[:, 1:].any():
            raise InvalidInputError(
                f"{early}, one half of the people has no call whose outcome was observed, so that a backtest cannot "
                "learn from it. Wait for more steps, or make more calls, by lot."
            )
        unseen = np.flatnonzero(counts[:, 0] == 0)
        if len(unseen):
            raise InvalidInputError(
                f"{early}, nobody in one half of the people was in state {unseen[0]}, left alone, and observed in the "
                "next step, so that a backtest cannot learn from it. Wait for more steps, or merge states."
            )


class _Part(NamedTuple):
    """Some people to judge in the steps from one origin to the next, and others to learn from up to that origin."""

    history: Trajectories
    decisions: Decisions
    taught: Rows
    judged: Rows
    origin: int
    end: int

    def write(self, target: np.ndarray, values: np.ndarray) -> None:
        target[self.judged, self.origin : self.end] = values

    def pick(self, by_state: np.ndarray) -> np.ndarray:
        """The values for each judged person's state at each step, from ``[people or 1, states, …]``."""
        states = self.decisions.states[self.judged, self.origin : self.end]
        people = np.arange(len(self.judged))[:, None] % len(by_state)
        return by_state[people, states]

    def counts(self) -> np.ndarray:
        """The transitions of the people learned from, up to the origin."""
        seen = until(self.history, self.origin)[self.taught]
        return np.asarray(transition_counts(seen), dtype=float)

    def own_rows(self, left_alone: Counts) -> np.ndarray:
        """Each person's predicted next state if left alone, from her own weeks before each step and the average."""
        prior = fit_prior(left_alone, num_resamples=1).value
        part = (self.judged, slice(self.origin, self.end))
        total = self.decisions.own[part] + prior[self.decisions.states[part]]
        return total / total.sum(axis=-1, keepdims=True)


def until(history: Trajectories, last_step: int) -> Trajectories:
    """A history as it was known at the end of a step."""
    return jax.tree.map(lambda part: part[:, : last_step + 1], history)


def known_at(history: Trajectories, step: int) -> Trajectories:
    """A history as it is known when calls are chosen in a step: with the step's states, but not yet its actions."""
    seen = until(history, step)
    decided = np.arange(seen.num_steps) < step
    return eqx.tree_at(lambda each: each.actions, seen, np.where(decided, np.asarray(seen.actions), 0))
