import numpy as np
import polars as pl
import pytest

from armwise.data import Trajectories, discretise, first_state_shares
from armwise.errors import InvalidInputError

TABLE = {
    "id": np.array(["c", "a", "a", "b", "c"]),
    "step": np.array([3, 1, 2, 2, 1]),
    "state": np.array([1, 0, 1, 2, 0]),
    "action": np.array([0, 1, 0, 0, 1]),
}


def changed(**columns):
    return TABLE | {name: np.asarray(values) for name, values in columns.items()}


def test_a_table_becomes_arrays_with_gaps_unobserved():
    trajectories, ids = Trajectories.from_table(TABLE)
    assert ids.tolist() == ["a", "b", "c"]
    assert trajectories.states.tolist() == [[0, 1, 0], [0, 2, 0], [0, 0, 1]]
    assert trajectories.actions.tolist() == [[1, 0, 0], [0, 0, 0], [1, 0, 0]]
    assert trajectories.observed.tolist() == [[True, True, False], [False, True, False], [True, False, True]]
    assert (trajectories.num_arms, trajectories.num_steps, trajectories.num_states) == (3, 3, 3)


def test_the_order_of_rows_does_not_matter(rng):
    order = rng.permutation(5)
    straight, ids = Trajectories.from_table(TABLE)
    shuffled, other_ids = Trajectories.from_table({name: column[order] for name, column in TABLE.items()})
    assert ids.tolist() == other_ids.tolist()
    for name in ("states", "actions", "observed"):
        assert (getattr(straight, name) == getattr(shuffled, name)).all()


def test_a_data_frame_is_a_table():
    from_frame, ids = Trajectories.from_table(pl.DataFrame(TABLE))
    from_mapping, _ = Trajectories.from_table(TABLE)
    assert ids.tolist() == ["a", "b", "c"]
    assert (from_frame.states == from_mapping.states).all()


@pytest.mark.parametrize(
    ("table", "parts"),
    [
        ({"id": [1], "step": [0], "state": [0]}, ["no column 'action'", "id, step, state, action"]),
        (changed(step=[3, 1, 1, 2, 1]), ["Rows 1 and 2", "'a'", "'step' = 1", "Keep one row"]),
        (changed(state=[1, 0, -1, 2, 0]), ["'state'", "row 2", "-1", "negative"]),
        (changed(state=[1, 0, 0.5, 2, 0]), ["'state'", "row 2", "0.5", "whole"]),
        (changed(state=[1, 0, np.nan, 2, 0]), ["'state'", "row 2", "nan", "Leave out the rows"]),
        (changed(action=np.array([0, None, 0, 0, 1], dtype=object)), ["'action'", "row 1", "None"]),
        (changed(action=["0", "yes", "0", "0", "1"]), ["'action'", "row 0", "'0'"]),
        (changed(id=np.array(["c", None, "a", "b", "c"], dtype=object)), ["'id'", "row 1", "missing"]),
        (changed(id=np.array(["c", 1, "a", "b", "c"], dtype=object)), ["mixes the types int, str"]),
        (changed(step=[20240101, 20240108, 1, 2, 3]), ["20240108", "dates are not steps"]),
        (changed(action=[0, 1, 0]), ["'action'", "[3]", "[5]"]),
        ({name: np.array([]) for name in TABLE}, ["no rows"]),
    ],
)
def test_a_malformed_table_is_refused_by_row_and_column(table, parts):
    with pytest.raises(InvalidInputError) as error:
        Trajectories.from_table(table)
    assert all(part in str(error.value) for part in parts), str(error.value)


def test_values_beyond_the_number_of_states_or_actions_are_refused():
    with pytest.raises(InvalidInputError, match=r"states must be below num_states = 2.* 2\."):
        Trajectories.from_table(TABLE, num_states=2)
    with pytest.raises(InvalidInputError, match="actions must be below num_actions = 1, but arm 0, step 0 has 1"):
        Trajectories.from_table(TABLE, num_actions=1)


def test_what_was_not_observed_may_hold_anything():
    states = [[1.0, np.nan, 7.0], [0.0, 1.0, 1.0]]
    observed = [[True, False, False], [True, True, True]]
    trajectories = Trajectories.from_arrays(states, np.zeros((2, 3)), observed)
    assert trajectories.num_states == 2
    assert trajectories.states.tolist() == [[1, 0, 0], [0, 1, 1]]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (([[0, 1]], [[0]]), r"actions must have the shape \[1, 2\]"),
        (([0, 1], [0, 1]), r"\[arms, steps\], not \[2\]"),
        (([[0, 1]], [[0, 0]], [[1, 1]]), "observed must be booleans"),
        (([[0, np.nan]], [[0, 0]]), "arm 0, step 1 has nan. Mark steps"),
        (([[0, 1], [0]], [[0, 0]]), "cannot be read as an array"),
    ],
)
def test_malformed_arrays_are_refused(arguments, part):
    with pytest.raises(InvalidInputError, match=part):
        Trajectories.from_arrays(*arguments)


def test_a_state_is_the_number_of_thresholds_exceeded(rng):
    engagement = rng.uniform(0, 120, size=(20, 7))
    engagement[0, :3] = [30, 60, np.nan]
    states, observed = discretise(engagement, [30, 60])
    for value, state, seen in zip(engagement.ravel(), states.ravel(), observed.ravel(), strict=True):
        assert state == int(value > 30) + int(value > 60)
        assert seen == (not np.isnan(value))


@pytest.mark.parametrize("thresholds", [[], [2, 1], [1, 1], [np.nan], 3.0])
def test_thresholds_must_increase(thresholds):
    with pytest.raises(InvalidInputError, match="thresholds"):
        discretise([1.0], thresholds)


def test_first_states_are_each_persons_first_observed():
    observed = [[True, True], [False, True], [False, False]]
    trajectories = Trajectories.from_arrays([[1, 0], [0, 0], [1, 1]], np.zeros((3, 2)), observed)
    assert first_state_shares(trajectories).tolist() == [0.5, 0.5]
    with pytest.raises(InvalidInputError, match="at least one observed step"):
        first_state_shares(Trajectories.from_arrays([[0]], [[0]], [[False]]))
