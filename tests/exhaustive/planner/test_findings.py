"""Judgements that were wrong once, each with what was said before and what must be said now.

Before, lists were judged by chains estimated from the same weeks: each person's own row for "not called", the pool's
row for "called".
"""

import numpy as np
import polars as pl
import pytest

import armwise as aw
from armwise.data import simulated_programme
from armwise.demo import CALLS_PER_GROUP, NUM_PEOPLE
from armwise.planner import promise_gain
from armwise.programme.sample import sample_programme
from reproduction.studies.null_worlds import women_and_men
from reproduction.studies.null_worlds.study import judge_world, true_gain


def table(simulated):
    codes = np.asarray(simulated.features.codes).astype(str)
    return pl.DataFrame({f"feature {column}": codes[:, column] for column in range(codes.shape[1])})


def judge_list(simulated, num_calls):
    """A planner, its backtest, the promise of its list and what that list is truly worth."""
    history, people = simulated.trajectories, table(simulated)
    share = num_calls / history.num_arms
    planner = aw.OutreachPlanner(aw.recommended_loss(), config=aw.TrainConfig(patience=20), budget_share=share)
    backtest = planner.backtest(people, history)
    planner.fit(people, history)
    observed, states = np.asarray(history.observed), np.asarray(history.states)
    last = observed.shape[1] - 1 - observed[:, ::-1].argmax(axis=1)
    belief = np.eye(2)[states[np.arange(len(last)), last]]
    first = np.argsort(-np.sum(belief * planner.whittle_indices(people), axis=1), kind="stable")
    calls = np.zeros(len(last))
    calls[first[:num_calls]] = 1
    return backtest, promise_gain(backtest.ways[0].gain, num_calls), true_gain(simulated, belief, calls)


def errors_away(promise, truth):
    """How many standard errors the truth is away from the promise."""
    return abs(promise.value - truth) / ((promise.high - promise.low) / (2 * 1.6449))


@pytest.mark.parametrize("seed", range(3))
def test_the_promise_for_sample_programmes_comes_true(seed):
    """Before, for 12 weeks of calls: promised +28, +53 and +71, true +10, +14 and +9, outside every interval."""
    simulated = sample_programme(seed).simulated
    _, promise, truth = judge_list(simulated, num_calls=12)
    assert errors_away(promise, truth) < 3


def test_the_promise_for_the_demonstration_comes_true_and_its_planner_is_not_called_better():
    """Before: promised +185 (151 to 219), true +68; the planner was shown beside rules without a word of doubt.

    Now the promise is for one list: +20 (3 to 37), true +5.
    """
    simulated = sample_programme(num_people=NUM_PEOPLE, calls_per_group=CALLS_PER_GROUP).simulated
    backtest, promise, truth = judge_list(simulated, num_calls=3 * CALLS_PER_GROUP)
    assert errors_away(promise, truth) < 3
    assert not all(way.lead.is_above_zero for way in backtest.ways[1:])


def test_where_calls_do_nothing_hardly_any_claim_is_made():
    """Before: 28 % of claims over 40 worlds were "significant". Of 6 worlds' 114 figures, about 6 are expected."""
    figures = [figure for seed in range(500, 506) for figure in judge_world("no effect", seed)]
    claims = [abs(figure.value) > 1.96 * figure.error for figure in figures if np.isfinite(figure.value)]
    assert len(claims) > 90
    assert np.mean(claims) < 0.15


def test_calls_that_help_women_and_not_men_are_told_apart_and_women_are_listed():
    """Effects that are the difference of two rows shrunk apart were 0.116 and 0.098, with 52 men of 60 on the list."""
    figures = {figure.figure: figure for figure in women_and_men.judge(0)}
    assert figures["estimated effect: women"].value == pytest.approx(0.30, abs=0.07)
    assert figures["estimated effect: men"].value == pytest.approx(0.00, abs=0.07)
    assert figures["planner's prediction: women"].value == pytest.approx(0.30, abs=0.07)
    assert figures["planner's prediction: men"].value == pytest.approx(0.00, abs=0.07)
    assert figures["men on the list"].value < 5
    lead = figures["lead over: random"]
    assert lead.value - 1.96 * lead.error > 0


def test_calls_that_clearly_hurt_are_judged_though_no_call_is_worth_making():
    """Before: training failed for want of a finite quality, and nothing was said of harm."""
    simulated = simulated_programme(0, num_people=500, num_weeks=12, levels=(3, 2), call_effect=-2.0, calls_per_week=30)
    found = aw.OutreachPlanner(budget_share=0.06).backtest(table(simulated), simulated.trajectories)
    assert found.effects.is_harmful
    assert next(way.gain for way in found.ways if way.name == "random").is_below_zero
