"""In worlds where calls do nothing, the interval of a call's gain covers 0 as often as it says."""

import numpy as np
import pytest
from scipy.stats import binom

from armwise.data import simulated_programme
from armwise.planner import estimate_call_gains

NUM_WORLDS = 100


@pytest.mark.parametrize("past_calls", ["random", "disengaged first", "lowest share"])
def test_intervals_of_gains_cover_0(past_calls):
    covered, made = 0, 0
    for world in range(NUM_WORLDS):
        programme = simulated_programme(
            world,
            num_people=500,
            num_weeks=9,
            call_effect=0.0,
            call_effect_spread=0.0,
            calls_per_week=25,
            past_calls=past_calls,
        )
        found = estimate_call_gains(programme.trajectories, [0.0, 1.0], world)
        # States without calls of their own share an estimate, which counts once.
        states = np.unique(found.levels, return_index=True)[1]
        half = 1.96 * np.sqrt(np.diag(found.covariance)[states])
        covered, made = covered + int(np.sum(np.abs(found.gains[states]) <= half)), made + len(states)
    low, high = binom.ppf([0.005, 0.995], made, 0.95) / made
    assert low <= covered / made <= high


@pytest.mark.parametrize("call_effect", [(0.5, 0.2), (1.5, 0.8)], ids=["small effects", "large effects"])
def test_intervals_of_gains_cover_the_truth_where_people_differ(call_effect):
    """The truth: each person's own chain and effect, averaged over the weeks that people were in the state."""
    rewards, covered = np.array([0.0, 1.0]), []
    for world in range(60):
        options = {"num_people": 1500, "num_weeks": 10, "calls_per_week": 90, "call_effect": call_effect}
        programme = simulated_programme(world, **options)
        found = estimate_call_gains(programme.trajectories, rewards, world)
        passive, active = programme.transitions[:, :, 0], programme.transitions[:, :, 1]
        after = sum(np.linalg.matrix_power(passive, step) @ rewards for step in range(12))
        own = np.einsum("psx,px->ps", active - passive, after)
        weeks = np.asarray(programme.trajectories.states)[:, :-1, None] == np.arange(2)
        truth = np.einsum("pws,ps->s", weeks, own) / weeks.sum(axis=(0, 1))
        covered += (np.abs(found.gains - truth) <= 1.96 * np.sqrt(np.diag(found.covariance))).tolist()
    low, high = binom.ppf([0.005, 0.995], len(covered), 0.95) / len(covered)
    assert low <= np.mean(covered) <= high
