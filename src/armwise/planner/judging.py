"""What a planner's calls would be worth for people it has not seen, compared with what programmes do without it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import polars as pl
from jaxtyping import Float

from armwise._validation import check_count
from armwise.data import Features
from armwise.evaluation import Quality, priority_decision_quality
from armwise.evaluation.resampling import NUM_RESAMPLES
from armwise.planner.backtest import Backtest
from armwise.planner.base_planner import BasePlanner, seed_of
from armwise.planner.correction import PreparedCohorts
from armwise.planner.learning import make_cohorts, refuse_those_learned_from
from armwise.planner.learning_data import read_examples
from armwise.planner.past_lists import NUM_ORIGINS
from armwise.planner.refitting import backtest_planner
from armwise.planner.scoring import predict, predict_indices
from armwise.rmab import Problem, RandomCalls, RoundRobin

POLICIES = {
    "armwise": "the Whittle index of the predicted chain",
    "least likely to engage": "whoever is least likely to be engaged next, by the same predictions",
    "disengaged first": "whoever was in the lowest state when last observed, equals by lot",
    "round robin": "everyone in turn",
    "random": "drawn by lot",
}


class PolicyQuality(NamedTuple):
    """How well one way to choose whom to call did.

    Attributes:
        policy: a name in ``POLICIES``.
        quality: what its calls gain over no calls, as a share of what calls by the true chains would gain.
        standard_error: the standard error of the quality, over cohorts; NaN with a single cohort.
        gain: discounted reward (by default: weeks of engagement) gained per 100 people over no calls.
        budget_use: the share of the budget that it spent.
        lead: how much more armwise gains per 100 people, on the same people with the same luck; 0 for armwise itself.
        lead_error: the standard error of the lead, over cohorts; NaN with a single cohort.
    """

    policy: str
    quality: float
    standard_error: float
    gain: float
    budget_use: float
    lead: float = float("nan")
    lead_error: float = float("nan")


class Evaluation(NamedTuple):
    """A comparison of ways to choose whom to call, by simulation on the same people with the same luck.

    Attributes:
        policies: one result for each way.
        num_cohorts: how many cohorts the people were divided into.
        cohort_size: people in each cohort.
        budget: calls per step in each cohort.
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


def judge(model: Any, prepared: PreparedCohorts, seed: int, num_trajectories: int) -> Evaluation:
    """Compare all policies on prepared cohorts, with their estimated transitions as the truth."""
    cohorts, problem, _ = prepared
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
    """The order of calls under each policy: a priority for each person and state, or a schedule."""
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


class JudgedPlanner(BasePlanner):
    """The methods of ``OutreachPlanner`` that judge a planner."""

    def evaluate(self, people: Any, history: Any, *, ids: Any = None, num_trajectories: Any = 1000) -> Evaluation:
        """Judge a planner as in the paper: simulate calls on chains that are estimated from a history.

        Do not use it to judge a programme; use ``backtest``. The estimated chains count as the truth. Each person's
        chain is estimated from few of her own steps and from the pool of all people, those of ``fit`` included. So most
        of quality 1 is luck in these few steps, which no planner can know. Where calls do nothing, the gain is still
        above 0. Use it to compare losses as the paper does; ``score`` gives its result to scikit-learn.

        Every model predicts people from their features alone. People's own weeks are the truth here: a planner that
        had seen them would know the answers.

        The people must differ from those of ``fit``, because a planner looks too good on people it has learned from.
        Ids that ``fit`` saw are refused. A planner that was loaded, or fitted without ids, can only detect exactly the
        same table.

        Args:
            people: as in ``fit``.
            history: as in ``fit``.
            ids: as in ``fit``.
            num_trajectories: simulated runs of each cohort.
        """
        self._fitted()
        runs, states = check_count("num_trajectories", num_trajectories, minimum=1), self.problem_.num_states
        examples = read_examples(people, history, ids, self.id_column, states)
        refuse_those_learned_from(self, examples)
        return judge(self.model_, make_cohorts(self, examples, self.pool_), seed_of(self), runs)

    def score(self, people: Any, history: Any, *, ids: Any = None, num_trajectories: Any = 1000) -> float:
        """The quality of this planner's calls for these people: 0 for no calls, 1 for calls by the true chains.

        It is the joint decision quality that ``evaluate`` reports for "armwise", as one number. scikit-learn can choose
        parameters by it (``docs/planning.md``). scikit-learn splits rows, so row i of ``history`` must be the person of
        row i, as in ``Trajectories``.

        Args:
            people: as in ``fit``; people whom ``fit`` has not seen.
            history: as in ``fit``.
            ids: as in ``fit``.
            num_trajectories: simulated runs of each cohort.

        Example:
            >>> import numpy as np, armwise as aw
            >>> rng = np.random.default_rng(0)
            >>> history = aw.Trajectories.from_arrays(*rng.integers(0, 2, (2, 60, 6)))
            >>> phones = rng.integers(0, 2, (60, 1))
            >>> planner = aw.OutreachPlanner(cohort_size=5).fit(phones[:40], history[:40])
            >>> type(planner.score(phones[40:], history[40:], num_trajectories=10))
            <class 'float'>
        """
        evaluation = self.evaluate(people, history, ids=ids, num_trajectories=num_trajectories)
        return next(each.quality for each in evaluation.policies if each.policy == "armwise")

    def backtest(
        self,
        people: Any,
        history: Any,
        *,
        ids: Any = None,
        groups: Any = None,
        losses: Any = None,
        num_origins: Any = NUM_ORIGINS,
        num_resamples: Any = NUM_RESAMPLES,
        advance: Callable[[], None] = lambda: None,
    ) -> Backtest:
        """Judge how good such lists would have been in past weeks, for people and weeks not learned from.

        For several past steps t, a copy of this planner learns from half of the people, from the steps up to t. From
        step t on it lists whom to call among the others, from what was known of them at the time: their features and
        their own weeks. A copy with a loss learns in one run (``refit_cheaply``), because the whole recipe would take
        too long. This planner need not be fitted, and it does not change.

        Args:
            people: as in ``fit``.
            history: as in ``fit``.
            ids: as in ``fit``.
            groups: a mapping from names to labels of the people, in the order of rows of ``people``. Effects of calls
                are then also estimated by group.
            losses: a mapping from names to losses. Each loss corrects people's chains, and None stands for a planner
                without a loss. Each is compared with this planner.
            num_origins: how many past steps to plan from.
            num_resamples: how many resamples of people the intervals use.
            advance: called after each of the ``2 × (1 + losses) × origins`` fits, for a progress bar.
        """
        return backtest_planner(self, people, history, ids, groups, losses, num_origins, num_resamples, advance)
