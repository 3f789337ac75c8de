"""Decision quality on validation cohorts during training. What depends only on the true data is computed once."""

import functools
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from armwise.data import Cohorts
from armwise.evaluation.decision_quality import CohortReturns, DecomposedReturns, JointReturns, SimulatedCohort
from armwise.evaluation.quality import quality_of
from armwise.rmab import Problem, default_horizon


def prepare_returns(
    quality: str | None, cohorts: Cohorts, problem: Problem, num_trajectories: int
) -> CohortReturns | None:
    """The part of a decision quality that depends only on the true data of all cohorts; None if none is measured."""
    if quality is None:
        return None
    discount = problem.discount
    return _prepare_at(quality, num_trajectories, float(discount), str(discount.dtype))(cohorts, problem)


@functools.cache
def _prepare_at(
    quality: str, num_trajectories: int, discount: float, dtype: str
) -> Callable[[Cohorts, Problem], CohortReturns]:
    """The compiled preparation at a discount, shared by all calls with the same shapes."""
    steps, known = default_horizon(discount), jnp.asarray(discount, dtype)

    @eqx.filter_jit
    def of_all(cohorts: Cohorts, problem: Problem) -> CohortReturns:
        at_discount = eqx.tree_at(lambda problem: problem.discount, problem, known)
        true, budget = cohorts.true_transitions, cohorts.budget
        if quality == "decomposed":
            return DecomposedReturns(true, at_discount, budget)
        # One key for all runs and cohorts: an arm's random draws depend on its id, and all epochs get the same draws.
        keys = jnp.broadcast_to(jax.random.key(0), budget.shape)
        return JointReturns(SimulatedCohort(keys, true, budget, cohorts.ids), at_discount, num_trajectories, steps)

    return of_all


def validation_quality(
    returns: CohortReturns,
    numbers: Int[Array, " validation"],
    predicted: Float[Array, "validation arms states actions states"],
) -> Float[Array, ""]:
    """The normalised quality over the validation cohorts, a ratio of averages; NaN if it has no meaning."""
    quality = quality_of(returns, numbers, returns.of_predictions(numbers, predicted))
    to_gain = jnp.mean(quality.perfect - quality.never)
    # Two cases have no meaning. Indices of NaN call no one: this would look like a quality of 0 and could be the best
    # so far. If calls have no effect, the ratio is one of rounding errors.
    rounding = 10 * jnp.finfo(to_gain.dtype).eps * jnp.mean(jnp.abs(quality.perfect))
    return jnp.where(jnp.isfinite(predicted).all() & (to_gain > rounding), quality.normalised, jnp.nan)
