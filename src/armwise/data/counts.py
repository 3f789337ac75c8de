"""Transition probabilities from trajectories: count transitions, then shrink towards the average of everyone."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from armwise._validation import check_not_negative, first_offender, refuse_first, to_numpy
from armwise.data.trajectories import Trajectories
from armwise.errors import InvalidInputError

Counts = Float[np.ndarray, "arms states actions states"]


def transition_counts(trajectories: Trajectories) -> Int[Array, "arms states actions states"]:
    """How often each arm went from a state, under an action, to a next state: N(s, a, s′).

    Only pairs of consecutive steps that were both observed count.

    Example:
        >>> trajectories = Trajectories.from_arrays([[1, 1, 0, 1]], [[0, 1, 0, 0]], [[True, True, True, False]])
        >>> counts = transition_counts(trajectories)
        >>> counts[0, 1].tolist(), int(counts.sum())
        ([[0, 1], [1, 0]], 2)
    """
    states, actions, observed = (
        np.asarray(part) for part in (trajectories.states, trajectories.actions, trajectories.observed)
    )
    both = observed[:, :-1] & observed[:, 1:]
    arm, step = np.nonzero(both)
    shape = (trajectories.num_arms, trajectories.num_states, trajectories.num_actions, trajectories.num_states)
    index = (arm, states[arm, step], actions[arm, step], states[arm, step + 1])
    return jnp.asarray(count_index(index, shape))


def count_index(index: tuple[np.ndarray, ...], shape: tuple[int, ...]) -> Int[np.ndarray, "..."]:
    """An array of the given shape with the number of times that each index occurs."""
    flat = np.ravel_multi_index(index, shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(np.int32)


def estimate_transitions(
    counts: Any, prior_strength: float = 5.0, groups: Any = None
) -> Float[Array, "arms states actions states"]:
    """Each arm's transitions, estimated from its own counts and a prior pooled over all arms ("Real-World Dataset").

    Let α be the strength of the prior and P_pop the pooled frequencies. Then

        T_i(s, a, s′) = (α P_pop(s′ | s, a) + N_i(s, a, s′)) / Σₓ (α P_pop(x | s, a) + N_i(s, a, x)).

    So a state and action in which an arm was never seen gets the pool's row, at any strength.

    Args:
        counts: how often each transition was seen, ``[arms, states, actions, states]``.
        prior_strength: α, the number of observations that the pool counts for; 5 in the paper.
        groups: one label per arm, ``[arms]``; each arm is then pooled only with its own group.

    Returns:
        The estimated transitions, every row a distribution over next states.

    Example:
        >>> counts = np.zeros((2, 2, 2, 2))
        >>> counts[0] = 1  # this arm saw every transition once, the other one nothing
        >>> counts[0, 0, 0] = [3, 1]
        >>> estimate_transitions(counts)[:, 0, 0].tolist()
        [[0.75, 0.25], [0.75, 0.25]]
    """
    array = _check_counts(counts)
    strength = check_not_negative("prior_strength", prior_strength)
    labels, group = _check_groups(groups, array.shape[0])
    prior = _pool(array, labels, group)[group]
    seen = array.sum(axis=-1, keepdims=True)
    # At strength 0, an unseen row is 0 / 0. Its limit as the strength goes to 0 is the pool's row.
    total = np.where(strength + seen > 0, strength + seen, 1.0)
    estimate = np.where(strength + seen > 0, (strength * prior + array) / total, prior)
    return jnp.asarray(estimate, dtype=float)


def _pool(counts: Counts, labels: np.ndarray, group: Int[np.ndarray, " arms"]) -> Float[np.ndarray, "groups s a s"]:
    """The frequencies P_pop of each group."""
    sums = np.zeros((len(labels), *counts.shape[1:]))
    np.add.at(sums, group, counts)
    seen = sums.sum(axis=-1, keepdims=True)
    never = seen[..., 0] == 0
    if never.any():
        _refuse_never_seen(never, labels)
    return sums / seen


def _refuse_never_seen(never: np.ndarray, labels: np.ndarray) -> None:
    where, state, action = first_offender(never)
    grouped = len(labels) > 1
    of_whom = f"anyone in group {labels[where].item()!r}" if grouped else "anyone"
    others = int(never.sum()) - 1
    more = f" (and {others} more such pair{'s' if others > 1 else ''})" if others else ""
    remedy = "Pool over larger groups, merge states" if grouped else "Observe more people or steps, merge states"
    raise InvalidInputError(
        f"State {state} with action {action} was never seen by {of_whom}{more}, so its transitions cannot be "
        f"estimated. {remedy}, or leave the action out."
    )


def _check_counts(counts: Any) -> Counts:
    array = to_numpy("counts", counts)
    if array.ndim != 4 or array.shape[1] != array.shape[3] or 0 in array.shape or array.dtype.kind not in "iuf":
        raise InvalidInputError(
            "counts must be numbers of the shape [arms, states, actions, states], at least one each, not "
            f"{array.dtype} of shape {list(array.shape)}."
        )
    bad = ~(np.isfinite(array) & (array >= 0))
    axes = ("arm", "state", "action", "next state")
    refuse_first("counts", array, bad, "must be finite and not negative", *axes, remedy="Recount it.")
    return array.astype(float)


def _check_groups(groups: Any, num_arms: int) -> tuple[np.ndarray, Int[np.ndarray, " arms"]]:
    labels = np.zeros(num_arms, dtype=int) if groups is None else to_numpy("groups", groups)
    if labels.shape != (num_arms,):
        raise InvalidInputError(f"groups must be {num_arms} labels, one per arm, not of shape {list(labels.shape)}.")
    unique, inverse = np.unique(labels, return_inverse=True)
    return unique, inverse
