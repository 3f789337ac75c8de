"""The lists that different ways to choose would have made in past weeks, from what was known then."""

import numpy as np
from jaxtyping import Bool, Float

from armwise.evaluation.decisions import Decisions

Scores = Float[np.ndarray, "people steps"]


def list_best(scores: Scores, eligible: Bool[np.ndarray, "people steps"], share: float) -> Scores:
    """The probability that each person is on the list of each step: highest scores first, ties broken at random.

    Args:
        scores: of each person in each step.
        eligible: who may be called in each step.
        share: calls per eligible person. A fraction of a call goes to the next person in order.
    """
    listed = np.zeros(scores.shape)
    for step in range(scores.shape[1]):
        rows = np.flatnonzero(eligible[:, step])
        listed[rows, step] = _fill(scores[rows, step], share * len(rows))
    return listed


def _fill(scores: Float[np.ndarray, " people"], budget: float) -> Float[np.ndarray, " people"]:
    """Each person's share of a call: groups with equal scores in order, and the last group shares what is left."""
    _, group, size = np.unique(-scores, return_inverse=True, return_counts=True)
    before = np.cumsum(size) - size
    return np.clip((budget - before) / size, 0.0, 1.0)[group.ravel()]


def rank_in_state(scores: Scores, decisions: Decisions, eligible: Bool[np.ndarray, "people steps"]) -> Scores:
    """Each person's rank among eligible people in her state and step, with mean 0 and variance 1; 0 for others."""
    places = np.zeros(scores.shape)
    for step in range(scores.shape[1]):
        for state in range(decisions.num_states):
            rows = np.flatnonzero(eligible[:, step] & (decisions.states[:, step] == state))
            places[rows, step] = standard_places(scores[rows, step], scores[rows, step])
    return places


def standard_places(values: Float[np.ndarray, " people"], among: Float[np.ndarray, " others"]) -> np.ndarray:
    """The rank of values among others, from −√3 (below all) to √3 (above all). Equal values share a rank."""
    if not len(among):
        return np.zeros(len(values))
    ordered = np.sort(among)
    middle = (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")) / 2
    return np.sqrt(12.0) * (middle / len(ordered) - 0.5)


def simple_scores(decisions: Decisions, rewards: Float[np.ndarray, " states"]) -> dict[str, Scores]:
    """Scores of the rules that need no model. People whom a rule does not distinguish have the same score.

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
