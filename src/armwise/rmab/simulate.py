"""Simulation of all arms together, week by week, under a budget of calls (Equation 3) or a given policy."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from armwise._validation import (
    ArrayLike,
    as_float_array,
    at,
    check_count,
    check_ids,
    check_key,
    check_transitions,
    check_two_actions,
    first_offender,
    is_concrete,
)
from armwise.errors import InvalidInputError
from armwise.rmab.choices import FixedPolicy, Rule, Schedule, rank_priorities
from armwise.rmab.problem import Problem, check_discount
from armwise.rmab.returns import check_arm_policy, check_fits
from armwise.rmab.rollout import Arms, Trace, run, run_traced, tabulate

NEGLIGIBLE_WEIGHT = 1e-3


def simulate(
    key: PRNGKeyArray,
    transitions: ArrayLike,
    priorities: ArrayLike | Schedule,
    problem: Problem,
    budget: ArrayLike,
    num_trajectories: int = 1000,
    horizon: int | None = None,
    *,
    ids: ArrayLike | None = None,
) -> Float[Array, " trajectories"]:
    """Discounted return of all arms together, acting at each step on the ``budget`` arms of highest priority (Eq. 3).

    With Whittle indices as priorities this is the Whittle policy, and its mean return is the joint decision quality of
    the paper. The same key gives every policy the same luck (common random numbers), so differences between policies
    are far more precise than each return. For many cohorts use ``jax.vmap`` or ``jax.lax.map``.

    Args:
        key: a JAX random key.
        transitions: ``[arms, states, 2, states]``, the chains that the arms really follow.
        priorities: ``[arms, states]``, highest first; an arm in a state of priority ``-inf`` is never acted on. Or
            ``RoundRobin()``, ``RandomCalls()`` or ``LongestFirst()``.
        problem: rewards, discount and first states.
        budget: how many arms are acted on at each step; a budget above the number of arms acts on all of them.
        num_trajectories: how many independent runs. Memory does not grow with it.
        horizon: number of steps; by default until ``discount ** horizon < 1e-3``.
        ids: one integer in ``[0, 2³²)`` per arm, by default its row number. An arm's luck and its place among equal
            priorities depend only on its id and the key, so reordering rows with their ids changes nothing.

    Returns:
        The discounted sum of all arms' rewards in each trajectory, ``[num_trajectories]``.

    Example:
        >>> transitions = np.array([[[[0.9, 0.1], [0.4, 0.6]], [[0.5, 0.5], [0.2, 0.8]]]] * 20)
        >>> problem = Problem(discount=0.9)
        >>> priorities = np.zeros((20, 2))
        >>> called = simulate(jax.random.key(0), transitions, priorities, problem, budget=5)
        >>> nobody = simulate(jax.random.key(0), transitions, priorities, problem, budget=0)
        >>> bool((called >= nobody).all())
        True
    """
    return simulate_spend(key, transitions, priorities, problem, budget, num_trajectories, horizon, ids)[0]


def simulate_spend(
    key: PRNGKeyArray,
    transitions: ArrayLike,
    priorities: ArrayLike | Schedule,
    problem: Problem,
    budget: ArrayLike,
    num_trajectories: int,
    horizon: int | None,
    ids: ArrayLike | None,
) -> tuple[Float[Array, " trajectories"], Float[Array, " trajectories"]]:
    """The discounted sums of all arms' rewards, as in ``simulate``, and of their costs, in each trajectory."""
    arms, order, count, steps = _prepare(key, transitions, problem, num_trajectories, horizon, ids)
    return run(arms, _rule(priorities, budget, arms, order, steps), count, steps)


def simulate_policy(
    key: PRNGKeyArray,
    transitions: ArrayLike,
    policy: ArrayLike,
    problem: Problem,
    num_trajectories: int = 1000,
    horizon: int | None = None,
    *,
    ids: ArrayLike | None = None,
) -> tuple[Float[Array, " trajectories"], Float[Array, " trajectories"]]:
    """Discounted reward and budget of a given policy per arm, by simulation; any number of actions.

    ``fixed_policy_returns`` computes the exact expectation. The same key gives the same luck as in ``simulate``.

    Args:
        key: a JAX random key.
        transitions: ``[arms, states, actions, states]``.
        policy: integers ``[arms, states]``, the action each arm takes in each state; zeros act on no one.
        problem: rewards, discount, first states and costs.
        num_trajectories: how many independent runs.
        horizon: number of steps; by default until ``discount ** horizon < 1e-3``.
        ids: as in ``simulate``.

    Returns:
        The discounted sums over all arms of rewards and of costs, each ``[num_trajectories]``.
    """
    arms, order, count, steps = _prepare(key, transitions, problem, num_trajectories, horizon, ids)
    chosen = check_arm_policy(policy, check_transitions(transitions)).astype(jnp.int32)
    return run(arms, FixedPolicy(chosen[order]), count, steps)


def simulate_trace(
    key: PRNGKeyArray,
    transitions: ArrayLike,
    priorities: ArrayLike | Schedule,
    problem: Problem,
    budget: ArrayLike,
    num_trajectories: int = 1,
    horizon: int | None = None,
    *,
    ids: ArrayLike | None = None,
) -> Trace:
    """Each arm's state and action at each step of the run of ``simulate`` with the same arguments.

    Memory grows with arms × trajectories × steps: two bytes for each, three with more than 128 states.

    Args:
        key: a JAX random key; the trajectories are those of ``simulate`` with this key.
        transitions: ``[arms, states, 2, states]``.
        priorities: ``[arms, states]``, ``RoundRobin()``, ``RandomCalls()`` or ``LongestFirst()``.
        problem: rewards, discount and first states.
        budget: how many arms are acted on at each step.
        num_trajectories: how many independent runs.
        horizon: number of steps; by default until ``discount ** horizon < 1e-3``.
        ids: as in ``simulate``.

    Returns:
        The states before acting and the actions, each ``[num_trajectories, steps, arms]``, arms in the order given.
    """
    arms, order, count, steps = _prepare(key, transitions, problem, num_trajectories, horizon, ids)
    trace = run_traced(arms, _rule(priorities, budget, arms, order, steps), count, steps)
    return jax.tree.map(lambda values: values[:, :, jnp.argsort(order)], trace)


def default_horizon(discount: float) -> int:
    """The number of steps until a reward weighs less than 0.001 times the first reward.

    Example:
        >>> default_horizon(0.9)
        66
    """
    check_discount(as_float_array("discount", discount))
    return 1 if discount == 0 else max(1, math.floor(math.log(NEGLIGIBLE_WEIGHT) / math.log(discount)) + 1)


def _prepare(
    key: PRNGKeyArray,
    transitions: ArrayLike,
    problem: Problem,
    num_trajectories: int,
    horizon: int | None,
    ids: ArrayLike | None,
) -> tuple[Arms, Int[Array, " arms"], int, int]:
    """The arms in the order of their ids, the row numbers in that order, and the numbers of trajectories and steps."""
    array = check_transitions(transitions)
    check_fits(problem, array)
    check_key(key)
    count = check_count("num_trajectories", num_trajectories, minimum=1)
    steps = check_horizon(horizon, problem)
    identity = check_ids(ids, array.shape[:1])
    # Float sums depend on their order. Adding arms in the order of their ids makes the row order irrelevant.
    order = jnp.argsort(identity)
    return tabulate(key, array, problem, identity, order), order, count, steps


def check_horizon(horizon: int | None, problem: Problem) -> int:
    """The given number of steps, or ``default_horizon`` of the problem's discount."""
    if horizon is not None:
        return check_count("horizon", horizon, minimum=1)
    if not is_concrete(problem.discount):
        raise InvalidInputError("horizon cannot be derived from a discount that is being traced: pass horizon.")
    return default_horizon(float(problem.discount))


def _rule(
    priorities: ArrayLike | Schedule, budget: ArrayLike, arms: Arms, order: Int[Array, " arms"], num_steps: int
) -> Rule:
    num_arms, num_states = arms.next.shape[0], arms.next.shape[2]
    check_two_actions("Choosing by priority", arms.costs.shape[0])
    count = budget if isinstance(budget, jax.core.Tracer) else min(check_count("budget", budget, minimum=0), num_arms)
    if isinstance(priorities, Schedule):
        return priorities.rule(arms.words, jnp.asarray(count), num_steps, arms.rewards)
    array = check_priorities(priorities, (num_arms, num_states))
    return rank_priorities(array[order], arms.words[:, 0], jnp.asarray(count))


def check_priorities(priorities: ArrayLike, shape: tuple[int, ...]) -> Float[Array, "*cohorts arms states"]:
    """The priorities as an array of the given shape; refuses NaN."""
    array = as_float_array("priorities", priorities)
    if array.shape != shape:
        raise InvalidInputError(
            f"priorities must have the shape {list(shape)}, one for each state of each arm, not {list(array.shape)}."
        )
    if is_concrete(array) and bool(jnp.any(jnp.isnan(array))):
        index = first_offender(np.isnan(np.asarray(array)))
        raise InvalidInputError(
            f"priorities must be numbers, but {at(index, 'cohort', 'arm', 'state')} has nan. Use -inf for never."
        )
    return array
