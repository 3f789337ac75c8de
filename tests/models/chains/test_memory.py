"""The memory, kept step by step, against a loop over the list of a person's observed states."""

import jax.numpy as jnp
import numpy as np
import pytest

from armwise.models.chains.memory import covariates, no_memory, remember
from tests.models.chains.worlds import KEPT, row_covariates


def slow_covariates(seen, age, row, num_states):
    """From a list of observed states; a row that differs from the last of them is one more state at the end."""
    states = seen if seen and seen[-1] == row else [*seen, row]
    streak = 0
    while streak < len(states) and states[-1 - streak] == row:
        streak += 1
    levels = []
    for kept in KEPT:
        weights = [kept**ago for ago in range(len(states))]
        total = sum(weight * state for weight, state in zip(weights, reversed(states), strict=True))
        levels.append(total / (num_states - 1) / sum(weights))
    return [np.log(streak), *levels, age / 10, np.log1p(age)]


@pytest.mark.parametrize("num_states", [2, 3])
@pytest.mark.parametrize("share_unseen", [0.0, 0.4])
def test_covariates_of_every_week(num_states, share_unseen):
    rng = np.random.default_rng([num_states, int(10 * share_unseen)])
    states = rng.integers(0, num_states, (30, 12))
    observed = rng.random((30, 12)) >= share_unseen
    memory = no_memory(30)
    for week in range(12):
        memory = remember(memory, jnp.asarray(states[:, week]), jnp.asarray(observed[:, week]), num_states)
        found = np.stack([covariates(memory, row, num_states, jnp.inf) for row in range(num_states)])
        for person in range(30):
            weeks = np.flatnonzero(observed[person, : week + 1])
            age = week - weeks[0] if len(weeks) else 0
            seen = states[person, weeks].tolist()
            wanted = [slow_covariates(seen, age, row, num_states) for row in range(num_states)]
            np.testing.assert_allclose(found[:, :, person], wanted, rtol=1e-12, atol=1e-12)
        # The simulator of the other tests has its own, too.
        simulated = row_covariates(states[:, : week + 1], observed[:, : week + 1], num_states)
        np.testing.assert_allclose(np.moveaxis(found, -1, 0), simulated, rtol=1e-12, atol=1e-12)


def test_the_gap_and_the_last_state():
    memory = no_memory(1)
    gaps = []
    for state, observed in [(1, False), (1, True), (0, False), (0, False), (0, True)]:
        memory = remember(memory, jnp.array([state]), jnp.array([observed]), 2)
        gaps.append((int(memory.state[0]), int(memory.gap[0]), int(memory.age[0])))
    assert gaps == [(-1, 1, 0), (1, 0, 0), (1, 1, 1), (1, 2, 2), (0, 0, 3)]


def test_time_counts_no_further_than_what_was_learned_from():
    memory = no_memory(1)
    for _ in range(9):
        memory = remember(memory, jnp.array([1]), jnp.array([True]), 2)
    assert covariates(memory, 1, 2, 5.0)[3:, 0].tolist() == pytest.approx([0.5, np.log(6)])
