"""OutreachPlanner learns from a programme's history, then says whom to call. Its methods follow scikit-learn."""

from typing import Any

import numpy as np

from armwise._validation import check_count
from armwise.data import Encoder
from armwise.errors import InvalidInputError
from armwise.io.reading import PathLike
from armwise.models.chains import PersonPosterior
from armwise.planner.base_planner import seed_of
from armwise.planner.frames import as_frame
from armwise.planner.judging import JudgedPlanner
from armwise.planner.learning import learn
from armwise.planner.learning_data import read_examples
from armwise.planner.plan import Plan
from armwise.planner.plan_builder import Learned, PlanBuilder
from armwise.planner.planner_file import SavedPlanner, read_content, read_planner, write_planner
from armwise.planner.posterior_draws import NUM_DRAWS, draw_chains
from armwise.planner.roster import Roster
from armwise.planner.rules import CallRules, refuse_misplaced
from armwise.planner.scoring import index_chains, infer
from armwise.planner.shortlist import tie_breaks
from armwise.training import SavedModel


class OutreachPlanner(JudgedPlanner):
    """Learns from people's features and past engagement whom a call helps, and makes the week's call list.

    By default it learns how people of the programme differ, and infers each person's own chain from her own weeks
    (``armwise.models.chains``). With a loss, or a model, it also trains a network that corrects these chains from
    features and history (``armwise.models.corrections``). One of the paper's losses trains the network to make the
    calls better.

    A table may be from Polars, pandas or Arrow, a mapping of columns, a list of records, or an array. Ids are text or
    whole numbers, in the column ``id_column`` or, in pandas, in the index. ``fit`` encodes features as levels: each
    word is a level, and numbers are cut at quantiles. A missing value is a level of its own. A value that ``fit`` did
    not see counts as missing; the plan's ``summary.unseen`` counts such values.

    A history is a long table with the columns id, step, state and action and one row for each person and step
    observed. It may also be ``Trajectories`` whose row i is the person of row i. It may span 1,040 steps at most.

    The constructor takes any values, as scikit-learn requires. ``fit`` refuses values that cannot be right.

    Args:
        loss: a ``Loss`` that trains a correction of people's chains; by default there is no correction.
        model: "linear", "medium" or "large" (the paper's three sizes), or a function of a key, features and the
            number of states that returns a model. With a loss, linear by default. With a model and without a loss,
            the recommended recipe chooses the loss (``armwise.train_recommended``).
        config: a ``TrainConfig`` for training with a loss; by default the recommended settings. The recipe tries its
            own learning rates. Chains have no such settings.
        discount: weight of next week's engagement relative to this week's, in [0, 1).
        prior_strength: how many observations the pool of all people is worth in the estimate of one person's chain;
            used with a loss and in ``evaluate``.
        cohort_size: about how many people share a budget in training. Cohorts are larger if ``budget_share`` gives so
            few people less than one call.
        budget_share: calls per step and person in training and evaluation, above 0. Cohorts keep to it exactly, up to
            the rounding of their size to whole people.
        max_cohorts: the most cohorts, drawn at random, to learn from or to evaluate on. There are fewer cohorts if
            they are larger: at most ``max_cohorts * cohort_size`` people, or five cohorts.
        validation_share: share of the cohorts that choose the best epoch and setting.
        num_states: how many states there are; by default as many as the history shows.
        num_bins: how many levels a column of numbers gets.
        categorical: a list of columns whose words are levels; by default all columns of text and booleans.
        numeric: a list of columns to cut at quantiles; by default all other columns of numbers.
        id_column: the column of ids in tables that have it; it is never a feature.
        random_state: a whole number below 2³². The same number gives the same model and the same plan.

    Attributes:
        encoder_, model_, problem_: what was learned; by default the model is a ``ChainModel``.
        loss_, config_, history_: the loss and settings that trained a correction, and its losses by epoch, which
            ``save`` does not keep; all None by default.
        pool_: how often everyone together made each transition, ``[states, 2, states]``.
        call_gains_: what one call gains in each state, estimated from past calls, with its error
            (``armwise.planner``).
        metrics_: how many people it learned from. Without a loss also how many transitions and calls; with a loss
            also the epoch kept and its losses.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> people = {"id": np.arange(60), "phone": np.where(rng.random(60) < 0.5, "own", "shared")}
        >>> weeks = {"id": np.repeat(np.arange(60), 6), "step": np.tile(np.arange(6), 60)}
        >>> weeks |= {"state": rng.integers(0, 2, 360), "action": rng.integers(0, 2, 360)}
        >>> planner = OutreachPlanner().fit(people, weeks)
        >>> plan = planner.plan(people, weeks, budget=3)
        >>> len(plan), plan.explain(plan.calls["id"][0]).rank
        (3, 1)
    """

    def __init__(
        self,
        loss: Any = None,
        model: Any = None,
        config: Any = None,
        *,
        discount: Any = 0.9,
        prior_strength: Any = 5.0,
        cohort_size: Any = 100,
        budget_share: Any = 0.05,
        max_cohorts: Any = 1000,
        validation_share: Any = 0.2,
        num_states: Any = None,
        num_bins: Any = 4,
        categorical: Any = None,
        numeric: Any = None,
        id_column: Any = "id",
        random_state: Any = 0,
    ):
        self.loss, self.model, self.config = loss, model, config
        self.discount, self.prior_strength = discount, prior_strength
        self.cohort_size, self.budget_share, self.max_cohorts = cohort_size, budget_share, max_cohorts
        self.validation_share, self.num_states, self.num_bins = validation_share, num_states, num_bins
        self.categorical, self.numeric, self.id_column = categorical, numeric, id_column
        self.random_state = random_state

    def fit(self, people: Any, history: Any, *, ids: Any = None, progress: bool | None = False) -> "OutreachPlanner":
        """Learn from people and their history. The order of rows and of columns named changes nothing.

        Args:
            people: a table with one row per person, as described for the class. All columns except the id are
                features, unless ``categorical`` and ``numeric`` name them. Without features, people differ only by
                their weeks.
            history: everyone's weeks, as described for the class. An id that is not in ``people`` is an error.
            ids: people's ids if the table has no column ``id_column``: values, or the name of a column.
            progress: whether to show a bar on stderr; None shows it on a terminal.

        Raises:
            InvalidInputError: if something in the tables or parameters cannot be right; also if most people's values
                in a column belong to nobody else, such as names, because the model would keep these values.
        """
        learn(self, read_examples(people, history, ids, self.id_column, self.num_states), progress)
        return self

    def predict_transitions(self, people: Any, history: Any = None, *, ids: Any = None) -> np.ndarray:
        """Each person's expected chain from now on, given what is known of her, ``[people, states, 2, states]``.

        Args:
            people: with the columns learned from.
            history: their weeks so far. A person without weeks gets the chain of newcomers with her features.
            ids: as in ``fit``.
        """
        return self._infer(people, history, ids)[0]

    def sample_transitions(
        self, people: Any, history: Any = None, *, num_samples: Any = NUM_DRAWS, seed: Any = 0, ids: Any = None
    ) -> np.ndarray:
        """Random chains that each person may have, given what is known, ``[samples, people, states, 2, states]``.

        A person's samples depend on her id (or row number) and the seed. They do not depend on who else is in the
        table.

        Args:
            people: as in ``predict_transitions``.
            history: as in ``predict_transitions``.
            num_samples: how many chains to draw for each person.
            seed: the same seed gives the same samples.
            ids: as in ``fit``.
        """
        number = check_count("num_samples", num_samples, minimum=1)
        start = check_count("seed", seed, minimum=0, maximum=2**32 - 1)
        _, posterior, known = self._infer(people, history, ids)
        if posterior is None:
            raise InvalidInputError(
                "A planner that learned by a loss has one chain for each person, and none to draw from. Leave out loss "
                "and model to learn what is known of each person."
            )
        return draw_chains(posterior, tie_breaks(known.all_ids().to_list(), start, "sample"), number)

    def whittle_indices(self, people: Any, history: Any = None, *, ids: Any = None) -> np.ndarray:
        """Each person's Whittle index in each state, ``[people, states]``: the price at which a call just pays."""
        chains = self.predict_transitions(people, history, ids=ids)
        return index_chains(chains, self.problem_)

    def plan(
        self,
        people: Any,
        history: Any = None,
        budget: Any = None,
        *,
        rules: Any = None,
        ids: Any = None,
        states: Any = None,
        steps_since_observed: Any = None,
        num_observed: Any = None,
        num_calls: Any = None,
        steps_since_call: Any = None,
        groups: Any = None,
        exclusions: Any = None,
        planned_step: Any = None,
        batch_size: Any = None,
        **misplaced: Any,
    ) -> Plan:
        """Choose whom to call in the step after the history: the highest indices within the budgets, close ones by lot.

        The history gives each person's chain and where she stands: last state, steps since it was observed, steps
        observed, calls, steps since the last call. Rows of people who are not in ``people``, because they have left,
        are ignored. A person without rows is new; her chain is that of newcomers with her features. The arguments
        from ``states`` to ``exclusions`` add to the history, and override it. Each is values in the order of rows, or
        the name of a column. A pandas column must have the index of ``people``. ``people`` may also be the path of a
        Parquet file. The file is then read a part at a time, and columns are given by name.

        If a person was last seen some steps ago, her chain without calls gives the probability of each state now.
        Index and gain are averages over these probabilities. The rule ``min_observed=0`` also allows people who were
        never seen; their states are as likely as those of people when first seen. The index orders the list and comes
        from the chains. The gain and its interval come from what past calls did to people in each state
        (``call_gains_``).

        Args:
            people: with the columns learned from.
            history: their weeks up to the step before the planned one, as described for the class; None if only the
                columns below are known. Then everyone's chain is that of newcomers.
            budget: the most calls.
            rules: who may be called, and how people are chosen (``CallRules``). By default a person may be called if
                she was observed in a step; without history and states, everyone may be called.
            ids: people's ids; by default the column ``id_column`` or, in pandas, the index; else the row numbers.
            states: the last observed state; null, NaN or −1 if no state was ever observed.
            steps_since_observed: 1 (the default) if the state is that of the step before the planned one.
            num_observed: in how many steps the person was observed; by default 1 if there is a state.
            num_calls: how many calls she had so far; by default none.
            steps_since_call: 1 if the last call was in the step before the planned one, −1 or null if there was none.
            groups: the person's region, language or worker.
            exclusions: why a person is never called, null for those who may be; or booleans. Numbers and empty text
                are refused.
            planned_step: a number or text. Lots differ from step to step. By default the number after the last step.
            batch_size: rows at a time; changes memory and time only.
            misplaced: must be empty. A rule given here is refused with a message that says where it belongs.
        """
        self._complete()
        refuse_misplaced(misplaced)
        if rules is None:
            rules = CallRules(min_observed=0 if history is None and states is None else 1)
        if not isinstance(rules, CallRules):
            raise InvalidInputError(
                f"rules must be armwise.CallRules, as in CallRules(cool_down=2), not {rules!r:.60}."
            )
        kept = rules.with_budget(budget)
        if kept.group_budgets and groups is None:
            raise InvalidInputError("group_budgets needs groups: say who belongs to which.")
        roster = {"state": states, "since_observed": steps_since_observed, "observed": num_observed}
        calls = {"calls": num_calls, "since_call": steps_since_call, "group": groups, "exclusion": exclusions}
        known = Roster.make(people, self.id_column, self.problem_.num_states, history, id=ids, **roster, **calls)
        size = None if batch_size is None else check_count("batch_size", batch_size, minimum=1)
        learned = Learned(self.encoder_, self.model_, self.problem_, self.call_gains_)
        return PlanBuilder(learned, kept, seed_of(self), known.planned_step(planned_step)).plan(known, size)

    def save(self, path: PathLike) -> None:
        """Write everything learned to one file, whole or not at all. It holds levels and weights, nobody's data."""
        self._complete()
        learned = (self.model_, self.problem_, self.loss_, self.config_)
        saved: Any = SavedModel(*learned, self.encoder_.to_dict(), self.data_, self.metrics_)  # type: ignore[arg-type]
        write_planner(path, SavedPlanner(self.get_params(), saved, self.pool_, self.call_gains_))

    @classmethod
    def load(cls, path: PathLike) -> "OutreachPlanner":
        """Read a planner that ``save`` wrote. Its plans are the same to the byte; the history of losses is lost."""
        return cls.from_bytes(read_content(path), path)

    @classmethod
    def from_bytes(cls, content: bytes, path: PathLike = "model.armwise") -> "OutreachPlanner":
        """Read a planner from the content of its file, so that the caller knows which bytes were used.

        Args:
            content: what ``save`` wrote.
            path: where the content is from, for messages.
        """
        parameters, saved, pool, gains = read_planner(content, path)
        if set(parameters) != set(cls._names()):
            raise InvalidInputError(f"{path} has other parameters than this armwise. Fit anew.")
        planner = cls(**parameters)
        planner.encoder_, planner.model_ = Encoder.from_dict(saved.features), saved.model
        planner.problem_, planner.data_ = saved.problem, saved.data
        planner.loss_, planner.config_ = saved.loss, saved.config
        planner.metrics_, planner.pool_, planner.call_gains_ = dict(saved.metrics), pool, gains
        return planner

    def _infer(self, people: Any, history: Any, ids: Any) -> tuple[np.ndarray, PersonPosterior | None, Roster]:
        """People's chains, the posterior that the chains come from, and the people."""
        self._fitted()
        frame = as_frame("people", people, [self.id_column])
        known = Roster.make(frame, self.id_column, self.problem_.num_states, history, id=ids)
        weeks = None if history is None else known.all_weeks()
        return *infer(self.model_, self.encoder_.transform(frame).features, weeks), known
