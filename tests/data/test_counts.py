import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armwise.data import Trajectories, estimate_transitions, transition_counts
from armwise.errors import InvalidInputError


def random_trajectories(rng, num_arms=6, num_steps=9, num_states=3, num_actions=2):
    shape = (num_arms, num_steps)
    observed = rng.random(shape) < 0.8
    states, actions = rng.integers(num_states, size=shape), rng.integers(num_actions, size=shape)
    return Trajectories.from_arrays(states, actions, observed, num_states, num_actions)


def counts_by_hand(trajectories):
    states, actions, observed = (
        part.tolist() for part in (trajectories.states, trajectories.actions, trajectories.observed)
    )
    shape = (trajectories.num_arms, trajectories.num_states, trajectories.num_actions, trajectories.num_states)
    counts = np.zeros(shape)
    for arm in range(shape[0]):
        for step in range(trajectories.num_steps - 1):
            if observed[arm][step] and observed[arm][step + 1]:
                counts[arm, states[arm][step], actions[arm][step], states[arm][step + 1]] += 1
    return counts


@given(seed=st.integers(0, 2**32), num_states=st.integers(1, 4), num_actions=st.integers(1, 3))
def test_counts_are_those_of_a_loop(seed, num_states, num_actions):
    rng = np.random.default_rng(seed)
    trajectories = random_trajectories(rng, 4, 6, num_states, num_actions)
    np.testing.assert_array_equal(transition_counts(trajectories), counts_by_hand(trajectories))


def test_a_single_step_has_no_transition():
    assert transition_counts(Trajectories.from_arrays([[1]], [[0]])).sum() == 0


def paper_formula(counts, prior, strength):
    """T_i(s, a, s′), entry by entry as printed."""
    result = np.zeros(counts.shape)
    for arm, state, action, after in np.ndindex(counts.shape):
        total = sum(strength * prior[state, action, x] + counts[arm, state, action, x] for x in range(counts.shape[-1]))
        share = strength * prior[state, action, after] + counts[arm, state, action, after]
        result[arm, state, action, after] = share / total
    return result


def frequencies(counts):
    total = counts.sum(axis=0)
    return total / total.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("strength", [5.0, 0.3])
def test_estimates_follow_the_papers_formula(rng, strength):
    counts = rng.integers(0, 4, size=(7, 3, 2, 3))
    counts[0] = 1
    expected = paper_formula(counts, frequencies(counts), strength)
    np.testing.assert_allclose(estimate_transitions(counts, strength), expected, rtol=1e-12)


def test_groups_are_pooled_separately(rng):
    counts = rng.integers(1, 5, size=(6, 2, 2, 2))
    groups = np.array(["rural", "urban", "rural", "urban", "urban", "rural"])
    estimate = np.asarray(estimate_transitions(counts, groups=groups))
    for group in ("rural", "urban"):
        own = counts[groups == group]
        np.testing.assert_allclose(estimate[groups == group], paper_formula(own, frequencies(own), 5.0), rtol=1e-12)
    assert not np.allclose(estimate, estimate_transitions(counts))


@pytest.mark.parametrize("strength", [0.0, 5.0])
def test_a_pair_an_arm_was_never_seen_in_gets_the_pool(rng, strength):
    counts = rng.integers(1, 5, size=(4, 2, 2, 2))
    counts[2, 1, 1] = 0
    estimate = np.asarray(estimate_transitions(counts, strength))
    np.testing.assert_allclose(estimate[2, 1, 1], frequencies(counts)[1, 1], rtol=1e-12)
    np.testing.assert_allclose(estimate.sum(axis=-1), 1.0, rtol=1e-12)


def test_a_pair_nobody_was_seen_in_is_refused_by_name():
    counts = np.ones((3, 2, 2, 2))
    counts[:, 1, 1] = 0
    with pytest.raises(InvalidInputError, match=r"State 1 with action 1 was never seen by anyone, so.*Observe more"):
        estimate_transitions(counts)
    counts[:, 0, 1] = 0
    with pytest.raises(InvalidInputError, match=r"State 0 with action 1 .*\(and 1 more such pair\)"):
        estimate_transitions(counts)


def test_a_pair_no_one_in_the_group_was_seen_in_names_the_group():
    counts = np.ones((3, 2, 2, 2))
    counts[1, 0, 1] = 0
    with pytest.raises(InvalidInputError, match=r"State 0 with action 1 .* group 'village'.*larger groups"):
        estimate_transitions(counts, groups=["town", "village", "town"])


@pytest.mark.parametrize(
    ("counts", "options", "part"),
    [
        (np.ones((2, 2, 2)), {}, r"\[arms, states, actions, states\]"),
        (np.full((1, 2, 2, 2), -1), {}, "arm 0, state 0, action 0, next state 0 has -1"),
        (np.full((1, 2, 2, 2), np.nan), {}, "nan"),
        (np.ones((2, 2, 2, 2)), {"prior_strength": -1.0}, "prior_strength .* not -1.0"),
        (np.ones((2, 2, 2, 2)), {"groups": [1, 2, 3]}, "2 labels, one per arm"),
    ],
)
def test_malformed_counts_are_refused(counts, options, part):
    with pytest.raises(InvalidInputError, match=part):
        estimate_transitions(counts, **options)


def test_estimates_are_distributions_in_float32(user_precision, rng):
    estimate = estimate_transitions(rng.integers(0, 9, size=(500, 5, 2, 5)))
    assert estimate.dtype == np.float32
    np.testing.assert_allclose(np.asarray(estimate).sum(axis=-1), 1.0, atol=1e-6)
