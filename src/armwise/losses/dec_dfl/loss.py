"""DEC-DFL: decision quality without simulation, by mixing per-arm policies under one budget (Algorithm 1).

"Fast" DEC-DFL is a property of the mixture, not of the loss: with ``EntropyMixture`` this is the paper's Fast DEC-DFL,
with ``CvxpyMixture`` its DEC-DFL.
"""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Int32, PRNGKeyArray

from armwise import native
from armwise._hardware import on_cpu
from armwise._validation import ArrayLike, check_budget, check_transitions
from armwise.errors import InvalidInputError
from armwise.losses.dec_dfl import fused
from armwise.losses.loss import Loss, check_prepared, check_same_shape
from armwise.mixtures import EntropyMixture, Mixture, MixtureSolution
from armwise.rmab import Problem, all_policies, policy_returns, threshold_policies
from armwise.rmab.index_policies import index_policy_returns
from armwise.rmab.whittle import departure_places

Transitions = Float[Array, "arms states actions states"]
Places = Int32[Array, "arms states"] | None  # of each state in its arm's order; None where no order is needed
POLICY_SETS = ("all", "threshold", "index", "near-index")
UNITS = ("return", "spread")


class PreparedReturns(NamedTuple):
    """What Algorithm 1 needs of the truth: it never changes, so it is computed once.

    Stored the way the mixtures compute, with the arms innermost.
    """

    rewards: Float[Array, "policies arms"]  # J under the true transitions: what a mixture is really worth
    spend: Float[Array, "policies arms"]  # J̄ under the true transitions: what it really spends
    discounted_budget: Float[Array, ""]
    measured: Any  # what the mixture has to know of the true spend and the budget
    unit: Float[Array, ""] | None  # of the temperature; None where it is a return's
    problem: Problem
    places: Places = None

    @property
    def reward_returns(self) -> Float[Array, "arms policies"]:
        """J under the true transitions."""
        return self.rewards.T

    @property
    def budget_returns(self) -> Float[Array, "arms policies"]:
        """J̄ under the true transitions."""
        return self.spend.T


class DecDFL(Loss):
    """The negative return, averaged over arms, of the mixture that the predictions make us choose (Algorithm 1).

    The predictions decide which policies look good; the truth decides what they spend and what they are worth. With
    ``constraint="true"`` (Equation 7) the true transitions minimise the loss without a regulariser (Theorem 2). With
    ``constraint="predicted"`` (Hawkins 2003; Equation 5) spend is predicted too: a prediction can then "buy" budget
    by pretending that its policies are cheap, and the truth is no longer a minimiser (Theorem 1). It is here to show
    that.

    Args:
        mixture: the decision layer, such as ``EntropyMixture(0.1)``.
        constraint: under which transitions the mixture keeps to the budget, "true" or "predicted".
        policies: which per-arm policies are mixed. "all" 2^S of them, as long as time and memory allow: to 10 states
            or so. "near-index" beyond: the S² − S + 2 policies that act in each arm's states in the order of its true
            Whittle indices, but for at most one state. Their optimum is that of all policies (of indexable arms), and
            of the smaller sets they teach the most, though less than all (``docs/performance.md``). "index", the S + 1
            in that order alone, has the same optimum but teaches no prediction the order; "threshold" are the S + 1 in
            the order of engagement.
        budget_share: train as if there were this multiple of the budget. A loss for several budgets at once is a sum
            of such: ``0.5 * DecDFL(mixture, budget_share=0.5) + 0.5 * DecDFL(mixture, budget_share=2.0)``.
        unit: what the mixture's temperature is measured in: a "return", as in the paper, or the "spread" of the true
            returns of an arm's policies, whatever the size of the rewards.
    """

    mixture: Mixture
    constraint: str = eqx.field(static=True, default="true")
    policies: str = eqx.field(static=True, default="all")
    budget_share: float = eqx.field(static=True, default=1.0)
    unit: str = eqx.field(static=True, default="return")

    def __check_init__(self) -> None:
        if not isinstance(self.mixture, Mixture):
            raise InvalidInputError(f"mixture must be a mixture, such as EntropyMixture(0.1), not {self.mixture!r}.")
        for name, value, allowed in (
            ("constraint", self.constraint, ("true", "predicted")),
            ("policies", self.policies, POLICY_SETS),
            ("unit", self.unit, UNITS),
        ):
            if value not in allowed:
                raise InvalidInputError(f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}.")
        if not 0 < self.budget_share < float("inf"):
            raise InvalidInputError(f"budget_share must be a finite number above 0, not {self.budget_share}.")

    def prepare(
        self,
        true_transitions: ArrayLike,
        problem: Problem,
        budget: ArrayLike,
        *,
        counts: ArrayLike | None = None,
        ids: ArrayLike | None = None,
    ) -> PreparedReturns:
        """Returns of every policy under the true transitions, and the discounted budget B / (1 − γ)."""
        del counts, ids
        true = check_transitions(true_transitions)
        places = state_places(self.policies, true, problem)
        rewards, spend = returns_of(self.policies, true, problem, places)
        share = jnp.asarray(self.budget_share, true.dtype)
        discounted = share * check_budget(budget).astype(true.dtype) / (1 - problem.discount.astype(true.dtype))
        measured = self.mixture.measure(spend, discounted) if self.constraint == "true" else None
        unit = spread(rewards) if self.unit == "spread" else None
        return PreparedReturns(rewards.T, spend.T, discounted, measured, unit, problem, places)

    def __call__(
        self, predicted_transitions: ArrayLike, prepared: PreparedReturns, key: PRNGKeyArray | None = None
    ) -> Float[Array, ""]:
        """The negative mean return, under the true transitions, of what the predictions choose."""
        del key
        check_prepared(prepared, PreparedReturns, self)
        value = _one_call if _is_one_call(self, predicted_transitions, prepared) else _by_solution
        return value(self, predicted_transitions, prepared)

    def solve(self, predicted_transitions: ArrayLike, prepared: PreparedReturns) -> MixtureSolution:
        """The mixture that the predictions choose, with its price and status."""
        check_prepared(prepared, PreparedReturns, self)
        predicted = check_transitions(predicted_transitions)
        rewards, spend = returns_of(self.policies, predicted, prepared.problem, prepared.places)
        check_same_shape(
            "returns of predicted_transitions", rewards.shape, "those prepared", prepared.budget_returns.shape
        )
        if prepared.unit is not None:
            # A temperature in other units is returns in these units: the same mixture, at a price in these units.
            rewards = rewards / prepared.unit
        if self.constraint == "predicted":
            solution = self.mixture(rewards, spend, prepared.discounted_budget)
        else:
            known = (prepared.budget_returns, prepared.discounted_budget, prepared.measured)
            solution = self.mixture.solve_measured(rewards, *known)
        if prepared.unit is None:
            return solution
        in_returns = {name: getattr(solution, name) * prepared.unit for name in ("budget_price", "gap")}
        return dataclasses.replace(solution, **in_returns)


def _by_solution(loss: DecDFL, predicted_transitions: ArrayLike, prepared: PreparedReturns) -> Float[Array, ""]:
    solution = loss.solve(predicted_transitions, prepared)
    return -jnp.mean(jnp.sum(solution.mixture.T * prepared.rewards, axis=0))


def _is_one_call(loss: DecDFL, predicted_transitions: ArrayLike, prepared: PreparedReturns) -> bool:
    """Whether value and gradient can be had at once: inside `jit`, `vmap` or `grad`, where it matters.

    On a CPU by a native kernel, on an accelerator row by row. Outside, values can be looked at and a problem without a
    solution is an error, which is for `solve` to raise.
    """
    if not isinstance(predicted_transitions, jax.core.Tracer):
        return False
    if not (isinstance(loss.mixture, EntropyMixture) and loss.constraint == "true"):
        return False
    if prepared.places is not None or prepared.unit is not None:  # for `solve` alone
        return False
    shape, dtype = predicted_transitions.shape, predicted_transitions.dtype
    policies, arms = prepared.rewards.shape
    fits = len(shape) == 4 and shape == (arms, prepared.problem.num_states, len(prepared.problem.costs), shape[1])
    if not (fits and prepared.rewards.dtype == dtype):
        return False
    if on_cpu():
        return native.is_available(dtype, shape[1], shape[2], policies)
    return policies <= fused.MOST_POLICIES


@jax.custom_vjp
def _one_call(loss: DecDFL, predicted: Float[Array, "..."], prepared: PreparedReturns) -> Float[Array, ""]:
    """The loss by a call that computes the gradient with it."""
    return _value_and_gradient(loss, predicted, prepared)[0]


def _value_and_gradient(loss: DecDFL, predicted: Array, prepared: PreparedReturns) -> tuple[Array, Array]:
    by_solution = jax.value_and_grad(_by_solution, argnums=1)
    # A program may be placed on the CPU of a machine that has an accelerator, where no kernel was made for it.
    there = _by_kernel if on_cpu() else by_solution
    elsewhere = _by_rows if len(prepared.rewards) <= fused.MOST_POLICIES else by_solution
    return jax.lax.platform_dependent(loss, predicted, prepared, cpu=there, default=elsewhere)


def _by_kernel(loss: DecDFL, predicted: Array, prepared: PreparedReturns) -> tuple[Array, Array]:
    value, gradient = native.loss_and_gradient(_kernel_inputs(loss, predicted, prepared))
    return value, jnp.moveaxis(gradient, -1, 0)


def _by_rows(loss: DecDFL, predicted: Array, prepared: PreparedReturns) -> tuple[Array, Array]:
    assert isinstance(loss.mixture, EntropyMixture)
    policies = policies_of(loss.policies, *predicted.shape[1:3])
    return fused.loss_and_gradient(
        predicted,
        prepared.rewards,
        jax.tree.map(lambda known: known.astype(predicted.dtype), prepared.measured),
        jnp.asarray(loss.mixture.temperature, predicted.dtype),
        prepared.problem,
        policies,
    )


def _kernel_inputs(loss: DecDFL, predicted: Array, prepared: PreparedReturns) -> native.Inputs:
    mixture, problem, measured = loss.mixture, prepared.problem, prepared.measured
    assert isinstance(mixture, EntropyMixture)
    numbers = [problem.discount, mixture.temperature, measured.left, measured.widest]
    per_state = (value.T for value in jnp.broadcast_arrays(problem.rewards, problem.initial))
    known = [jnp.asarray(value, predicted.dtype).reshape(-1) for value in (*numbers, *per_state)]
    spend = measured.spend.astype(predicted.dtype)
    return native.Inputs(jnp.moveaxis(predicted, 0, -1), prepared.rewards, spend, jnp.concatenate(known))


def _forward(loss, predicted, prepared):  # type: ignore[no-untyped-def]
    """The value and the gradient that came with it, which is that of the predictions.

    If another is asked for, such as the temperature's, everything is computed with JAX.
    """
    given = jax.tree.map(lambda leaf: leaf.value, (loss, predicted, prepared))
    if any(leaf.perturbed for leaf in jax.tree.leaves((loss, prepared))):
        return jax.vjp(_by_solution, *given)
    return _value_and_gradient(*given)


def _backward(saved, cotangent):  # type: ignore[no-untyped-def]
    return saved(cotangent) if callable(saved) else (None, cotangent * saved, None)


_one_call.defvjp(_forward, _backward, symbolic_zeros=True)


def spread(returns: Float[Array, "arms policies"]) -> Float[Array, ""]:
    """How far apart the returns of an arm's policies are: their standard deviation, averaged over arms; never 0."""
    return jnp.maximum(jnp.mean(jnp.std(returns, axis=-1)), jnp.finfo(returns.dtype).tiny)


def state_places(name: str, true_transitions: Transitions, problem: Problem) -> Places:
    """The true order of each arm's states, where its policies depend on it: the same for all predictions."""
    return departure_places(true_transitions, problem) if "index" in name else None


def returns_of(
    name: str, transitions: Transitions, problem: Problem, places: Places
) -> tuple[Float[Array, "arms policies"], Float[Array, "arms policies"]]:
    """The reward and budget returns of the per-arm policies that a loss mixes."""
    if places is not None:
        return index_policy_returns(transitions, problem, places, neighbours=name == "near-index")
    return policy_returns(transitions, problem, policies_of(name, *transitions.shape[1:3]))


def policies_of(name: str, num_states: int, num_actions: int) -> Int[np.ndarray, "policies states"]:
    """The policies of a set that is the same for all arms."""
    return threshold_policies(num_states) if name == "threshold" else all_policies(num_states, num_actions)
