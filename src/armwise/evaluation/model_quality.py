"""Measure how good a model's decisions are on some cohorts, compared with rules of thumb: ``evaluate``."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from armwise._validation import check_count, check_key
from armwise.data import Cohorts, Domain, Features, Splits
from armwise.errors import InvalidInputError
from armwise.evaluation.decision_quality import JointReturns, Priorities, SimulatedCohort, Transitions, all_indices
from armwise.evaluation.quality import Quality, check_cohorts, decomposed_decision_quality, quality_of
from armwise.rmab import LongestFirst, Problem, RandomCalls, RoundRobin
from armwise.rmab.simulate import check_horizon

WAYS = ("model", "random", "round robin", "disengaged first", "never", "perfect predictions")


class ModelQuality(NamedTuple):
    """How good a model's decisions are, compared with rules of thumb on the same people and random draws.

    Attributes:
        joint: the simulated quality of each way to choose whom to call, by name: "model"; "random", "round robin" and
            "disengaged first", as in ``rules_of_thumb``; "never", which is 0, and "perfect predictions", which is 1.
        decomposed: the model's exact quality, which the paper reports together with the joint one.
    """

    joint: dict[str, Quality]
    decomposed: Quality

    def __repr__(self) -> str:
        lines = [f"{'whom to call':24}joint quality    budget used"]
        for name, quality in self.joint.items():
            lines.append(f"{name:24}{_with_error(quality)}  {float(jnp.mean(quality.budget_use)):10.0%}")
        lines.append(f"{'model, decomposed':24}{_with_error(self.decomposed)}")
        return "\n".join(line.rstrip() for line in lines)


def evaluate(
    model: Callable[[Features], Any],
    cohorts: Cohorts | Splits | Domain,
    problem: Problem | None = None,
    *,
    key: PRNGKeyArray | None = None,
    num_trajectories: int = 1000,
    horizon: int | None = None,
) -> ModelQuality:
    """The decision quality of a model on cohorts that it has not learned from, compared with rules of thumb.

    Args:
        model: from ``Features`` to transitions ``[arms, states, 2, states]``, such as ``trained.model``.
        cohorts: to test on, with their budgets and true transitions; or a ``Domain``, to test on all its cohorts.
        problem: rewards, discount and first states; not needed with a ``Domain``.
        key: a JAX random key for the simulation, by default ``jax.random.key(0)``. All ways get the same random draws.
        num_trajectories: simulated runs of each cohort.
        horizon: steps of each run; by default until ``discount ** horizon < 1e-3``.

    Returns:
        Normalised quality (0: never act, 1: perfect predictions), with the returns behind it. It prints as a table.

    Example:
        >>> from armwise import Linear, evaluate, synthetic
        >>> domain = synthetic(0, num_cohorts=4, num_arms=20, width=50)
        >>> untrained = Linear(jax.random.key(0), domain.cohorts.features, num_states=2)
        >>> quality = evaluate(untrained, domain.cohorts, domain.problem, num_trajectories=100)
        >>> print(quality)
        whom to call            joint quality    budget used
        model                   ...
        >>> float(quality.joint["never"].normalised), float(quality.joint["perfect predictions"].normalised)
        (0.0, 1.0)
    """
    check_model(model)
    people, problem = with_problem(cohorts, problem)
    if isinstance(people, Splits):
        raise InvalidInputError("cohorts must be one side of the Splits: evaluate(model, splits.test, problem).")
    key = jax.random.key(0) if key is None else key
    check_key(key)
    given = (jax.vmap(model)(people.features), people.true_transitions, problem)
    predicted, true = check_cohorts(*given)
    count, steps = check_count("num_trajectories", num_trajectories, minimum=1), check_horizon(horizon, problem)
    joint = _joint_qualities(key, predicted, people, problem, count, steps)
    joint = {name: joint[name] for name in WAYS}  # a compiled function returns them in alphabetical order
    return ModelQuality(joint, decomposed_decision_quality(predicted, true, problem, people.budget))


def check_model(model: Any) -> None:
    """Refuse what ``train`` returns in place of the model that it holds."""
    if not callable(model):
        name = type(model).__name__
        raise InvalidInputError(f"model must be a function of Features, such as trained.model of train, not {name}.")


@eqx.filter_jit
def _joint_qualities(
    key: PRNGKeyArray,
    predicted: Transitions,
    cohorts: Cohorts,
    problem: Problem,
    num_trajectories: int,
    num_steps: int,
) -> dict[str, Quality]:
    """The joint quality of all ways to choose. What depends only on the true data is simulated once for all of them."""
    keys, everyone = jax.random.split(key, cohorts.num_cohorts), jnp.arange(cohorts.num_cohorts)
    simulated = SimulatedCohort(keys, cohorts.true_transitions, cohorts.budget, cohorts.ids)
    returns = JointReturns(simulated, problem, num_trajectories, num_steps)
    ways: dict[str, Priorities] = {
        "model": all_indices(predicted, problem),
        "random": RandomCalls(),
        "round robin": RoundRobin(),
        "disengaged first": LongestFirst(),
        "never": jnp.full(predicted.shape[:3], -jnp.inf),
        "perfect predictions": all_indices(cohorts.true_transitions, problem),
    }
    return {name: quality_of(returns, everyone, returns.of_priorities(everyone, way)) for name, way in ways.items()}


def with_problem(cohorts: Any, problem: Any) -> tuple[Any, Problem]:
    """Cohorts and their problem. A Domain stands for all its cohorts and its problem."""
    if isinstance(cohorts, Domain):
        if problem is not None:
            raise InvalidInputError("A Domain brings its own problem. Pass domain.cohorts to use another one.")
        return cohorts.cohorts, cohorts.problem
    if problem is None:
        raise InvalidInputError(
            "problem is missing: pass problem=domain.problem, or your own, such as "
            "Problem(rewards=[0, 1], discount=0.9); or pass a Domain in place of cohorts."
        )
    if not isinstance(problem, Problem):
        raise InvalidInputError(f"problem must be an armwise.Problem, not {type(problem).__name__}.")
    return cohorts, problem


def _with_error(quality: Quality) -> str:
    error = float(quality.standard_error) if quality.achieved.shape[-1] > 1 else float("nan")
    return f"{float(quality.normalised):6.3f} ± {error:.3f}"
