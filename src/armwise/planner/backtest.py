"""How good a planner's lists would have been in past weeks, compared with what a programme would do without it.

People are divided in two halves. For several past steps t, a planner learns from one half, from the steps up to t only.
From step t on it lists whom to call in the other half, from what was known of them at the time. Its lists are judged by
what calls did (``evaluation.effects``) from the first t on: an effect for each state, estimated from the half that the
planner did not learn from, and a slope along the planner's own order. So a planner gets credit for its order within a
state only if people whom it ranks high did gain more from calls than others in the same state.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from armwise.data import Trajectories, transition_counts
from armwise.evaluation.decisions import Decisions, find_decisions, one_hot
from armwise.evaluation.effect_regression import EffectRegression
from armwise.evaluation.effects import FEWEST_CALLS, FEWEST_COMPARABLE, NOTHING, CallEffects, call_effects, state_levels
from armwise.evaluation.gain import Judge, gain_of_calls, worth_of_calls
from armwise.evaluation.lists import list_best, rank_in_state
from armwise.evaluation.persistence import fit_prior
from armwise.evaluation.prediction import PredictionQuality, judge_predictions
from armwise.evaluation.resampling import NUM_RESAMPLES, Estimate, Resampled
from armwise.planner.past_lists import (
    ARMWISE,
    NUM_ORIGINS,
    Fit,
    Rows,
    Scores,
    check_halves,
    choose_origins,
    halves,
    plan_past,
    row_of_action,
)
from armwise.rmab import Problem


class WayJudged(NamedTuple):
    """How well one way to choose whom to call would have done.

    Attributes:
        name: the name of the way.
        gain: engaged steps that 100 of its calls gain in the 12 steps after them.
        lead: how much more armwise gains with 100 calls; all 0 for armwise itself.
    """

    name: str
    gain: Estimate
    lead: Estimate


@dataclass(frozen=True)
class Backtest:
    """The result of a backtest: what past weeks say of a planner.

    Attributes:
        effects: what past calls did.
        ways: armwise first, then armwise with other losses, then the rules of thumb.
        predictions: how well the next state was predicted for people left alone.
        expected: the predicted probability of not being in the lowest state after each decision; NaN where not judged.
        decisions: the decisions about all people.
        judge: how people behave, with an effect for each level of states.
        levels: the level of effects that each state belongs to.
        origins: the steps up to which planners learned.
        num_judged: how many decisions lists were judged on.
        num_calls: how many of these decisions were calls.
        budget_share: calls per person and step.
    """

    effects: CallEffects
    ways: tuple[WayJudged, ...]
    predictions: tuple[PredictionQuality, ...]
    expected: Scores
    decisions: Decisions
    judge: Judge
    levels: Int[np.ndarray, " states"]
    origins: tuple[int, ...]
    num_judged: int
    num_calls: int
    budget_share: float


def run_backtest(
    history: Trajectories,
    problem: Problem,
    fits: Mapping[str, Fit],
    *,
    budget_share: float,
    groups: Mapping[str, Any] | None = None,
    num_origins: int = NUM_ORIGINS,
    num_resamples: int = NUM_RESAMPLES,
    seed: int = 0,
    advance: Callable[[], None] = lambda: None,
) -> Backtest:
    """Judge planners on weeks and people that they have not seen.

    Args:
        history: everyone's weeks, in an order that depends only on who the people are.
        problem: rewards and discount.
        fits: planners to judge, by name; the first is armwise itself.
        budget_share: calls per person and step.
        groups: labels of the people, for effects by group.
        num_origins: how many past steps to plan from.
        num_resamples: how many resamples of people the intervals use.
        seed: divides the people, and draws the resamples.
        advance: called after each fit, ``2 × len(fits) × origins`` times.
    """
    rewards = np.asarray(problem.rewards, dtype=float)
    decisions = find_decisions(history, rewards)
    origins = choose_origins(history, num_origins)
    check_halves(history, origins[0], seed)
    eligible = np.asarray(history.observed)[:, :-1].copy()
    eligible[:, : origins[0]] = False
    past = plan_past(history, decisions, problem, fits, origins, seed, advance)
    judging = _Judging(history, decisions, eligible, rewards, budget_share, num_resamples, seed)
    judged = eligible & decisions.valid
    effects = call_effects(history, groups, rewards=rewards, num_resamples=num_resamples, seed=seed)
    return Backtest(
        effects,
        judging.compare(past.scores) if effects.is_enough else _not_judged(past.scores),
        judge_predictions(decisions, judged, past.rows, num_resamples, seed),
        np.where(judged, 1 - row_of_action(past, decisions)[..., 0], np.nan),
        decisions,
        judging.by_state(),
        judging.levels,
        origins,
        int(judged.sum()),
        int(decisions.called[judged].sum()),
        budget_share,
    )


class _Gain(NamedTuple):
    """What 100 calls of one way gain.

    Attributes:
        gain: the gain with its resamples.
        weights: how much each decision's next state counts in the gain.
        is_known: whether every term that its calls need has enough calls from the first origin on that could have gone
            otherwise.
    """

    gain: Resampled
    weights: np.ndarray
    is_known: bool


class _Judging:
    """Estimates what 100 calls of each way gain, from the same decisions and the same resamples of people."""

    def __init__(
        self,
        history: Trajectories,
        decisions: Decisions,
        eligible: Bool[np.ndarray, "people steps"],
        rewards: Float[np.ndarray, " states"],
        share: float,
        num_resamples: int,
        seed: int,
    ):
        self.decisions, self.rewards, self.share = decisions, rewards, share
        # Each half has its own planners, and so its own lists.
        self.halves = [_within(eligible, judged) for _, judged in halves(history.num_arms, seed)]
        self.counts = np.asarray(transition_counts(history), dtype=float)[:, :, 0]
        self.regression = EffectRegression(decisions, None, num_resamples, seed)
        self.levels = state_levels(self.regression, decisions)
        self.prior = fit_prior(self.counts, num_resamples, seed)
        second = halves(history.num_arms, seed)[0][1]
        self.half = one_hot(np.isin(np.arange(history.num_arms), second).astype(int), 2)
        is_late = np.any(eligible, axis=0, keepdims=True)
        self.is_late, self.num_calls = is_late[..., None], int(decisions.called[decisions.valid & is_late].sum())
        self.level = _one_hot_levels(decisions, state_levels(self.regression, decisions, is_late))

    def by_state(self) -> Judge:
        """How people behave, with an effect for each level of states."""
        level = _one_hot_levels(self.decisions, self.levels)
        return Judge(self.regression.surface(level), self.prior, self.rewards)

    def compare(self, scores: Mapping[str, Scores]) -> tuple[WayJudged, ...]:
        """Every way, with armwise first and the way "never" last."""
        own = self._gain(scores[ARMWISE])
        nothing = Estimate(0.0, 0.0, 0.0)
        ways = [WayJudged(ARMWISE, self._interval(own), nothing)]
        for name in scores:
            if name != ARMWISE:
                other = self._gain(scores[name])
                ways.append(WayJudged(name, self._interval(other), self._interval(_lead(own, other))))
        if all(math.isnan(way.gain.value) for way in ways):
            return _not_judged(scores)
        return (*ways, WayJudged("never", nothing, ways[0].gain))

    def _interval(self, figure: _Gain) -> Estimate:
        if not figure.is_known:
            return NOTHING
        without_effect = self.regression.error_without_effect(figure.weights)
        return figure.gain.interval(num_calls=self.num_calls, error_without_effect=without_effect)

    def _gain(self, scores: Scores) -> _Gain:
        """The gain of 100 calls to the people with the highest scores."""
        listed = np.sum([list_best(scores, eligible, self.share) for eligible in self.halves], axis=0)
        terms, main = self._terms(scores)
        calls = 100 / listed.sum() * np.einsum("it,itk->ik", listed, terms)
        judge = Judge(self.regression.surface(terms, main), self.prior, self.rewards)
        worth = worth_of_calls(self.prior.value, self.rewards, calls, self.counts)
        weights = self.regression.row_weights(terms, worth, main)
        return _Gain(gain_of_calls(judge, calls, self.counts), weights, self._is_known(terms, main, calls))

    def _is_known(self, terms: np.ndarray, main: np.ndarray, calls: np.ndarray) -> bool:
        if self.num_calls < FEWEST_CALLS:
            return False
        needed = np.abs(calls).sum(axis=0) > 0
        return bool((self.regression.comparable_calls_in(terms, main)[needed] >= FEWEST_COMPARABLE).all())

    def _terms(self, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        """What the effect of a call depends on: the state, in each half, and the place in the order of scores.

        Each half has its own effects, and only calls from the first origin on count. A planner calls people in the
        states in which calls seemed to work for those whom it learned from. Judged by the same calls, it would get
        credit for luck. Earlier calls and the places are covariates: the second array that is returned.
        """
        place = np.sum([rank_in_state(scores, self.decisions, eligible) for eligible in self.halves], axis=0)
        places = self.level * place[..., None]
        late, early = self.level * self.is_late, self.level * ~self.is_late * self.decisions.called[..., None]
        by_half = late[..., None] * self.half[:, None, None]
        terms = np.concatenate([by_half.reshape(*place.shape, -1), places], axis=-1)
        return terms, np.concatenate([places, early], axis=-1)


def _within(eligible: Bool[np.ndarray, "people steps"], rows: Rows) -> Bool[np.ndarray, "people steps"]:
    return eligible & np.isin(np.arange(len(eligible)), rows)[:, None]


def _one_hot_levels(
    decisions: Decisions, levels: Int[np.ndarray, " states"]
) -> Float[np.ndarray, "people steps levels"]:
    return one_hot(levels[decisions.states], int(levels.max()) + 1)


def _lead(own: _Gain, other: _Gain) -> _Gain:
    difference = Resampled(own.gain.value - other.gain.value, own.gain.draws - other.gain.draws)
    return _Gain(difference, own.weights - other.weights, own.is_known and other.is_known)


def _not_judged(names: Iterable[str]) -> tuple[WayJudged, ...]:
    """Ways without a gain or a lead: without calls that can be compared, neither is known."""
    return tuple(WayJudged(name, NOTHING, NOTHING) for name in (*names, "never"))
