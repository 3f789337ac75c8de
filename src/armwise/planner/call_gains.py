"""What one call gains in each state, estimated from past calls, with the error of that estimate.

A planner's own predicted chains would promise a gain even where calls do nothing, because they are learned to rank
people. So the gain of a call comes from the effects of past calls (``evaluation.effects``). These are 0 on average
where calls do nothing.
"""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from armwise.data import Trajectories, transition_counts
from armwise.evaluation.decisions import Decisions, find_decisions, one_hot
from armwise.evaluation.effect_regression import EffectRegression
from armwise.evaluation.effects import CallEffects, effects_by_state, state_levels
from armwise.evaluation.gain import NUM_STEPS, Judge, gain_of_one_call
from armwise.evaluation.persistence import fit_prior, values_left_alone
from armwise.evaluation.resampling import LEVEL, NUM_RESAMPLES, Estimate, Resampled

# The normal equations grow with the square of the states. With more states than this, neighbours form so many bands.
MOST_BANDS = 6
# With more people than this, draw so many at random: more would narrow the intervals little and take gigabytes.
MOST_PEOPLE = 20_000

Terms = Float[np.ndarray, "states terms"]
Errors = Float[np.ndarray, " states"]
PROMISE_LEVEL = 0.9


@dataclass(frozen=True, eq=False)
class CallGains:
    """What one call gains in each state: the engaged steps that it adds in the 12 steps after it.

    Attributes:
        gains: the gain for a person in each state; NaN if there were too few calls to tell.
        covariance: the covariance of the errors of ``gains``.
        levels: the level of effects that each state belongs to; states of one level have the same effect.
        effects: what past calls did, on the whole and by level.
    """

    gains: Float[np.ndarray, " states"]
    covariance: Float[np.ndarray, "states states"]
    levels: Int[np.ndarray, " states"]
    effects: CallEffects

    @property
    def is_known(self) -> bool:
        """Whether there were enough calls to tell."""
        return self.effects.is_enough


def estimate_call_gains(
    history: Trajectories, rewards: Any, seed: int = 0, *, most_bands: int = MOST_BANDS, most_people: int = MOST_PEOPLE
) -> CallGains:
    """Estimate what a call gains from what past calls did.

    Args:
        history: people's weeks, in an order that does not depend on the order of their table.
        rewards: the reward of each state.
        seed: draws the resamples of people, and the sample if there are too many people.
        most_bands: with more states than this, neighbours are merged into so many bands.
        most_people: with more people than this, so many are drawn at random.
    """
    values = np.asarray(rewards, dtype=float)
    bands = np.arange(len(values)) * min(most_bands, len(values)) // len(values)
    history = _in_bands(_some_people(history, seed, most_people), bands)
    values = np.array([values[bands == band].mean() for band in range(bands[-1] + 1)])
    decisions = find_decisions(history, values)
    regression = EffectRegression(decisions, None, NUM_RESAMPLES, seed)
    levels = state_levels(regression, decisions)
    effects = _in_states(effects_by_state(regression, decisions, levels, values, LEVEL), bands)
    if not effects.is_enough:
        return _unknown(levels[bands], effects)
    terms = one_hot(levels, int(levels.max()) + 1)
    counts = np.asarray(transition_counts(history), dtype=float)[:, :, 0]
    judge = Judge(regression.surface(terms[decisions.states]), fit_prior(counts, NUM_RESAMPLES, seed), values)
    gains = gain_of_one_call(judge, terms)
    covariance = _covariance(gains, _smallest_errors(regression, judge, decisions, terms))
    return CallGains(gains.value[bands], covariance[np.ix_(bands, bands)], levels[bands], effects)


def _unknown(levels: Int[np.ndarray, " states"], effects: CallEffects) -> CallGains:
    return CallGains(np.full(len(levels), np.nan), np.full((len(levels), len(levels)), np.nan), levels, effects)


def _some_people(history: Trajectories, seed: int, most: int) -> Trajectories:
    if history.num_arms <= most:
        return history
    rows = np.sort(np.random.default_rng(seed).permutation(history.num_arms)[:most])
    return jax.tree.map(lambda leaf: leaf[rows], history)


def _in_bands(history: Trajectories, bands: Int[np.ndarray, " states"]) -> Trajectories:
    number = int(bands[-1]) + 1
    if number == len(bands):
        return history
    return Trajectories(
        jnp.asarray(bands)[history.states], history.actions, history.observed, number, history.num_actions
    )


def _in_states(effects: CallEffects, bands: Int[np.ndarray, " states"]) -> CallEffects:
    """The effects by band, where each band is named by the numbers of its states."""
    named = [each._replace(name=_name_band(int(each.name.removeprefix("state ")), bands)) for each in effects.by_state]
    return replace(effects, by_state=tuple(named))


def _name_band(band: int, bands: Int[np.ndarray, " states"]) -> str:
    members = np.flatnonzero(bands == band)
    return f"state {members[0]}" if len(members) == 1 else f"states {members[0]} to {members[-1]}"


def _smallest_errors(regression: EffectRegression, judge: Judge, decisions: Decisions, terms: Terms) -> Errors:
    """The standard error that each gain would have if calls changed nothing."""
    mean = judge.prior.value / judge.prior.value.sum(axis=-1, keepdims=True)
    worth = values_left_alone(mean[None], judge.rewards, NUM_STEPS)[-1, 0]
    weights = (regression.row_weights(terms[decisions.states], each[:, None] * worth) for each in terms)
    return np.array([regression.error_without_effect(each) for each in weights])


def _covariance(gains: Resampled, smallest: Errors) -> Float[np.ndarray, "states states"]:
    """The covariance over resamples, scaled so that no standard error is below the smallest one."""
    covariance = np.atleast_2d(np.cov(gains.draws, rowvar=False))
    errors = np.sqrt(np.diag(covariance))
    wider = np.maximum(errors, smallest) / np.maximum(errors, 1e-12)
    return covariance * np.outer(wider, wider)


def promise_gain(gain: Estimate, num_calls: int) -> Estimate:
    """Engaged steps that a list gains in the 12 steps after its calls, over no calls, with a 90 % interval.

    It is the gain of as many calls in past weeks, chosen in the same way for people whom the planner had not learned
    from. The list itself cannot be judged. Its planner has learned from everyone, so it prefers people for whom calls
    seemed to work, even by luck.

    Args:
        gain: the gain of 100 calls chosen in the same way, from a backtest.
        num_calls: how many calls are on the list.

    Example:
        >>> promise = promise_gain(Estimate(10.0, 0.2, 19.8), num_calls=50)
        >>> [round(number, 1) for number in promise]
        [5.0, 0.9, 9.1]
    """
    value, low, high = (num_calls / 100 * number for number in gain.at_level(PROMISE_LEVEL, LEVEL))
    return Estimate(value, low, high)
