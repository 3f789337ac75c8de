"""Decision quality: what the calls that a prediction leads to are really worth (Section 5, "Evaluation Metrics").

Both measures are normalised as in the paper: 0 is what never acting earns, 1 what acting on perfect predictions does.
The decomposed one is exact. The joint one is simulated, all three policies on the same luck.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from armwise.errors import InvalidInputError
from armwise.losses import DecDFL
from armwise.mixtures import LinearMixture
from armwise.rmab import Problem, passive_returns, simulate, whittle_indices
from armwise.rmab.checks import ArrayLike, as_float_array, check_key, check_transitions
from armwise.rmab.simulate import check_horizon

Cohorts = Float[Array, "cohorts arms states actions states"]
PerCohort = Float[Array, " cohorts"]


class Quality(NamedTuple):
    """The discounted return of each cohort, all arms together, under three policies."""

    achieved: PerCohort
    never: PerCohort  # acting on no one
    perfect: PerCohort  # acting on the true transitions

    @property
    def normalised(self) -> Float[Array, ""]:
        """The average gain over never acting, in units of the average gain of perfect predictions."""
        return jnp.mean(self.achieved - self.never) / jnp.mean(self.perfect - self.never)

    @property
    def per_cohort(self) -> PerCohort:
        """The normalised quality of each cohort alone; undefined where acting gains nothing."""
        return (self.achieved - self.never) / (self.perfect - self.never)

    @property
    def standard_error(self) -> Float[Array, ""]:
        """Of the normalised quality, over the choice of cohorts (delta method for a ratio of averages)."""
        gain, best = self.achieved - self.never, self.perfect - self.never
        residual = gain - self.normalised * best
        spread = jnp.sqrt(jnp.sum(residual**2) / (residual.size - 1))
        return spread / jnp.sqrt(residual.size) / jnp.mean(best)


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
    """
    predicted, true = _check_cohorts(predicted_transitions, true_transitions)
    return _decomposed(predicted, true, problem, _check_budgets(budget, len(true)))


def joint_decision_quality(
    key: PRNGKeyArray,
    predicted_transitions: ArrayLike,
    true_transitions: ArrayLike,
    problem: Problem,
    budget: ArrayLike,
    num_trajectories: int = 1000,
    horizon: int | None = None,
) -> Quality:
    """Quality of the Whittle policy on predicted indices (Equation 3), as a programme would deploy it.

    Args:
        key: a JAX random key.
        predicted_transitions: ``[cohorts, arms, states, 2, states]``.
        true_transitions: ``[cohorts, arms, states, 2, states]``.
        problem: rewards, discount and first states, shared by all cohorts.
        budget: arms acted on at each step, one number or ``[cohorts]``.
        num_trajectories: simulated runs of each cohort; the paper takes 1,000.
        horizon: steps of each run; by default until ``discount ** horizon < 1e-3``.

    Returns:
        Mean simulated returns under the true transitions.
    """
    predicted, true = _check_cohorts(predicted_transitions, true_transitions)
    priorities = jax.vmap(lambda transitions: whittle_indices(transitions, problem))(predicted)
    return priority_decision_quality(key, priorities, true, problem, budget, num_trajectories, horizon)


def priority_decision_quality(
    key: PRNGKeyArray,
    priorities: ArrayLike,
    true_transitions: ArrayLike,
    problem: Problem,
    budget: ArrayLike,
    num_trajectories: int = 1000,
    horizon: int | None = None,
) -> Quality:
    """The joint quality of any priorities: a risk score, a random order, what a programme does today.

    Args:
        key: a JAX random key.
        priorities: ``[cohorts, arms, states]``, who comes first in each state.
        true_transitions: ``[cohorts, arms, states, 2, states]``.
        problem: rewards, discount and first states, shared by all cohorts.
        budget: arms acted on at each step, one number or ``[cohorts]``.
        num_trajectories: simulated runs of each cohort.
        horizon: steps of each run; by default until ``discount ** horizon < 1e-3``.

    Returns:
        Mean simulated returns; perfect is the Whittle policy on the true transitions, which it is not always
        impossible to beat.
    """
    check_key(key)
    true, _ = _check_cohorts(true_transitions, true_transitions)
    order = as_float_array("priorities", priorities)
    if order.shape != true.shape[:3]:
        raise InvalidInputError(f"priorities must have the shape {list(true.shape[:3])}, not {list(order.shape)}.")
    steps = check_horizon(horizon, problem)
    budgets = _check_budgets(budget, len(true))
    return _simulated(key, order, true, problem, budgets, num_trajectories, steps)


@eqx.filter_jit
def _decomposed(predicted: Cohorts, true: Cohorts, problem: Problem, budgets: Float[Array, " cohorts"]) -> Quality:
    loss = DecDFL(LinearMixture())

    def of_cohort(predicted: Array, true: Array, budget: Array) -> Quality:
        prepared = loss.prepare(true, problem, budget)
        achieved, perfect = (-len(true) * loss(transitions, prepared) for transitions in (predicted, true))
        return Quality(achieved, jnp.sum(passive_returns(true, problem)), perfect)

    return jax.vmap(of_cohort)(predicted, true, budgets)


@eqx.filter_jit
def _simulated(
    key: PRNGKeyArray,
    priorities: Float[Array, "cohorts arms states"],
    true: Cohorts,
    problem: Problem,
    budgets: Float[Array, " cohorts"],
    num_trajectories: int,
    steps: int,
) -> Quality:
    def of_cohort(cohort: tuple[Array, Array, Array, Int[Array, ""]]) -> Quality:
        own_key, order, transitions, budget = cohort

        def mean_return(order: Array, budget: Array) -> Array:
            return jnp.mean(simulate(own_key, transitions, order, problem, budget, num_trajectories, steps))

        indices = whittle_indices(transitions, problem)
        return Quality(mean_return(order, budget), mean_return(order, 0 * budget), mean_return(indices, budget))

    keys = jax.random.split(key, len(true))
    # One cohort after the other: on the CPU its arrays stay in the cache (60 × 100 arms × 1,000 trajectories took
    # 1.1 s, all at once 4.1 s). On one H200 it is the other way round, 126 ms against 8: still to be done.
    return jax.lax.map(of_cohort, (keys, priorities, true, budgets.astype(jnp.int32)))


def _check_cohorts(predicted_transitions: ArrayLike, true_transitions: ArrayLike) -> tuple[Cohorts, Cohorts]:
    predicted = as_float_array("predicted_transitions", predicted_transitions)
    true = as_float_array("true_transitions", true_transitions)
    if true.ndim != 5 or predicted.shape != true.shape:
        raise InvalidInputError(
            "predicted_transitions and true_transitions must both have the shape [cohorts, arms, states, actions, "
            f"states], not {list(predicted.shape)} and {list(true.shape)}. For one cohort, add an axis: [None]."
        )
    for transitions in (predicted, true):
        check_transitions(transitions.reshape(-1, *true.shape[2:]))
    return predicted, true


def _check_budgets(budget: ArrayLike, num_cohorts: int) -> Float[Array, " cohorts"]:
    budgets = as_float_array("budget", budget)
    if budgets.shape not in ((), (num_cohorts,)):
        raise InvalidInputError(f"budget must be one number or one per cohort, not of shape {list(budgets.shape)}.")
    if not bool(jnp.all((budgets >= 0) & (budgets < jnp.inf) & (budgets == jnp.floor(budgets)))):
        raise InvalidInputError(f"budget must be a whole number of at least 0, not {budgets.tolist()}.")
    return jnp.broadcast_to(budgets, (num_cohorts,))
