"""The default planner: it knows each person by her own weeks, newcomers by their features, and nobody by her row."""

import re
import zipfile

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import armwise as aw
from armwise.errors import InvalidInputError
from armwise.models.chains import ChainModel
from armwise.planner.people_history import PeopleHistory
from tests.planner.outreach import columns, known_people, make_people, make_weeks, small, under_other_ids

FEATURES = ["id", "phone", "language", "age"]


def trajectories(weeks, people):
    """The long table as arrays in the order of the people."""
    history = PeopleHistory.from_weeks(weeks, max(2, weeks["state"].max() + 1))
    return history.take(history.find(people["id"], np.arange(people.height)))


def test_without_a_loss_each_persons_chain_is_learned():
    planner = known_people().planner
    assert isinstance(planner.model_, ChainModel)
    assert planner.loss_ is planner.config_ is planner.history_ is None
    assert planner.metrics_["num_people"] == 120
    assert planner.metrics_["num_calls"] == planner.pool_[:, 1].sum()
    assert planner.metrics_["num_transitions"] == planner.pool_.sum()


def test_with_a_loss_or_a_model_a_correction_is_learned(monkeypatch):
    """A loss alone learns a linear one; a model alone is what the recipe learns."""
    case, loss, told = small(), aw.MeanSquaredError(), []

    def fit_model(prepared, loss, kind, *rest):
        told.append((loss, kind))
        raise StopIteration

    monkeypatch.setattr("armwise.planner.learning.fit_model", fit_model)
    for planner in (aw.OutreachPlanner(loss), aw.OutreachPlanner(model="medium"), aw.OutreachPlanner(loss, "large")):
        with pytest.raises(StopIteration):
            planner.fit(case.people.select(FEATURES), case.weeks)
    assert told == [(loss, "linear"), (None, "medium"), (loss, "large")]


def test_own_weeks_move_the_chain_away_from_that_of_newcomers():
    case = known_people()
    newcomers, known = (case.planner.predict_transitions(case.people, weeks) for weeks in (None, case.weeks))
    assert newcomers.shape == known.shape == (120, 2, 2, 2)
    np.testing.assert_allclose(known.sum(axis=-1), 1, atol=1e-6)
    often = case.weeks.group_by("id").agg(pl.col("state").mean()).sort("id")
    rows = case.people.with_row_index().join(often, on="id").sort("id")["index"].to_numpy()
    moved = (known - newcomers)[rows][:, :, 0, 1].mean(axis=1)
    assert np.corrcoef(moved, often["state"].to_numpy())[0, 1] > 0.5


def test_people_without_weeks_have_the_chain_of_newcomers():
    case = known_people()
    nobody = case.people["id"][:3]
    some = case.weeks.filter(~pl.col("id").is_in(nobody.implode()))
    known, newcomers = (
        case.planner.predict_transitions(case.people, some),
        case.planner.predict_transitions(case.people),
    )
    np.testing.assert_allclose(known[:3], newcomers[:3], rtol=1e-12)
    everyone = case.planner.predict_transitions(case.people, case.weeks)
    assert (everyone[:3] != known[:3]).any()
    np.testing.assert_array_equal(everyone[3:], known[3:])


def test_a_long_table_and_arrays_mean_the_same():
    case = known_people()
    arrays = trajectories(case.weeks, case.people)
    for verb in (case.planner.predict_transitions, case.planner.whittle_indices):
        np.testing.assert_array_equal(verb(case.people, case.weeks), verb(case.people, arrays))
    plans = [case.planner.plan(case.people, history, 9) for history in (case.weeks, arrays)]
    # The steps of arrays are numbered from 0, as those of this table are.
    assert plans[0].to_bytes(".parquet") == plans[1].to_bytes(".parquet")
    table = case.people.drop("id")
    np.testing.assert_array_equal(
        case.planner.predict_transitions(table, case.weeks, ids=case.people["id"]),
        case.planner.predict_transitions(table, arrays),
    )


def test_the_mean_of_samples_is_the_predicted_chain():
    case = known_people()
    drawn = case.planner.sample_transitions(case.people, case.weeks, num_samples=2000, seed=1)
    assert drawn.shape == (2000, 120, 2, 2, 2)
    error = drawn.std(axis=0) / np.sqrt(2000)
    away = np.abs(drawn.mean(axis=0) - case.planner.predict_transitions(case.people, case.weeks))
    # Of 480 numbers, one in 30,000 is more than 4 errors away; the chain averages by seven points of a Gaussian.
    assert (away < 4 * error + 1e-4).mean() > 0.99
    assert (away < 6 * error + 1e-3).all()


def test_samples_belong_to_the_person_and_the_seed():
    case = known_people()
    draw = case.planner.sample_transitions
    whole = draw(case.people, case.weeks, num_samples=5)
    order = np.array([7, 3, 119])
    np.testing.assert_array_equal(draw(case.people[order], case.weeks, num_samples=5), whole[:, order])
    np.testing.assert_array_equal(draw(case.people, case.weeks, num_samples=3), whole[:3])
    assert (draw(case.people, case.weeks, num_samples=5, seed=1) != whole).any()
    # Two people are drawn independently of each other.
    one, two = (draw(case.people, num_samples=400)[:, row, 0, 0, 1] for row in (0, 1))
    assert abs(np.corrcoef(one, two)[0, 1]) < 0.25
    for wrong, message in (({"num_samples": 0}, "num_samples must be at least 1"), ({"seed": -1}, "seed must be")):
        with pytest.raises(InvalidInputError, match=message):
            draw(case.people, case.weeks, **wrong)


def test_a_planner_by_a_loss_has_nothing_to_draw_from_and_knows_weeks_too():
    case = small()
    with pytest.raises(InvalidInputError, match="one chain for each person, and none to draw from"):
        case.planner.sample_transitions(case.people, case.weeks)
    for verb in (case.planner.predict_transitions, case.planner.whittle_indices):
        assert (verb(case.people, case.weeks) != verb(case.people)).any()


@pytest.mark.parametrize("make", [small, known_people])
def test_the_history_tells_where_people_stand(make):
    """The same list as from columns that say the same, whatever the model."""
    case = make()
    history = PeopleHistory.from_weeks(case.weeks)
    stands = history.standing(history.find(case.people["id"], np.arange(120)))
    rules = aw.CallRules(budget=20, cool_down=1, max_calls=3, min_observed=6)
    by_history = case.planner.plan(case.people, case.weeks, rules=rules)
    by_columns = case.planner.plan(
        case.people,
        case.weeks,
        states=stands["state"],
        steps_since_observed=stands["since_observed"],
        num_observed=stands["observed"],
        num_calls=stands["calls"],
        steps_since_call=stands["since_call"],
        rules=rules,
    )
    assert by_history.to_bytes() == by_columns.to_bytes()
    assert by_history.summary == by_columns.summary
    assert set(by_history.summary.excluded) == {"called recently", "calls used up", "too little known"}


def test_columns_override_the_history():
    case = known_people()
    plan = case.planner.plan(case.people, case.weeks, 120, **columns())
    told = plan.calls.join(case.people, on="id", suffix="_given")
    assert (told["state"] == told["state_given"]).all()
    assert plan.summary.excluded["called recently"] == ((case.people["since_call"] == 0) & ~excluded(case)).sum()


def excluded(case):
    return case.people["excluded"].is_not_null()


def test_people_who_have_left_count_for_nothing():
    """Rows of ids that are not planned for are left out; only the number of the planned step comes from everyone."""
    case = known_people()
    some = case.people.head(40)
    own = case.weeks.filter(pl.col("id").is_in(some["id"].implode()))
    assert own["step"].max() == case.weeks["step"].max()
    with_others, alone = (case.planner.plan(some, weeks, 5).to_bytes(".parquet") for weeks in (case.weeks, own))
    assert with_others == alone


def test_without_a_history_states_are_planned_from_the_chain_of_newcomers():
    case = known_people()
    states = np.arange(120) % 2
    plan = case.planner.plan(case.people, budget=120, states=states)
    index = case.planner.whittle_indices(case.people)[np.arange(120), states]
    told = case.people.select("id", pl.Series("expected", index)).join(plan.calls, on="id")
    np.testing.assert_allclose(told["index"], told["expected"], rtol=1e-6)


def test_without_anything_known_newcomers_are_planned_for():
    case = known_people()
    plan = case.planner.plan(case.people, budget=5)
    assert len(plan) == 5
    assert plan.calls["reason"].str.starts_with("new: ").all()
    assert plan.calls["state"].null_count() == 5
    # Who is told what it takes to be called is held to it.
    assert len(case.planner.plan(case.people, budget=5, rules=aw.CallRules(min_observed=1))) == 0
    nothing = case.weeks.clear()
    assert case.planner.plan(case.people, nothing, 5).summary.excluded == {"too little known": 120}
    again = case.planner.plan(case.people, nothing, 5, rules=aw.CallRules(min_observed=0))
    assert again.to_bytes(".parquet") == plan.to_bytes(".parquet")


def test_a_fit_without_a_history_is_one_clear_error():
    case = small()
    for history, message in ((None, "history must be"), (case.weeks.clear(), "history has no rows")):
        with pytest.raises(InvalidInputError, match=message):
            aw.OutreachPlanner().fit(case.people.select(FEATURES), history)


def test_people_without_features_are_known_by_their_weeks(tmp_path):
    case = small()
    for planner in (
        aw.OutreachPlanner(),
        aw.OutreachPlanner(aw.MeanSquaredError(), config=aw.TrainConfig(num_epochs=2)),
    ):
        planner.fit(case.people.select("id"), case.weeks)
        assert planner.encoder_.columns == ()
        assert len(planner.plan(case.people.select("id"), case.weeks, 5)) == 5
        planner.save(tmp_path / "m")
        again = aw.OutreachPlanner.load(tmp_path / "m")
        np.testing.assert_array_equal(
            again.predict_transitions(case.people, case.weeks), planner.predict_transitions(case.people, case.weeks)
        )
    chains = aw.OutreachPlanner().fit(case.people.select("id"), case.weeks).predict_transitions(case.people, case.weeks)
    assert len(np.unique(chains[:, 0, 0, 1])) > 20


def test_constant_features_are_no_features():
    case = small()
    alike = case.people.select("id", phone=pl.lit("own"), age=pl.lit(30))
    with_them = aw.OutreachPlanner().fit(alike, case.weeks).predict_transitions(alike, case.weeks)
    without = aw.OutreachPlanner().fit(case.people.select("id"), case.weeks).predict_transitions(alike, case.weeks)
    np.testing.assert_array_equal(with_them, without)


def test_a_state_beyond_those_learned_is_named_by_id_and_step():
    case = known_people()
    identity, step = case.weeks["id"][50], case.weeks["step"][50]
    wrong = case.weeks.with_columns(state=pl.when(pl.int_range(pl.len()) == 50).then(4).otherwise("state"))
    message = rf"state 4 for id '{identity}' in step {step}, and there are 2 states, 0 to 1\."
    for use in (
        lambda: case.planner.plan(case.people, wrong, 5),
        lambda: case.planner.plan(case.people, trajectories(wrong, case.people), 5),
        lambda: case.planner.predict_transitions(case.people, wrong),
        lambda: clone(case.planner).set_params(num_states=2).fit(case.people, wrong),
    ):
        with pytest.raises(InvalidInputError, match=message):
            use()


def test_a_lone_high_state_is_taken_for_an_error_unless_it_is_expected():
    case = known_people()
    wrong = case.weeks.with_columns(state=pl.when(pl.int_range(pl.len()) == 50).then(4).otherwise("state"))
    message = rf"state 4 for id '{case.weeks['id'][50]}' in step .*never state 2, 3\. .*num_states=5"
    with pytest.raises(InvalidInputError, match=message):
        aw.OutreachPlanner().fit(case.people.select(FEATURES), wrong)


def test_a_history_of_strangers_is_refused():
    case = known_people()
    strangers = case.weeks.with_columns(pl.concat_str(pl.lit("x"), "id").alias("id"))
    with pytest.raises(InvalidInputError, match=r"No row of the history belongs to anyone in people: .*ids such as 'x"):
        case.planner.plan(case.people, strangers, 5)


def test_a_history_in_which_everyone_is_always_called_is_refused():
    case = known_people()
    with pytest.raises(InvalidInputError, match="Everybody in the history was called in every step"):
        aw.OutreachPlanner().fit(case.people.select(FEATURES), case.weeks.with_columns(action=1))


def test_ten_thousand_rows_of_one_person_are_one_message():
    case = known_people()
    long = pl.DataFrame({"id": case.people["id"][0], "step": np.arange(10_000) + 7, "state": 0, "action": 0})
    weeks = pl.concat([case.weeks, long.cast(dict(case.weeks.schema))])
    for use in (
        lambda: case.planner.plan(case.people, weeks, 5),
        lambda: clone(case.planner).fit(case.people, weeks),
    ):
        with pytest.raises(InvalidInputError, match=r"10,007 steps, and at most 1,040 can be used.*Leave out the rows"):
            use()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda people, weeks: (people.drop("id"), weeks), "people has no column of ids.*Trajectories"),
        (lambda people, weeks: (people, trajectories(weeks, people)[:7]), "people has 120 rows and history 7"),
        (lambda people, weeks: (people, weeks.drop("action")), "history has no column 'action', but 'id', 'step'"),
        (lambda people, weeks: (people, weeks.with_columns(id=None)), "Row 0 has no id"),
    ],
)
def test_a_history_that_does_not_belong_to_the_people_is_refused(change, message):
    case = known_people()
    people, weeks = change(case.people, case.weeks)
    for use in (case.planner.plan, case.planner.predict_transitions):
        with pytest.raises(InvalidInputError, match=message):
            use(people, weeks, **({"budget": 3} if use == case.planner.plan else {}))


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**32 - 1), batch_size=st.sampled_from([7, 25, 60]), choice=st.sampled_from(["best", "lottery"])
)
def test_rows_batches_and_files_change_no_byte(tmp_path, seed, batch_size, choice):
    planner, rng = known_people().planner, np.random.default_rng(seed)
    people = make_people(rng, 60)
    weeks = make_weeks(rng, people)
    rules = aw.CallRules(budget=9, group_budgets={"centre": 4, "north": 3, "south": 5}, cool_down=1, choice=choice)
    expected = planner.plan(people, weeks, rules=rules, groups="group")
    order = rng.permutation(60)
    people[order].write_parquet(tmp_path / "people.parquet", row_group_size=13)
    aligned = trajectories(weeks, people)[order]
    for table in (people[order], tmp_path / "people.parquet"):
        for history in (weeks[rng.permutation(weeks.height)], aligned):
            plan = planner.plan(table, history, rules=rules, groups="group", batch_size=batch_size)
            assert plan.to_bytes(".parquet") == expected.to_bytes(".parquet")
            assert plan.probabilities_to_bytes() == expected.probabilities_to_bytes()
            assert plan.summary == expected.summary


def test_neighbours_change_no_digit():
    """Whether others have weeks that were not observed, or none at all, is nothing to a person."""
    case = known_people()
    whole = case.planner.predict_transitions(case.people, case.weeks)
    seen = case.weeks.group_by("id").len().filter(pl.col("len") == 7)["id"]
    complete = case.people["id"].is_in(seen.implode())
    assert 20 < complete.sum() < 100
    for some in (complete, ~complete):
        part = case.planner.predict_transitions(case.people.filter(some), case.weeks)
        assert part.tobytes() == whole[some.to_numpy()].tobytes()


def test_a_person_explained_alone_has_the_numbers_of_the_list():
    case = known_people()
    plan = case.planner.plan(case.people, case.weeks, 9)
    for row in plan.calls.iter_rows(named=True):
        told = plan.explain(row["id"])
        assert (told.index, told.expected_gain, told.rank) == (row["index"], row["expected_gain"], row["rank"])


def test_the_order_of_rows_does_not_change_what_is_learned(rng):
    case = known_people()
    order, weeks = rng.permutation(case.people.height), case.weeks[rng.permutation(case.weeks.height)]
    again = clone(case.planner).fit(case.people[order], weeks)
    assert again.data_ == case.planner.data_
    expected = case.planner.predict_transitions(case.people, case.weeks)
    assert again.predict_transitions(case.people, case.weeks).tobytes() == expected.tobytes()


@pytest.mark.parametrize("num_states", [2, 3])
def test_what_was_saved_plans_the_same_and_holds_nobody(tmp_path, num_states):
    case = known_people(num_states)
    path = tmp_path / "model.armwise"
    case.planner.save(path)
    again = aw.OutreachPlanner.load(path)
    expected = case.planner.plan(case.people, case.weeks, 9)
    plan = again.plan(case.people, case.weeks, 9)
    assert plan.to_bytes(".parquet") == expected.to_bytes(".parquet")
    assert plan.probabilities_to_bytes() == expected.probabilities_to_bytes()
    again.save(tmp_path / "again.armwise")
    assert path.read_bytes() == (tmp_path / "again.armwise").read_bytes()
    with zipfile.ZipFile(path) as archive:
        everything = b"".join(archive.read(name) for name in archive.namelist())
    # Ids are five digits here: longer rows of digits are numbers, or part of a hash.
    ids = rb"(?<![\da-f.])(%b)(?![\da-f])" % "|".join(case.people["id"]).encode()
    assert not re.findall(ids, everything)


def test_lots_differ_from_step_to_step_and_can_be_repeated():
    case = known_people()

    def called(step):
        return case.planner.plan(case.people, case.weeks, 10, planned_step=step).calls["id"].to_list()

    assert called("the week from 2024-02-26") == called("the week from 2024-02-26")
    assert len({tuple(called(f"week {number}")) for number in range(5)}) > 1
    # By default, the number after the last step of the history.
    assert called(None) == called(7)


def test_an_evaluation_does_not_look_at_the_weeks_that_judge():
    """People are predicted from their features: shuffling the weeks among them changes no prediction."""
    case = known_people()
    people, weeks = under_other_ids(case)
    evaluation = case.planner.evaluate(people, weeks, num_trajectories=20)
    assert evaluation.policies[0].policy == "armwise"
    seen = []
    original = ChainModel.posterior

    def posterior(model, features, history):
        seen.append(history)
        return original(model, features, history)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ChainModel, "posterior", posterior)
        again = case.planner.evaluate(people, weeks, num_trajectories=20)
    assert again == evaluation
    assert seen
    assert all(each is None for each in seen)


def test_a_backtest_knows_people_by_their_weeks_and_no_later_one():
    """Later weeks changed: the same predictions of all earlier ones."""
    case = known_people()
    people = case.people.select(FEATURES)
    later = case.weeks.with_columns(
        state=pl.when(pl.col("step") >= 5).then(1 - pl.col("state")).otherwise("state"),
        action=pl.when(pl.col("step") >= 5).then(1 - pl.col("action")).otherwise("action"),
    )
    planner = aw.OutreachPlanner(numeric=["age"], categorical=["phone", "language"])
    before, after = (planner.backtest(people, weeks, num_resamples=2) for weeks in (case.weeks, later))
    assert before.origins == (3, 4, 5)
    known = np.isfinite(before.expected[:, 3:5]) & np.isfinite(after.expected[:, 3:5])
    # The action of a step is what the prediction is for, and that of the steps before is known.
    same = (before.decisions.called == after.decisions.called)[:, 3:5]
    np.testing.assert_array_equal(before.expected[:, 3:5][known & same], after.expected[:, 3:5][known & same])
    assert (known & same).sum() > 100
    # People in one state differ by their own weeks.
    now = before.decisions.states[:, 4] == 0
    assert len(np.unique(before.expected[now & np.isfinite(before.expected[:, 4]), 4])) > 20
    assert not hasattr(planner, "model_")
