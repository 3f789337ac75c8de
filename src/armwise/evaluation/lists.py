"""Whom each way to choose would have called in past weeks, from what was known then."""

import numpy as np
from jaxtyping import Bool, Float

from armwise.evaluation.decisions import Decisions

Scores = Float[np.ndarray, "people steps"]


def list_best(scores: Scores, eligible: Bool[np.ndarray, "people steps"], share: float) -> Scores:
    """The probability that each person is on the list of each step: the highest scores, equal ones by lot.

    Args:
        scores: who comes first.
        eligible: who may be called in each step.
        share: calls per person who may be called; a fraction of a call is given to the next in line.
    """
    listed = np.zeros(scores.shape)
    for step in range(scores.shape[1]):
        rows = np.flatnonzero(eligible[:, step])
        listed[rows, step] = _fill(scores[rows, step], share * len(rows))
    return listed


def _fill(scores: Float[np.ndarray, " people"], budget: float) -> Float[np.ndarray, " people"]:
    """Each person's share of a call: whole groups of equals in turn, the last group as much as is left."""
    _, group, size = np.unique(-scores, return_inverse=True, return_counts=True)
    before = np.cumsum(size) - size
    return np.clip((budget - before) / size, 0.0, 1.0)[group.ravel()]


def rank_in_state(scores: Scores, decisions: Decisions, eligible: Bool[np.ndarray, "people steps"]) -> Scores:
    """Each person's place among those in the same state and step, of mean 0 and variance 1; 0 for others."""
    places = np.zeros(scores.shape)
    for step in range(scores.shape[1]):
        for state in range(decisions.num_states):
            rows = np.flatnonzero(eligible[:, step] & (decisions.states[:, step] == state))
            places[rows, step] = standard_places(scores[rows, step], scores[rows, step])
    return places


def standard_places(values: Float[np.ndarray, " people"], among: Float[np.ndarray, " others"]) -> np.ndarray:
    """Where values stand among others, from −√3 (below all) to √3 (above all); equals share a place."""
    if not len(among):
        return np.zeros(len(values))
    ordered = np.sort(among)
    middle = (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")) / 2
    return np.sqrt(12.0) * (middle / len(ordered) - 0.5)


def simple_scores(decisions: Decisions, rewards: Float[np.ndarray, " states"]) -> dict[str, Scores]:
    """Who comes first by the rules that need no model; people whom a rule cannot tell apart have the same score.

    Args:
        decisions: of the past.
        rewards: of the states.
    """
    never_called = decisions.states.shape[1] + 1
    worst_first = np.argsort(np.argsort(-rewards, kind="stable"), kind="stable")
    return {
        "random": np.zeros(decisions.states.shape),
        "round robin": np.where(decisions.since_call > 0, decisions.since_call, never_called).astype(float),
        "disengaged first": worst_first[decisions.states] + decisions.run / (1.0 + decisions.run.max(initial=1)),
    }
