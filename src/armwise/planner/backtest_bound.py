"""How much 100 calls of any rule could gain, if people were as a backtest estimates them to be."""

import numpy as np
from jaxtyping import Float, Int

from armwise.evaluation.bound import fluid_bound
from armwise.evaluation.gain import Judge
from armwise.evaluation.persistence import Counts, posterior_chains
from armwise.rmab import Problem

# A sample of people is as good as all of them, and takes less memory.
MOST_PEOPLE = 10_000
# All policies of a person are enumerated: twice as many for each further state.
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
    """The most engaged steps that 100 calls of any rule could gain, by the fluid bound; none above ``MOST_STATES``.

    It is a bound only if the estimated behaviour is right: each person's chain when left alone is estimated from her
    own weeks and everyone's, and the effect of a call is that of her state, the same for all people in it. Where
    effects are not shown, the bound is as uncertain as they are. It is of calling for many steps, and counts all
    later steps, discounted; the gains of a backtest count 12 steps. A discount close to 1 makes them comparable.

    Args:
        judge: from a backtest; its first terms are the levels of effects.
        levels: the level of effects that each state belongs to.
        counts: how often each person, left alone, made each transition.
        problem: discount and first states.
        budget_share: calls per person and step.
        seed: draws the sample of people.
        most_people: with two states, so many people stand for all; half as many for each further state.
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
    """Each person's chain: her own and everyone's weeks without calls, and with a call the effect of her state."""
    passive = posterior_chains(counts, judge.prior.value)
    active = np.clip(passive + judge.surface.value[np.asarray(levels)], 0.0, 1.0)
    return np.stack([passive, active / active.sum(axis=-1, keepdims=True)], axis=2)


def _earned_without_calls(passive: Float[np.ndarray, "people states states"], problem: Problem) -> float:
    rewards = np.asarray(problem.rewards, dtype=float)
    system = np.eye(len(rewards)) - float(problem.discount) * passive
    values = np.linalg.solve(system, np.broadcast_to(rewards[:, None], (len(passive), len(rewards), 1)))[..., 0]
    return float(np.sum(values @ np.asarray(problem.initial, dtype=float)))
