"""Index, gain and belief against plain float64 linear algebra; and no digit depends on a neighbour."""

import jax
import numpy as np
import pytest

from armwise.data import Features
from armwise.planning.scoring import BLOCK, predict, score
from armwise.rmab import Problem, whittle_indices
from tests.planning.outreach import small


def some_features(rng, levels, num_people=50):
    codes = np.stack([rng.integers(0, level, num_people) for level in levels], axis=1)
    return Features(codes=codes.astype(np.uint8), levels=levels)


@pytest.mark.parametrize("num_states", [2, 3])
def test_index_and_gain_of_someone_seen_last_week_and_long_ago(rng, num_states):
    planner = small(num_states=num_states).planner
    features = some_features(rng, planner.encoder_.levels)
    states, gaps = rng.integers(-1, num_states, 50), rng.integers(0, 7, 50)
    scores = score(planner.model_, planner.problem_, features, states, gaps)
    transitions = predict(planner.model_, features).astype(float)
    indices = np.asarray(whittle_indices(transitions / transitions.sum(-1, keepdims=True), planner.problem_))
    rewards, initial = (np.asarray(each) for each in (planner.problem_.rewards, planner.problem_.initial))
    for person in range(50):
        passive, active = transitions[person, :, 0], transitions[person, :, 1]
        value = np.linalg.solve(np.eye(num_states) - 0.9 * passive, rewards)
        gain = 0.9 * (active - passive) @ value
        belief = initial
        if states[person] >= 0:
            belief = np.eye(num_states)[states[person]] @ np.linalg.matrix_power(passive, gaps[person])
        np.testing.assert_allclose(scores.gain[person], belief @ gain, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(scores.index[person], belief @ indices[person], rtol=1e-4, atol=1e-5)


def test_the_gain_is_what_simulated_calls_gain(rng):
    """One call now, none later: the difference of two exact returns from the state, by value iteration."""
    planner = small().planner
    features = some_features(rng, planner.encoder_.levels, 5)
    transitions = predict(planner.model_, features).astype(float)
    gain = score(planner.model_, planner.problem_, features, np.zeros(5, int), np.zeros(5, int)).gain
    for person in range(5):
        totals = []
        for action in (0, 1):
            belief, total = np.array([1.0, 0.0]), 0.0
            for step in range(300):
                total += 0.9**step * belief[1]
                belief = belief @ transitions[person, :, action if step == 0 else 0]
            totals.append(total)
        np.testing.assert_allclose(gain[person], totals[1] - totals[0], atol=1e-5)


@pytest.mark.parametrize(("model", "num_states"), [("linear", 2), ("linear", 3), ("medium", 2)])
def test_a_person_has_the_same_digits_in_every_row(rng, user_precision, model, num_states):
    """Everyone the same, more than a block of them, and a last block that is mostly padding."""
    planner = small(model, num_states).planner
    one = some_features(rng, planner.encoder_.levels, 1)
    everyone = jax.tree.map(lambda leaf: np.repeat(np.asarray(leaf), BLOCK + 13, axis=0), one)
    scores = score(planner.model_, planner.problem_, everyone, np.zeros(BLOCK + 13, int), np.full(BLOCK + 13, 3))
    assert len(np.unique(scores.index)) == len(np.unique(scores.gain)) == 1


def test_neighbours_change_no_digit(rng, user_precision):
    planner = small("medium").planner
    features = some_features(rng, planner.encoder_.levels, 3000)
    states, gaps = rng.integers(-1, 2, 3000), rng.integers(0, 7, 3000)
    whole = score(planner.model_, planner.problem_, features, states, gaps)
    order = rng.permutation(3000)[:1000]
    # Without those who were longest unseen the belief's loop ends earlier.
    order = order[gaps[order] < 4]
    part = score(planner.model_, planner.problem_, features[order], states[order], gaps[order])
    assert whole.index[order].tobytes() == part.index.tobytes()
    assert whole.gain[order].tobytes() == part.gain.tobytes()


def test_a_gap_of_years_settles(rng):
    planner = small().planner
    features = some_features(rng, planner.encoder_.levels, 4)
    states = np.array([0, 1, 0, 1])
    far, farther = (
        score(planner.model_, planner.problem_, features, states, np.full(4, gap)).index for gap in (500, 10**6)
    )
    np.testing.assert_allclose(far, farther, rtol=1e-6)


def test_more_states_than_are_written_out():
    rng = np.random.default_rng(0)
    from armwise.planning.scoring import call_gains

    transitions = rng.dirichlet(np.ones(12), (3, 12, 2))
    problem = Problem(num_states=12)
    gains = np.asarray(call_gains(jax.numpy.asarray(transitions), problem))
    for person in range(3):
        value = np.linalg.solve(np.eye(12) - 0.9 * transitions[person, :, 0], np.linspace(0, 1, 12))
        np.testing.assert_allclose(gains[person], 0.9 * (transitions[person, :, 1] - transitions[person, :, 0]) @ value)
