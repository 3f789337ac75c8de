"""Index, gain and belief against plain float64 linear algebra; and no digit depends on a neighbour."""

import jax
import numpy as np
import pytest

from armwise.data import Features
from armwise.planner.scoring import BLOCK, predict, score
from armwise.rmab import whittle_indices
from tests.planner.outreach import small


def some_features(rng, levels, num_people=50):
    codes = np.stack([rng.integers(0, level, num_people) for level in levels], axis=1)
    return Features(codes=codes.astype(np.uint8), levels=levels)


@pytest.mark.parametrize("num_states", [2, 3])
def test_index_and_gain_of_someone_seen_last_week_and_long_ago(rng, num_states):
    planner = small(num_states=num_states).planner
    features = some_features(rng, planner.encoder_.levels)
    states, gaps = rng.integers(-1, num_states, 50), rng.integers(0, 7, 50)
    chains = predict(planner.model_, features)
    scores = score(chains, planner.problem_, planner.call_gains_, states, gaps)
    transitions = chains.astype(float)
    indices = np.asarray(whittle_indices(transitions / transitions.sum(-1, keepdims=True), planner.problem_))
    gains, initial = planner.call_gains_, np.asarray(planner.problem_.initial)
    for person in range(50):
        passive, belief = transitions[person, :, 0], initial
        if states[person] >= 0:
            belief = np.eye(num_states)[states[person]] @ np.linalg.matrix_power(passive, gaps[person])
        np.testing.assert_allclose(scores.gain[person], belief @ gains.gains, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(scores.gain_error[person] ** 2, belief @ gains.covariance @ belief, rtol=1e-4)
        np.testing.assert_allclose(scores.index[person], belief @ indices[person], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("model", "num_states"), [("linear", 2), ("linear", 3), ("medium", 2)])
def test_a_person_has_the_same_digits_in_every_row(rng, user_precision, model, num_states):
    """Everyone the same, more than a block of them, and a last block that is mostly padding."""
    planner = small(model, num_states).planner
    one = some_features(rng, planner.encoder_.levels, 1)
    everyone = jax.tree.map(lambda leaf: np.repeat(np.asarray(leaf), BLOCK + 13, axis=0), one)
    scores = score(
        predict(planner.model_, everyone),
        planner.problem_,
        planner.call_gains_,
        np.zeros(BLOCK + 13, int),
        np.full(BLOCK + 13, 3),
    )
    assert len(np.unique(scores.index)) == len(np.unique(scores.gain)) == len(np.unique(scores.gain_error)) == 1


def test_neighbours_change_no_digit(rng, user_precision):
    planner = small("medium").planner
    features = some_features(rng, planner.encoder_.levels, 3000)
    states, gaps = rng.integers(-1, 2, 3000), rng.integers(0, 7, 3000)
    known = planner.problem_, planner.call_gains_
    whole = score(predict(planner.model_, features), *known, states, gaps)
    order = rng.permutation(3000)[:1000]
    # Without those who were longest unseen the belief's loop ends earlier.
    order = order[gaps[order] < 4]
    part = score(predict(planner.model_, features[order]), *known, states[order], gaps[order])
    assert whole.index[order].tobytes() == part.index.tobytes()
    assert whole.gain[order].tobytes() == part.gain.tobytes()
    assert whole.gain_error[order].tobytes() == part.gain_error.tobytes()


def test_a_gap_of_years_settles(rng):
    planner = small().planner
    features = some_features(rng, planner.encoder_.levels, 4)
    states = np.array([0, 1, 0, 1])
    far, farther = (
        score(predict(planner.model_, features), planner.problem_, planner.call_gains_, states, np.full(4, gap)).index
        for gap in (500, 10**6)
    )
    np.testing.assert_allclose(far, farther, rtol=1e-6)
