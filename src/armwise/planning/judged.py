"""How a planner is judged: on past weeks, or in the paper's way on estimated chains."""

from collections.abc import Callable
from typing import Any

from armwise._validation import check_count
from armwise.evaluation.resampling import NUM_RESAMPLES
from armwise.planner import Backtest
from armwise.planner.past import NUM_ORIGINS
from armwise.planning.base import BasePlanner
from armwise.planning.examples import read_examples
from armwise.planning.judging import Evaluation, judge
from armwise.planning.learning import make_cohorts, refuse_those_learned_from, seed_of
from armwise.planning.refitting import backtest_planner


class JudgedPlanner(BasePlanner):
    """The verbs of ``OutreachPlanner`` that judge it."""

    def evaluate(self, people: Any, history: Any, *, ids: Any = None, num_trajectories: Any = 1000) -> Evaluation:
        """The paper's way to judge: calls are simulated on chains estimated from a history and taken for the truth.

        Do not judge a programme by it; ``backtest`` does that. Each person's chain is estimated from few of her own
        steps and from the pool of all people, those of ``fit`` included. So most of quality 1 is luck in these few
        steps, which no planner can know: where calls do nothing, the gain is above 0 all the same. It compares losses
        as the paper does, and is what ``score`` gives to scikit-learn.

        People are predicted from their features alone, by every model. Their own weeks are what they are judged by:
        a planner that had seen them would know the answers.

        The people must be others than those of ``fit``, with whom the comparison would flatter:
        ids that ``fit`` saw are refused. A planner that was loaded, or fitted without ids, can only tell the very same
        table.

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
        """The quality of this planner's calls for these people: 0 is that of no calls, 1 that of the best ones.

        It is what ``evaluate`` says of "armwise" (joint decision quality), as one number, so that scikit-learn can
        choose parameters by it (``docs/planning.md``). For its splits, row i of ``history`` must be the person of row
        i, as in ``Trajectories``.

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
        """How good lists made in this way would have been in past weeks, for people and weeks not learned from.

        For several past steps t, a copy of this planner learns from half of the people, from the steps up to t, and
        lists whom to call among the others in the steps after t, each time from what was known of them by then: their
        features and their own weeks. Copies that learn by a loss do so in one run each (``refit_cheaply``), and not by
        the whole recipe, which would take too long. This planner need not be fitted and is not changed.

        Args:
            people: as in ``fit``.
            history: as in ``fit``.
            ids: as in ``fit``.
            groups: a mapping from names to labels of the people, in the order of rows of ``people``: effects of calls
                are estimated by group.
            losses: a mapping from names to losses to correct people's chains by, or to None for what a planner without
                a loss does; each is judged beside this planner.
            num_origins: past steps to plan from.
            num_resamples: of people, for the intervals.
            advance: called after each of the ``2 × (1 + losses) × origins`` fits, for a progress bar.
        """
        return backtest_planner(self, people, history, ids, groups, losses, num_origins, num_resamples, advance)
