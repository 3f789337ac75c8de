"""Decision quality: what acting on predictions earns when the true transitions are known.

``JointReturns`` simulates calls under a budget (Equation 3). ``DecomposedReturns`` is exact (Equation 7). Each belongs
to some cohorts and holds what depends only on their true data, computed once: the returns of never acting and of
perfect predictions, and what the simulation or the loss needs. ``evaluation``, ``training`` and the studies use them.
"""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Num, UInt32

from armwise._hardware import on_cpu
from armwise.losses import CohortTruth, DecDFL
from armwise.mixtures import LinearMixture
from armwise.rmab import Problem, passive_returns, simulate_policy, whittle_indices
from armwise.rmab.choices import Schedule
from armwise.rmab.rollout import blocks
from armwise.rmab.simulate import simulate_spend

Transitions = Float[Array, "cohorts arms states actions states"]
Priorities = Float[Array, "cohorts arms states"] | Schedule
PerCohort = Float[Array, "*runs cohorts"]

# Arms × trajectories simulated together on an accelerator: about ten live arrays of four bytes each, 1.3 GB.
ELEMENTS_ON_AN_ACCELERATOR = 2**25


class Achieved(NamedTuple):
    """What a policy earns in each cohort, all arms together, and the share of the budget that it spends."""

    total: PerCohort
    budget_use: PerCohort


class CohortReturns(eqx.Module):
    """What acting on predictions earns in some cohorts, compared with never acting and with acting on the truth."""

    never: eqx.AbstractVar[Float[Array, " cohorts"]]
    perfect: eqx.AbstractVar[Float[Array, " cohorts"]]

    @abc.abstractmethod
    def of_predictions(self, numbers: Int[Array, " chosen"], predicted: Transitions) -> Achieved:
        """What acting on predictions earns in the cohorts with these numbers. There is one prediction per cohort.

        Each cohort is looked up only when it is needed, so that hundreds of runs on the same cohorts share one copy.
        """


class SimulatedCohort(NamedTuple):
    """What a simulation needs from a cohort; or from many, stacked."""

    key: Array  # a random key: with the same key, all policies get the same random draws
    true_transitions: Float[Array, "*cohorts arms states actions states"]
    budget: Int[Array, "*cohorts"]  # calls at each step
    ids: UInt32[Array, "*cohorts arms"] | None  # random draws and ties depend on the id; None: the rows


class JointReturns(CohortReturns):
    """Mean simulated returns of calls under a budget (Equation 3).

    Args:
        cohorts: stacked.
        problem: rewards, discount and first states.
        num_trajectories: simulated runs of each cohort.
        num_steps: of each run.
    """

    cohorts: SimulatedCohort
    problem: Problem
    never: Float[Array, " cohorts"]
    perfect: Float[Array, " cohorts"]
    num_trajectories: int = eqx.field(static=True)
    num_steps: int = eqx.field(static=True)

    def __init__(self, cohorts: SimulatedCohort, problem: Problem, num_trajectories: int, num_steps: int):
        self.cohorts, self.problem = cohorts, problem
        self.num_trajectories, self.num_steps = num_trajectories, num_steps
        self.never = self._over_cohorts(self._never, cohorts)
        everyone = jnp.arange(len(cohorts.budget))
        self.perfect = self.of_predictions(everyone, cohorts.true_transitions).total

    def of_predictions(self, numbers: Int[Array, " chosen"], predicted: Transitions) -> Achieved:
        """What calling by the Whittle indices of predictions earns."""
        return self.of_priorities(numbers, all_indices(predicted, self.problem))

    def of_priorities(self, numbers: Int[Array, " chosen"], priorities: Priorities) -> Achieved:
        """What calling by given priorities earns. They are ``[chosen, arms, states]`` or a schedule."""

        def of_cohort(pair: tuple[Array, Any]) -> Achieved:
            number, own = pair
            return self._achieved(pick(self.cohorts, number), own)

        return self._over_cohorts(of_cohort, (numbers, priorities))

    def _achieved(self, cohort: SimulatedCohort, priorities: Any) -> Achieved:
        size = (self.num_trajectories, self.num_steps)
        given = (cohort.key, cohort.true_transitions, priorities, self._counting_calls, cohort.budget)
        returns, calls = simulate_spend(*given, *size, cohort.ids)
        weights = self.problem.discount ** jnp.arange(self.num_steps)
        return Achieved(jnp.mean(returns), _share(jnp.mean(calls), cohort.budget * jnp.sum(weights)))

    def _never(self, cohort: SimulatedCohort) -> Float[Array, ""]:
        key, true, _, ids = cohort
        size = (self.num_trajectories, self.num_steps)
        no_one = jnp.zeros(true.shape[:2], jnp.int32)
        return jnp.mean(simulate_policy(key, true, no_one, self._counting_calls, *size, ids=ids)[0])

    @property
    def _counting_calls(self) -> Problem:
        """The problem with a cost of 1 for every call, because here a budget is a number of calls."""
        one_each = jnp.array([0, 1], self.problem.costs.dtype)
        return eqx.tree_at(lambda problem: problem.costs, self.problem, one_each)

    def _over_cohorts(self, function: Callable[[Any], Any], cohorts: Any) -> Any:
        return over_cohorts(function, cohorts, self.cohorts.true_transitions.shape[1], self.num_trajectories)


class DecomposedReturns(CohortReturns):
    """Exact returns of the mixture that is best by the predictions and keeps to the true budget (Equation 7).

    Args:
        true_transitions: ``[cohorts, arms, states, actions, states]``.
        problem: rewards, discount, first states and costs.
        budgets: arms acted on at each step in each cohort.
    """

    prepared: Any  # [cohorts, …]
    never: Float[Array, " cohorts"]
    perfect: Float[Array, " cohorts"]
    loss: DecDFL

    def __init__(self, true_transitions: Transitions, problem: Problem, budgets: Num[Array, " cohorts"]):
        self.loss = DecDFL(LinearMixture())

        def of_truth(pair: tuple[Array, Array]) -> tuple[Any, Array]:
            true, budget = pair
            return self.loss.prepare(CohortTruth(true, problem, budget)), jnp.sum(passive_returns(true, problem))

        self.prepared, self.never = _over_mixtures(of_truth, (true_transitions, budgets), true_transitions)
        self.perfect = self.of_predictions(jnp.arange(len(budgets)), true_transitions).total

    def of_predictions(self, numbers: Int[Array, " chosen"], predicted: Transitions) -> Achieved:
        """What the mixture earns under the true transitions, and the share of the budget that it really spends."""

        def of_cohort(pair: tuple[Array, Array]) -> Achieved:
            number, own = pair
            prepared = pick(self.prepared, number)
            solution = self.loss.solve(own, prepared)
            total = jnp.sum(solution.mixture * prepared.reward_returns)
            return Achieved(total, _share(solution.budget_used, prepared.discounted_budget))

        return _over_mixtures(of_cohort, (numbers, predicted), predicted)


def all_indices(
    transitions: Float[Array, "*batch arms states actions states"], problem: Problem
) -> Float[Array, "*batch arms states"]:
    """The Whittle indices of all arms of all cohorts, in one call: small calls waste an accelerator."""
    *batch, num_states = transitions.shape[:-2]

    def of_each_arm(values: Float[Array, "..."]) -> Float[Array, "..."]:
        return values if values.ndim == 1 else jnp.broadcast_to(values, (*batch, num_states)).reshape(-1, num_states)

    parts = (problem.rewards, problem.initial)
    flat = eqx.tree_at(lambda problem: (problem.rewards, problem.initial), problem, tuple(map(of_each_arm, parts)))
    return whittle_indices(transitions.reshape(-1, *transitions.shape[-3:]), flat).reshape(*batch, num_states)


def over_cohorts(function: Callable[[Any], Any], cohorts: Any, num_arms: int, num_trajectories: int = 1) -> Any:
    """Apply a function to each cohort of a stacked pytree, as many cohorts at once as suits the machine."""
    return jax.lax.map(function, cohorts, batch_size=cohorts_at_once(num_arms, num_trajectories))


def cohorts_at_once(num_arms: int, num_trajectories: int) -> int | None:
    """How many cohorts are simulated together; None means one after the other.

    On a CPU the arrays of one cohort stay in the cache: 60 cohorts × 100 arms × 1,000 trajectories took 1.1 s one after
    the other and 4.1 s all at once. On one H200 it took 126 ms one after the other and 8 ms all at once.
    """
    if on_cpu():
        return None
    pairs_at_once = blocks(num_trajectories, num_arms).shape[1]
    return max(1, ELEMENTS_ON_AN_ACCELERATOR // (2 * num_arms * pairs_at_once))


def pick(stacked: Any, number: Int[Array, ""]) -> Any:
    """One cohort of a stacked pytree."""
    return jax.tree.map(lambda leaf: leaf[number] if eqx.is_array(leaf) else leaf, stacked)


def _over_mixtures(function: Callable[[Any], Any], cohorts: Any, transitions: Transitions) -> Any:
    # The solver holds a few numbers per arm and policy, and no trajectories.
    _, num_arms, num_states, num_actions, _ = transitions.shape
    return over_cohorts(function, cohorts, num_arms * num_actions**num_states)


def _share(used: Float[Array, ""], budget: Float[Array, ""]) -> Float[Array, ""]:
    return jnp.where(budget > 0, used / jnp.where(budget > 0, budget, 1), 0)
