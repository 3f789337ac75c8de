"""An upper bound on what any rule for choosing whom to call could earn: the fluid (linear-programme) bound.

Equation 1 allows every rule that looks at all arms and their past and spends at most B at each step. Two facts make its
optimum easy to bound:

- Such a rule also spends at most B / (1 − γ) in total, on average and with later steps discounted: the relaxed budget
  of Equation 7. Every rule that keeps to the first budget keeps to the second. So the best rule under the second budget
  is at least as good.
- The arms move independently given their actions. So under any rule, each arm's expected discounted visits to
  (state, action) satisfy the balance equations of that arm alone, and reward and spend are linear in them. The corners
  of the set of such visits are the arm's stationary deterministic policies (Altman 1999, Theorem 3.2). So mixtures of
  these policies, Equation 9 without a regulariser and with T̂ = T, reach the optimum.

In the dual (Equation 10 without a regulariser), every budget price gives a bound: the price times the budget, plus the
value of each arm if it pays that price itself. So a rounding error in the price can only loosen the bound.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from armwise._validation import ArrayLike, as_float_array, first_offender, is_concrete
from armwise.errors import InvalidInputError
from armwise.evaluation.decision_quality import PerCohort, Transitions
from armwise.evaluation.quality import check_cohorts
from armwise.losses import CohortTruth, DecDFL
from armwise.mixtures import LinearMixture
from armwise.rmab import Problem


def fluid_bound(true_transitions: ArrayLike, problem: Problem, budget: ArrayLike) -> PerCohort:
    """An upper bound on the return of any rule that spends at most the budget at each step, without a last step.

    The rule may know the true transitions, all states, and everything that has happened. With many arms, the Whittle
    policy comes close to the bound. With few arms, it may be that no rule reaches it. All policies of an arm are
    enumerated, so use this for arms of up to about 10 states.

    Args:
        true_transitions: ``[cohorts, arms, states, actions, states]``.
        problem: rewards, discount, first states and costs, shared by all cohorts.
        budget: what may be spent at each step, one number or ``[cohorts]``. If a call costs 1, this is the number of
            calls.

    Returns:
        The bound on the expected discounted return of each cohort, all arms together, ``[cohorts]``.

    Example:
        Without a call no one engages; a call always works. There is one call a week for four people. So one of them
        can be engaged from the second week on, and stays engaged only if called again.

        >>> import numpy as np
        >>> chain = [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]
        >>> problem = Problem(discount=0.5, initial=[1.0, 0.0])
        >>> fluid_bound(np.array([[chain] * 4]), problem, budget=1).tolist()  # 1/2 + 1/4 + …
        [1.0]
    """
    true, _ = check_cohorts(true_transitions, true_transitions, problem)
    budgets = _check_budgets(budget, len(true))
    bound, feasible = _bound(true, problem, budgets)
    if is_concrete(feasible) and not bool(jnp.all(feasible)):
        cohort = first_offender(~jax.device_get(feasible))[0]
        raise InvalidInputError(
            f"No rule can spend as little as {float(budgets[cohort]):g} at each step in cohort {cohort}: even the "
            "cheapest actions of all arms cost more. Raise budget."
        )
    return bound


@eqx.filter_jit
def _bound(true: Transitions, problem: Problem, budgets: PerCohort) -> tuple[PerCohort, Array]:
    loss = DecDFL(LinearMixture())

    def of_cohort(true: Float[Array, "arms states actions states"], budget: Float[Array, ""]) -> tuple[Array, Array]:
        prepared = loss.prepare(CohortTruth(true, problem, budget))
        solution = loss.solve(true, prepared)
        price = solution.budget_price
        net = prepared.reward_returns - price * prepared.budget_returns
        return price * prepared.discounted_budget + jnp.sum(jnp.max(net, axis=1)), solution.converged

    return jax.vmap(of_cohort)(true, budgets)


def _check_budgets(budget: ArrayLike, num_cohorts: int) -> PerCohort:
    """Finite numbers of at least 0, one per cohort. Unlike a number of calls, a spend need not be whole."""
    budgets = as_float_array("budget", budget)
    if budgets.shape not in ((), (num_cohorts,)):
        raise InvalidInputError(f"budget must be one number or one per cohort, not of shape {list(budgets.shape)}.")
    if is_concrete(budgets) and not bool(jnp.all((budgets >= 0) & (budgets < jnp.inf))):
        raise InvalidInputError(f"budget must be a finite number of at least 0, not {budgets.tolist()}.")
    return jnp.broadcast_to(budgets, (num_cohorts,))
