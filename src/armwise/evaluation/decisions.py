"""Past decisions to call or not, each with what was known about the person before it.

A decision is a person and a step with an observed state and an observed next state. What was known before it stands for
the reasons for calling someone: the step, the state, how long she had been in it, how she did before, and her earlier
calls. It never uses a later step.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from armwise.data import Trajectories
from armwise.errors import InvalidInputError
from armwise.rmab import Problem

# The levels of steps in one state: 1, 2, 3, 4, 5 to 6, 7 to 9, 10 or more.
RUN_EDGES = (2, 3, 4, 5, 7, 10)
# The steps of a history are grouped into at most this many periods, so that a year of weeks needs few columns.
MOST_PERIODS = 16
# The levels of steps since the last call: never, 1, 2, 3 to 4, 5 or more.
CALL_EDGES = (2, 3, 5)

Cells = Float[np.ndarray, "people steps"]


class Decisions(NamedTuple):
    """The decisions of some people, as arrays by person and step.

    Attributes:
        valid: whether the step is a decision. Where it is not, the other arrays have no meaning.
        states: before the decision.
        called: whether the person was called.
        next_states: the states one step later.
        run: for how many steps the person had been in her state, as far as observed; 1 if she had just entered it.
        share: her average reward in the steps observed before, shrunk a little towards the middle.
        since_call: steps since the last call; 0 if there was none.
        own: how often she had moved from this state to each next one in earlier steps without a call.
        num_states: how many states there are.
    """

    valid: Bool[np.ndarray, "people steps"]
    states: Int[np.ndarray, "people steps"]
    called: Cells
    next_states: Int[np.ndarray, "people steps"]
    run: Int[np.ndarray, "people steps"]
    share: Cells
    since_call: Int[np.ndarray, "people steps"]
    own: Float[np.ndarray, "people steps states"]
    num_states: int

    def of(self, people: slice) -> "Decisions":
        """The decisions of some people."""
        return self._replace(**{name: getattr(self, name)[people] for name in self._fields if name != "num_states"})

    @property
    def num_calls(self) -> int:
        """The number of decisions to call."""
        return int(self.called[self.valid].sum())


def refuse_no_table(history: Any) -> None:
    """Refuse a history that cannot be a long table."""
    if history is None or not hasattr(history, "__getitem__"):
        raise InvalidInputError(
            "history must be Trajectories, or a table with the columns id, step, state and action, not "
            f"{type(history).__name__}."
        )


def state_rewards(rewards: Any, num_states: int) -> Float[np.ndarray, " states"]:
    """The reward of each state, by default evenly spaced from 0 to 1. Rewards of the wrong shape are refused."""
    problem = Problem(num_states=num_states) if rewards is None else Problem(rewards=rewards)
    if problem.rewards.shape != (num_states,):
        raise InvalidInputError(
            f"rewards must have the shape [{num_states}], one for each state, not {list(problem.rewards.shape)}."
        )
    return np.asarray(problem.rewards, dtype=float)


def find_decisions(trajectories: Trajectories, rewards: Float[np.ndarray, " states"]) -> Decisions:
    """Find all decisions in a history.

    Args:
        trajectories: of the people.
        rewards: of the states.
    """
    states, actions, observed = (
        np.asarray(part) for part in (trajectories.states, trajectories.actions, trajectories.observed)
    )
    valid = observed[:, :-1] & observed[:, 1:]
    run, share, since_call = _known_before(states, actions, observed, np.asarray(rewards, dtype=float))
    before = slice(None, -1)
    return Decisions(
        valid,
        states[:, before],
        (actions[:, before] > 0).astype(float),
        states[:, 1:],
        run[:, before],
        share[:, before],
        since_call[:, before],
        _own_transitions(states, actions, valid, trajectories.num_states),
        trajectories.num_states,
    )


def _known_before(
    states: Int[np.ndarray, "people steps"],
    actions: Int[np.ndarray, "people steps"],
    observed: Bool[np.ndarray, "people steps"],
    rewards: Float[np.ndarray, " states"],
) -> tuple[Int[np.ndarray, "people steps"], Cells, Int[np.ndarray, "people steps"]]:
    """Run, share and time since the last call at each step, from the steps before it and its own state."""
    num_people, num_steps = states.shape
    run, since = np.zeros(states.shape, int), np.zeros(states.shape, int)
    share = np.zeros(states.shape)
    last, length, waited = np.full(num_people, -1), np.zeros(num_people, int), np.zeros(num_people, int)
    total, number = np.full(num_people, rewards.mean()), np.ones(num_people)
    for step in range(num_steps):
        seen, state = observed[:, step], states[:, step]
        length = np.where(seen & (state != last), 1, length + 1)
        last = np.where(seen, state, last)
        waited = np.where(waited > 0, waited + 1, 0)
        run[:, step], share[:, step], since[:, step] = length, total / number, np.maximum(waited - 1, 0)
        total, number = total + seen * rewards[state], number + seen
        waited = np.where(seen & (actions[:, step] > 0), 1, waited)
    return run, share, since


def _own_transitions(
    states: Int[np.ndarray, "people steps"],
    actions: Int[np.ndarray, "people steps"],
    valid: Bool[np.ndarray, "people decisions"],
    num_states: int,
) -> Float[np.ndarray, "people decisions states"]:
    """For each decision, counts of the person's earlier transitions out of the same state without a call."""
    people = np.arange(len(states))
    counts = np.zeros((len(states), num_states, num_states), np.float32)
    own = np.zeros((*valid.shape, num_states), np.float32)
    for step in range(valid.shape[1]):
        own[:, step] = counts[people, states[:, step]]
        counts[people, states[:, step], states[:, step + 1]] += valid[:, step] & (actions[:, step] == 0)
    return own


def control_columns(decisions: Decisions) -> Float[np.ndarray, "people steps columns"]:
    """What was known before each decision, as regression columns; all 0 where there is no decision.

    Everything except earlier calls has separate coefficients in each state.
    """
    shape = decisions.states.shape
    num_periods = min(shape[1], MOST_PERIODS)
    period = one_hot(np.arange(shape[1]) * num_periods // shape[1], num_periods)
    share = decisions.share - 0.5
    parts = [
        np.broadcast_to(period, (*shape, num_periods)),
        one_hot(np.digitize(decisions.run, RUN_EDGES), len(RUN_EDGES) + 1),
        np.stack([share, share**2], axis=-1),
    ]
    common = np.concatenate(parts, axis=-1)
    in_state = one_hot(decisions.states, decisions.num_states)
    by_state = (in_state[..., :, None] * common[..., None, :]).reshape(*shape, -1)
    calls = one_hot(_call_level(decisions.since_call), len(CALL_EDGES) + 2)[..., 1:]
    return np.concatenate([by_state, calls], axis=-1) * decisions.valid[..., None]


def _call_level(since_call: Int[np.ndarray, "people steps"]) -> Int[np.ndarray, "people steps"]:
    return np.where(since_call > 0, 1 + np.digitize(since_call, CALL_EDGES), 0)


def one_hot(codes: Int[np.ndarray, "*shape"], number: int) -> Float[np.ndarray, "*shape levels"]:
    """1 in the column of each code, 0 in the others."""
    return (codes[..., None] == np.arange(number)).astype(float)
