"""The list on the page: what sets people apart, one row each, group by group."""

import dataclasses
import re

import polars as pl
import pytest

from armwise.planner.reasons import BOTH, HELPED, HURT, NOT_SHOWN, Evidence
from armwise.planner.rules import CallRules
from armwise.programme.settings import CHOICES, LOTTERY
from armwise.report.calls import MOST_LISTED, say_choice, usual_reasons, why
from tests.report.pages import make_facts, sample_data, write_section


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    return make_facts(sample_data(tmp_path_factory.mktemp("calls")))


def with_calls(facts, evidence=HELPED, **columns):
    size = len(columns["id"])
    background = {"since_observed": [1] * size, "num_calls": [0] * size, "since_call": [None] * size}
    calls = {
        "rank": list(range(1, size + 1)),
        "state": [0] * size,
        "index": [0.5] * size,
        "expected_gain": [1.0] * size,
        "gain_low": [0.5] * size,
        "gain_high": [1.5] * size,
    }
    calls |= {name: values for name, values in columns.items() if name not in background}
    background |= {name: values for name, values in columns.items() if name in background}
    plan = facts.plan
    listed = type(plan)(
        pl.DataFrame(calls), plan.summary, plan.rules, plan._standing, Evidence(evidence, "The sentence.")
    )
    return facts._replace(plan=listed, background=pl.DataFrame({"id": calls["id"], **background}))


def test_reasons_say_when_seen_past_calls_and_whether_a_gain_is_shown(facts):
    listed = with_calls(
        facts,
        id=["a", "b", "c", "d"],
        state=[0, 1, None, 0],
        since_observed=[1, 3, None, 2],
        num_calls=[0, 1, 2, 5],
        since_call=[None, 1, 4, 0],
        expected_gain=[2.0, 1.0, None, -1.0],
        gain_low=[1.0, -1.0, None, -2.0],
        gain_high=[3.0, 3.0, None, -0.1],
    )
    assert [tuple(part.replace("\N{NO-BREAK SPACE}", " ") for part in parts) for parts in why(listed)] == [
        ("not engaged last week", "never called", "gain shown"),
        ("engaged 3 weeks ago", "1 call, last week", "no gain shown"),
        ("never observed", "2 calls, latest 4 weeks ago", "gain unknown"),
        ("not engaged 2 weeks ago", "5 calls, latest this week", "no gain shown"),
    ]
    page = write_section("calls", listed)
    assert "2.00 (1.00 to 3.00)" in page
    assert "unknown" in page


@pytest.mark.parametrize(
    ("evidence", "gains", "harms"),
    [
        (HELPED, "gain shown", "no gain shown"),
        (HURT, "no gain shown", "harm shown"),
        (BOTH, "gain shown", "harm shown"),
        (NOT_SHOWN, "no gain shown", "no gain shown"),
    ],
)
def test_a_line_claims_no_more_than_past_calls_show(facts, evidence, gains, harms):
    columns = {"expected_gain": [1.0, -1.0], "gain_low": [0.5, -1.5], "gain_high": [1.5, -0.5]}
    assert [parts[2] for parts in why(with_calls(facts, evidence, id=["a", "b"], **columns))] == [gains, harms]


def test_what_most_have_in_common_is_said_once(facts):
    listed = with_calls(facts, id=["a", "b", "c", "d"], num_calls=[0, 0, 1, 1], since_call=[None, None, 2, 3])
    assert usual_reasons(why(listed)) == ["not engaged last week", "gain shown"]
    page = write_section("calls", listed)
    assert page.count("not engaged last week") == 1
    assert "Unless a line says otherwise: not engaged last week; gain shown." in page
    assert "<td>never called</td>" in page
    assert "<td>1 call, 2 weeks ago</td>" in page
    # One person alone has nothing in common with anybody.
    assert usual_reasons(why(with_calls(facts, id=["a"]))) == []


def test_people_whom_nothing_sets_apart_are_said_to_be_alike(facts):
    page = write_section(
        "calls", with_calls(facts, id=["a", "b", "c"], num_calls=[0, 0, 1], since_call=[None, None, 2])
    )
    assert page.count("<td>as most</td>") == 2
    assert "<td>1 call, 2 weeks ago</td>" in page


def test_each_group_has_its_sheet_in_the_order_of_the_list(facts):
    listed = with_calls(facts, id=["a", "b", "c"], group=["south", "north", "south"])
    page = write_section("calls", listed)
    captions = re.findall(r"<caption>(.*?)<small>", page)
    # Each sheet can be handed out alone, so each says what holds for most.
    assert captions == ["north: 1 call, the week from 2024-02-26", "south: 2 calls, the week from 2024-02-26"]
    assert re.findall(r"<tr><td>(\d)</td><td>(\w)</td>", page) == [("2", "b"), ("1", "a"), ("3", "c")]
    assert write_section("calls", with_calls(facts, id=["a", "b"])).count("<caption>") == 1


def test_a_group_without_a_name_is_a_group(facts):
    page = write_section("calls", with_calls(facts, id=["a", "b"], group=["north", None]))
    assert "no group: 1 call" in page


def test_long_sheets_are_cut_one_by_one(facts):
    size = MOST_LISTED + 7
    ids = [f"{row}" for row in range(2 * size)]
    page = write_section("calls", with_calls(facts, id=ids, group=["north"] * size + ["south"] * size))
    assert page.count("7 more are in the call list itself") == 2
    assert page.count("<tr><td>") == 2 * MOST_LISTED


def test_long_ids_may_be_broken_and_short_ones_not(facts):
    assert 'class="sheet lines short"' in write_section("calls", with_calls(facts, id=["000085", "000193"]))
    assert 'class="sheet"' in write_section("calls", with_calls(facts, id=["x" * 100, "b"]))


def test_a_gain_has_its_interval(facts):
    listed = with_calls(facts, id=["a"], expected_gain=[0.4], gain_low=[-0.15], gain_high=[0.95])
    assert '<td class="number">0.40 (−0.15 to 0.95)</td>' in write_section("calls", listed)


def test_where_own_weeks_are_known_each_line_has_its_own_reason(facts):
    reasons = [
        f"engaged in {n} of 9 weeks; comes back with 2{n} %; 7 of 100 likely models choose her" for n in range(4)
    ]
    made = with_calls(facts, id=list("abcd"), reason=reasons, call_probability=[0.07] * 4)
    plan = dataclasses.replace(made.plan, num_draws=64)
    page = str(write_section("calls", made._replace(plan=plan)))
    assert all(f"engaged in {n} of 9 weeks; comes back with 2{n} %<" in page for n in range(4))
    assert "Unless a line says otherwise: 7 of 100 likely models choose her." in page
    assert why(made._replace(plan=plan))[0] == tuple(reasons[0].split("; "))


@pytest.mark.parametrize("choice", CHOICES)
def test_the_page_says_how_much_of_the_list_other_chains_would_share(facts, choice):
    made = with_calls(facts, id=list("abcd"), reason=["x"] * 4, call_probability=[1.0, 0.5, 0.3, 0.2])
    plan = dataclasses.replace(made.plan, num_draws=64, rules=CallRules(4, choice=choice))
    said = " ".join(say_choice(plan))
    assert "such a model would choose 2 of these 4 people" in said
    assert ("lots decided between them" in said) == (choice == LOTTERY)
    assert say_choice(made.plan) == []
