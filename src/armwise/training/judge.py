"""Decision quality during training: what never changes is computed once; each epoch pays for its own calls only.

The numbers are those of ``armwise.evaluation`` on the same cohorts.
"""

import abc
import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, UInt32

from armwise.data import Cohorts
from armwise.evaluation.quality import over_cohorts
from armwise.losses import CohortTruth, DecDFL, Loss
from armwise.mixtures import LinearMixture
from armwise.rmab import Problem, default_horizon, passive_returns, simulate, whittle_indices

Transitions = Float[Array, "arms states actions states"]


class Judge(eqx.Module):
    """The return of a cohort's predictions, between never acting and perfect predictions; stacked over cohorts."""

    num_trajectories: eqx.AbstractVar[int]  # simulated for each cohort; 1 where nothing is
    never: eqx.AbstractVar[Float[Array, "*cohorts"]]
    perfect: eqx.AbstractVar[Float[Array, "*cohorts"]]

    @abc.abstractmethod
    def achieved(self, predicted: Transitions) -> Float[Array, ""]:
        """The return, all arms together, of acting on the predictions for one cohort."""

    def quality(self, predicted: Float[Array, "cohorts arms states actions states"]) -> Float[Array, ""]:
        """The normalised quality over all cohorts, a ratio of averages; NaN where it means nothing."""

        def of_cohort(pair: tuple[Judge, Transitions]) -> Float[Array, ""]:
            judge, own = pair
            return judge.achieved(own)

        achieved = over_cohorts(of_cohort, (self, predicted), predicted.shape[1], self.num_trajectories)
        gain, to_gain = jnp.mean(achieved - self.never), jnp.mean(self.perfect - self.never)
        # Indices of NaN call no one, which would look like a quality of 0 and could be the best so far; and where calls
        # have no effect, the ratio is one of rounding errors.
        rounding = 10 * jnp.finfo(to_gain.dtype).eps * jnp.mean(jnp.abs(self.perfect))
        return jnp.where(jnp.isfinite(predicted).all() & (to_gain > rounding), gain / to_gain, jnp.nan)


class DecomposedJudge(Judge):
    """Exact returns of the best mixture that keeps to the budget under the truth (Equation 7)."""

    prepared: Any
    never: Float[Array, "*cohorts"]
    perfect: Float[Array, "*cohorts"]
    loss: Loss
    num_trajectories: int = eqx.field(static=True)

    def __init__(self, cohort: Cohorts, problem: Problem):
        self.loss, self.num_trajectories = DecDFL(LinearMixture()), 1
        self.prepared = self.loss.prepare(CohortTruth.of(cohort, problem))
        self.never = jnp.sum(passive_returns(cohort.true_transitions, problem))
        self.perfect = self.achieved(cohort.true_transitions)

    def achieved(self, predicted: Transitions) -> Float[Array, ""]:
        """See ``Judge``."""
        return -predicted.shape[0] * self.loss(predicted, self.prepared)


class JointJudge(Judge):
    """Simulated returns of the Whittle policy on predicted indices (Equation 3)."""

    true_transitions: Float[Array, "*cohorts arms states actions states"]
    budget: Int[Array, "*cohorts"]
    ids: UInt32[Array, "*cohorts arms"]
    problem: Problem
    never: Float[Array, "*cohorts"]
    perfect: Float[Array, "*cohorts"]
    num_trajectories: int = eqx.field(static=True)
    horizon: int = eqx.field(static=True)

    def __init__(self, cohort: Cohorts, problem: Problem, num_trajectories: int, horizon: int):
        self.problem = problem
        self.true_transitions, self.budget, self.ids = cohort.true_transitions, cohort.budget, cohort.ids
        self.num_trajectories, self.horizon = num_trajectories, horizon
        self.never = self._mean_return(cohort.true_transitions, 0 * cohort.budget)
        self.perfect = self.achieved(cohort.true_transitions)

    def achieved(self, predicted: Transitions) -> Float[Array, ""]:
        """See ``Judge``."""
        return self._mean_return(predicted, self.budget)

    def _mean_return(self, predicted: Transitions, budget: Int[Array, ""]) -> Float[Array, ""]:
        indices = whittle_indices(predicted, self.problem)
        steps = (self.num_trajectories, self.horizon)
        # One key for all runs and cohorts: an arm's luck goes by its id, and epochs are compared on the same luck.
        key = jax.random.key(0)
        return jnp.mean(simulate(key, self.true_transitions, indices, self.problem, budget, *steps, ids=self.ids))


def make_judge(quality: str | None, cohorts: Cohorts, problem: Problem, num_trajectories: int) -> Judge | None:
    """The judge of all cohorts, stacked, for a kind of decision quality."""
    if quality is None:
        return None
    discount = problem.discount
    return _judge_at(quality, num_trajectories, float(discount), str(discount.dtype))(cohorts, problem)


@functools.cache
def _judge_at(quality: str, num_trajectories: int, discount: float, dtype: str) -> Callable[[Cohorts, Problem], Judge]:
    """What makes the judges at a discount, compiled: shared by all calls with the same shapes."""
    steps, known = default_horizon(discount), jnp.asarray(discount, dtype)
    simulated = num_trajectories if quality == "joint" else 1

    @eqx.filter_jit
    def of_all(cohorts: Cohorts, problem: Problem) -> Judge:
        at_discount = eqx.tree_at(lambda problem: problem.discount, problem, known)

        def of_cohort(cohort: Cohorts) -> Judge:
            if quality == "decomposed":
                return DecomposedJudge(cohort, at_discount)
            return JointJudge(cohort, at_discount, num_trajectories, steps)

        judges: Judge = over_cohorts(of_cohort, cohorts, cohorts.num_arms, simulated)
        return judges

    return of_all
