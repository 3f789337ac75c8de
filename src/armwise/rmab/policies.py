"""The deterministic policies of one arm: one action for each of its states."""

import itertools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from armwise._validation import ArrayLike, as_int_array, at, check_count, first_offender, is_concrete
from armwise.errors import InvalidInputError

# 2^20 policies of 20 states fill 80 MB before any return is computed. Enumerating more is surely a mistake.
MAX_POLICIES = 2**20


def all_policies(num_states: int, num_actions: int = 2) -> Int[np.ndarray, "policies states"]:
    """Every deterministic policy of one arm: the set π¹, π², … that Equation 9 mixes.

    Args:
        num_states: the number of states S.
        num_actions: the number of actions A.

    Returns:
        The A^S policies in counting order, ``[policies, states]``; the last state changes fastest.

    Example:
        >>> all_policies(2).tolist()
        [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    num_states = check_count("num_states", num_states, minimum=1)
    num_actions = check_count("num_actions", num_actions, minimum=1)
    if num_actions**num_states > MAX_POLICIES:
        raise InvalidInputError(
            f"{num_actions}^{num_states} policies are too many to enumerate (limit {MAX_POLICIES:,}). "
            "Use index_policies or threshold_policies, or fewer states."
        )
    return np.array(list(itertools.product(range(num_actions), repeat=num_states)), dtype=np.int32)


def threshold_policies(num_states: int) -> Int[np.ndarray, "policies states"]:
    """The S + 1 policies that call an arm when its engagement is below a threshold.

    States are ordered by engagement (Section 2), so these are the policies a programme would write down: call no
    one, call the least engaged state, the two least engaged, …, call always. Use them when all 2^S policies are too
    many. They lose nothing where calling helps the less engaged more.

    Args:
        num_states: the number of states S.

    Returns:
        The policies from never to always, ``[states + 1, states]``.

    Example:
        >>> threshold_policies(2).tolist()
        [[0, 0], [1, 0], [1, 1]]
    """
    num_states = check_count("num_states", num_states, minimum=1)
    return (np.arange(num_states) < np.arange(num_states + 1)[:, None]).astype(np.int32)


def check_policies(policies: ArrayLike, num_states: int, num_actions: int, *leading: str) -> Int[Array, "..."]:
    """The policies as an integer array ``[*leading, states]``; refuses actions that do not exist."""
    array = as_int_array("policies", policies)
    if array.ndim != len(leading) + 1 or array.shape[-1] != num_states or 0 in array.shape:
        shape = [f"{axis}s".replace("policys", "policies") for axis in leading]
        raise InvalidInputError(
            f"policies must have the shape [{', '.join([*shape, str(num_states)])}], one action for each of the "
            f"{num_states} states, not {list(array.shape)}."
        )
    if is_concrete(array) and bool(jnp.any((array < 0) | (array >= num_actions))):
        values = np.asarray(array)
        index = first_offender((values < 0) | (values >= num_actions))
        raise InvalidInputError(
            f"policies must choose among the actions 0 to {num_actions - 1}, but {at(index, *leading, 'state')} "
            f"has {values[index]}."
        )
    return array


def are_all_policies(policies: ArrayLike, num_states: int, num_actions: int) -> bool:
    """Whether valid policies are those of ``all_policies``, in its order; false for traced policies."""
    if not is_concrete(policies) or np.shape(policies)[0] != num_actions**num_states:
        return False
    number = np.asarray(policies) @ num_actions ** np.arange(num_states - 1, -1, -1)
    return np.array_equal(number, np.arange(len(number)))
