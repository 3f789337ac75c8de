"""The most that 100 calls of any rule could gain if people behave as a backtest estimates."""

import numpy as np
from jaxtyping import Float, Int

from armwise.evaluation.bound import fluid_bound
from armwise.evaluation.gain import Judge
from armwise.evaluation.persistence import Counts, posterior_chains
from armwise.rmab import Problem

# A sample of people gives almost the same bound as all people, and takes less memory.
MOST_PEOPLE = 10_000
# The bound enumerates all policies of a person, and each further state doubles their number.
MOST_STATES = 10

Chains = Float[np.ndarray, "people states 2 states"]


def bound_of_100_calls(
    judge: Judge,
    levels: Int[np.ndarray, " states"],
    counts: Counts,
    problem: Problem,
    budget_share: float,
    seed: int,
    most_people: int = MOST_PEOPLE,
) -> float | None:
    """The fluid bound on the engaged steps that 100 calls of any rule could gain; None above ``MOST_STATES``.

    It is a bound only if the estimated behaviour is right. Each person's chain without calls is estimated from her own
    weeks and everyone's. The effect of a call is that of her state, the same for all people in the state. If effects
    are not shown, the bound is as uncertain as they are. The bound is for calls over many steps and counts all later
    steps, discounted; the gains of a backtest count 12 steps. A discount close to 1 makes the two comparable.

    Args:
        judge: from a backtest; its first terms are the levels of effects.
        levels: the level of effects that each state belongs to.
        counts: how often each person, left alone, made each transition.
        problem: rewards, discount and first states.
        budget_share: calls per person and step.
        seed: draws the sample of people.
        most_people: the size of the sample with two states; half as many for each further state.
    """
    if len(levels) > MOST_STATES:
        return None
    most = max(1, most_people * 4 // 2 ** len(levels))
    rows = np.arange(len(counts))
    if len(rows) > most:
        rows = np.sort(np.random.default_rng([seed, 2]).choice(rows, most, replace=False))
    chains = estimated_chains(judge, levels, counts[rows])
    budget, discount = budget_share * len(rows), float(problem.discount)
    most_earned = float(fluid_bound(chains[None], problem, budget)[0])
    gained = most_earned - _earned_without_calls(chains[:, :, 0], problem)
    return 100 * max(0.0, gained) * (1 - discount) / budget


def estimated_chains(judge: Judge, levels: Int[np.ndarray, " states"], counts: Counts) -> Chains:
    """Each person's chain: without a call from her own and everyone's weeks; a call adds the effect of her state."""
    passive = posterior_chains(counts, judge.prior.value)
    active = np.clip(passive + judge.surface.value[np.asarray(levels)], 0.0, 1.0)
    return np.stack([passive, active / active.sum(axis=-1, keepdims=True)], axis=2)


def _earned_without_calls(passive: Float[np.ndarray, "people states states"], problem: Problem) -> float:
    rewards = np.asarray(problem.rewards, dtype=float)
    system = np.eye(len(rewards)) - float(problem.discount) * passive
    values = np.linalg.solve(system, np.broadcast_to(rewards[:, None], (len(passive), len(rewards), 1)))[..., 0]
    return float(np.sum(values @ np.asarray(problem.initial, dtype=float)))
