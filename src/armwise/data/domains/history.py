"""The simulated past of a programme: who was called in each week, and what each person did next."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from armwise.data.trajectories import Trajectories

# How a rule that chooses calls sees the state of an unobserved week.
UNSEEN = -1
# Chooses a step's actions from the states observed up to that step (UNSEEN elsewhere) and all earlier actions.
Choose = Callable[
    [Int[np.ndarray, "arms now"], Int[np.ndarray, "arms before"]],
    Int[np.ndarray, " arms"] | Bool[np.ndarray, " arms"],
]


class Past(NamedTuple):
    """What the programme observed, and all actions; trajectories do not keep the actions of unobserved steps."""

    trajectories: Trajectories
    actions: Int[np.ndarray, "arms steps"]


def random_calls(
    rng: np.random.Generator, num_groups: int, size: int, calls: int, num_steps: int
) -> Int[np.ndarray, "arms steps"]:
    """Random actions: in each group and step, call ``calls`` of ``size`` arms, drawn uniformly without replacement."""
    order = rng.random((num_groups, size, num_steps)).argsort(axis=1).argsort(axis=1)
    return (order < calls).astype(int).reshape(num_groups * size, num_steps)


def follow(
    rng: np.random.Generator,
    transitions: Float[np.ndarray, "chains arms states actions states"],
    actions: Int[np.ndarray, "arms steps"],
    initial: Float[np.ndarray, "... states"],
) -> Trajectories:
    """Let every arm follow its chain under given actions; every step is observed.

    Args:
        rng: the random generator.
        transitions: the chains at each step; all later steps use the last one, so one entry is enough for all steps.
        actions: the action at each step.
        initial: the distribution of the first state, shared by all arms or one per arm.
    """
    observed = np.ones(actions.shape, dtype=bool)
    return follow_rule(rng, transitions, lambda _, past: actions[:, past.shape[1]], initial, observed).trajectories


def follow_rule(
    rng: np.random.Generator,
    transitions: Float[np.ndarray, "chains arms states actions states"],
    choose: Choose,
    initial: Float[np.ndarray, "... states"],
    observed: Bool[np.ndarray, "arms steps"],
) -> Past:
    """Let every arm follow its chain, with actions chosen step by step from what was observed so far.

    Args:
        rng: the random generator.
        transitions: the chains at each step; all later steps use the last one, so one entry is enough for all steps.
        choose: the function that chooses the actions of a step.
        initial: the distribution of the first state, shared by all arms or one per arm.
        observed: which steps the programme observed.
    """
    arms = np.arange(len(observed))
    states, actions = np.zeros((2, *observed.shape), dtype=int)
    for step in range(observed.shape[1]):
        if step == 0:
            following = np.broadcast_to(initial, (len(arms), transitions.shape[-1]))
        else:
            chains = transitions[min(step, len(transitions)) - 1]
            following = chains[arms, states[:, step - 1], actions[:, step - 1]]
        states[:, step] = _draw(rng, following)
        seen = np.where(observed, states, UNSEEN)[:, : step + 1]
        actions[:, step] = choose(seen, actions[:, :step])
    return Past(Trajectories.from_arrays(states, actions, observed, *transitions.shape[2:4]), actions)


def _draw(rng: np.random.Generator, probabilities: Float[np.ndarray, "arms states"]) -> Int[np.ndarray, " arms"]:
    # Leave out the last sum: rounding may put it below 1, and a draw above it would have no state.
    edges = np.cumsum(probabilities, axis=1)[:, :-1]
    return (rng.random(len(probabilities))[:, None] >= edges).sum(axis=1)
