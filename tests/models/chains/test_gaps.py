"""How likely the states of unobserved weeks are, against an enumeration of all that they may have been."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from armwise.models.chains.gaps import pair_weights
from armwise.models.chains.population import Block
from armwise.models.chains.weeks import _observed_pairs, have_gaps
from tests.models.chains.worlds import next_state_chances, row_covariates, simulate, three_states, two_states


def enumerated(truth, theta, states, actions, observed):
    """The weights of each pair of a state and the next ``[transitions, states, states]``, path by path."""
    size, weeks = truth.num_states, len(states)
    moves = np.empty((weeks - 1, size, size))
    for week in range(weeks - 1):
        covariates = row_covariates(states[None, : week + 1], observed[None, : week + 1], size)[0]
        odds = theta[:size] + actions[week] * theta[size:] + np.sum(truth.slopes * covariates, axis=1)
        moves[week] = np.stack([next_state_chances(odds[row], truth.cuts[row]) for row in range(size)])
    seen = np.flatnonzero(observed)
    inside = range(seen[0], seen[-1])
    pairs = np.zeros_like(moves)
    choices = [[states[week]] if observed[week] else range(size) for week in range(seen[0], seen[-1] + 1)]
    paths = [dict(zip(range(seen[0], seen[-1] + 1), path, strict=True)) for path in itertools.product(*choices)]
    chances = [np.prod([moves[week, path[week], path[week + 1]] for week in inside]) for path in paths]
    for path, chance in zip(paths, np.array(chances) / np.sum(chances), strict=True):
        for week in inside:
            pairs[week, path[week], path[week + 1]] += chance
    return pairs


@pytest.mark.parametrize("truth", [two_states(), three_states()], ids=["two states", "three states"])
def test_weights_equal_those_of_all_paths(truth):
    world = simulate(3, truth, 25, 8, 0.3, share_unseen=0.4)
    history = world.history
    block = Block(history.states.T, history.actions.T, history.observed.T)
    size = 2 * truth.num_states
    known = jnp.asarray(world.theta.T)
    found = pair_weights(truth.population(), block, known, jnp.zeros((size, size, 25)))
    for person in range(25):
        parts = (np.asarray(part)[person] for part in (history.states, history.actions, history.observed))
        wanted = enumerated(truth, world.theta[person], *parts)
        np.testing.assert_allclose(found[..., person], wanted, atol=1e-10)


def test_without_gaps_nothing_is_weighed():
    history = simulate(4, two_states(), 20, 6, 0.3).history
    block = Block(history.states.T, history.actions.T, history.observed.T)
    weights = pair_weights(two_states().population(), block, jnp.zeros((4, 20)), jnp.zeros((4, 4, 20)))
    np.testing.assert_allclose(weights, _observed_pairs(block, 2), atol=1e-12)
    assert not have_gaps(np.asarray(history.observed)).any()


def test_only_weeks_between_observed_ones_are_gaps():
    rows = ["0000", "0100", "0110", "1111", "1010", "1001", "0101"]
    observed = np.array([[bool(int(week)) for week in row] for row in rows])
    assert have_gaps(observed).tolist() == [False] * 4 + [True] * 3
