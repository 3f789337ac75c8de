"""A programme's past, simulated: who was called in each week, and what each person did next."""

import numpy as np
from jaxtyping import Bool, Float, Int

from armwise.data.trajectories import Trajectories


def random_calls(
    rng: np.random.Generator, num_groups: int, size: int, calls: int, num_steps: int
) -> Int[np.ndarray, "arms steps"]:
    """Actions: in each group and at each step, ``calls`` of its ``size`` arms drawn uniformly, without replacement."""
    order = rng.random((num_groups, size, num_steps)).argsort(axis=1).argsort(axis=1)
    return (order < calls).astype(int).reshape(num_groups * size, num_steps)


def follow(
    rng: np.random.Generator,
    transitions: Float[np.ndarray, "chains arms states actions states"],
    actions: Int[np.ndarray, "arms steps"],
    initial: Float[np.ndarray, " states"],
    observed: Bool[np.ndarray, "arms steps"] | None = None,
) -> Trajectories:
    """Let every arm follow its chain from a first state drawn from ``initial``.

    Args:
        rng: the source of chance.
        transitions: the chains at each step; the last of them serves all later steps, so a single one serves all.
        actions: the action at each step.
        initial: the distribution of the first state.
        observed: which steps the programme saw; all by default.
    """
    num_arms, num_steps = actions.shape
    arms = np.arange(num_arms)
    states = np.zeros((num_arms, num_steps), dtype=int)
    states[:, 0] = _draw(rng, np.broadcast_to(initial, (num_arms, len(initial))))
    for step in range(num_steps - 1):
        current = transitions[min(step, len(transitions) - 1)]
        states[:, step + 1] = _draw(rng, current[arms, states[:, step], actions[:, step]])
    return Trajectories.from_arrays(states, actions, observed, len(initial), transitions.shape[3])


def _draw(rng: np.random.Generator, probabilities: Float[np.ndarray, "arms states"]) -> Int[np.ndarray, " arms"]:
    # The last sum is left out: rounding may put it below 1, and a draw above it would have no state.
    edges = np.cumsum(probabilities, axis=1)[:, :-1]
    return (rng.random(len(probabilities))[:, None] >= edges).sum(axis=1)
