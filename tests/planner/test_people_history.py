"""Everyone's weeks by person: found by id or row, counted against plain loops, and wrong ones named."""

import itertools

import numpy as np
import polars as pl
import pytest

from armwise.data import Trajectories
from armwise.errors import InvalidInputError
from armwise.planner.people_history import MOST_STEPS, NO_ROW, PeopleHistory

WEEKS = pl.DataFrame(
    {
        "id": ["b", "a", "a", "a", "c", "b"],
        "step": [3, 3, 5, 6, 6, 4],
        "state": [1, 0, 1, 1, 0, 0],
        "action": [1, 1, 0, 1, 0, 1],
    }
)


def some_history(rng, num_people=40, num_steps=9, num_states=3):
    """Histories with gaps, and some people without any week."""
    observed = rng.random((num_people, num_steps)) < rng.choice([0.0, 0.3, 0.9], (num_people, 1))
    states, actions = rng.integers(0, num_states, observed.shape), rng.integers(0, 2, observed.shape)
    return Trajectories.from_arrays(states, actions, observed, num_states)


def test_rows_of_a_table_are_the_weeks_of_people(rng):
    history = PeopleHistory.from_weeks(WEEKS[rng.permutation(WEEKS.height)])
    assert history.ids.to_list() == ["a", "b", "c"]
    assert (history.num_states, history.next_step) == (2, 7)
    rows = history.find(pl.Series(["c", "stranger", "a"]), np.arange(3))
    assert rows.tolist() == [2, NO_ROW, 0]
    weeks = history.take(rows)
    assert weeks.observed.tolist() == [[False, False, False, True], [False] * 4, [True, False, True, True]]
    assert weeks.states.tolist() == [[0, 0, 0, 0], [0] * 4, [0, 0, 1, 1]]
    assert weeks.actions.tolist() == [[0, 0, 0, 0], [0] * 4, [1, 0, 0, 1]]


def test_where_people_stand_is_counted_as_by_hand():
    history = PeopleHistory.from_weeks(WEEKS)
    stands = history.standing(history.find(pl.Series(["a", "b", "c", "nobody"]), np.arange(4)))
    # a: 0 with a call, not seen, 1, 1 with a call; b: 1 with a call, then 0 with a call; c: 0 in the last step.
    assert stands["state"].to_list() == [1, 0, 0, None]
    assert stands["since_observed"].to_list() == [1, 3, 1, None]
    assert stands["observed"].to_list() == [3, 2, 1, None]
    assert stands["calls"].to_list() == [2, 2, 0, None]
    assert stands["since_call"].to_list() == [1, 3, None, None]
    assert stands["engaged"].to_list() == [2, 1, 0, None]
    assert stands["streak"].to_list() == [2, 1, 1, None]
    # The step after a's first call was not observed; after b's first she was in the lowest state.
    assert stands["answered"].to_list() == [0, 0, 0, None]


def test_standing_equals_a_loop_over_weeks(rng):
    history = some_history(rng)
    known = PeopleHistory.from_trajectories(history)
    stands = known.standing(np.arange(40)).to_dicts()
    states, actions, observed = (np.asarray(part) for part in (history.states, history.actions, history.observed))
    for person, told in enumerate(stands):
        seen = [(step, states[person, step], actions[person, step]) for step in range(9) if observed[person, step]]
        if not seen:
            assert set(told.values()) == {None}
            continue
        streak = next((place for place, week in enumerate(reversed(seen)) if week[1] != seen[-1][1]), len(seen))
        calls = [step for step, _, action in seen if action]
        answered = [
            1
            for (step, state, action), (after, then, _) in itertools.pairwise(seen)
            if action and after == step + 1 and (then > state or then == 2)
        ]
        expected = {
            "state": seen[-1][1],
            "since_observed": 9 - seen[-1][0],
            "observed": len(seen),
            "calls": len(calls),
            "since_call": 9 - calls[-1] if calls else None,
            "engaged": sum(state > 0 for _, state, _ in seen),
            "streak": streak,
            "answered": len(answered),
        }
        assert told == expected


def test_rows_that_are_aligned_need_no_ids(rng):
    history = some_history(rng)
    known = PeopleHistory.from_trajectories(history)
    assert known.ids is None
    rows = known.find(pl.Series(["x", "y"]), np.array([7, 3]))
    np.testing.assert_array_equal(known.take(rows).states, np.where(history.observed, history.states, 0)[[7, 3]])
    assert len(known) == 40
    assert known.next_step == 9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda weeks: pl.concat([weeks, weeks[2:3]]), r"Rows 2 and 6 both hold column 'id' = 'a', column 'step' = 5"),
        (lambda weeks: weeks.with_columns(state=pl.lit(0.5)), "'state' must be whole numbers, but row 0 has 0.5"),
        (lambda weeks: weeks.with_columns(action=pl.lit(2)), r"action 2 for id 'b' in step 3\. Give 0 .* and 1"),
        (lambda weeks: weeks.with_columns(state=pl.lit(1000)), "state 1000, and at most 1000 states"),
    ],
)
def test_weeks_that_cannot_be_right_are_named(change, message):
    with pytest.raises(InvalidInputError, match=message):
        PeopleHistory.from_weeks(change(WEEKS))


def test_a_state_beyond_the_number_is_named_by_id_and_step():
    beyond = WEEKS.with_columns(state=pl.when(pl.col("step") == 5).then(7).otherwise("state"))
    with pytest.raises(InvalidInputError, match=r"state 7 for id 'a' in step 5, and there are 2 states, 0 to 1\."):
        PeopleHistory.from_weeks(beyond, 2)
    rows = Trajectories.from_arrays([[0, 1], [0, 2]], [[0, 0], [0, 0]])
    with pytest.raises(InvalidInputError, match="state 2 for row 1 in step 1, and there are 2 states"):
        PeopleHistory.from_trajectories(rows, 2)
    with pytest.raises(InvalidInputError, match="state 2 for id 'q' in step 1, and there are 2 states"):
        PeopleHistory.from_trajectories(rows, 2, pl.Series(["p", "q"]))


def test_a_table_without_rows_is_nobodys_history():
    history = PeopleHistory.from_weeks(WEEKS.clear())
    rows = history.find(pl.Series(["a", "b"]), np.arange(2))
    assert rows.tolist() == [NO_ROW, NO_ROW]
    assert not history.take(rows).observed.any()
    assert history.standing(rows)["state"].to_list() == [None, None]


def test_a_state_that_was_not_observed_is_no_state():
    hidden = Trajectories.from_arrays([[0, 2]], [[0, 0]], [[True, False]], num_states=3)
    assert PeopleHistory.from_trajectories(hidden, 2).states.tolist() == [[0, 0]]


def test_ten_thousand_rows_of_one_person_are_one_message():
    long = pl.DataFrame({"id": "x", "step": np.arange(10_000), "state": 0, "action": 0})
    weeks = pl.concat([WEEKS, long], how="vertical_relaxed")
    with pytest.raises(InvalidInputError, match=r"10,000 steps, and at most 1,040 .*most rows is 'x', with 10,000\."):
        PeopleHistory.from_weeks(weeks)
    rows = Trajectories.from_arrays(np.zeros((1, MOST_STEPS + 1)), np.zeros((1, MOST_STEPS + 1)))
    with pytest.raises(InvalidInputError, match="runs over 1,041 steps"):
        PeopleHistory.from_trajectories(rows)
    longest = pl.DataFrame({"id": "x", "step": np.arange(MOST_STEPS) + 5, "state": 0, "action": 0})
    assert PeopleHistory.from_weeks(longest).observed.shape == (1, MOST_STEPS)
