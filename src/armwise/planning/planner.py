"""OutreachPlanner: learn from a programme's history, then say whom to call, in scikit-learn's verbs."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from armwise.data import Encoded, Encoder
from armwise.data.checks import check_not_negative, check_share
from armwise.data.encoding import choose_columns
from armwise.errors import InvalidInputError, NotFittedError
from armwise.evaluation.effects import check_groups, check_labels
from armwise.evaluation.resampling import NUM_RESAMPLES
from armwise.evaluation.simple_rules import RULES_OF_THUMB
from armwise.losses import Loss
from armwise.planner import Backtest, estimate_call_gains, run_backtest
from armwise.planner.past import ARMWISE, NUM_ORIGINS, PREDICTED_BY
from armwise.planning.call_list import Plan
from armwise.planning.fitting import Examples, Material, data_hash_parts, fit_model, make_material, read_examples
from armwise.planning.frames import as_frame
from armwise.planning.judging import Evaluation, judge
from armwise.planning.making import Learned, Planning
from armwise.planning.overlap import hash_people, refuse_overlap, refuse_same_table
from armwise.planning.parameters import Parameters
from armwise.planning.personal import refuse_personal
from armwise.planning.planner_file import SavedPlanner, read_content, read_planner, write_planner
from armwise.planning.population import Population
from armwise.planning.programme import PathLike
from armwise.planning.refitting import fit_in_the_past
from armwise.planning.rules import CallRules
from armwise.planning.scoring import predict, predict_indices
from armwise.rmab import Problem
from armwise.rmab.checks import check_count
from armwise.training import SavedModel, TrainConfig
from armwise.training.checkpoint import fingerprint


class OutreachPlanner(Parameters):
    """Learns, from who people are and how they engaged, whom a call helps; and writes the week's call list.

    Tables may be of Polars, pandas or Arrow, mappings of columns, lists of records, or arrays. Ids are text or whole
    numbers, in the column ``id_column`` or, in pandas, in the index. What is known of people is encoded as levels
    learned in ``fit``: words by themselves, numbers by quantiles; a missing value is a level of its own, and a value
    that was not there to learn from counts as missing (and in the plan's ``summary.unseen``). A level that no one
    taught has the weights of the average person.

    The constructor takes anything, as scikit-learn asks; ``fit`` refuses what cannot be right.

    Args:
        loss: a ``Loss`` to learn by; by default the recommended recipe (``armwise.train_recommended``).
        model: "linear", "medium" or "large" (the paper's three sizes), or a function of a key, features and the
            number of states that returns a model.
        config: a ``TrainConfig``; by default the recommended settings. The recipe tries its own learning rates.
        discount: weight of next week's engagement relative to this week's, in [0, 1).
        prior_strength: how many observations the pool of all people is worth in the estimate of one person's chain.
        cohort_size: about so many people share a budget in training; more, where one call takes more at this share.
        budget_share: calls per step and person, in training and evaluation, above 0; cohorts keep to it exactly, up to
            the rounding of their size to whole people.
        max_cohorts: at most so many cohorts, drawn at random, are learned from or evaluated on. Larger cohorts are
            fewer: ``max_cohorts * cohort_size`` people at most, or five cohorts.
        validation_share: of the cohorts, to choose the best epoch and setting by.
        num_states: by default as many as the history shows.
        num_bins: levels of a column of numbers.
        categorical: a list of columns to tell apart by their words; by default all of text and booleans.
        numeric: a list of columns to cut at quantiles; by default all others of numbers.
        id_column: the column of ids in tables that have it; it is never a feature.
        random_state: a whole number below 2³²: the same gives the same model and the same plan.

    Attributes:
        encoder_, model_, problem_: what was learned.
        loss_, config_: by what and how; what the recipe chose, unless they were given.
        history_: losses by epoch, of the recipe's first model; not kept by ``save``.
        pool_: how often everyone together made each transition, ``[states, 2, states]``.
        call_gains_: what one call gains in each state by what past calls did, with its error (``armwise.planner``).
        metrics_: how many people it learned from, the epoch that was kept, and its losses, of the recipe's first model.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> people = {"id": np.arange(60), "phone": np.where(rng.random(60) < 0.5, "own", "shared")}
        >>> weeks = {"id": np.repeat(np.arange(60), 6), "step": np.tile(np.arange(6), 60)}
        >>> weeks |= {"state": rng.integers(0, 2, 360), "action": rng.integers(0, 2, 360)}
        >>> planner = OutreachPlanner(config=TrainConfig(num_epochs=2), cohort_size=12).fit(people, weeks)
        >>> plan = planner.plan(people, states=rng.integers(0, 2, 60), budget=3)
        >>> plan.calls.columns, len(plan)
        (['id', 'rank', 'state', 'index', 'expected_gain', 'gain_low', 'gain_high', 'reason', 'evidence'], 3)
        >>> plan.explain(plan.calls["id"][0]).rank
        1
    """

    def __init__(
        self,
        loss: Any = None,
        model: Any = "linear",
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

    def fit(
        self, features: Any, trajectories: Any, *, ids: Any = None, progress: bool | None = False
    ) -> "OutreachPlanner":
        """Learn. Neither the order of rows nor of columns named changes anything.

        Args:
            features: a table, one row per person, as the class says; all columns but the id are features, unless
                ``categorical`` and ``numeric`` name them.
            trajectories: the history: a long table with the columns id, step, state, action and one row for each
                person and step observed; or ``Trajectories``, row i the person of row i.
            ids: the people's, if the table has no column of them: values, or the name of a column.
            progress: whether to show a bar on stderr; None shows it on a terminal.

        Raises:
            InvalidInputError: if something in the tables or parameters cannot be right; also for a column in which most
                people have a value that nobody else has, such as names, because the model would keep it.
        """
        return self._learn(features, trajectories, ids, progress)

    def _learn(
        self, features: Any, trajectories: Any, ids: Any, progress: bool | None, num_splits: int | None = None
    ) -> "OutreachPlanner":
        """What ``fit`` does, on a number of splits."""
        self._check_parameters()
        examples = read_examples(features, trajectories, ids, self.id_column, self.num_states)
        if num_splits is None:
            # A half of the people, in a backtest, has more values that nobody else has.
            self._refuse_personal(examples)
        self.encoder_ = Encoder.fit(examples.frame, self.categorical, self.numeric, self.num_bins)
        material = self._material(examples)
        share = check_share("validation_share", self.validation_share)
        trained = fit_model(material, self.loss, self.model, self.config, share, self._seed(), progress, num_splits)
        self.model_, self.problem_ = trained.model, material.problem
        self.loss_, self.config_ = trained.loss, trained.config
        self.history_, self.pool_ = trained.history, material.pool
        self.metrics_ = {
            "num_people": float(len(examples.ids)),
            "best_epoch": float(trained.best_epoch),
            "train_loss": float(trained.history.train_loss[trained.best_epoch - 1]),
            "validation_loss": float(trained.history.validation_loss[trained.best_epoch - 1]),
        }
        self.data_ = fingerprint(*data_hash_parts(examples, self.encoder_))
        self._learned_from = hash_people(examples.ids) if examples.has_ids else None
        if num_splits is None:
            # The many refits of a backtest predict only, and this takes seconds.
            self.call_gains_ = estimate_call_gains(examples.trajectories, material.problem.rewards, self._seed())
        return self

    def predict_transitions(self, features: Any) -> np.ndarray:
        """The predicted chain of each person, ``[people, states, 2, states]``."""
        return predict(self._fitted().model_, self._encode(features).features)

    def whittle_indices(self, features: Any) -> np.ndarray:
        """The index of each state of each person, ``[people, states]``: the price at which a call is not worth it."""
        return predict_indices(self._fitted().model_, self.problem_, self._encode(features).features)

    def plan(
        self,
        features: Any,
        states: Any,
        budget: Any,
        *,
        ids: Any = None,
        steps_since_observed: Any = None,
        num_observed: Any = None,
        num_calls: Any = None,
        steps_since_call: Any = None,
        groups: Any = None,
        exclusions: Any = None,
        group_budgets: Any = None,
        cool_down: Any = 0,
        max_calls: Any = None,
        min_observed: Any = 1,
        step_name: Any = "week",
        batch_size: Any = None,
    ) -> Plan:
        """Whom to call in the next step: the highest indices within the budgets, equal ones by lot.

        What is known of each person beside the features is given as values in the order of rows, or as the name of a
        column. A pandas column must have the index of ``features``. ``features`` may also be the path of a Parquet
        file, which is then read a part at a time; columns are then given by name.

        A person last seen some steps ago is in each state with the probability that her predicted chain, left alone,
        gives it; index and gain are averages over that. One never seen (which ``min_observed=0`` allows) is taken to
        be as people are when first seen. The index, which orders the list, comes from the predicted chains. The gain
        and its interval come from what past calls did to people in each state (``call_gains_``).

        Args:
            features: the people, with the columns learned from.
            states: last observed; null, NaN or −1 if none ever was.
            budget: at most so many calls.
            ids: by default the column ``id_column`` or, in pandas, the index; else the row numbers.
            steps_since_observed: 1 (the default) if the state is that of the step before the planned one.
            num_observed: in how many steps the person was observed; by default 1 where there is a state.
            num_calls: calls so far; by default none.
            steps_since_call: 1 if the last was in the step before the planned one, −1 or null if never.
            groups: the person's region, language or worker.
            exclusions: why a person is never called, null for those who may be; or booleans. Numbers and empty text
                are refused.
            group_budgets: a mapping: at most so many calls in each group, together with the budget.
            cool_down: steps after a call in which the person is not called again.
            max_calls: that a person gets at most.
            min_observed: steps in which a person must have been observed.
            step_name: what a step is called in reasons.
            batch_size: rows at a time; changes memory and time only.
        """
        self._complete()
        rules = CallRules.make(budget, group_budgets, cool_down, max_calls, min_observed, step_name)
        if rules.group_budgets and groups is None:
            raise InvalidInputError("group_budgets needs groups: say who belongs to which.")
        people = Population.make(
            features,
            self.id_column,
            self.problem_.num_states,
            id=ids,
            state=states,
            since_observed=steps_since_observed,
            observed=num_observed,
            calls=num_calls,
            since_call=steps_since_call,
            group=groups,
            exclusion=exclusions,
        )
        size = None if batch_size is None else check_count("batch_size", batch_size, minimum=1)
        learned = Learned(self.encoder_, self.model_, self.problem_, self.call_gains_)
        return Planning(learned, rules, self._seed()).plan(people, size)

    def evaluate(
        self, features: Any, trajectories: Any, *, ids: Any = None, num_trajectories: Any = 1000
    ) -> Evaluation:
        """The paper's way to judge: calls are simulated on chains estimated from a history and taken for the truth.

        Do not judge a programme by it; ``backtest`` does that. Each person's chain is estimated from few of her own
        steps and from the pool of all people, those of ``fit`` included. So most of quality 1 is luck in these few
        steps, which no planner can know: where calls do nothing, the gain is above 0 all the same. It compares losses
        as the paper does, and is what ``score`` gives to scikit-learn.

        The people must be others than those of ``fit``, with whom the comparison would flatter:
        ids that ``fit`` saw are refused. A planner that was loaded, or fitted without ids, can only tell the very same
        table.

        Args:
            features: as in ``fit``.
            trajectories: as in ``fit``.
            ids: as in ``fit``.
            num_trajectories: simulated runs of each cohort.
        """
        self._fitted()
        runs, states = check_count("num_trajectories", num_trajectories, minimum=1), self.problem_.num_states
        examples = read_examples(features, trajectories, ids, self.id_column, states)
        self._refuse_those_learned_from(examples)
        material = self._material(examples, self.pool_)
        return judge(self.model_, material, self._seed(), runs)

    def score(self, features: Any, trajectories: Any, *, ids: Any = None, num_trajectories: Any = 1000) -> float:
        """The quality of this planner's calls for these people: 0 is that of no calls, 1 that of the best ones.

        It is what ``evaluate`` says of "armwise" (joint decision quality), as one number, so that scikit-learn can
        choose parameters by it. For its splits, row i of ``trajectories`` must be the person of row i.

        Args:
            features: as in ``fit``; people whom ``fit`` has not seen.
            trajectories: as in ``fit``.
            ids: as in ``fit``.
            num_trajectories: simulated runs of each cohort.

        Example:
            ``docs/planning.md`` has one with ``GridSearchCV``.

            >>> from armwise.data import Trajectories
            >>> from armwise.losses import MeanSquaredError
            >>> rng = np.random.default_rng(0)
            >>> weeks = {"id": np.repeat(np.arange(60), 6), "step": np.tile(np.arange(6), 60)}
            >>> weeks |= {"state": rng.integers(0, 2, 360), "action": rng.integers(0, 2, 360)}
            >>> history, _ = Trajectories.from_table(weeks)
            >>> phones = rng.integers(0, 2, (60, 1))
            >>> planner = OutreachPlanner(MeanSquaredError(), config=TrainConfig(num_epochs=2), cohort_size=5)
            >>> planner = planner.fit(phones[:40], history[:40])
            >>> type(planner.score(phones[40:], history[40:], num_trajectories=10))
            <class 'float'>
        """
        evaluation = self.evaluate(features, trajectories, ids=ids, num_trajectories=num_trajectories)
        return next(each.quality for each in evaluation.policies if each.policy == "armwise")

    def backtest(
        self,
        features: Any,
        trajectories: Any,
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
        lists whom to call among the others in the steps after t. The copies learn by one run each
        (``refit_cheaply``), by this planner's loss or, without one, by the recommended loss, and not by the whole
        recipe, which would take too long. This planner need not be fitted and is not changed.

        Args:
            features: as in ``fit``.
            trajectories: as in ``fit``.
            ids: as in ``fit``.
            groups: a mapping from names to labels of the people, in the order of rows of ``features``: effects of calls
                are estimated by group.
            losses: a mapping from names to other losses to learn by; each is judged beside this planner.
            num_origins: past steps to plan from.
            num_resamples: of people, for the intervals.
            advance: called after each of the ``2 × (1 + losses) × origins`` fits, for a progress bar.
        """
        self._check_parameters()
        examples = read_examples(features, trajectories, ids, self.id_column, self.num_states)
        self._refuse_personal(examples)
        rows = examples.order
        if not isinstance(losses or {}, Mapping):
            raise InvalidInputError(f"losses must be a mapping from names to losses, not {losses!r:.60}.")
        taken = {ARMWISE, *RULES_OF_THUMB, *PREDICTED_BY} & set(losses or {})
        if taken:
            raise InvalidInputError(f"losses has the name of another way: {', '.join(sorted(taken))}. Rename it.")
        ways = {ARMWISE: self.loss, **(losses or {})}
        return run_backtest(
            examples.trajectories,
            Problem(discount=self.discount, num_states=examples.trajectories.num_states),
            {name: fit_in_the_past(self, examples, loss) for name, loss in ways.items()},
            budget_share=check_share("budget_share", self.budget_share),
            groups={name: check_labels(name, each, len(rows))[rows] for name, each in check_groups(groups).items()},
            num_origins=check_count("num_origins", num_origins, minimum=1),
            num_resamples=check_count("num_resamples", num_resamples, minimum=2),
            seed=self._seed(),
            advance=advance,
        )

    def _refuse_personal(self, examples: Examples) -> None:
        refuse_personal(examples.frame, *choose_columns(examples.frame, self.categorical, self.numeric))

    def save(self, path: PathLike) -> None:
        """Write everything learned to one file, whole or not at all; it holds levels and weights, nobody's data."""
        self._complete()
        learned = (self.model_, self.problem_, self.loss_, self.config_)
        saved = SavedModel(*learned, self.encoder_.to_dict(), self.data_, self.metrics_)
        write_planner(path, SavedPlanner(self.get_params(), saved, self.pool_, self.call_gains_))

    @classmethod
    def load(cls, path: PathLike) -> "OutreachPlanner":
        """Read a planner that ``save`` wrote; its plans are the same to the byte. The history of losses is not kept."""
        return cls.from_bytes(read_content(path), path)

    @classmethod
    def from_bytes(cls, content: bytes, path: PathLike = "model.armwise") -> "OutreachPlanner":
        """The planner whose file has this content, for those who must know which bytes they used.

        Args:
            content: what ``save`` wrote.
            path: where it is from, for messages.
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

    def _material(self, examples: Examples, others: np.ndarray | None = None) -> Material:
        return make_material(
            examples,
            self.encoder_.transform(examples.frame).features,
            self.discount,
            check_not_negative("prior_strength", self.prior_strength),
            check_count("cohort_size", self.cohort_size, minimum=1),
            check_share("budget_share", self.budget_share),
            check_count("max_cohorts", self.max_cohorts, minimum=1),
            self._seed(),
            others,
        )

    def _refuse_those_learned_from(self, examples: Examples) -> None:
        learned_from = getattr(self, "_learned_from", None)
        if learned_from is not None and examples.has_ids:
            refuse_overlap(learned_from, hash_people(examples.ids))
        else:
            refuse_same_table(self.data_, fingerprint(*data_hash_parts(examples, self.encoder_)))

    def _seed(self) -> int:
        return check_count("random_state", self.random_state, minimum=0, maximum=2**32 - 1)

    def _check_parameters(self) -> None:
        for name, kind in (("loss", Loss), ("config", TrainConfig)):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise InvalidInputError(f"{name} must be an armwise.{kind.__name__} or None, not {value!r}.")

    def _encode(self, features: Any) -> Encoded:
        return self.encoder_.transform(as_frame("features", features))

    def __sklearn_is_fitted__(self) -> bool:
        """What scikit-learn's ``check_is_fitted`` asks."""
        return hasattr(self, "model_")

    def _fitted(self) -> "OutreachPlanner":
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("This planner has learned nothing yet. Call fit, or load one that was saved.")
        return self

    def _complete(self) -> None:
        """Refuse planners that cannot say what a call gains."""
        if not hasattr(self._fitted(), "call_gains_"):
            raise NotFittedError("This planner was refitted to predict only. Call fit to plan with it or to save it.")
