"""The effect of past calls, against what a simulation knows."""

import numpy as np
import pandas as pd
import pytest

from armwise.data import Trajectories, simulated_programme
from armwise.errors import InvalidInputError
from armwise.evaluation import call_effects
from armwise.evaluation.decisions import find_decisions, one_hot
from armwise.evaluation.effect_regression import EffectRegression
from armwise.evaluation.effects import state_levels

REWARDS = np.array([0.0, 1.0])


def follow(rng, chance, calls, first):
    """States of people who engage next with ``chance(person, state, called)``."""
    states = np.empty(calls.shape, int)
    states[:, 0] = first
    people = np.arange(len(calls))
    for step in range(calls.shape[1] - 1):
        states[:, step + 1] = rng.random(len(calls)) < chance(people, states[:, step], calls[:, step])
    return states


def null_effect(rule, seed, num_people):
    """What is found in a world in which calls do nothing, people having been called by a rule."""
    programme = simulated_programme(
        seed,
        num_people=num_people,
        num_weeks=10,
        levels=(3, 2),
        call_effect=0.0,
        call_effect_spread=0.0,
        calls_per_week=num_people // 10,
        past_calls=rule,
    )
    return call_effects(programme.trajectories, num_resamples=100, seed=seed).overall.effect


@pytest.fixture(scope="module")
def women_and_men():
    """Calls bring 30 more of 100 disengaged women back, and no man; 5 % of people are called by lot each week."""
    rng = np.random.default_rng(0)
    women = rng.random(2000) < 0.5
    spread = rng.normal(0, 0.5, 2000)
    calls = rng.random((2000, 12)) < 0.05

    def chance(people, states, called):
        passive = 1 / (1 + np.exp(-np.where(states == 1, 1.2, -1.2) - spread[people]))
        return np.clip(passive + 0.3 * called * women[people] * (states == 0), 0, 1)

    states = follow(rng, chance, calls, rng.integers(0, 2, 2000))
    return Trajectories.from_arrays(states, calls), np.where(women, "woman", "man")


def test_calls_that_help_women_and_not_men_are_told_apart(women_and_men):
    history, sex = women_and_men
    decisions = find_decisions(history, REWARDS)
    disengaged = decisions._replace(valid=decisions.valid & (decisions.states == 0))
    groups = one_hot((sex == "woman").astype(int), 2)
    terms = np.broadcast_to(groups[:, None], (*decisions.states.shape, 2))
    surface = EffectRegression(disengaged, groups, 200).surface(terms)
    men, women = (surface.value @ REWARDS).tolist()
    assert women == pytest.approx(0.30, abs=0.07)
    assert men == pytest.approx(0.00, abs=0.07)
    by_sex = {each.name: each.effect for each in call_effects(history, {"sex": sex}).by_group["sex"]}
    assert by_sex["woman"].is_above_zero
    assert not by_sex["man"].is_above_zero


def test_with_calls_by_lot_it_is_near_the_difference_of_averages(women_and_men):
    history, _ = women_and_men
    states, calls = np.asarray(history.states), np.asarray(history.actions)
    found = {each.name: each.effect.value for each in call_effects(history).by_state}
    for state in (0, 1):
        here = states[:, :-1] == state
        called, alone = (states[:, 1:][here & (calls[:, :-1] == action)].mean() for action in (1, 0))
        assert found[f"state {state}"] == pytest.approx(called - alone, abs=0.02)


def test_calls_that_hurt_are_shown_to_hurt():
    programme = simulated_programme(0, num_people=3000, num_weeks=10, levels=(3, 2), call_effect=-1.0)
    effects = call_effects(programme.trajectories)
    assert effects.is_harmful
    assert not effects.is_shown
    assert effects.overall.effect.is_below_zero


def test_where_calls_do_nothing_none_is_found_though_the_worst_off_were_called():
    """Of 15 worlds, about 1 in 20 intervals leaves 0 out; more than 4 would be luck of 1 in 1,000."""
    effects = [null_effect("longest first", seed, num_people=250) for seed in range(15)]
    values = np.array([each.value for each in effects])
    assert abs(values.mean()) < 3 * values.std() / np.sqrt(15)
    assert sum(each.is_above_zero or each.is_below_zero for each in effects) <= 4


def test_who_behaves_differently_anyway_does_not_seem_to_answer_differently():
    """A score that goes with engagement, and not with the effect of calls."""
    rng = np.random.default_rng(1)
    trait = rng.normal(size=3000)
    calls = rng.random((3000, 10)) < 0.1
    states = follow(rng, lambda people, states, _: 1 / (1 + np.exp(-trait[people] - states)), calls, 0)
    decisions = find_decisions(Trajectories.from_arrays(states, calls), REWARDS)
    score = np.broadcast_to(trait[:, None, None], (*decisions.states.shape, 1))
    terms = np.concatenate([np.ones_like(score), score], axis=-1)
    regression = EffectRegression(decisions, None, 200)
    with_main = regression.surface(terms, score)
    error = with_main.draws[:, 1, 1].std()
    assert abs(with_main.value[1, 1]) < 3 * error
    assert regression.surface(terms).value[1, 1] > 5 * error


def test_the_error_without_effect_is_that_of_two_averages():
    """States are coins: of m calls and n others, the error of the difference is √(p q / m + p q / n)."""
    rng = np.random.default_rng(7)
    states, calls = (rng.random((800, 10)) < 0.3).astype(int), rng.random((800, 10)) < 0.1
    decisions = find_decisions(Trajectories.from_arrays(states, calls), REWARDS)
    regression, terms = EffectRegression(decisions, None, 2), np.ones((*decisions.states.shape, 1))
    weights = regression.row_weights(terms, REWARDS[None])
    surface = regression.surface(terms)
    assert np.sum(weights * one_hot(decisions.next_states, 2)) == pytest.approx(surface.value[0, 1], abs=1e-6)
    num_calls = decisions.num_calls
    expected = np.sqrt(0.3 * 0.7 * (1 / num_calls + 1 / (decisions.valid.sum() - num_calls)))
    assert regression.error_without_effect(weights) == pytest.approx(expected, rel=0.05)


def test_calls_that_everyone_like_her_got_cannot_be_compared():
    rng = np.random.default_rng(2)
    states = rng.integers(0, 2, (300, 8))
    by_rule = call_effects(Trajectories.from_arrays(states, states == 0))
    by_lot = call_effects(Trajectories.from_arrays(states, rng.random((300, 8)) < 0.5))
    assert by_rule.comparable < 1
    assert not by_rule.is_enough
    assert not by_rule.is_shown
    assert by_lot.comparable == pytest.approx(0.5 * by_lot.overall.num_calls, rel=0.1)


def always_called(rng, who):
    """A history in which calls do nothing, of people who are called whenever ``who`` says so, and others by lot."""
    trait = rng.normal(0, 0.5, 600)
    states, calls = np.zeros((600, 12), int), np.zeros((600, 12), bool)
    for step in range(12):
        calls[:, step] = who(states[:, step]) | (rng.random(600) < 0.05)
        if step < 11:
            chance = 1 / (1 + np.exp(-np.where(states[:, step] == 1, 1.2, -1.2) - trait))
            states[:, step + 1] = rng.random(600) < chance
    return Trajectories.from_arrays(states, calls)


@pytest.mark.parametrize("state", [0, 1])
def test_a_state_in_which_everyone_was_called_has_no_effect_of_its_own(state):
    """Nobody is left to compare with, and what people do anyway must not pass for the effect of calls."""
    effects = call_effects(always_called(np.random.default_rng(8), lambda states: states == state))
    assert [each.name for each in effects.by_state] == [f"state {1 - state}"]
    assert effects.is_enough
    assert not effects.is_shown
    assert not effects.is_harmful


def test_a_group_in_which_everyone_was_called_has_no_effect():
    village = np.where(np.arange(600) < 60, "pilot", "other")
    effects = call_effects(always_called(np.random.default_rng(9), lambda _: village == "pilot"), {"village": village})
    found = {each.name: each for each in effects.by_group["village"]}
    assert found["pilot"].num_calls == 660
    assert np.isnan(found["pilot"].effect.value)
    assert found["other"].effect.low < 0 < found["other"].effect.high


@pytest.mark.parametrize("rewards", [None, [1.0, 1.0]])
def test_where_everyone_ends_alike_nothing_is_certain(rewards):
    rng = np.random.default_rng(10)
    states = np.ones((300, 8), int) if rewards is None else rng.integers(0, 2, (300, 8))
    effects = call_effects(Trajectories.from_arrays(states, rng.random((300, 8)) < 0.2), rewards=rewards)
    assert np.isnan(effects.overall.effect.value)
    assert not effects.is_shown
    assert not effects.is_harmful


def test_states_with_too_few_calls_share_the_effect_of_the_nearest():
    rng = np.random.default_rng(3)
    states = rng.integers(0, 4, (200, 8))
    by_lot = rng.random(states.shape) < 0.5

    def levels(called):
        history = Trajectories.from_arrays(states, called, num_states=4)
        decisions = find_decisions(history, np.arange(4) / 3)
        return state_levels(EffectRegression(decisions, None, 2), decisions).tolist()

    assert levels((states == 2) & by_lot) == [0, 0, 0, 0]
    assert levels(((states == 0) | (states == 3)) & by_lot) == [0, 0, 1, 1]
    # Nobody in state 0 was left alone, so that her effect is taken from state 3, too.
    assert levels((states == 0) | ((states == 3) & by_lot)) == [0, 0, 0, 0]


def test_the_order_of_people_does_not_matter_to_the_estimate(women_and_men):
    history, _ = women_and_men
    order = np.random.default_rng(4).permutation(len(history))
    assert call_effects(history[order]).overall.effect.value == pytest.approx(
        call_effects(history).overall.effect.value, rel=1e-6
    )


def test_groups_must_have_a_label_for_everyone(women_and_men):
    history, sex = women_and_men
    with pytest.raises(InvalidInputError, match=r"groups\['sex'\] must have one label for each of the 2000 people"):
        call_effects(history, {"sex": sex[:5]})


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_label_is_named_by_its_row(women_and_men, missing):
    history, sex = women_and_men
    labels = sex.astype(object)
    labels[7] = missing
    with pytest.raises(InvalidInputError, match=r"'sex'\] has no label for 1 of 2000 people, the first in row 7"):
        call_effects(history, {"sex": labels})


def test_rewards_must_fit_the_states(women_and_men):
    history, _ = women_and_men
    with pytest.raises(InvalidInputError, match=r"rewards must have the shape \[2\]"):
        call_effects(history, rewards=[0.0, 0.5, 1.0])


def test_a_long_table_is_as_good_as_trajectories():
    rng = np.random.default_rng(5)
    states, calls = rng.integers(0, 2, (80, 9)), rng.random((80, 9)) < 0.3
    person, step = (part.ravel() for part in np.indices(states.shape))
    table = {"id": person, "step": step, "state": states.ravel(), "action": calls.ravel().astype(int)}
    order = rng.permutation(len(person))
    shuffled = {name: column[order] for name, column in table.items()}
    sex = np.where(np.arange(80) % 2, "man", "woman")
    wanted = call_effects(Trajectories.from_arrays(states, calls), {"sex": sex})
    assert call_effects(table, {"sex": sex}) == wanted
    assert call_effects(shuffled, {"sex": sex}) == wanted


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"history": None}, "history must be Trajectories, or a table"),
        ({"history": 3}, "history must be Trajectories, or a table"),
        ({"groups": ["woman", "man"]}, "groups must be a mapping from names to labels"),
        ({"groups": {"sex": [["woman"], ["man", "man"]]}}, "cannot be read as an array"),
        ({"ids": [1, 2, 3]}, "Trajectories have their own order"),
        ({"level": 0}, "level must be between 0.5 and 0.999"),
        ({"level": 1}, "level must be between 0.5 and 0.999"),
        ({"seed": -1}, "seed must be"),
        ({"seed": "a"}, "seed must be"),
    ],
)
def test_wrong_arguments_are_one_clear_message(women_and_men, arguments, complaint):
    with pytest.raises(InvalidInputError, match=complaint):
        call_effects(**{"history": women_and_men[0], **arguments})


def test_a_history_of_one_step_is_refused():
    with pytest.raises(InvalidInputError, match="The history has one step"):
        call_effects(Trajectories.from_arrays([[0], [1]], [[0], [1]]))


def test_a_missing_label_of_pandas_is_missing_too(women_and_men):
    history, sex = women_and_men
    labels = pd.Series(sex, dtype="string")
    labels[3] = pd.NA
    with pytest.raises(InvalidInputError, match="has no label for 1 of 2000 people, the first in row 3"):
        call_effects(history, {"sex": labels})
