"""What the fitted chains expect of the coming steps: with calls by the planner, with calls at random, and with none."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from armwise.planning.check import ProgrammeData
from armwise.planning.planner import OutreachPlanner
from armwise.planning.scoring import believe
from armwise.planning.weekly import table_of
from armwise.rmab import Problem, RandomCalls, simulate_trace

NUM_STEPS = 12
MOST_TRAJECTORIES = 200
# People × steps × trajectories kept in memory at a time, one byte each.
MOST_CELLS = 2**27


class Course(NamedTuple):
    """What is expected under one way to call.

    Attributes:
        name: of the way.
        engagement: the average reward (of two states: the share engaged) now and after each step.
        gained: steps of engagement more than without calls, all people and steps together.
        spread: the range that holds the middle nine tenths of the simulated runs' gains.
    """

    name: str
    engagement: tuple[float, ...]
    gained: float
    spread: tuple[float, float]


class Forecast(NamedTuple):
    """The expected course of the programme.

    Attributes:
        courses: with calls by index, by lot, and without.
        num_trajectories: simulated runs behind each.
        budget: calls a step.
    """

    courses: tuple[Course, ...]
    num_trajectories: int
    budget: int


def make_forecast(planner: OutreachPlanner, data: ProgrammeData, num_steps: int = NUM_STEPS) -> Forecast:
    """Simulate everyone who may ever be called, all ways on the same luck, from where people are now.

    The budget of a step is the programme's total. People who are never to be called are left out of calls and kept in
    the averages; the other rules (budgets of groups, waits after a call, calls at most) are not simulated.
    """
    table = table_of(data)
    transitions = np.asarray(planner.predict_transitions(table))
    problem, budget = _from_now(planner, data, transitions), data.programme.budget.total
    may = data.exclusions.is_null().to_numpy()
    count = max(2, min(MOST_TRAJECTORIES, MOST_CELLS // (len(may) * (num_steps + 1))))
    key = jax.random.key(planner.random_state)
    none = _rewards(key, transitions, np.zeros(transitions.shape[:2]), problem, 0, count, num_steps)
    indices = np.where(may[:, None], planner.whittle_indices(table), -np.inf)
    listed = _rewards(key, transitions, indices, problem, budget, count, num_steps)
    lots = none.copy()
    if may.any():
        lots = _with_lots(key, transitions, may, problem, budget, none, count, num_steps)
    ways = {"calls by armwise": listed, "the same number at random": lots, "no calls": none}
    courses = [_course(name, rewards, none, len(may)) for name, rewards in ways.items()]
    return Forecast(tuple(courses), count, budget)


def _from_now(planner: OutreachPlanner, data: ProgrammeData, transitions: np.ndarray) -> Problem:
    """The problem whose first states are those that people are probably in now."""
    gaps = jnp.asarray(np.maximum(data.steps_since_observed - 1, 0))
    problem, passive = planner.problem_, jnp.asarray(transitions[:, :, 0])
    initial = believe(passive, problem.initial.astype(passive.dtype), jnp.asarray(data.last_states), gaps)
    return Problem(problem.rewards, problem.discount, initial / initial.sum(axis=1, keepdims=True), problem.costs)


def _rewards(
    key: Any, transitions: np.ndarray, priorities: Any, problem: Problem, budget: int, count: int, num_steps: int
) -> Float[np.ndarray, "trajectories steps"]:
    """The sum of everyone's rewards at each step of each run."""
    return _sums(simulate_trace(key, transitions, priorities, problem, budget, count, num_steps + 1).states, problem)


def _with_lots(
    key: Any,
    transitions: np.ndarray,
    may: np.ndarray,
    problem: Problem,
    budget: int,
    none: np.ndarray,
    count: int,
    num_steps: int,
) -> Float[np.ndarray, "trajectories steps"]:
    """Lots are drawn among those who may be called only; luck belongs to a person, so the others' stays as it is."""
    mine = Problem(problem.rewards, problem.discount, problem.initial[np.flatnonzero(may)], problem.costs)
    ids = np.flatnonzero(may)

    def sums(budget: int) -> np.ndarray:
        states = simulate_trace(
            key, transitions[may], RandomCalls(), mine, budget, count, num_steps + 1, ids=ids
        ).states
        return _sums(states, problem)

    return none + sums(budget) - sums(0)


def _sums(states: Any, problem: Problem) -> np.ndarray:
    rewards = np.asarray(problem.rewards, dtype=float)
    counts = [np.asarray((states == state).sum(axis=2)) for state in range(len(rewards))]
    return np.tensordot(rewards, np.stack(counts).astype(float), axes=1)


def _course(name: str, rewards: np.ndarray, none: np.ndarray, num_people: int) -> Course:
    gains = (rewards - none).sum(axis=1)
    low, high = np.quantile(gains, [0.05, 0.95])
    engagement = tuple(float(share) for share in rewards.mean(axis=0) / num_people)
    return Course(name, engagement, float(gains.mean()), (float(low), float(high)))
