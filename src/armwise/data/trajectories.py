"""Each person's history, week by week: states, actions, and which weeks were observed."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from armwise._validation import (
    as_float_array,
    as_whole_numbers,
    check_below,
    check_count,
    check_finite,
    check_shape,
    refuse_first,
    to_numpy,
)
from armwise.data.long_table import in_order_of, to_dense
from armwise.errors import InvalidInputError


class Trajectories(eqx.Module):
    """The sequences (s₀, a₀, s₁, …) of the paragraph "Real-World Dataset", one row per arm.

    An unobserved step is not a disengaged step. It carries no information: no transition into it or out of it counts.
    Use ``from_arrays`` or ``from_table`` to build trajectories; both check their input.

    Attributes:
        states: ``[arms, steps]``, 0 where not observed.
        actions: ``[arms, steps]``, the action taken in that state; 0 where not observed.
        observed: ``[arms, steps]``.
        num_states: how many states there are, observed or not.
        num_actions: how many actions there are, observed or not.
    """

    states: Int[Array, "arms steps"]
    actions: Int[Array, "arms steps"]
    observed: Bool[Array, "arms steps"]
    num_states: int = eqx.field(static=True)
    num_actions: int = eqx.field(static=True)

    @classmethod
    def from_arrays(
        cls, states: Any, actions: Any, observed: Any = None, num_states: Any = None, num_actions: Any = 2
    ) -> "Trajectories":
        """Trajectories from dense arrays.

        Args:
            states: whole numbers ``[arms, steps]``; any value, also NaN, where not observed.
            actions: whole numbers ``[arms, steps]``; the action of the last step is never used.
            observed: booleans ``[arms, steps]``; by default everything was observed.
            num_states: by default the largest observed state plus one, at least 2.
            num_actions: by default 2: no call and call.

        Example:
            >>> trajectories = Trajectories.from_arrays([[1, 0, 1]], [[0, 1, 0]], [[True, True, False]])
            >>> trajectories.num_arms, trajectories.num_steps, trajectories.num_states
            (1, 3, 2)
        """
        mask = _check_observed(observed, np.shape(to_numpy("states", states)))
        dense_states = _check_steps("states", states, mask)
        dense_actions = _check_steps("actions", actions, mask)
        return _build(dense_states, dense_actions, mask, num_states, num_actions)

    @classmethod
    def from_table(
        cls, table: Any, num_states: Any = None, num_actions: Any = 2, ids: Any = None
    ) -> tuple["Trajectories", np.ndarray]:
        """Trajectories from a long table with one row for each person and step that was observed.

        Args:
            table: a mapping, or a pandas or polars data frame, with the columns ``id`` (anything that sorts),
                ``step``, ``state`` and ``action`` (whole numbers). The rows may be in any order; a step without a
                row was not observed.
            num_states: by default the largest state plus one, at least 2.
            num_actions: by default 2.
            ids: the ids of all people, each once, in the order of the arms; a person without a row was never
                observed. By default the ids of the table, sorted.

        Returns:
            The trajectories, from the first to the last step of the table, and the ids ``[arms]``.

        Example:
            >>> table = {"id": ["b", "a", "a"], "step": [1, 1, 3], "state": [1, 0, 1], "action": [0, 0, 1]}
            >>> trajectories, ids = Trajectories.from_table(table)
            >>> ids.tolist(), trajectories.observed.tolist()
            (['a', 'b'], [[True, False, True], [True, False, False]])
            >>> trajectories, ids = Trajectories.from_table(table, ids=["c", "b", "a"])
            >>> trajectories.observed.sum(axis=1).tolist()
            [0, 1, 2]
        """
        dense = to_dense(table) if ids is None else in_order_of(to_dense(table), ids)
        return _build(dense.states, dense.actions, dense.observed, num_states, num_actions), dense.ids

    def __getitem__(self, index: Any) -> "Trajectories":
        """The trajectories of some people, by an array, a list or a slice of rows, as scikit-learn's splits use them.

        Example:
            >>> trajectories = Trajectories.from_arrays([[0, 1], [1, 1], [0, 0]], np.zeros((3, 2)))
            >>> trajectories[[2, 0]].states.tolist()
            [[0, 0], [0, 1]]
        """
        if isinstance(index, tuple) and len(index) == 2 and index[1] is Ellipsis:
            index = index[0]
        rows = _check_rows(index, self.num_arms)
        return jax.tree.map(lambda leaf: leaf[rows], self)

    def __len__(self) -> int:
        return self.num_arms

    @property
    def shape(self) -> tuple[int, int]:
        """The number of people and of steps, ``[arms, steps]``."""
        return self.num_arms, self.num_steps

    @property
    def num_arms(self) -> int:
        """How many people there are."""
        return self.states.shape[0]

    @property
    def num_steps(self) -> int:
        """How many steps there are, observed or not."""
        return self.states.shape[1]


def discretise(engagement: Any, thresholds: Any) -> tuple[Int[np.ndarray, "..."], Bool[np.ndarray, "..."]]:
    """States from an engagement measure; the state is how many thresholds the measure exceeds.

    The paper's two states are ``thresholds=[30]``: a person who listens for *more than* 30 seconds is engaged.

    Args:
        engagement: any shape, for example seconds listened ``[arms, steps]``; NaN where not observed.
        thresholds: increasing numbers ``[states - 1]``.

    Returns:
        The states ``0 … len(thresholds)`` and whether each was observed, both in the shape of ``engagement``. The
        state is 0 where not observed.

    Example:
        >>> states, observed = discretise([0.0, 30.0, 31.0, float("nan")], thresholds=[30])
        >>> states.tolist(), observed.tolist()
        ([0, 0, 1, 0], [True, True, True, False])
    """
    cuts = _check_thresholds(thresholds)
    values = to_numpy("engagement", engagement)
    if values.dtype.kind not in "biuf":
        raise InvalidInputError(f"engagement must be real numbers, with NaN where not observed, not {values.dtype}.")
    observed = ~np.isnan(values)
    # side="left": a value equal to a threshold does not exceed it.
    return np.where(observed, np.searchsorted(cuts, values, side="left"), 0), observed


def first_state_shares(trajectories: Trajectories) -> Float[np.ndarray, " states"]:
    """The shares of the states in which people were first observed, for ``Problem(initial=…)``.

    Each person counts once, at that person's first observed step.

    Example:
        >>> trajectories = Trajectories.from_arrays([[1, 0], [0, 0], [1, 1], [1, 0]], np.zeros((4, 2)))
        >>> first_state_shares(trajectories).tolist()
        [0.25, 0.75]
    """
    observed = np.asarray(trajectories.observed)
    if not observed.any():
        raise InvalidInputError("first_state_shares needs at least one observed step, but there is none.")
    seen = np.flatnonzero(observed.any(axis=1))
    first = np.asarray(trajectories.states)[seen, observed[seen].argmax(axis=1)]
    return np.bincount(first, minlength=trajectories.num_states) / len(first)


def _build(
    states: np.ndarray, actions: np.ndarray, observed: np.ndarray, num_states: Any, num_actions: Any
) -> Trajectories:
    largest = int(states.max(initial=0))
    state_limit = max(2, largest + 1) if num_states is None else check_count("num_states", num_states, minimum=1)
    action_limit = check_count("num_actions", num_actions, minimum=1)
    check_below("states", states, state_limit, "num_states", "arm", "step")
    check_below("actions", actions, action_limit, "num_actions", "arm", "step")
    whole = [jnp.asarray(array.astype(np.int32)) for array in (states, actions)]
    return Trajectories(whole[0], whole[1], jnp.asarray(observed), state_limit, action_limit)


def _check_rows(index: Any, num_arms: int) -> np.ndarray:
    # JAX silently replaces a row beyond the end by the last row.
    try:
        rows = np.arange(num_arms)[index]
    except (IndexError, TypeError) as error:
        raise InvalidInputError(f"There are {num_arms} people, numbered from 0: {error}.") from error
    if rows.ndim != 1:
        raise InvalidInputError(f"Take rows by a list, an array or a slice, not by {index!r}.")
    return rows


def _check_observed(observed: Any, shape: tuple[int, ...]) -> Bool[np.ndarray, "arms steps"]:
    if len(shape) != 2:
        raise InvalidInputError(f"states must have the shape [arms, steps], not {list(shape)}.")
    if observed is None:
        return np.ones(shape, dtype=bool)
    mask = to_numpy("observed", observed)
    check_shape("observed", mask.shape, shape, "states")
    if mask.dtype != bool:
        raise InvalidInputError(f"observed must be booleans, not of type {mask.dtype}. Compare it: observed == 1.")
    return mask


def _check_steps(name: str, values: Any, observed: Bool[np.ndarray, "arms steps"]) -> np.ndarray:
    array = to_numpy(name, values)
    check_shape(name, array.shape, observed.shape, "states")
    remedy = "Mark steps that were not seen in observed."
    return as_whole_numbers(name, np.where(observed, array, 0), "arm", "step", remedy=remedy)


def _check_thresholds(thresholds: Any) -> Float[np.ndarray, " cuts"]:
    array: jax.Array = as_float_array("thresholds", thresholds)
    if array.ndim != 1 or array.shape[0] == 0:
        raise InvalidInputError(f"thresholds must be a list of at least one number, not of shape {list(array.shape)}.")
    check_finite("thresholds", array, "position")
    cuts = np.asarray(thresholds, dtype=float)
    rising = np.concatenate([[True], np.diff(cuts) > 0])
    refuse_first("thresholds", cuts, ~rising, "must increase", "position", remedy="Sort them and remove duplicates.")
    return cuts
