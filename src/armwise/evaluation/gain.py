"""The gain of calls: additional engaged steps, with an interval that covers the error of the estimates.

A call to person i in state s changes the probability of her next state x by τ(x | s, …). From there on, she has the
value Vᵢ(x) of a person who is left alone. So the gain of a list of calls over the next steps is

    Σ over calls of Σₓ τ(x | s, …) Vᵢ(x),

one step of the performance difference lemma (Kakade and Langford 2002). It is linear in the effects: if calls do
nothing, its expectation is 0 for every list.

It deliberately does not predict the gain of calling for many steps. A rule that calls the same people again and again
ends up calling people whom calls do not help, and past random calls do not tell how many these are.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from armwise.evaluation.persistence import (
    Counts,
    Prior,
    Rewards,
    posterior_chains,
    values_left_alone,
)
from armwise.evaluation.resampling import Resampled

# Engaged steps are counted over this many steps after a call.
NUM_STEPS = 12


class Judge(NamedTuple):
    """How people behave, estimated from the past without the planner's model.

    Attributes:
        surface: τ, what a call adds to the probability of each next state, ``[terms, states]``.
        prior: the Dirichlet parameters of people's chains without calls, ``[states, states]``.
        rewards: of the states.
    """

    surface: Resampled
    prior: Resampled
    rewards: Rewards


def gain_of_calls(judge: Judge, calls: Float[np.ndarray, "people terms"], counts: Counts) -> Resampled:
    """The total reward that calls gain in the next ``NUM_STEPS`` steps.

    Args:
        judge: of behaviour.
        calls: the terms of the effect, added up over each person's calls.
        counts: how often each person made each transition without a call.
    """
    # People with the same counts have the same values, so compute these once per pattern.
    flat = counts.reshape(len(counts), -1)
    patterns, members = np.unique(flat, axis=0, return_inverse=True)
    number = np.zeros((len(patterns), calls.shape[1]))
    np.add.at(number, members.ravel(), calls)
    own = patterns.reshape(-1, *counts.shape[1:])

    def gain(surface: Float[np.ndarray, "terms states"], prior: Prior) -> float:
        return float(np.sum(worth_of_calls(prior, judge.rewards, number, own) * surface))

    return _over_resamples(judge, gain)


def worth_of_calls(
    prior: Prior, rewards: Rewards, calls: Float[np.ndarray, "people terms"], counts: Counts
) -> Float[np.ndarray, "terms states"]:
    """The weight of each entry of the surface τ in the gain of calls: Σ over calls of Vᵢ(x), by term."""
    return calls.T @ values_left_alone(posterior_chains(counts, prior), rewards, NUM_STEPS)[-1]


def gain_of_one_call(judge: Judge, terms: Float[np.ndarray, "states terms"]) -> Resampled:
    """The gain of one call, ``[states]``, for a person about whom only the state is known."""

    def gain(surface: Float[np.ndarray, "terms states"], prior: Prior) -> Float[np.ndarray, " states"]:
        mean = prior / prior.sum(axis=-1, keepdims=True)
        return terms @ surface @ values_left_alone(mean[None], judge.rewards, NUM_STEPS)[-1, 0]

    return _over_resamples(judge, gain)


def _over_resamples(judge: Judge, gain: Callable[[np.ndarray, np.ndarray], Any]) -> Resampled:
    draws = [gain(*each) for each in zip(judge.surface.draws, judge.prior.draws, strict=True)]
    return Resampled(gain(judge.surface.value, judge.prior.value), np.array(draws))
