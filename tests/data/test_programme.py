"""The simulated programme: people behave as its knobs say, and past calls follow its rules."""

import numpy as np
import pytest

from armwise.data import one_hot, simulated_programme
from armwise.data.domains.history import UNSEEN, follow_rule
from armwise.data.domains.past_calls import PAST_CALLS, choose_calls
from armwise.errors import InvalidInputError
from tests.data.test_simulated_domains import explained_share

SMALL = {"num_people": 3000, "levels": (2, 3, 4)}
RULES = [rule for rule in PAST_CALLS if rule != "random"]


def log_odds(probability):
    return np.log(probability / (1 - probability))


def call_effects(programme):
    """By person and state, in log-odds."""
    return log_odds(programme.behaviour[0, :, :, 1]) - log_odds(programme.behaviour[0, :, :, 0])


def assert_mean(values, expected, variance):
    """The sum of independent values is within four standard deviations."""
    assert abs((values - expected).sum()) < 4 * np.sqrt(variance.sum())


def test_first_states_come_from_each_persons_own_chain():
    programme = simulated_programme(0, **SMALL, calls_per_week=0)
    long_run = np.linalg.matrix_power(programme.transitions[:, :, 0], 200)[:, 0, 1]
    states = np.asarray(programme.trajectories.states)
    for people in (long_run < 0.3, long_run > 0.7):
        assert people.sum() > 300
        assert_mean(states[people, 0], long_run[people], (long_run * (1 - long_run))[people])
    # A chain that starts in its stationary distribution stays there: nobody is called.
    assert np.abs(states.mean(axis=0) - long_run.mean()).max() < 0.03
    assert np.corrcoef(states[:, 0], long_run)[0, 1] > 0.4


def test_a_share_engaged_at_first_has_nothing_to_do_with_traits():
    programme = simulated_programme(0, **SMALL, first_engaged=0.7)
    states = np.asarray(programme.trajectories.states)[:, 0]
    assert abs(states.mean() - 0.7) < 4 * np.sqrt(0.21 / 3000)
    assert abs(np.corrcoef(states, programme.behaviour[0, :, 0, 0])[0, 1]) < 4 / np.sqrt(3000)


def test_call_effects_differ_by_state_and_some_are_harmful():
    effects = call_effects(simulated_programme(1, **SMALL, unaffected=0.0))
    np.testing.assert_allclose(effects.mean(axis=0), [0.5, 0.2], atol=1e-6)
    np.testing.assert_allclose(effects.std(axis=0), 0.6, atol=0.06)
    assert abs(np.corrcoef(effects.T)[0, 1] - 0.5) < 0.06
    # The share of a normal distribution below 0, −0.5 / 0.6 and −0.2 / 0.6 deviations from its mean.
    np.testing.assert_allclose((effects < 0).mean(axis=0), [0.202, 0.369], atol=0.04)


def test_effects_in_the_two_states_correlate_by_the_knob():
    for correlation in (0.0, 0.9):
        effects = call_effects(simulated_programme(2, **SMALL, unaffected=0.0, call_effect_correlation=correlation))
        assert abs(np.corrcoef(effects.T)[0, 1] - correlation) < 0.07


def test_some_people_are_unaffected_in_both_states():
    nothing = np.abs(call_effects(simulated_programme(3, **SMALL))) < 1e-9
    assert (nothing[:, 0] == nothing[:, 1]).all()
    assert abs(nothing[:, 0].mean() - 0.3) < 4 * np.sqrt(0.21 / 3000)


def test_one_number_is_the_same_effect_in_both_states():
    effects = call_effects(simulated_programme(3, **SMALL, call_effect=0.4, unaffected=0.0))
    np.testing.assert_allclose(effects[:, 0], effects[:, 1], atol=1e-9)
    np.testing.assert_allclose(effects.mean(), 0.4, atol=1e-6)


def test_features_explain_the_effects_as_much_as_the_knob_says():
    for share in (0.0, 0.3):
        programme = simulated_programme(5, **SMALL, explained=share, unaffected=0.0)
        effects, matrix = call_effects(programme), np.asarray(one_hot(programme.features))
        # Two random functions of few features overlap by chance, so the share holds up to that.
        assert abs(explained_share(matrix, effects[:, 0]) - share) < (0.02 if share == 0 else 0.15)


@pytest.mark.parametrize("rule", PAST_CALLS)
def test_calls_that_do_nothing_do_exactly_nothing(rule):
    world = simulated_programme(
        4, num_people=50, levels=(2, 3), call_effect=0, call_effect_spread=0, explained=0, past_calls=rule
    )
    np.testing.assert_array_equal(world.transitions[:, :, 0], world.transitions[:, :, 1])


def test_calls_that_hurt_hurt_everyone_they_affect():
    effects = call_effects(
        simulated_programme(4, num_people=50, levels=(2,), call_effect=-0.4, call_effect_spread=0, unaffected=0)
    )
    np.testing.assert_allclose(effects, -0.4, atol=1e-9)


@pytest.mark.parametrize("rule", ["random", "lowest share"])
def test_people_follow_their_chains_when_called_and_when_not(rule):
    programme = simulated_programme(6, **SMALL, calls_per_week=900, past_calls=rule, call_effect=2.0)
    states, called = np.asarray(programme.trajectories.states), programme.calls.astype(int)
    for state, action in np.ndindex(2, 2):
        person, week = np.nonzero((states[:, :-1] == state) & (called[:, :-1] == action))
        chance = programme.transitions[person, state, action, 1]
        assert len(person) > 100
        assert_mean(states[person, week + 1], chance, chance * (1 - chance))


def test_the_true_chains_are_those_of_the_last_week():
    programme = simulated_programme(0, num_people=20, levels=(2,), num_weeks=5, weekly_decline=0.1)
    np.testing.assert_allclose(programme.transitions[..., 1], programme.behaviour[3])
    np.testing.assert_allclose(programme.transitions.sum(axis=-1), 1)
    lost = log_odds(programme.behaviour[0]) - log_odds(programme.transitions[..., 1])
    np.testing.assert_allclose(lost, 0.3, atol=1e-9)


def test_random_calls_have_a_known_chance_and_rules_none():
    programme = simulated_programme(0, num_people=400, levels=(2,), num_weeks=40, calls_per_week=30)
    np.testing.assert_allclose(programme.call_probabilities, np.full((400, 40), 0.075))
    assert (programme.calls.sum(axis=0) == 30).all()
    per_person = programme.calls.sum(axis=1)
    assert abs(per_person.var() - 40 * 0.075 * 0.925) < 0.8
    for rule in RULES:
        assert simulated_programme(0, num_people=40, levels=(2,), past_calls=rule).call_probabilities is None


def test_calls_are_known_in_weeks_that_were_not_observed():
    programme = simulated_programme(0, num_people=400, levels=(2,), calls_per_week=30, unobserved=0.3)
    observed = np.asarray(programme.trajectories.observed)
    assert (programme.calls.sum(axis=0) == 30).all()
    assert programme.calls[~observed].any()
    np.testing.assert_array_equal(programme.trajectories.actions, programme.calls & observed)


def urgency(rule, seen, past):
    """How soon a rule calls a person, the lowest first; None: never. Written from the rules' words, one by one."""
    known = [state for state in seen if state is not None]
    if rule == "once":
        return None if any(past) else 0
    if rule == "random":
        return 0
    if not known:
        return float("inf")
    if rule == "disengaged first":
        return known[-1]
    if rule == "lowest share":
        return sum(state > 0 for state in known) / len(known)
    run, current = 0, None
    for state in seen:
        current = current if state is None else state
        run = run + 1 if current == 0 else 0
    return -run


def slow_choice(rule, seen, past, lots, calls):
    """Who is called, by sorting people one by one."""
    keys = {person: urgency(rule, row, past[person]) for person, row in enumerate(seen)}
    line = sorted((key, lots[person], person) for person, key in keys.items() if key is not None)
    return {person for _, _, person in line[:calls]}


def as_programme_sees(states, observed):
    return [[int(s) if o else None for s, o in zip(*row, strict=True)] for row in zip(states, observed, strict=True)]


@pytest.mark.parametrize("rule", PAST_CALLS)
def test_each_rule_calls_those_it_says(rule):
    rng = np.random.default_rng(0)
    for weeks, calls in [(1, 3), (2, 7), (6, 5), (9, 25)]:
        states, observed = rng.integers(0, 2, (20, weeks)), rng.random((20, weeks)) < 0.6
        lots, past = rng.random((20, weeks)), rng.random((20, weeks - 1)) < 0.1
        chosen = choose_calls(rule, lots, calls)(np.where(observed, states, UNSEEN), past.astype(int))
        expected = slow_choice(rule, as_programme_sees(states, observed), past, lots[:, -1], calls)
        assert set(np.flatnonzero(chosen)) == expected


@pytest.mark.parametrize("rule", RULES)
def test_a_programmes_calls_follow_its_rule_week_by_week(rule):
    programme = simulated_programme(
        3, num_people=60, levels=(2,), num_weeks=9, calls_per_week=8, unobserved=0.3, past_calls=rule
    )
    seen = as_programme_sees(np.asarray(programme.trajectories.states), np.asarray(programme.trajectories.observed))
    for week in range(9):
        called = programme.calls[:, week]
        keys = [urgency(rule, seen[person][: week + 1], programme.calls[person, :week]) for person in range(60)]
        assert called.sum() == min(8, sum(key is not None for key in keys))
        latest = max((keys[person] for person in np.flatnonzero(called)), default=-np.inf)
        assert all(key is None or key >= latest for person, key in enumerate(keys) if not called[person])


def test_rules_never_see_unobserved_or_later_weeks():
    rng = np.random.default_rng(1)
    observed, shown = rng.random((30, 6)) < 0.5, []

    def remember(seen, past):
        shown.append((seen, past.shape[1]))
        return np.zeros(30, dtype=int)

    chains = np.full((1, 30, 2, 2, 2), 0.5)
    past = follow_rule(rng, chains, remember, np.array([0.5, 0.5]), observed)
    for week, (seen, before) in enumerate(shown):
        assert (seen.shape, before) == ((30, week + 1), week)
        np.testing.assert_array_equal(seen != UNSEEN, observed[:, : week + 1])
        known = observed[:, : week + 1]
        np.testing.assert_array_equal(seen[known], np.asarray(past.trajectories.states)[:, : week + 1][known])


def test_once_ends_when_everyone_was_called():
    calls = simulated_programme(0, num_people=20, levels=(2,), calls_per_week=6, past_calls="once").calls
    assert calls.sum(axis=0).tolist() == [6, 6, 6, 2, 0, 0, 0]
    assert (calls.sum(axis=1) == 1).all()


@pytest.mark.parametrize(
    ("knobs", "part"),
    [
        ({"call_effect": (0.1, 0.2, 0.3)}, r"call_effect must be one number, or two: .* not \(0.1, 0.2, 0.3\)"),
        ({"call_effect": (0.1, float("nan"))}, "call_effect must be a finite number, not nan"),
        ({"call_effect_correlation": -0.5}, "call_effect_correlation must be between 0 and 1, not -0.5"),
        ({"past_calls": "by phone"}, "past_calls must be one of 'random', .*'once', not 'by phone'"),
        ({"first_engaged": 1.2}, "first_engaged must be between 0 and 1, not 1.2"),
        ({"weekly_decline": float("inf")}, "weekly_decline must be a finite number, not inf"),
    ],
)
def test_impossible_assumptions_are_refused(knobs, part):
    with pytest.raises(InvalidInputError, match=part):
        simulated_programme(num_people=20, levels=(2,), **knobs)
