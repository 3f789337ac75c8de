"""The exact posterior of simulated people: each of a sample counts by the chance of the weeks that were seen."""

import numpy as np

from armwise.data import Trajectories
from reproduction.studies.deciding.exact_posterior import exact_chains

# The chance of engaging next week, by state and action, of two people who stand for a population.
ENGAGING = np.array([[[0.2, 0.5], [0.7, 0.9]], [[0.6, 0.6], [0.3, 0.1]]])


def test_weights_are_the_chances_of_the_weeks_step_by_step():
    sampled = np.stack([1 - ENGAGING, ENGAGING], axis=-1)
    states, actions = np.array([[0, 1, 1, 0], [1, 0, 0, 1]]), np.array([[0, 1, 0, 0], [0, 0, 1, 0]])
    found = exact_chains(Trajectories.from_arrays(states, actions), sampled)
    for person in range(2):
        chances = [chance_of_weeks(own, states[person], actions[person]) for own in ENGAGING]
        share = chances[0] / sum(chances)
        np.testing.assert_allclose(found[person], share * sampled[0] + (1 - share) * sampled[1])


def chance_of_weeks(engaging, states, actions):
    # In the long run, as many leave as come back.
    engaged = engaging[0, 0] / (engaging[0, 0] + 1 - engaging[1, 0])
    chance = engaged if states[0] else 1 - engaged
    for now, action, after in zip(states[:-1], actions[:-1], states[1:], strict=True):
        chance *= engaging[now, action] if after else 1 - engaging[now, action]
    return chance
