"""Simulated people of whom the gain of a call is known."""

import numpy as np

from armwise.data import Trajectories


def simulate(rng, chains, num_people, num_weeks, share_called):
    """A history of people who all have the same chains, ``[states, 2, states]``, called by lot."""
    num_states = len(chains)
    states = np.zeros((num_people, num_weeks), int)
    states[:, 0] = rng.integers(0, num_states, num_people)
    calls = (rng.random((num_people, num_weeks)) < share_called).astype(int)
    edges = np.cumsum(chains, axis=-1)[..., :-1]
    for week in range(num_weeks - 1):
        lots = rng.random(num_people)[:, None]
        states[:, week + 1] = (lots > edges[states[:, week], calls[:, week]]).sum(axis=1)
    return Trajectories.from_arrays(states, calls, num_states=num_states)


def true_gains(chains, num_steps=12):
    """By powers of the matrix: engagement in each of the steps after one call, less that without one."""
    rewards = np.linspace(0, 1, len(chains))
    passive, active = chains[:, 0], chains[:, 1]
    after = [np.linalg.matrix_power(passive, step) @ rewards for step in range(num_steps)]
    return sum((active - passive) @ each for each in after)
