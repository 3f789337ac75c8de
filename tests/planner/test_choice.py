"""What a plan records of how sure it is: in the list, beside it, in the manifest, in explanations and in warnings."""

import copy
import dataclasses
import hashlib
import io

import equinox as eqx
import numpy as np
import polars as pl
import pytest

import armwise as aw
from armwise.planner.plan import COLUMNS
from armwise.planner.reasons import in_100
from armwise.programme.settings import BEST, CHOICES, LOTTERY
from armwise.weekly.concerns import find_concerns, may_be_called
from armwise.weekly.manifest import find_manifest, find_probabilities, make_manifest
from armwise.weekly.verify import compare
from tests.planner.outreach import columns, known_people
from tests.report.pages import make_effects, make_facts, sample_data


def make_plan(choice, step=7, budget=12, **rules):
    case = known_people()
    given = {name: value for name, value in columns().items() if name in ("groups", "exclusions")}
    rules = aw.CallRules(choice=choice, **rules)
    return case.planner.plan(case.people, case.weeks, budget, rules=rules, planned_step=step, **given)


@pytest.mark.parametrize("choice", CHOICES)
def test_every_plan_knows_how_often_each_person_belongs_on_it(choice):
    plan = make_plan(choice)
    known = plan.call_probabilities
    assert known.columns == ["id", "call_probability", "lot_probability", "list_probability"]
    for name in known.columns[1:]:
        np.testing.assert_allclose(known[name].sum(), 12)
    assert plan.calls.columns == list(COLUMNS)
    listed = plan.calls.select("id", "call_probability").join(known, on="id", how="left")
    assert (listed["call_probability"] == listed["call_probability_right"]).all()
    assert (listed["list_probability"] > 0).all()
    assert plan.stability == pytest.approx(listed["call_probability"].mean())
    assert plan.num_draws > 1


def test_lots_have_their_recorded_chance_and_the_best_are_certain():
    best, lots = make_plan(BEST), make_plan(LOTTERY)
    assert set(best.call_probabilities["list_probability"]) == {0.0, 1.0}
    assert (lots.call_probabilities["list_probability"] == lots.call_probabilities["lot_probability"]).all()
    assert best.calls["index"].sum() >= lots.calls["index"].sum()


def test_lots_differ_from_step_to_step_and_can_be_repeated():
    lists = [tuple(make_plan(LOTTERY, step, lottery_cost=0.2).calls["id"]) for step in (1, 2, 3, 1)]
    assert lists[0] == lists[3]
    assert len(set(lists)) == 3


def test_probabilities_are_written_to_the_last_digit():
    plan = make_plan(LOTTERY)
    back = pl.read_csv(io.BytesIO(plan.probabilities_to_bytes()), schema_overrides={"id": pl.String})
    assert back.equals(plan.call_probabilities)


def test_the_manifest_holds_how_people_were_chosen_and_no_id(tmp_path):
    plan = make_plan(LOTTERY)
    content = plan.to_bytes()
    manifest = make_manifest({}, plan, content, 0, "week 7")
    choice = manifest.choice
    assert (choice["rule"], choice["draws"], choice["lottery_cost"]) == ("lottery", plan.num_draws, 0.01)
    assert choice["candidates"] == plan.call_probabilities.height
    assert sum(choice["call_probabilities"].values()) == sum(choice["list_probabilities"].values()) == len(plan)
    assert choice["probabilities"] == hashlib.sha256(plan.probabilities_to_bytes()).hexdigest()
    assert not any(identity in manifest.to_json() for identity in plan.calls["id"])
    # A table of probabilities that someone changed is noticed.
    output = tmp_path / "call-list.csv"
    beside = find_probabilities(output, content)
    for path, text in ((find_manifest(output, content), manifest.to_json()), (beside, "id\n")):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    told = str(compare(output, content, content, manifest))
    assert f"CHANGED probabilities/{beside.name}: not as planned again" in told
    beside.write_bytes(plan.probabilities_to_bytes())
    assert compare(output, content, content, manifest).holds


@pytest.mark.parametrize("choice", CHOICES)
def test_explanations_say_how_sure(choice):
    plan = make_plan(choice, lottery_cost=0.2)
    probability = dict(plan.call_probabilities.select("id", "call_probability").iter_rows())
    unlucky = plan.call_probabilities.filter(
        pl.col("lot_probability") > 0, ~pl.col("id").is_in(plan.calls["id"].implode())
    )
    told = str(plan.explain(unlucky["id"][0]))
    assert ("this time the lots chose others" in told) == (choice == LOTTERY)
    # Whoever asks why she was left out is told what is expected of her, not what calls gained for others.
    assert " if left alone (" in told
    assert told.endswith(f"{in_100(probability[unlucky['id'][0]])} likely models choose her.")
    assert "average over people in the state" not in told
    for identity in [*plan.calls["id"][:2], unlucky["id"][0]]:
        assert plan.explain(identity).call_probability == probability[identity]


def test_a_plan_says_how_many_places_were_certain():
    plan = make_plan(LOTTERY, lottery_cost=0.2)
    chances = plan.calls.select("id").join(plan.call_probabilities, on="id")["list_probability"]
    certain = int((chances == 1).sum())
    assert certain < 12
    assert plan.lots_sentence == (
        f"Of 12 places, {certain} {'was' if certain == 1 else 'were'} certain and lots decided {12 - certain}; by "
        "the model's predictions, that costs at most 20 % of what the list is worth. [choice] in programme.toml sets "
        'this; rule = "best" draws no lots.'
    )
    assert make_plan(BEST).lots_sentence == ""
    lucky = plan.calls["id"].to_list()[-1]
    chance = dict(plan.call_probabilities.select("id", "list_probability").iter_rows())[lucky]
    assert ("Lots decided: the person had a chance of" in str(plan.explain(lucky))) == (chance < 1)


def test_with_calls_for_everyone_no_reason_says_that_models_chose_her():
    plan = make_plan(LOTTERY, budget=1000)
    assert len(plan) == plan.summary.num_eligible
    assert not plan.calls["reason"].str.contains("models").any()


def test_calls_that_the_model_expects_nothing_from_are_counted():
    case = known_people()
    planner, model = copy.copy(case.planner), case.planner.model_
    # A call takes 3 from the log-odds of every newcomer: it does harm.
    weights = model.population.weights.at[model.num_states :].set(0.0).at[model.num_states :, 0].set(-3.0)
    planner.model_ = eqx.tree_at(lambda each: each.population.weights, model, weights)
    assert (planner.plan(case.people, budget=12).calls["index"] <= 0).all()
    summary = planner.plan(case.people, budget=12).summary
    assert summary.num_without_predicted_gain == 12
    assert "12 on the list although by the model's predictions a call to them gains nothing" in str(summary)
    assert case.planner.plan(case.people, budget=12).summary.num_without_predicted_gain == 0


def test_reasons_are_each_persons_own():
    reasons = make_plan(LOTTERY).calls["reason"]
    assert reasons.n_unique() == len(reasons)
    assert all("if left alone" in reason and "likely models choose her" in reason for reason in reasons)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return sample_data(tmp_path_factory.mktemp("sample"))


def listing(data, ids, **changes):
    """A plan that calls these people of the sample."""
    plan = make_facts(data).plan
    calls = pl.DataFrame({"id": ids, "call_probability": 1.0}, schema_overrides={"id": pl.String})
    summary = dataclasses.replace(plan.summary, num_calls=len(ids))
    return dataclasses.replace(plan, calls=calls, summary=summary, **changes)


def test_a_list_for_one_language_alone_is_a_concern_and_one_by_lot_is_not(data):
    rng, language = np.random.default_rng(0), data.features["language"]
    may = may_be_called(data, aw.CallRules(30))
    commonest = language.filter(may).mode()[0]
    mine = data.ids.filter(pl.Series(may) & (language == commonest))[:30].to_list()
    concerns = find_concerns(data, listing(data, mine), make_effects())
    assert any(each.column == "language" and commonest in each.groups for each in concerns)
    assert all(each.about == "groups" for each in concerns)
    in_need = data.ids.filter(pl.Series(may & (data.roster["state"] == 0).fill_null(False).to_numpy())).to_list()
    lots = [listing(data, rng.permutation(in_need)[:30].tolist()) for _ in range(20)]
    assert [find_concerns(data, each, make_effects()) for each in lots] == [[]] * 20


def test_groups_with_budgets_and_lists_of_everyone_are_no_concern(data):
    column = data.programme.budget.group
    assert data.programme.budget.per_group
    one = data.groups.unique().sort()[0]
    mine = data.ids.filter(pl.Series(may_be_called(data, aw.CallRules(30))) & (data.groups == one))[:30].to_list()
    plan = listing(data, mine)
    assert all(each.column != column for each in find_concerns(data, plan, make_effects()))
    everyone = dataclasses.replace(plan, summary=dataclasses.replace(plan.summary, num_eligible=30))
    assert find_concerns(data, everyone, make_effects()) == []


def test_lots_and_rules_are_concerns(data):
    lots = pl.DataFrame({"id": [f"x{n}" for n in range(100)], "lot_probability": 0.03})
    plan = listing(data, data.ids[:3].to_list(), call_probabilities=lots, num_draws=64)
    (mostly,) = [each for each in find_concerns(data, plan, make_effects()) if each.about == "lots"]
    assert mostly.sentence.startswith("The list is mostly lots: about 3 of 3 calls")
    rule = find_concerns(data, listing(data, data.ids[:3].to_list()), make_effects(comparable=4.0))
    assert [each.what for each in rule] == ["Past calls followed a rule"]
