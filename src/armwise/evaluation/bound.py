"""An upper bound on what any rule for choosing whom to call could earn: the fluid, or linear-programme, bound.

Equation 1 allows every rule that looks at all arms and their past and spends at most B at each step. Two facts make its
optimum easy to bound:

- Such a rule also spends at most B / (1 − γ) in all, later steps discounted, on average: the relaxed budget of
  Equation 7. Whatever keeps to the first budget keeps to the second, so the best under the second is at least as good.
- The arms move independently given their actions. So whatever the rule, each arm's expected discounted visits to
  (state, action) satisfy the balance equations of that arm alone, and reward and spend are linear in them. The corners
  of the set of such visits are the arm's stationary deterministic policies (Altman 1999, Theorem 3.2): mixtures of
  these policies, Equation 9 without a regulariser and with T̂ = T, reach the optimum.

Read from the dual (Equation 10 without a regulariser), every price of budget gives a bound: the price times the budget,
plus what each arm is worth if it pays that price itself. Rounding in the price can therefore only loosen the bound.
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
    """The most that any rule could earn that spends at most the budget at each step, without a limit of time.

    The rule may know the true transitions, all states, and everything that has happened. The Whittle policy comes close
    to the bound where the arms are many; where they are few, no rule need reach it. All policies of an arm are
    enumerated, so this is for arms of up to 10 states or so.

    Args:
        true_transitions: ``[cohorts, arms, states, actions, states]``.
        problem: rewards, discount, first states and costs, shared by all cohorts.
        budget: what may be spent at each step, one number or ``[cohorts]``; calls, where a call costs 1.

    Returns:
        The bound on the expected discounted return of each cohort, all arms together, ``[cohorts]``.

    Example:
        No one ever engages without a call, a call always works. One call a week for four people: one of them can be
        engaged from the second week on, and stays so only if called again.

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
    """Finite numbers of at least 0, one per cohort; unlike calls, what is spent need not be whole."""
    budgets = as_float_array("budget", budget)
    if budgets.shape not in ((), (num_cohorts,)):
        raise InvalidInputError(f"budget must be one number or one per cohort, not of shape {list(budgets.shape)}.")
    if is_concrete(budgets) and not bool(jnp.all((budgets >= 0) & (budgets < jnp.inf))):
        raise InvalidInputError(f"budget must be a finite number of at least 0, not {budgets.tolist()}.")
    return jnp.broadcast_to(budgets, (num_cohorts,))
