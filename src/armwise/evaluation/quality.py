"""Decision quality: what the calls that a prediction leads to are really worth (Section 5, "Evaluation Metrics").

Both measures are normalised as in the paper: 0 is what never acting earns, 1 what acting on perfect predictions does.
The decomposed one is exact. The joint one is simulated, all three policies on the same luck.
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
    """The discounted return of each cohort, all arms together, under three policies; batch axes may lead.

    Attributes:
        achieved: of the policy judged.
        never: of acting on no one.
        perfect: of acting on the true transitions.
        budget_use: share of the budget that the policy judged really spends, later steps discounted as rewards are;
            0 where there is no budget. A decomposed policy leaves some unused when more calls look useless to it, a
            joint one when fewer people than the budget may be called.
    """

    achieved: PerCohort
    never: PerCohort
    perfect: PerCohort
    budget_use: PerCohort

    @property
    def normalised(self) -> PerRun:
        """The average gain over never acting, in units of the average gain of perfect predictions."""
        gain, best = self._gains()
        return jnp.mean(gain, axis=-1) / jnp.mean(best, axis=-1)

    @property
    def per_cohort(self) -> PerCohort:
        """The normalised quality of each cohort alone; undefined where acting gains nothing."""
        gain, best = self._gains()
        return gain / best

    @property
    def standard_error(self) -> PerRun:
        """Of the normalised quality, over the choice of cohorts (delta method for a ratio of averages)."""
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
    """Quality of the mixture that looks best by the predictions, kept to the budget under the truth (Equation 7).

    Args:
        predicted_transitions: ``[cohorts, arms, states, actions, states]``.
        true_transitions: ``[cohorts, arms, states, actions, states]``.
        problem: rewards, discount, first states and costs, shared by all cohorts.
        budget: arms acted on at each step, one number or ``[cohorts]``.

    Returns:
        Exact returns under the true transitions; at most those of perfect predictions (Theorem 2).

    Example:
        A prediction that takes no one to gain from a call calls no one.

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
        horizon: steps of each run; by default until ``discount ** horizon < 1e-3``. To be given where the discount
            is traced.
        ids: ``[cohorts, arms]``, whom luck and ties belong to, as in ``simulate``; by default the rows.

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
    """The joint quality of any priorities: a risk score, turns, lots, what a programme does today.

    Args:
        key: a JAX random key; with the same, all priorities meet the same luck.
        priorities: ``[cohorts, arms, states]``, who comes first in each state; or ``RoundRobin()``,
            ``RandomCalls()`` or ``LongestFirst()``.
        true_transitions: ``[cohorts, arms, states, 2, states]``.
        problem: rewards, discount and first states, shared by all cohorts.
        budget: arms acted on at each step, one number or ``[cohorts]``.
        num_trajectories: simulated runs of each cohort.
        horizon: as in ``joint_decision_quality``.
        ids: as in ``joint_decision_quality``.

    Returns:
        Mean simulated returns. Perfect is the Whittle policy on the true transitions; this is not an upper bound: other
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
    """What was achieved in the cohorts of these numbers, between never acting and perfect predictions."""
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
