"""Read a history, a policy and propensities as arrays of decisions. Every error message names the place."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from armwise._validation import refuse_first, to_numpy
from armwise.data.trajectories import Trajectories
from armwise.errors import InvalidInputError
from armwise.evaluation.decisions import refuse_no_table, state_rewards

# Propensities are refused if calls are this many standard errors more or less frequent than they say. Correct ones are
# refused once in 100,000 histories. A common mistake, to give everyone the propensity of a call instead of that of the
# logged action, is refused nearly always.
TOO_UNLIKELY = 4.5
ENOUGH_PEOPLE_TO_TELL = 10


class LoggedDecisions(NamedTuple):
    """Logged decisions, with their probabilities and outcomes; 0 where ``used`` is false.

    Attributes:
        used: whether state and outcome were observed.
        states: before the decision.
        actions: 1 for a call.
        outcomes: after the decision.
        propensities: the probability of the action that was taken.
        policy: the probability of a call by the policy.
        reference: the probability of a call by the reference.
        past: the person's average reward before this step, minus the middle of the rewards, shrunk towards 0.
        num_states: how many states there are.
    """

    used: Bool[np.ndarray, "people steps"]
    states: Int[np.ndarray, "people steps"]
    actions: Int[np.ndarray, "people steps"]
    outcomes: Float[np.ndarray, "people steps"]
    propensities: Float[np.ndarray, "people steps"]
    policy: Float[np.ndarray, "people steps"]
    reference: Float[np.ndarray, "people steps"]
    past: Float[np.ndarray, "people steps"]
    num_states: int

    def weights(self, policy: Float[np.ndarray, "people steps"]) -> Float[np.ndarray, "people steps"]:
        """The policy's probability of the logged action divided by the log's; 0 where ``used`` is false."""
        agreement = np.where(self.actions == 1, policy, 1 - policy)
        return np.where(self.used, agreement / np.where(self.used, self.propensities, 1), 0)


class _Source(NamedTuple):
    """The history and, if it is a table, how to read one of its columns as ``[people, steps]``."""

    trajectories: Trajectories
    table: Any
    rows: tuple[np.ndarray, np.ndarray] | None

    def array(self, name: str, values: Any) -> Float[np.ndarray, "people steps"]:
        if isinstance(values, str):
            return self._column(name, values)
        array = to_numpy(name, values)
        if array.dtype.kind not in "biuf":
            raise InvalidInputError(f"{name} must be numbers [people, steps], not of type {array.dtype}.")
        shape = self.trajectories.shape
        if array.ndim == 0:
            return np.full(shape, float(array))
        _check_people_and_steps(name, array.shape, shape)
        return array.astype(float)

    def _column(self, name: str, column: str) -> Float[np.ndarray, "people steps"]:
        if self.rows is None:
            raise InvalidInputError(
                f"{name}={column!r} names a column, but the history is Trajectories, which has none. Pass an array "
                "[people, steps]."
            )
        if column not in self.table:
            raise InvalidInputError(f"The table has no column {column!r}, which {name} names.")
        values = to_numpy(f"column {column!r}", self.table[column])
        if values.dtype.kind not in "biuf":
            raise InvalidInputError(f"Column {column!r} must be numbers, not of type {values.dtype}.")
        if values.shape != self.rows[0].shape:
            raise InvalidInputError(f"Column {column!r} has {len(values)} rows, and the table {len(self.rows[0])}.")
        array = np.full(self.trajectories.shape, np.nan)
        array[self.rows] = values
        return array


def read_decisions(
    history: Any, policy: Any, propensities: Any, reference: Any, rewards: Any, outcomes: Any, ids: Any
) -> LoggedDecisions:
    """Read and check the arguments of ``off_policy_value`` that describe decisions."""
    source = _read_history(history, ids)
    trajectories = source.trajectories
    states, actions, observed = (
        np.asarray(part) for part in (trajectories.states, trajectories.actions, trajectories.observed)
    )
    of_state = state_rewards(rewards, trajectories.num_states)
    results = _next_rewards(of_state, states, observed) if outcomes is None else source.array("outcomes", outcomes)
    used = observed & ~np.isnan(results)
    _check_used(used, results, actions)
    logged = _propensities(source, propensities, actions, used)
    chosen = _probabilities("policy", source.array("policy", policy), used)
    if reference is None:
        compared = _same_budget(chosen, actions, logged, used)
    else:
        compared = _probabilities("reference", source.array("reference", reference), used)
    for name, wanted in (("policy", chosen), ("reference", compared)):
        _refuse_never_logged(name, wanted, actions, logged, used)
    decisions = LoggedDecisions(
        used,
        np.where(used, states, 0),
        np.where(used, actions, 0),
        np.where(used, results, 0.0),
        np.where(used, logged, 0.0),
        np.where(used, chosen, 0.0),
        np.where(used, compared, 0.0),
        _past(of_state, states, observed),
        trajectories.num_states,
    )
    _check_agreement(decisions)
    return decisions


def _read_history(history: Any, ids: Any) -> _Source:
    if isinstance(history, Trajectories):
        source = _Source(history, None, None)
        _check_ids(ids, history.num_arms)
    else:
        refuse_no_table(history)
        trajectories, names = Trajectories.from_table(history, ids=ids)
        order = np.argsort(names)
        arm = order[np.searchsorted(names, to_numpy("id", history["id"]), sorter=order)]
        steps = to_numpy("step", history["step"]).astype(np.int64)
        source = _Source(trajectories, history, (arm, steps - steps.min()))
    if source.trajectories.num_actions != 2:
        raise InvalidInputError(
            f"off_policy_value knows two actions, no call and call, but the history has "
            f"{source.trajectories.num_actions}."
        )
    never_seen = np.asarray(~np.asarray(source.trajectories.observed).any(axis=1))
    if never_seen.any():
        raise InvalidInputError(
            f"{int(never_seen.sum())} of {len(never_seen)} people have no history, the first is person "
            f"{int(never_seen.argmax())}: nothing is known of them. Leave them out of history, policy and propensities."
        )
    return source


def _check_ids(ids: Any, num_people: int) -> None:
    if ids is None:
        return
    names = to_numpy("ids", ids)
    if names.shape != (num_people,):
        raise InvalidInputError(f"ids must name the {num_people} people of the history, not {list(names.shape)}.")
    unique, counts = np.unique(names, return_counts=True)
    if len(unique) < len(names):
        again = unique[counts.argmax()]
        rows = np.flatnonzero(names == again)[:2].tolist()
        raise InvalidInputError(
            f"Rows {rows[0]} and {rows[1]} are both {again.item()!r}: the intervals would take one person for two. "
            "Join the rows of each person."
        )


def _check_people_and_steps(name: str, shape: tuple[int, ...], expected: tuple[int, int]) -> None:
    if shape == expected:
        return
    people, steps = expected
    if len(shape) == 2 and shape[0] == people and shape[1] > steps:
        raise InvalidInputError(
            f"{name} has {shape[1]} steps, but the history has {steps}: what follows a step in the future is not known "
            f"yet. Pass the first {steps} steps."
        )
    if len(shape) == 2 and shape[1] == steps and shape[0] > people:
        raise InvalidInputError(
            f"{name} has {shape[0]} people, but the history has {people}: there are people without history. Leave them "
            "out, or name everyone in ids."
        )
    raise InvalidInputError(f"{name} must have the shape {list(expected)}, as the history, not {list(shape)}.")


def _next_rewards(
    of_state: Float[np.ndarray, " states"], states: np.ndarray, observed: np.ndarray
) -> Float[np.ndarray, "people steps"]:
    following = np.full(states.shape, np.nan)
    following[:, :-1] = np.where(observed[:, 1:], of_state[states[:, 1:]], np.nan)
    return following


def _past(of_state: np.ndarray, states: np.ndarray, observed: np.ndarray) -> Float[np.ndarray, "people steps"]:
    middle = (of_state.max() + of_state.min()) / 2
    seen = np.where(observed, of_state[states] - middle, 0)
    before = np.cumsum(seen, axis=1) - seen
    return before / (np.cumsum(observed, axis=1) - observed + 2)  # shrunk as by two earlier steps at the middle reward


def _check_used(used: np.ndarray, results: np.ndarray, actions: np.ndarray) -> None:
    refuse_first("outcomes", results, used & np.isinf(results), "must be finite", "person", "step")
    if used.any(axis=1).sum() < 2:
        raise InvalidInputError(
            "off_policy_value needs decisions of at least two people: a state, and an outcome after it (by default the "
            "state of the step after)."
        )
    called = actions[used] == 1
    if not called.any() or called.all():
        what, which = ("No", "call") if not called.any() else ("Only", "calls")
        raise InvalidInputError(
            f"{what} {which} among the {int(used.sum())} decisions: what a call changes cannot be known. A history "
            "needs calls that were made at random, and people left alone at random."
        )


def _propensities(source: _Source, values: Any, actions: np.ndarray, used: np.ndarray) -> np.ndarray:
    if values is None:
        raise InvalidInputError(
            "propensities are needed: the probability with which each logged action was taken, known from how "
            "calls were drawn (10 of 200 people by lot: 0.05 for a call, 0.95 for no call; or propensities=0.05). "
            "If calls were not drawn by lot, no value can be told from the history alone."
        )
    array = source.array("propensities", values)
    remedy = "A propensity is the probability of the action that was taken; what was taken cannot have had none."
    refuse_first(
        "propensities",
        array,
        used & ~((array > 0) & (array <= 1)),
        "must be in (0, 1]",
        "person",
        "step",
        remedy=remedy,
    )
    one_number = np.ndim(values) == 0 and not isinstance(values, str)
    if (array[used] == 1).all():
        raise InvalidInputError(
            "All propensities are 1: no call was made at random. Without chance in the calls nothing can be compared."
        )
    return np.where(actions == 1, array, 1 - array) if one_number else array


def _probabilities(name: str, array: np.ndarray, used: np.ndarray) -> np.ndarray:
    bad = used & ~((array >= 0) & (array <= 1))
    remedy = "It is the probability of a call: 0 for no, 1 for yes."
    refuse_first(name, array, bad, "must be between 0 and 1", "person", "step", remedy=remedy)
    return array


def _same_budget(chosen: np.ndarray, actions: np.ndarray, logged: np.ndarray, used: np.ndarray) -> np.ndarray:
    # Where the log had no choice, the reference has none either. The policy's other calls are spread equally.
    free = used & (logged < 1)
    calls = np.where(free, chosen, 0).sum(axis=0)
    share = calls / np.maximum(free.sum(axis=0), 1)
    return np.where(free, share, actions)


def _refuse_never_logged(
    name: str, wanted: np.ndarray, actions: np.ndarray, logged: np.ndarray, used: np.ndarray
) -> None:
    other = used & (logged == 1) & (wanted != actions)
    remedy = "Propensity 1 says that the log could not have done otherwise, so nothing is known about it."
    refuse_first(
        name, wanted, other, "must do what was logged where the propensity is 1", "person", "step", remedy=remedy
    )


def _check_agreement(decisions: LoggedDecisions) -> None:
    """Refuse propensities that expect many more or many fewer calls than were made."""
    if not decisions.weights(decisions.policy).any():
        raise InvalidInputError("No logged action agrees with the policy, so nothing is known of its value.")
    free = decisions.used & (decisions.propensities < 1)
    chance = np.where(decisions.actions == 1, decisions.propensities, 1 - decisions.propensities)
    excess = np.where(free, decisions.actions - chance, 0)
    by_person = excess.sum(axis=1)[free.any(axis=1)]
    num_people, total = len(by_person), abs(excess.sum())
    # The excess must be above both. The first assumes that a person's calls are drawn independently of each other. The
    # second is unreliable if calls are rare.
    as_drawn = np.sqrt((chance * (1 - chance))[free].sum())
    as_found = by_person.std(ddof=1) * np.sqrt(num_people) if num_people >= ENOUGH_PEOPLE_TO_TELL else np.inf
    if total > TOO_UNLIKELY * max(as_drawn, as_found):
        raise InvalidInputError(
            f"propensities do not fit the history: by them {chance[free].sum():,.0f} calls were to be expected, and "
            f"{int(decisions.actions[free].sum()):,} were made, which is no chance. Give each decision the probability "
            "of the action that was taken: of a call where there was one, of no call where there was none."
        )
