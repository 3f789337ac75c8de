"""What followed calls, against a plain count and a bootstrap over people."""

import numpy as np
import pytest

from armwise.planning.report.effect import pooled_effect

REWARDS = np.array([0.0, 1.0])


def simulated(rng, num_people, chances):
    """Counts of people who make 5 steps each; ``chances[state, action]`` of being engaged next."""
    counts = np.zeros((num_people, 2, 2, 2), dtype=int)
    for person in range(num_people):
        for _ in range(5):
            # The disengaged are called more often, as in a real programme.
            state = int(rng.random() < 0.5)
            action = int(rng.random() < (0.2 if state else 0.5))
            counts[person, state, action, int(rng.random() < chances[state][action])] += 1
    return counts


def test_people_in_the_same_state_are_compared(rng):
    # Calls do nothing, and go to those who would not engage anyway: a plain difference would be far below 0.
    counts = simulated(rng, 2000, [[0.1, 0.1], [0.9, 0.9]])
    effect = pooled_effect(counts, REWARDS)
    assert abs(effect.difference) < 3 * effect.error
    totals = counts.sum(axis=(0, 1))
    plain = totals[1, 1] / totals[1].sum() - totals[0, 1] / totals[0].sum()
    assert plain < -0.2
    assert effect.num_called == totals[1].sum()
    assert not effect.is_harmful


def test_an_effect_is_found_with_its_error(rng):
    counts = simulated(rng, 400, [[0.2, 0.5], [0.6, 0.8]])
    effect = pooled_effect(counts, REWARDS)
    assert effect.is_shown
    drawn = [pooled_effect(counts[rng.integers(0, 400, 400)], REWARDS).difference for _ in range(300)]
    assert effect.error == pytest.approx(np.std(drawn), rel=0.2)
    harm = pooled_effect(counts, REWARDS[::-1].copy())
    assert harm.is_harmful
    assert harm.difference == pytest.approx(-effect.difference)


def test_without_calls_there_is_nothing_to_compare():
    counts = np.zeros((10, 2, 2, 2), dtype=int)
    counts[:, :, 0, 1] = 3
    effect = pooled_effect(counts, REWARDS)
    assert effect.num_called == 0
    assert np.isnan(effect.difference)
    assert not effect.is_shown
    assert not effect.is_harmful
