"""What a planner's calls would be worth to people it has not seen, beside what programmes do without one."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import polars as pl
from jaxtyping import Float

from armwise.data import Features
from armwise.evaluation import Quality, priority_decision_quality
from armwise.planning.fitting import Material
from armwise.planning.scoring import predict, predict_indices
from armwise.rmab import Problem, RandomCalls, RoundRobin

POLICIES = {
    "armwise": "the Whittle index of the predicted chain",
    "least likely to engage": "whoever is least likely to be engaged next, by the same predictions",
    "disengaged first": "whoever was in the lowest state when last observed, equals by lot",
    "round robin": "everyone in turn",
    "random": "drawn by lot",
}


class PolicyQuality(NamedTuple):
    """How one way to choose whom to call did.

    Attributes:
        policy: a name in ``POLICIES``.
        quality: what its calls gain over no calls, as a share of what calls by the true chains would.
        standard_error: of the quality, over cohorts; NaN with a single one.
        gain: discounted reward (by default: weeks of engagement) gained per 100 people over no calls.
        budget_use: share of the budget that it spent.
        lead: how much more armwise gains per 100 people, on the same people with the same luck; 0 for armwise itself.
        lead_error: standard error of the lead, over cohorts; NaN with a single one.
    """

    policy: str
    quality: float
    standard_error: float
    gain: float
    budget_use: float
    lead: float = float("nan")
    lead_error: float = float("nan")


class Evaluation(NamedTuple):
    """Ways to choose whom to call, compared by simulation on the same people with the same luck.

    Attributes:
        policies: one result for each way.
        num_cohorts: cohorts that the people were divided into.
        cohort_size: people in each.
        budget: calls in each, per step.
        num_trajectories: simulated runs of each cohort.
    """

    policies: tuple[PolicyQuality, ...]
    num_cohorts: int
    cohort_size: int
    budget: int
    num_trajectories: int

    @property
    def table(self) -> pl.DataFrame:
        """One row per policy."""
        return pl.DataFrame([policy._asdict() for policy in self.policies])

    def __str__(self) -> str:
        lines = [f"{'whom to call':24}  quality         gain per 100 people  budget used"]
        for each in self.policies:
            quality = f"{each.quality:6.3f} ± {each.standard_error:.3f}"
            lines.append(f"{each.policy:24} {quality}  {each.gain:19.2f}  {each.budget_use:10.0%}")
        return "\n".join(lines)


def judge(model: Any, material: Material, seed: int, num_trajectories: int) -> Evaluation:
    """Compare all policies on the cohorts of the material, taking their estimated transitions for the truth."""
    cohorts, problem, _ = material
    shape = cohorts.true_transitions.shape
    num_people = shape[0] * shape[1]
    people = jax.tree.map(lambda leaf: leaf.reshape(num_people, leaf.shape[2]), cohorts.features)
    predicted = predict(model, people).reshape(shape)
    priorities = _priorities(model, problem, people, predicted)
    key = jax.random.key(seed)
    qualities = {
        name: priority_decision_quality(
            key, order, cohorts.true_transitions, problem, cohorts.budget, num_trajectories, ids=cohorts.ids
        )
        for name, order in priorities.items()
    }
    results = [_summarise(name, quality, qualities["armwise"], shape[1]) for name, quality in qualities.items()]
    return Evaluation(tuple(results), shape[0], shape[1], int(cohorts.budget[0]), num_trajectories)


def _priorities(
    model: Any, problem: Problem, people: Features, predicted: Float[np.ndarray, "cohorts people states 2 states"]
) -> dict[str, Any]:
    """Who comes first under each policy: a number for each person and state, or a schedule."""
    rewards, shape = np.asarray(problem.rewards), predicted.shape[:3]
    return {
        "armwise": predict_indices(model, problem, people).reshape(shape),
        "least likely to engage": -(predicted[..., 0, :] @ rewards),
        "disengaged first": np.broadcast_to(-rewards, shape),
        "round robin": RoundRobin(),
        "random": RandomCalls(),
    }


def _summarise(name: str, quality: Quality, armwise: Quality, cohort_size: int) -> PolicyQuality:
    gained = 100 * float(jnp.mean(quality.achieved - quality.never)) / cohort_size
    leads = 100 * np.asarray(armwise.achieved - quality.achieved, dtype=float) / cohort_size
    error, lead_error = float("nan"), float("nan")
    if len(leads) > 1:
        error, lead_error = float(quality.standard_error), float(leads.std(ddof=1) / len(leads) ** 0.5)
    used = float(jnp.mean(quality.budget_use))
    return PolicyQuality(name, float(quality.normalised), error, gained, used, float(leads.mean()), lead_error)
