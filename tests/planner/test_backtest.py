"""Lists of past weeks, judged on later weeks and other people."""

import numpy as np
import pytest

import armwise as aw
from armwise.data import Trajectories, simulated_programme
from armwise.errors import InvalidInputError
from armwise.evaluation.decisions import find_decisions
from armwise.planner.backtest import run_backtest
from armwise.planner.past_lists import ARMWISE, Predictions, choose_origins, plan_past
from armwise.rmab import Problem

REWARDS = np.array([0.0, 1.0])


def learn_from_counts():
    """A planner that knows each person by a number of her own, and the pool of those whom it learned from."""

    def fit(taught, seen, judged):
        assert len(taught) == seen.num_arms
        engaged = np.asarray(seen.states).mean()
        row = np.array([[1 - engaged, engaged], [0.4, 0.6]])
        transitions = np.broadcast_to(row, (len(judged), 2, 2, 2))
        known = Predictions(transitions, np.stack([(judged * 37) % 101, (judged * 53) % 103], axis=1) / 200 + engaged)
        return lambda _: known

    return fit


def count_own_weeks(taught, seen, judged):
    """A planner that goes by everything that it is told of the people to be judged, their actions included."""
    del taught, seen

    def predict(known):
        weeks = np.arange(1, known.num_steps + 1)
        score = (np.asarray(known.states) * weeks).sum(axis=1) + 0.01 * (np.asarray(known.actions) * weeks).sum(axis=1)
        chain = np.array([[0.6, 0.4], [0.4, 0.6]])
        return Predictions(np.broadcast_to(chain, (len(judged), 2, 2, 2)), np.stack([score, score], axis=1))

    return predict


@pytest.fixture(scope="module")
def programme():
    return simulated_programme(0, num_people=301, num_weeks=9, levels=(3, 2), calls_per_week=30, unobserved=0.1)


@pytest.fixture(scope="module")
def result(programme):
    history = programme.trajectories
    return run_backtest(history, Problem(), {ARMWISE: learn_from_counts()}, budget_share=0.1, num_resamples=50, seed=1)


def test_every_rule_of_thumb_is_beside_armwise(result):
    names = [way.name for way in result.ways]
    assert names[0] == ARMWISE
    assert set(names) == {
        ARMWISE,
        "never",
        "random",
        "round robin",
        "disengaged first",
        "population index",
        "least likely to engage",
    }


def test_a_lead_is_the_difference_of_gains(result):
    own = result.ways[0]
    assert own.lead.value == own.lead.high == 0
    for way in result.ways:
        assert way.lead.value == pytest.approx(own.gain.value - way.gain.value)
        assert way.lead.low <= way.lead.value <= way.lead.high


def test_only_later_steps_are_judged(result, programme):
    observed = np.asarray(programme.trajectories.observed)
    judged = observed[:, :-1] & observed[:, 1:]
    judged[:, : result.origins[0]] = False
    assert result.origins[0] == 4
    assert (np.isfinite(result.expected) == judged).all()
    assert result.num_judged == judged.sum()


def test_nothing_that_plans_sees_a_later_week(programme):
    """A signal planted in later weeks changes no score of an earlier week, and does change those after it."""
    history = programme.trajectories
    states, actions = np.asarray(history.states).copy(), np.asarray(history.actions).copy()
    states[:, 7:], actions[:, 7:] = 1, 1 - actions[:, 7:]
    planted = Trajectories.from_arrays(states, actions, history.observed)
    origins = choose_origins(history, 3)

    def plan(history):
        fits = {ARMWISE: learn_from_counts(), "by own weeks": count_own_weeks}
        return plan_past(history, find_decisions(history, REWARDS), Problem(), fits, origins, 0)

    before, after = plan(history), plan(planted)
    for name in before.scores:
        assert (after.scores[name][:, :7] == before.scores[name][:, :7]).all(), name
    for name in before.rows:
        assert (after.rows[name][:, :7] == before.rows[name][:, :7]).all(), name
    for name in (ARMWISE, "by own weeks"):
        assert (after.scores[name][:, 7:] != before.scores[name][:, 7:]).any()


def test_the_call_of_a_step_is_not_known_when_it_is_planned(programme):
    """Only the actions of step 6 change: scores of step 6 stay, and those after it may change."""
    history = programme.trajectories
    planted = Trajectories(
        history.states, history.actions.at[:, 6].set(1 - history.actions[:, 6]), history.observed, 2, 2
    )
    before, after = (
        plan_past(each, find_decisions(each, REWARDS), Problem(), {ARMWISE: count_own_weeks}, (4, 5), 0).scores[ARMWISE]
        for each in (history, planted)
    )
    assert (after[:, :7] == before[:, :7]).all()
    assert (after[:, 7] != before[:, 7]).all()


def test_own_weeks_up_to_each_step_are_known(programme):
    """Between two origins a planner learns nothing anew, but people's own weeks go on."""
    history = programme.trajectories
    found = plan_past(history, find_decisions(history, REWARDS), Problem(), {ARMWISE: count_own_weeks}, (4,), 0)
    states, actions = np.asarray(history.states), np.asarray(history.actions)
    for step in range(4, 8):
        weeks = np.arange(1, step + 2)
        expected = (states[:, : step + 1] * weeks).sum(axis=1) + 0.01 * (actions[:, :step] * weeks[:-1]).sum(axis=1)
        np.testing.assert_allclose(found.scores[ARMWISE][:, step], expected)


def test_nobody_is_judged_by_a_planner_that_learned_from_her(programme):
    history, taught_of = programme.trajectories, {}

    def fit(taught, seen, judged):
        assert not set(taught) & set(judged)
        np.testing.assert_array_equal(seen.states, history.states[taught, : seen.num_steps])
        taught_of.setdefault(seen.num_steps - 1, []).append((len(taught), len(judged)))
        return learn_from_counts()(taught, seen, judged)

    run_backtest(history, Problem(), {ARMWISE: fit}, budget_share=0.1, num_resamples=2)
    assert set(taught_of) == {4, 5, 6}
    assert all(sizes == [(150, 151), (150, 150)] for sizes in taught_of.values())


def test_a_planner_that_knows_whom_calls_help_is_credited():
    rng = np.random.default_rng(0)
    helped = rng.random(3000) < 0.3
    calls = rng.random((3000, 10)) < 0.1
    states = np.zeros((3000, 10), int)
    for step in range(9):
        chance = 0.25 + 0.5 * states[:, step] + 0.25 * calls[:, step] * helped
        states[:, step + 1] = rng.random(3000) < chance
    history = Trajectories.from_arrays(states, calls)

    def knows(sign):
        def fit(taught, seen, judged):
            del taught, seen
            transitions = np.broadcast_to(np.array([[0.75, 0.25], [0.25, 0.75]])[:, None], (len(judged), 2, 2, 2))
            order = sign * np.broadcast_to(helped[judged, None], (len(judged), 2)).astype(float)
            return lambda _: Predictions(transitions, order)

        return fit

    def lead_over_random(sign):
        found = run_backtest(history, Problem(), {ARMWISE: knows(sign)}, budget_share=0.1, num_resamples=100)
        return next(way.lead for way in found.ways if way.name == "random")

    assert lead_over_random(1).is_above_zero
    assert lead_over_random(-1).is_below_zero


def small_effects(rng, chance_of_call, effect):
    """People whose calls add ``effect[step]`` to the chance of engaging next."""
    calls = rng.random((2000, len(effect) + 1)) < chance_of_call
    states = np.zeros(calls.shape, int)
    for step, added in enumerate(effect):
        chance = 0.25 + 0.4 * states[:, step] + added * calls[:, step]
        states[:, step + 1] = rng.random(2000) < chance
    return Trajectories.from_arrays(states, calls)


def test_only_calls_after_the_first_origin_count():
    """Calls that worked early and do nothing later have no gain, and the reverse."""
    rng = np.random.default_rng(3)
    early = small_effects(rng, 0.2, [0.3] * 4 + [0.0] * 5)
    late = small_effects(rng, 0.2, [0.0] * 4 + [0.3] * 5)

    def gain_of_lots(history):
        fits = {ARMWISE: learn_from_counts()}
        found = run_backtest(history, Problem(), fits, budget_share=0.1, num_resamples=100)
        assert found.origins[0] == 4
        return next(way.gain for way in found.ways if way.name == "random")

    nothing, something = gain_of_lots(early), gain_of_lots(late)
    assert nothing.low < 0 < nothing.high
    # Of 100 calls, 30 bring someone back, who is worth 1 / (1 − 0.4) weeks on average.
    assert something.low < 50 < something.high
    assert something.low > nothing.high


def test_without_later_calls_no_way_is_judged():
    rng = np.random.default_rng(4)
    chance = np.where(np.arange(10) < 4, 0.2, 0.001)
    found = run_backtest(
        small_effects(rng, chance, [0.3] * 9),
        Problem(),
        {ARMWISE: learn_from_counts()},
        budget_share=0.1,
        num_origins=1,
        num_resamples=50,
    )
    assert found.effects.is_enough
    assert found.origins == (4,)
    assert 0 < found.num_calls < 20
    assert all(np.isnan(way.gain.value) for way in found.ways)


@pytest.mark.parametrize("who", ["the disengaged", "everyone"])
def test_where_all_alike_were_called_no_way_is_judged(who):
    """Calls do nothing. From the middle on, all people in a state are called, and nobody is left to compare with."""
    rng = np.random.default_rng(5)
    states, calls = np.zeros((600, 12), int), rng.random((600, 12)) < 0.05
    for step in range(12):
        if step >= 5:
            calls[:, step] = True if who == "everyone" else states[:, step] == 0
        if step < 11:
            states[:, step + 1] = rng.random(600) < np.where(states[:, step] == 1, 0.75, 0.25)
    history = Trajectories.from_arrays(states, calls)
    fits = {ARMWISE: learn_from_counts()}
    found = run_backtest(history, Problem(), fits, budget_share=0.05, num_origins=2, num_resamples=50)
    assert found.effects.is_enough
    assert not found.effects.is_shown
    assert found.num_calls > 1000
    assert all(np.isnan(way.gain.value) and np.isnan(way.lead.value) for way in found.ways)


def test_a_history_that_is_too_short_is_refused():
    with pytest.raises(InvalidInputError, match="it takes 4 steps, and the history has 3"):
        choose_origins(Trajectories.from_arrays(np.zeros((5, 3)), np.ones((5, 3))), 3)


def test_a_history_without_calls_is_refused():
    with pytest.raises(InvalidInputError, match="nothing tells whether calls help"):
        choose_origins(Trajectories.from_arrays(np.zeros((5, 6)), np.zeros((5, 6))), 3)


def test_calls_in_the_last_step_alone_leave_nothing_to_judge_on():
    calls = np.zeros((5, 6))
    calls[:, 4] = 1
    with pytest.raises(InvalidInputError, match="no step is left to judge on"):
        choose_origins(Trajectories.from_arrays(np.zeros((5, 6)), calls), 3)


@pytest.fixture(scope="module")
def people(programme):
    codes = np.asarray(programme.features.codes)
    return {
        "id": [f"p{row:03}" for row in range(len(codes))],
        "a": codes[:, 0].astype(str),
        "b": codes[:, 1].astype(str),
    }


def test_the_planners_backtest_does_not_depend_on_the_order_of_rows(programme, people):
    planner = aw.OutreachPlanner(aw.MeanSquaredError(), config=aw.TrainConfig(num_epochs=2), cohort_size=20)
    history, order = programme.trajectories, np.random.default_rng(0).permutation(301)
    shuffled = {name: np.asarray(values)[order] for name, values in people.items()}
    first = planner.backtest(people, history, groups={"a": people["a"]}, num_resamples=20)
    second = planner.backtest(shuffled, history[order], groups={"a": shuffled["a"]}, num_resamples=20)
    assert first.ways == second.ways
    assert first.effects == second.effects
    assert not hasattr(planner, "model_")


def test_a_column_that_is_no_name_in_the_whole_table_is_none_in_a_half(programme, people):
    """Two people share each value; in a half of them most values are one person's alone."""
    shared = {**people, "village": [str(row // 2) for row in range(301)]}
    planner = aw.OutreachPlanner(
        aw.MeanSquaredError(), config=aw.TrainConfig(num_epochs=1), cohort_size=20, random_state=1
    )
    assert planner.backtest(shared, programme.trajectories, num_origins=1, num_resamples=2).ways


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"groups": {"a": ["x", "y"]}}, r"groups\['a'\] must have one label for each of the 301 people"),
        ({"groups": {"a": "x"}}, r"groups\['a'\] must have one label"),
        ({"losses": {"random": aw.MeanSquaredError()}}, "losses has the name of another way: random"),
    ],
)
def test_groups_and_losses_that_do_not_fit_are_refused(programme, people, changes, complaint):
    with pytest.raises(InvalidInputError, match=complaint):
        aw.OutreachPlanner().backtest(people, programme.trajectories, **changes)


def test_with_too_few_calls_nothing_is_said_of_any_way():
    rng = np.random.default_rng(0)
    calls = np.zeros((200, 8), int)
    calls[rng.permutation(200)[:16], np.arange(16) % 7] = 1
    history = Trajectories.from_arrays(rng.integers(0, 2, (200, 8)), calls)
    found = run_backtest(history, Problem(), {ARMWISE: learn_from_counts()}, budget_share=0.1, num_resamples=5)
    assert not found.effects.is_enough
    assert np.isnan(found.effects.overall.effect).all()
    assert all(np.isnan(way.gain).all() and np.isnan(way.lead).all() for way in found.ways)


def test_names_that_mean_something_else_are_refused():
    people = {"id": np.arange(40), "phone": ["own", "shared"] * 20}
    history = Trajectories.from_arrays(np.zeros((40, 6)), np.zeros((40, 6)))
    for name in ("armwise", "random", "population", "own weeks"):
        with pytest.raises(InvalidInputError, match="losses has the name of another way"):
            aw.OutreachPlanner().backtest(people, history, losses={name: None})
    with pytest.raises(InvalidInputError, match="losses must be a mapping"):
        aw.OutreachPlanner().backtest(people, history, losses=["mse"])
    with pytest.raises(InvalidInputError, match="groups must be a mapping"):
        aw.OutreachPlanner().backtest(people, history, groups="phone")
