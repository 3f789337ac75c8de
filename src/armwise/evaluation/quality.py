"""Decision quality: the true value of the calls that a prediction leads to (Section 5, "Evaluation Metrics").

Both measures are normalised as in the paper: never acting has quality 0, acting on perfect predictions has quality 1.
The decomposed quality is exact. The joint quality is simulated, with the same random draws for all three policies.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

from armwise._validation import (
    ArrayLike,
    as_float_array,
    check_ids,
    check_key,
    check_row_sums,
    check_transitions,
    is_concrete,
)
from armwise.errors import InvalidInputError
from armwise.evaluation.decision_quality import (
    Achieved,
    CohortReturns,
    DecomposedReturns,
    JointReturns,
    PerCohort,
    Priorities,
    SimulatedCohort,
    Transitions,
    all_indices,
)
from armwise.rmab import Problem
from armwise.rmab.choices import Schedule
from armwise.rmab.simulate import check_horizon, check_priorities

PerRun = Float[Array, "*runs"]


class Quality(NamedTuple):
    """The discounted return of each cohort, all arms together, under three policies. Batch axes may come first.

    Attributes:
        achieved: the return of the evaluated policy.
        never: the return of calling no one.
        perfect: the return of acting on the true transitions.
        budget_use: the share of the budget that the evaluated policy really spends, with later steps discounted like
            rewards; 0 if there is no budget. A decomposed policy leaves budget unused if more calls look useless to it.
            A joint policy does so if fewer people may be called than the budget allows.
    """

    achieved: PerCohort
    never: PerCohort
    perfect: PerCohort
    budget_use: PerCohort

    @property
    def normalised(self) -> PerRun:
        """The average gain over never acting, divided by the average gain of perfect predictions."""
        gain, best = self._gains()
        return jnp.mean(gain, axis=-1) / jnp.mean(best, axis=-1)

    @property
    def per_cohort(self) -> PerCohort:
        """The normalised quality of each cohort alone; undefined if acting gains nothing there."""
        gain, best = self._gains()
        return gain / best

    @property
    def standard_error(self) -> PerRun:
        """The standard error of the normalised quality over cohorts (delta method for a ratio of averages)."""
        gain, best = self._gains()
        residual = gain - self.normalised[..., None] * best
        num_cohorts = residual.shape[-1]
        spread = jnp.sqrt(jnp.sum(residual**2, axis=-1) / (num_cohorts - 1))
        return spread / num_cohorts**0.5 / jnp.mean(best, axis=-1)

    def _gains(self) -> tuple[PerCohort, PerCohort]:
        return self.achieved - self.never, self.perfect - self.never


def decomposed_decision_quality(
    predicted_transitions: ArrayLike, true_transitions: ArrayLike, problem: Problem, budget: ArrayLike
) -> Quality:
    """Quality of the mixture that is best by the predictions and keeps to the true budget (Equation 7).

    Args:
        predicted_transitions: ``[cohorts, arms, states, actions, states]``.
        true_transitions: ``[cohorts, arms, states, actions, states]``.
        problem: rewards, discount, first states and costs, shared by all cohorts.
        budget: arms acted on at each step, one number or ``[cohorts]``.

    Returns:
        Exact returns under the true transitions. They are at most those of perfect predictions (Theorem 2).

    Example:
        If the prediction says that no one gains from a call, no one is called.

        >>> true = jnp.array([[[[[0.9, 0.1], [0.4, 0.6]], [[0.5, 0.5], [0.2, 0.8]]]] * 20])
        >>> quality = decomposed_decision_quality(jnp.full_like(true, 0.5), true, Problem(), budget=5)
        >>> round(abs(float(quality.normalised)), 3), quality.budget_use.tolist()
        (0.0, [0.0])
    """
    predicted, true = check_cohorts(predicted_transitions, true_transitions, problem)
    return _decomposed(predicted, true, problem, _check_budgets(budget, len(true)))


def joint_decision_quality(
    key: PRNGKeyArray,
    predicted_transitions: ArrayLike,
    true_transitions: ArrayLike,
    problem: Problem,
    budget: ArrayLike,
    num_trajectories: int = 1000,
    horizon: int | None = None,
    *,
    ids: ArrayLike | None = None,
) -> Quality:
    """Quality of the Whittle policy on predicted indices (Equation 3), as a programme would deploy it.

    Args:
        key: a JAX random key.
        predicted_transitions: ``[cohorts, arms, states, 2, states]``.
        true_transitions: ``[cohorts, arms, states, 2, states]``.
        problem: rewards, discount and first states, shared by all cohorts.
        budget: arms acted on at each step, one number or ``[cohorts]``.
        num_trajectories: simulated runs of each cohort; the paper takes 1,000.
        horizon: steps of each run; by default until ``discount ** horizon < 1e-3``. Required if the discount is traced.
        ids: ``[cohorts, arms]``: random draws and ties depend on the id, as in ``simulate``; by default the rows.

    Returns:
        Mean simulated returns under the true transitions.
    """
    predicted, true = check_cohorts(predicted_transitions, true_transitions, problem)
    priorities = all_indices(predicted, problem)
    return priority_decision_quality(key, priorities, true, problem, budget, num_trajectories, horizon, ids=ids)


def priority_decision_quality(
    key: PRNGKeyArray,
    priorities: ArrayLike | Schedule,
    true_transitions: ArrayLike,
    problem: Problem,
    budget: ArrayLike,
    num_trajectories: int = 1000,
    horizon: int | None = None,
    *,
    ids: ArrayLike | None = None,
) -> Quality:
    """The joint quality of any priorities: a risk score, turns, random calls, or what a programme does today.

    Args:
        key: a JAX random key. With the same key, all priorities get the same random draws.
        priorities: ``[cohorts, arms, states]``, the highest is called first; or ``RoundRobin()``,
            ``RandomCalls()`` or ``LongestFirst()``.
        true_transitions: ``[cohorts, arms, states, 2, states]``.
        problem: rewards, discount and first states, shared by all cohorts.
        budget: arms acted on at each step, one number or ``[cohorts]``.
        num_trajectories: simulated runs of each cohort.
        horizon: as in ``joint_decision_quality``.
        ids: as in ``joint_decision_quality``.

    Returns:
        Mean simulated returns. Perfect is the Whittle policy on the true transitions. This is not an upper bound: other
        policies can beat it.

    Example:
        >>> from armwise import RoundRobin
        >>> true = jnp.array([[[[[0.9, 0.1], [0.4, 0.6]], [[0.5, 0.5], [0.5, 0.5]]]] * 20])
        >>> quality = priority_decision_quality(jax.random.key(0), RoundRobin(), true, Problem(), budget=5)
        >>> 0 < float(quality.normalised) < 1  # some turns come to people whom a call does not help
        True
    """
    check_key(key)
    true, _ = check_cohorts(true_transitions, true_transitions, problem)
    order = priorities if isinstance(priorities, Schedule) else check_priorities(priorities, true.shape[:3])
    own_ids = None if ids is None else check_ids(ids, true.shape[:2])
    steps = check_horizon(horizon, problem)
    return _simulated(key, order, true, own_ids, problem, _check_budgets(budget, len(true)), num_trajectories, steps)


@eqx.filter_jit
def _decomposed(predicted: Transitions, true: Transitions, problem: Problem, budgets: PerCohort) -> Quality:
    returns = DecomposedReturns(true, problem, budgets)
    everyone = jnp.arange(len(true))
    return quality_of(returns, everyone, returns.of_predictions(everyone, predicted))


@eqx.filter_jit
def _simulated(
    key: PRNGKeyArray,
    priorities: Priorities,
    true: Transitions,
    ids: UInt32[Array, "cohorts arms"] | None,
    problem: Problem,
    budgets: PerCohort,
    num_trajectories: int,
    steps: int,
) -> Quality:
    cohorts = SimulatedCohort(jax.random.split(key, len(true)), true, budgets.astype(jnp.int32), ids)
    returns = JointReturns(cohorts, problem, num_trajectories, steps)
    everyone = jnp.arange(len(true))
    return quality_of(returns, everyone, returns.of_priorities(everyone, priorities))


def quality_of(returns: CohortReturns, numbers: Int[Array, " chosen"], achieved: Achieved) -> Quality:
    """The quality in the cohorts with these numbers: achieved, never acting and perfect predictions."""
    return Quality(achieved.total, returns.never[numbers], returns.perfect[numbers], achieved.budget_use)


def check_cohorts(
    predicted_transitions: ArrayLike, true_transitions: ArrayLike, problem: Problem
) -> tuple[Transitions, Transitions]:
    """Predicted and true transitions of the same shape, every row a distribution."""
    predicted = as_float_array("predicted_transitions", predicted_transitions)
    true = as_float_array("true_transitions", true_transitions)
    if true.ndim != 5 or predicted.shape != true.shape:
        raise InvalidInputError(
            "predicted_transitions and true_transitions must both have the shape [cohorts, arms, states, actions, "
            f"states], not {list(predicted.shape)} and {list(true.shape)}. For one cohort, add an axis: [None]."
        )
    axes = ("cohort", "arm", "state", "action", "next state")
    for name, transitions in (("predicted_transitions", predicted), ("true_transitions", true)):
        check_transitions(transitions.reshape(-1, *true.shape[2:]))
        check_row_sums(name, transitions, problem.discount, *axes)
    return predicted, true


def _check_budgets(budget: ArrayLike, num_cohorts: int) -> PerCohort:
    budgets = as_float_array("budget", budget)
    if budgets.shape not in ((), (num_cohorts,)):
        raise InvalidInputError(f"budget must be one number or one per cohort, not of shape {list(budgets.shape)}.")
    whole = (budgets >= 0) & (budgets < jnp.inf) & (budgets == jnp.floor(budgets))
    if is_concrete(budgets) and not bool(jnp.all(whole)):
        raise InvalidInputError(f"budget must be a whole number of at least 0, not {budgets.tolist()}.")
    return jnp.broadcast_to(budgets, (num_cohorts,))
