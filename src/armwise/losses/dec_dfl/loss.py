"""DEC-DFL: decision quality without simulation, by mixing per-arm policies under one budget (Algorithm 1).

The mixture decides whether it is "fast": with ``EntropyMixture`` this is the paper's Fast DEC-DFL, with
``CvxpyMixture`` its DEC-DFL.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from armwise._validation import ArrayLike, check_transitions, is_staging
from armwise.errors import InvalidInputError
from armwise.losses.dec_dfl import reference
from armwise.losses.dec_dfl.backends import BACKENDS, REFERENCE, Case, Choice, choose, compile_kernel, value_by
from armwise.losses.dec_dfl.reference import PreparedReturns, negative_return
from armwise.losses.loss import Loss, check_prepared
from armwise.losses.policy_sets import POLICY_SETS, UNITS, num_policies, returns_of, spread, state_ranks
from armwise.losses.truth import CohortTruth
from armwise.mixtures import Mixture, MixtureSolution


class DecDFL(Loss):
    """The negative return, averaged over arms, of the mixture of policies that the predictions choose (Algorithm 1).

    The predictions decide which policies look good. The truth decides what they spend and what they are worth. With
    ``constraint="true"`` (Equation 7) the true transitions minimise the loss without a regulariser (Theorem 2). With
    ``constraint="predicted"`` (Hawkins 2003; Equation 5) spend is predicted too. A prediction can then "buy" budget
    by making its policies look cheap, and the truth is no longer a minimiser (Theorem 1). This option exists to show
    that.

    Args:
        mixture: the decision layer, such as ``EntropyMixture(0.1)``.
        constraint: the transitions under which the mixture keeps to the budget, "true" or "predicted".
        policies: the per-arm policies to mix. "all" are the 2^S policies; time and memory allow them up to about 10
            states. Use "near-index" for more states: the S² − S + 2 policies that act in each arm's states in the
            order of its true Whittle indices, except in at most one state. Their optimum is that of all policies (of
            indexable arms). Of the smaller sets they teach the most, though less than "all"
            (``docs/performance.md``). "index" are the S + 1 policies exactly in that order: the same optimum, but no
            prediction learns the order from them. "threshold" are the S + 1 policies in the order of engagement.
        budget_multiple: train as if the budget were this many times as large. For several budgets at once, add losses:
            ``0.5 * DecDFL(mixture, budget_multiple=0.5) + 0.5 * DecDFL(mixture, budget_multiple=2.0)``.
        unit: of the mixture's temperature: a "return", as in the paper, or the "spread" of the true returns of an
            arm's policies, which does not depend on the size of the rewards.
        backend: what computes the loss. "reference" serves every case, in JAX. "native" (a C++ kernel for CPUs) and
            "fused" (for accelerators and few policies) compute the loss and its gradient in one call. They serve some
            cases only (``backends.py`` has the table) and do not raise if a problem has no solution. "auto" takes the
            fastest backend that serves the case; outside of ``jit``, ``vmap`` and ``grad`` it takes the reference.
    """

    mixture: Mixture
    constraint: str = eqx.field(static=True, default="true")
    policies: str = eqx.field(static=True, default="all")
    budget_multiple: float = eqx.field(static=True, default=1.0)
    unit: str = eqx.field(static=True, default="return")
    backend: str = eqx.field(static=True, default="auto")

    def __check_init__(self) -> None:
        if not isinstance(self.mixture, Mixture):
            raise InvalidInputError(f"mixture must be a mixture, such as EntropyMixture(0.1), not {self.mixture!r}.")
        for name, value, allowed in (
            ("constraint", self.constraint, ("true", "predicted")),
            ("policies", self.policies, POLICY_SETS),
            ("unit", self.unit, UNITS),
            ("backend", self.backend, BACKENDS),
        ):
            if value not in allowed:
                raise InvalidInputError(f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}.")
        if not 0 < self.budget_multiple < float("inf"):
            raise InvalidInputError(f"budget_multiple must be a finite number above 0, not {self.budget_multiple}.")

    def prepare(self, truth: CohortTruth) -> PreparedReturns:
        """Returns of every policy under the true transitions, and the discounted budget B / (1 − γ)."""
        true, problem = truth.transitions, truth.problem
        ranks = state_ranks(self.policies, true, problem)
        reward_returns, budget_returns = returns_of(self.policies, true, problem, ranks)
        multiple = jnp.asarray(self.budget_multiple, true.dtype)
        discounted = multiple * truth.budget.astype(true.dtype) / (1 - problem.discount.astype(true.dtype))
        measured = self.mixture.measure(budget_returns, discounted) if self.constraint == "true" else None
        unit = spread(reward_returns) if self.unit == "spread" else None
        if not is_staging():
            self.compile_ahead(true.shape[1], true.shape[2], true.dtype)
        return PreparedReturns(reward_returns.T, budget_returns.T, discounted, measured, unit, problem, ranks)

    def compile_ahead(self, num_states: int, num_actions: int, dtype: jnp.dtype) -> None:
        """See ``Loss``: compiles the native kernel if this loss can use it."""
        policies = num_policies(self.policies, num_states, num_actions)
        compile_kernel(self.backend, self._case(num_states, num_actions, policies, dtype, dtype))

    def __call__(
        self, predicted_transitions: ArrayLike, prepared: PreparedReturns, key: PRNGKeyArray | None = None
    ) -> Float[Array, ""]:
        """The negative mean return, under the true transitions, of what the predictions choose."""
        del key
        check_prepared(prepared, PreparedReturns, self)
        if self.backend != "auto":
            predicted_transitions = check_transitions(predicted_transitions)
        choice = self._choice(predicted_transitions, prepared)
        if choice == REFERENCE:
            return negative_return(self.mixture, self.constraint, self.policies, predicted_transitions, prepared)
        return value_by(choice, self.policies, self.mixture, jnp.asarray(predicted_transitions), prepared)

    def solve(self, predicted_transitions: ArrayLike, prepared: PreparedReturns) -> MixtureSolution:
        """The mixture that the predictions choose, with its price and status."""
        check_prepared(prepared, PreparedReturns, self)
        return reference.solve(self.mixture, self.constraint, self.policies, predicted_transitions, prepared)

    def _choice(self, predicted_transitions: ArrayLike, prepared: PreparedReturns) -> Choice:
        # Outside of tracing, values are known, so the reference can raise an error if a problem has no solution.
        if self.backend == "auto" and not isinstance(predicted_transitions, jax.core.Tracer):
            return REFERENCE
        problem, (policies, arms) = prepared.problem, prepared.reward_rows.shape
        shape = arms, problem.num_states, len(problem.costs), problem.num_states
        if np.shape(predicted_transitions) != shape:
            return REFERENCE  # its error says what is wrong with the shape
        dtypes = jnp.result_type(predicted_transitions), prepared.reward_rows.dtype
        return choose(self.backend, self._case(shape[1], shape[2], policies, *dtypes))

    def _case(self, states: int, actions: int, policies: int, dtype: jnp.dtype, true_dtype: jnp.dtype) -> Case:
        settings = self.mixture, self.constraint, self.policies, self.unit
        return Case(*settings, states, actions, policies, jnp.dtype(dtype), jnp.dtype(true_dtype))
