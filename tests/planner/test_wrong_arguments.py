"""What people really pass to a planner: every right form means the same, every wrong one is a clear error."""

import datetime
import re
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import armwise as aw
from armwise._validation import check_budget, check_rate
from armwise.data.cohorts import _check_budget
from armwise.mixtures.arguments import check_temperature
from armwise.planner.frames import as_frame
from armwise.planner.learning_data import read_examples
from tests.planner.outreach import columns, small

NUM = 120


def people():
    return small().people.select("id", "phone", "language", "age")


def weeks():
    return small().weeks


def never_observed():
    none = np.zeros((NUM, 4), int)
    return aw.Trajectories.from_arrays(none, none, observed=none.astype(bool))


def records(table):
    return np.array(
        list(zip(*[table[name].to_list() for name in table.columns], strict=True)),
        dtype=[(name, object) for name in table.columns],
    )


RIGHT = {
    "Polars": lambda people, weeks: (people, weeks),
    "lazy": lambda people, weeks: (people.lazy(), weeks.lazy()),
    "Arrow": lambda people, weeks: (people.to_arrow(), weeks.to_arrow()),
    "mappings of lists": lambda people, weeks: (people.to_dict(as_series=False), weeks.to_dict(as_series=False)),
    "lists of records": lambda people, weeks: (people.to_dicts(), weeks.to_dicts()),
    "structured arrays": lambda people, weeks: (records(people), records(weeks)),
    "pandas": lambda people, weeks: (people.to_pandas(), weeks.to_pandas()),
    "ids in the index": lambda people, weeks: (people.to_pandas().set_index("id"), weeks),
    "both in the index": lambda people, weeks: (
        people.to_pandas().set_index("id"),
        weeks.to_pandas().set_index(["id", "step"]),
    ),
    "an index without a name": lambda people, weeks: (people.to_pandas().set_index("id").rename_axis(None), weeks),
    "an index of another name": lambda people, weeks: (people.to_pandas().set_index("id").rename_axis("who"), weeks),
    "categories": lambda people, weeks: (people.to_pandas().astype({"phone": "category", "id": "category"}), weeks),
    "nullable types": lambda people, weeks: (
        people.to_pandas().astype({"age": "Int64", "phone": "string"}),
        weeks.to_pandas().astype({"state": "Int64", "action": "Int8"}),
    ),
    "objects": lambda people, weeks: (people.to_pandas().astype(object), weeks.to_pandas().astype(object)),
    "whole decimals": lambda people, weeks: (people, weeks.with_columns(pl.col("state", "step").cast(pl.Float64))),
    "booleans": lambda people, weeks: (people, weeks.with_columns(pl.col("state", "action").cast(pl.Boolean))),
    "shuffled rows": lambda people, weeks: (people.sort("age"), weeks.sort("state", "id")),
    "other columns": lambda people, weeks: (people, weeks.with_columns(note=pl.lit("x"))),
}


@pytest.mark.parametrize("form", RIGHT)
def test_every_right_form_means_the_same(form):
    expected = read_examples(people(), weeks(), None, "id")
    read = read_examples(*RIGHT[form](people(), weeks()), None, "id")
    assert read.ids.to_list() == expected.ids.to_list()
    assert read.frame.columns == expected.frame.columns
    for name in ("phone", "language", "age"):
        values = read.frame[name]
        assert values.cast(pl.String if name != "age" else pl.Int64).to_list() == expected.frame[name].to_list()
    for name in ("states", "actions", "observed"):
        np.testing.assert_array_equal(getattr(read.trajectories, name), getattr(expected.trajectories, name))


def test_ids_may_have_another_name_in_both_tables():
    who = {"id": "who"}
    expected = read_examples(people(), weeks(), None, "id")
    for history in (weeks(), weeks().rename(who)):
        read = read_examples(people().rename(who), history, None, "who")
        assert read.ids.to_list() == expected.ids.to_list()
        np.testing.assert_array_equal(read.trajectories.states, expected.trajectories.states)


def test_words_like_nan_are_words():
    table = pd.DataFrame({"village": pd.Series(["nan", "NaT", None, float("nan")], dtype=object)})
    assert as_frame("people", table)["village"].to_list() == ["nan", "NaT", None, None]
    assert as_frame("people", [["nan", 1], [None, float("nan")]]).rows() == [("nan", 1), (None, None)]


def fitting(**changes):
    """A fit with something changed in the people, the history, or the parameters."""

    def run():
        table, history = changes.get("people", lambda each: each), changes.get("weeks", lambda each: each)
        planner = clone(small().planner).set_params(**changes.get("parameters", {"categorical": None, "numeric": None}))
        planner.fit(table(people()), history(weeks()), ids=changes.get("ids"))

    return run


def column(name, value):
    return lambda table: table.with_columns(pl.lit(value).alias(name))


def pandas_column(name, values):
    return lambda table: table.to_pandas().assign(**{name: values})


WRONG_FITS = {
    "no state": (fitting(weeks=lambda each: each.drop("state")), "no column 'state', but 'id', 'step', 'action'"),
    "two columns missing": (fitting(weeks=lambda each: each.drop("step", "action")), "no column 'step', 'action'"),
    "another spelling": (fitting(weeks=lambda each: each.rename({"state": "State"})), "no column 'state'.*'State'"),
    "no ids": (fitting(people=lambda each: each.drop("id")), "people has no column of ids.*Add the column"),
    "an array for people": (fitting(people=lambda each: np.zeros((NUM, 2))), "people has no column of ids"),
    "an array for history": (fitting(weeks=lambda each: np.zeros((NUM, 5))), "no column 'id', 'step'"),
    "one column": (fitting(people=lambda each: each["age"]), "not one column"),
    "one pandas column": (fitting(people=lambda each: each.to_pandas().age), "not one column"),
    "a path": (fitting(people=lambda each: "people.csv"), "people must be .*not str"),
    "a path of a history": (fitting(weeks=lambda each: "weeks.csv"), "history must be .*not str"),
    "nothing": (fitting(people=lambda each: None), "people must be .*not NoneType"),
    "no history": (fitting(weeks=lambda each: None), "history must be .*not NoneType"),
    "a generator": (fitting(people=lambda each: iter(each.to_dicts())), "people must be"),
    "a vector": (fitting(people=lambda each: np.zeros(NUM)), r"of shape \[120\]"),
    "ragged columns": (fitting(people=lambda each: {"id": [1, 2], "age": [1]}), "people cannot be read as"),
    "a broken query": (fitting(people=lambda each: each.lazy().select("nope")), "people cannot be read as.*nope"),
    "a missing file": (fitting(people=lambda each: pl.scan_parquet("nowhere.parquet")), "people cannot be read as"),
    "nobody": (fitting(people=lambda each: each.clear()), "people has no rows"),
    "an empty history": (fitting(weeks=lambda each: each.clear()), "history has no rows"),
    "ids twice": (fitting(people=lambda each: pl.concat([each, each.head(1)])), "stands in two rows"),
    "labels twice": (
        fitting(people=lambda each: each.to_pandas().set_index(each["id"].to_numpy()[[0] * NUM]).drop(columns="id")),
        "stands in two rows",
    ),
    "unknown people": (fitting(people=lambda each: each.head(20)), "whom people does not have"),
    "an id is missing": (fitting(people=column("id", None)), "Row 0 has no id"),
    "decimal ids": (fitting(people=column("id", 1.5)), "ids must be text or whole numbers"),
    "dates for ids": (fitting(people=column("id", datetime.date(2024, 1, 1))), "Convert them to text"),
    "objects for ids": (fitting(people=pandas_column("id", [uuid.UUID(int=n) for n in range(NUM)])), "Convert them"),
    "too few ids": (fitting(ids=["a"]), "one value for each of the 120 people, not 1"),
    "an unknown column of ids": (fitting(ids="who"), "no column 'who'"),
    "half states": (fitting(weeks=column("state", 0.5)), "'state' must be whole numbers, but row 0 has 0.5"),
    "NaN states": (fitting(weeks=column("state", float("nan"))), "row 0 has nan.*not observed"),
    "no states": (fitting(weeks=column("state", None)), "'state' must be whole numbers"),
    "words for states": (fitting(weeks=column("state", "engaged")), "'engaged'.*States are 0, 1, 2"),
    "negative states": (fitting(weeks=column("state", -1)), "'state' must not be negative"),
    "huge states": (fitting(weeks=column("state", 10**6)), "at most 1000 states"),
    "negative steps": (
        fitting(weeks=lambda each: each.with_columns(pl.col("step") - 3)),
        "'step' must not be negative",
    ),
    "dates for steps": (fitting(weeks=column("step", datetime.date(2024, 1, 1))), "dates are not steps"),
    "texts for steps": (fitting(weeks=column("step", "2024-01-01")), "dates are not steps"),
    "dates as numbers": (
        fitting(weeks=lambda each: each.with_columns(pl.col("step") * 100 + 20240101)),
        "two steps in a row.*dates and days are not steps",
    ),
    "days for weeks": (fitting(weeks=lambda each: each.with_columns(pl.col("step") * 7)), "two steps in a row"),
    "rows twice": (
        fitting(weeks=lambda each: pl.concat([each, each.head(1)])),
        "Keep one row for each person and step",
    ),
    "infinite ages": (fitting(people=column("age", float("inf"))), "'age' must hold finite numbers"),
    "dates for features": (fitting(people=column("born", datetime.date(2000, 1, 1))), "'born' has the type Date"),
    "lists for features": (fitting(people=pandas_column("calls", [[1]] * NUM)), "'calls' has the type List"),
    "periods for features": (
        fitting(people=pandas_column("born", pd.period_range("2024-01-01", periods=NUM))),
        "period",
    ),
    "complex features": (fitting(people=pandas_column("odd", np.ones(NUM) * 1j)), "'odd'.*complex"),
    "mixed features": (fitting(people=pandas_column("odd", ["a", 1, 2.5] * 40)), "'odd' of people mixes"),
    "columns twice": (fitting(people=lambda each: pd.concat([each.to_pandas()] * 2, axis=1)), "several columns of one"),
    "no call at all": (
        fitting(weeks=lambda each: each.with_columns(action=pl.lit(0))),
        "Nobody in the history was called in a step after which.* Add the calls that were made",
    ),
    "nothing observed": (
        lambda: aw.OutreachPlanner().fit(people().drop("id"), never_observed()),
        "Nobody in the history was observed in two steps in a row",
    ),
    "no budget": (fitting(parameters={"budget_share": 0.0}), "budget_share must be above 0 and at most 1, not 0"),
    "an unknown feature": (fitting(parameters={"numeric": ["height"]}), "no column 'height'"),
    "a number for names": (fitting(parameters={"categorical": 5}), "categorical must be a list of columns, not 5"),
    "a number for a name": (fitting(parameters={"id_column": 5}), "id_column must be the name of a column, not 5"),
    "a word for a loss": (fitting(parameters={"loss": "mse"}), "loss must be an armwise.Loss or None, not 'mse'"),
    "a dictionary for a config": (fitting(parameters={"config": {}}), "config must be an armwise.TrainConfig or None"),
    "a list for a model": (fitting(parameters={"model": []}), "model must be one of"),
    "no seed": (fitting(parameters={"random_state": None}), "random_state must be a whole number, not None"),
    "a huge seed": (fitting(parameters={"random_state": 2**70}), "random_state must be at most 4294967295"),
    "a word for a discount": (fitting(parameters={"discount": "0.9"}), "discount must be"),
}


@pytest.mark.parametrize("case", WRONG_FITS)
def test_every_wrong_form_is_one_clear_error(case):
    run, message = WRONG_FITS[case]
    with pytest.raises(aw.InvalidInputError, match=re.compile(message, re.DOTALL)):
        run()


NUMBERS = (
    "discount", "prior_strength", "cohort_size", "budget_share", "max_cohorts", "validation_share", "num_states",
    "num_bins", "random_state",
)  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [True, np.True_, False])
def test_a_boolean_is_no_number_in_a_planner(name, value):
    with pytest.raises(aw.InvalidInputError, match=rf"{name} must be .*not (np\.)?{bool(value)}"):
        fitting(parameters={name: value})()


@pytest.mark.parametrize(
    "changes",
    [
        {"budget": True},
        {"budget": False},
        {"budget": np.True_},
        {"budget": np.array(True)},
        {"batch_size": True},
    ],
    ids=str,
)
def test_a_boolean_is_no_number_in_a_plan(changes):
    with pytest.raises(
        aw.InvalidInputError, match=rf"{next(iter(changes))}.* must be a whole number, not .*(True|False)"
    ):
        small().planner.plan(small().people, **{**columns(), "budget": 3, **changes})


@pytest.mark.parametrize(
    "rule",
    [
        {"cool_down": True},
        {"max_calls": True},
        {"min_observed": False},
        {"group_budgets": {"centre": True, "north": 1, "south": 1}},
    ],
    ids=str,
)
def test_a_boolean_is_no_number_in_a_rule(rule):
    with pytest.raises(aw.InvalidInputError, match=rf"{next(iter(rule))}.* must be a whole number, not .*(True|False)"):
        aw.CallRules(**rule)


@pytest.mark.parametrize(
    "use",
    [
        lambda: aw.Problem(discount=False),
        lambda: aw.EntropyMixture(temperature=True),
        lambda: aw.TrainConfig(num_epochs=True),
        lambda: check_rate("learning_rate", True, positive=True),
        lambda: aw.synthetic(True),
        lambda: check_budget(True),
        lambda: check_temperature(np.array(True)),
        lambda: aw.all_policies(True),
        lambda: _check_budget(True, 1),
        lambda: small().planner.evaluate(people(), weeks(), num_trajectories=True),
    ],
)
def test_a_boolean_is_no_number_anywhere(use):
    with pytest.raises(aw.InvalidInputError, match=r"must be .*not (True|False)"):
        use()


# fmt: off
WRONG_PLANS = {
    "a huge budget": ({"budget": 10**30}, "budget must be at most 9223372036854775807"),
    "a word for a budget": ({"budget": "3"}, "budget must be a whole number, not '3'"),
    "no budget": ({"budget": None}, "budget must be a whole number, not None"),
    "an endless budget": ({"budget": float("inf")}, "budget must be a whole number, not inf"),
    "a rule by itself": ({"cool_down": 2}, r"plan\(…, rules=CallRules\(cool_down=2\)\)"),
    "two rules by themselves": ({"max_calls": 4, "step_name": "day"}, r"CallRules\(max_calls=4, step_name='day'\)"),
    "rules in two places": ({"rules": aw.CallRules(), "cool_down": 1}, r"in one place: .*CallRules\(cool_down=1\)"),
    "a dictionary of rules": ({"rules": {"cool_down": 1}}, "rules must be armwise.CallRules"),
    "two budgets": ({"rules": aw.CallRules(budget=4)}, "budget is 3, and that of the rules is 4"),
    "half a step": ({"planned_step": 0.5}, "planned_step must be a whole number, not 0.5"),
    "states for a history": ({"history": [0] * NUM}, "history must be a long table.*not list.*states="),
    "a column for a history": ({"history": "state"}, "history must be a long table.*not str.*states="),
    "an array for a history": ({"history": np.zeros(NUM)}, "history must be a long table.*not ndarray.*states="),
    "one state": ({"states": 0}, "states must be a list, an array or a column.*not int"),
    "states by id": ({"states": dict.fromkeys(range(NUM), 0)}, "states must be a list.*not dict"),
    "a table of states": ({"states": pl.DataFrame({"state": [0] * NUM})}, "states must be a list.*not DataFrame"),
    "a pandas table of states": ({"states": pd.DataFrame({"state": [0] * NUM})}, "states must have one value"),
    "states in two dimensions": ({"states": np.zeros((NUM, 1))}, r"each of the 120 people, not \[120, 1\]"),
    "words for states": ({"states": ["engaged"] * NUM}, "states must be whole numbers, not 'engaged'"),
    "dates for states": ({"states": [datetime.date(2024, 1, 1)] * NUM}, "must be whole numbers, not of type Date"),
    "mixed groups": ({"groups": ["a", 1] * 60}, "groups cannot be read as one value per person"),
    "numbers for exclusions": ({"exclusions": [0, 1] * 60}, "exclusions must be reasons.*not numbers such as 0"),
    "empty exclusions": ({"exclusions": [""] * NUM}, "exclusions has an empty text"),
    "lists of exclusions": ({"exclusions": [["a"]] * NUM}, "exclusions must have one value"),
    "a missing feature": ({"people": lambda: people().drop("age")}, "no column 'age'"),
    "a missing file": ({"people": lambda: "nowhere.parquet"}, "There is no file nowhere.parquet"),
    "a word for an age": ({"people": lambda: people().with_columns(age=pl.lit("old"))}, "'age' must hold finite"),
}
# fmt: on


@pytest.mark.parametrize("case", WRONG_PLANS)
def test_a_plan_of_what_cannot_be_right_is_one_clear_error(case):
    changes, message = WRONG_PLANS[case]
    arguments = {"people": people, "states": [0] * NUM, "budget": 3, **changes}
    if case == "a missing file":
        arguments["states"] = "state"
    with pytest.raises(aw.InvalidInputError, match=message):
        small().planner.plan(arguments.pop("people")(), **arguments)


def test_an_argument_that_plan_does_not_have_is_named():
    with pytest.raises(TypeError, match="unexpected keyword argument 'budgets'"):
        small().planner.plan(people(), states=[0] * NUM, budgets=3)


def test_a_pandas_index_holds_the_ids_of_a_plan():
    case, table = small(), people().to_pandas()
    states = np.arange(NUM) % 2
    expected = case.planner.plan(people(), states=states, budget=5).to_bytes()
    assert case.planner.plan(table.set_index("id"), states=states, budget=5).to_bytes() == expected
    assert case.planner.plan(table.set_index("id").rename_axis(None), states=states, budget=5).to_bytes() == expected
    assert case.planner.plan(people().to_dicts(), states=states, budget=5).to_bytes() == expected
    alike = pd.Series(states, index=table["id"])
    assert case.planner.plan(table.set_index("id"), states=alike, budget=5).to_bytes() == expected


def test_states_in_another_order_than_the_people_are_refused():
    """pandas would bring them into the people's order; row after row, each would get another's state."""
    table = people().to_pandas().set_index("id")
    states = pd.Series(np.arange(NUM) % 2, index=table.index)[::-1]
    with pytest.raises(aw.InvalidInputError, match=r"another index than features.*states\.reindex"):
        small().planner.plan(table, states=states, budget=5)
    remedy = small().planner.plan(table, states=states.reindex(table.index), budget=5)
    assert remedy.to_bytes() == small().planner.plan(people(), states=np.arange(NUM) % 2, budget=5).to_bytes()


@pytest.mark.parametrize(
    ("exclusions", "eligible"),
    [
        (["opted out"] + [None] * 119, 119),
        (["opted out"] + [float("nan")] * 119, 119),
        (np.array(["opted out"] + [np.nan] * 119, dtype=object), 119),
        ([float("nan")] * 120, 120),
        (pd.array([True] + [None] * 119, dtype="boolean"), 119),
        ([True] + [False] * 119, 119),
    ],
)
def test_missing_reasons_exclude_nobody(exclusions, eligible):
    plan = small().planner.plan(people(), states=[0] * NUM, budget=3, exclusions=exclusions)
    assert plan.summary.num_eligible == eligible


def test_any_budget_that_can_be_is_kept_to():
    plan = small().planner.plan
    assert [len(plan(people(), states=[0] * NUM, budget=budget)) for budget in (0, 3.0, np.int64(3), 10**18)] == [
        0,
        3,
        3,
        NUM,
    ]
