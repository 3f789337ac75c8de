"""What should make a manager doubt the list is said first, and only when it is so."""

import dataclasses

import numpy as np
import pytest

from armwise.evaluation.effects import CallEffect
from armwise.evaluation.resampling import Estimate
from armwise.programme import Report
from armwise.programme.finding_kinds import Severity
from armwise.programme.findings import Total
from armwise.report.alarms import find_alarms
from armwise.report.equity import Group, Grouping
from armwise.report.facts import Closeness
from armwise.report.page import write_page
from armwise.weekly.concerns import Concern
from armwise.weekly.shares import wilson
from tests.report.pages import make_assessment, make_effects, make_facts, make_promise, make_way, sample_data


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    """Facts that alarm nobody."""
    facts = make_facts(sample_data(tmp_path_factory.mktemp("alarms")))
    summary = dataclasses.replace(
        facts.plan.summary, unseen={}, num_without_gain=0, num_without_predicted_gain=0, num_calls=30
    )
    plan = dataclasses.replace(facts.plan, summary=summary)
    quality = dataclasses.replace(facts.quality, outages=())
    return facts._replace(
        plan=plan,
        quality=quality,
        groupings=(),
        findings=Report((), ()),
        assessment=make_assessment(ways=(make_way("armwise", 20.0), make_way("random", 10.0, 10.0))),
    )


def said(facts):
    return " ".join(f"{alarm.what} {alarm.meaning}" for alarm in find_alarms(facts))


def test_nothing_alarming_is_one_line(quiet):
    assert find_alarms(quiet) == []
    page = write_page(quiet)
    assert "Nothing alarming was found" in page
    assert 'class="alarms"' not in page


def test_alarms_come_before_everything_but_the_title(quiet):
    page = write_page(quiet._replace(assessment=None))
    order = ["<h1>", 'class="alarms"', "<nav", 'id="better"', 'id="calls"', 'id="forecast"']
    places = [page.index(each) for each in order]
    assert places == sorted(places)


def grouping(num_calls, num_may):
    group = Group("urdu", 90, 90, 40, num_calls, num_may, 0.3, *(wilson(1, 3) for _ in range(4)))
    return Grouping("language", (group,), 0, 0)


def test_a_group_without_calls_is_named_unless_nobody_of_it_may_be_called(quiet):
    # 30 calls for 250 people: a lottery would give 80 of them 9.6.
    text = said(quiet._replace(groupings=(grouping(0, 80),)))
    assert "1 group gets no calls." in text
    assert "language: urdu (90 people)" in text
    assert "chance does not explain it" in text
    # It would give 10 of them 1.2: none may be chance.
    assert "may be chance" in said(quiet._replace(groupings=(grouping(0, 10),)))
    assert said(quiet._replace(groupings=(grouping(0, 0),))) == ""
    assert said(quiet._replace(groupings=(grouping(1, 80),))) == ""


@pytest.mark.parametrize(
    ("effects", "words"),
    [
        (make_effects((0.05, -0.01, 0.11), (0.05, -0.02, 0.12)), "Past calls are not shown to help."),
        (make_effects((-0.05, -0.11, 0.01), (-0.05, -0.12, 0.02)), "Past calls are not shown to help."),
        (make_effects((-0.1, -0.16, -0.04)), "Past calls are shown to hurt."),
        (make_effects(engaged=(-0.2, -0.3, -0.1)), "Past calls are shown to hurt people engaged before the call."),
        (make_effects(comparable=19.0), "There are too few past calls to learn from."),
        (make_effects([np.nan] * 3, [np.nan] * 3, [np.nan] * 3, comparable=0.0), "too few past calls"),
    ],
)
def test_no_shown_effect_of_calls_is_the_first_alarm(quiet, effects, words):
    first = find_alarms(quiet._replace(effects=effects, quality=dataclasses.replace(quiet.quality, outages=(3,))))[0]
    assert words in first.what
    assert first.section == "effect"
    assert "nan" not in first.meaning


def test_an_effect_that_is_shown_in_one_state_is_no_alarm(quiet):
    assert said(quiet._replace(effects=make_effects((0.05, -0.01, 0.11), (0.2, 0.1, 0.3)))) == ""


def test_a_group_that_calls_hurt_is_an_alarm(quiet):
    groups = {
        "sex": (CallEffect("men", 30, Estimate(-0.2, -0.3, -0.1)), CallEffect("women", 30, Estimate(0.3, 0.2, 0.4)))
    }
    text = said(quiet._replace(effects=make_effects(by_group=groups)))
    assert "Past calls are shown to hurt people of some groups." in text
    assert "sex: men." in text
    # Where calls hurt everyone, one alarm says so.
    everyone = find_alarms(quiet._replace(effects=make_effects((-0.1, -0.16, -0.04), by_group=groups)))
    assert [alarm.what for alarm in everyone] == ["Past calls are shown to hurt."]


def sexes(men, women, calls_to_men, calls_to_women):
    """Two groups of 100 people with effects, each ± 10 in 100, and the calls that the list gives them."""
    groups = tuple(
        Group(name, 100, 100, 40, calls, 100, 0.5, *(wilson(1, 2) for _ in range(3)), wilson(calls, 100))
        for name, calls in (("men", calls_to_men), ("women", calls_to_women))
    )
    effects = tuple(
        CallEffect(name, 30, Estimate(value, value - 0.1, value + 0.1))
        for name, value in (("men", men), ("women", women))
    )
    return {"groupings": (Grouping("sex", groups, 0, 0),), "effects": make_effects(by_group={"sex": effects})}


def test_calls_to_those_whom_they_help_less_are_an_alarm(quiet):
    text = said(quiet._replace(**sexes(0.0, 0.3, calls_to_men=29, calls_to_women=1)))
    assert "The list prefers people whom calls help less." in text
    assert "By sex: 100 past calls brought +30.0 (+20.0 to +40.0) engaged people in the group “women” and 0.0" in text
    assert "This list calls 29 of 100 people in “men” and 1 of 100 people in “women”." in text


@pytest.mark.parametrize(
    ("men", "women", "calls_to_men", "calls_to_women"),
    [
        (0.0, 0.3, 1, 29),  # as it should be
        (0.0, 0.3, 15, 15),  # no group is preferred
        (0.0, 0.3, 16, 14),  # the preference may be chance
        (0.2, 0.3, 29, 1),  # the difference may be chance
        (np.nan, 0.3, 29, 1),  # nothing is known of men
    ],
)
def test_calls_that_go_where_they_help_are_none(quiet, men, women, calls_to_men, calls_to_women):
    assert "help less" not in said(quiet._replace(**sexes(men, women, calls_to_men, calls_to_women)))


def test_an_order_that_hardly_matters_is_an_alarm(quiet):
    def with_closeness(*numbers):
        return said(quiet._replace(closeness=Closeness(*numbers)))

    assert "3 of 30 calls were drawn by lot" in with_closeness(100, 3, 5, 0.5, 0.2)
    assert "close to a lottery" in with_closeness(100, 0, 5, 0.21, 0.2)
    assert "only 5 % more" in with_closeness(100, 0, 5, 0.21, 0.2)
    assert "For 16 of 30 calls" in with_closeness(100, 0, 16, 0.5, 0.2)
    # With a call for everyone, nobody is left out.
    assert with_closeness(0, 0, 30, 0.2, 0.2) == ""


def test_a_missing_an_old_and_a_lost_comparison_are_alarms(quiet):
    assert "Nobody has checked this model" in said(quiet._replace(assessment=None, is_current=False))
    assert "The evaluation is old" in said(quiet._replace(is_current=False))
    mixed = said(quiet._replace(assessment=make_assessment()))
    assert "A simpler way did better. On past weeks, better than armwise: one order for all" in mixed
    assert "not shown to be better than a simpler way. No clear difference on past weeks: disengaged first." in mixed
    assert "could not be compared with simpler ways. Too few later calls could have gone otherwise" in mixed
    assert "MSE" not in mixed
    assert "the risk score" in mixed


def test_a_promise_that_includes_0_is_an_alarm_and_an_expected_loss_another(quiet):
    nothing, harm = make_effects(*[(0.0, -0.1, 0.1)] * 3), make_effects((-0.2, -0.3, -0.1))

    def promised(*listed, effects=quiet.effects, num_calls=3):
        return said(quiet._replace(promise=make_promise(listed, num_calls=num_calls), effects=effects))

    assert said(quiet._replace(promise=None)) == promised(3.0, 2.0, 4.0) == promised(-5, -8, -2, num_calls=0) == ""
    unsure = promised(3.0, -2.0, 8.0)
    assert "Nothing can be promised of these calls. Expected engaged weeks in the next 12: +3.0" in unsure
    assert "(90 % interval −2.0 to +8.0)." in unsure
    assert "These calls are expected to do harm." in promised(-5.0, -8.0, -2.0, effects=harm)
    # Past calls as a whole show neither: nothing is claimed on the list's own interval alone.
    assert "These calls may do harm." in promised(-5.0, -8.0, -2.0, effects=nothing)
    assert "Nothing can be promised" in promised(3.0, 2.0, 4.0, effects=nothing)


def test_outages_warnings_and_old_models_are_alarms(quiet):
    last = quiet.quality.num_steps - 1
    assert "The call log has a gap." in said(quiet._replace(quality=dataclasses.replace(quiet.quality, outages=(3,))))
    now = said(quiet._replace(quality=dataclasses.replace(quiet.quality, outages=(3, last))))
    assert "The call log has gaps." in now
    assert "who is engaged now is a guess" in now
    total = Total("id-case", Severity.WARNING, "people.csv", "id", "What.", "Do this.", 7)
    assert "7 warnings. people.csv: What." in said(quiet._replace(findings=Report((), (total,))))
    assert "older than the data" in said(quiet._replace(num_learned_from=200))


def test_calls_without_gain_and_values_never_seen_are_alarms(quiet):
    summary = dataclasses.replace(
        quiet.plan.summary, unseen={"phone": 4}, num_without_gain=2, num_without_predicted_gain=3
    )
    text = said(quiet._replace(plan=dataclasses.replace(quiet.plan, summary=summary)))
    assert "2 people are listed without an expected gain." in text
    assert "3 calls are not expected to help." in text
    assert "phone (4 people)" in text


NEED = Concern("Calls are far from need by language", "urdu gets 0 of 42 calls", "groups", "language", ("urdu",))
LOTS = Concern("The list is mostly lots", "about 30 of 42 calls go to some of 99 people", "lots")
RULE = Concern("Past calls followed a rule", "of 60 calls, 10 could have gone otherwise", "past calls")


def test_what_armwise_plan_warns_of_is_an_alarm(quiet):
    known = dataclasses.replace(quiet.plan, num_draws=64)
    text = said(quiet._replace(concerns=(NEED, LOTS, RULE), plan=known))
    assert "Calls are far from need by language. Urdu gets 0 of 42 calls." in text
    assert "The list is mostly lots. About 30 of 42 calls go to some of 99 people." in text
    assert "Past calls followed a rule. Of 60 calls, 10 could have gone otherwise." in text
    few = dataclasses.replace(quiet.effects, comparable=10.0)
    assert "followed a rule" not in said(quiet._replace(concerns=(RULE,), effects=few))


def test_a_group_without_calls_has_one_alarm(quiet):
    facts = quiet._replace(groupings=(grouping(0, 80),))
    assert "1 group gets no calls." in said(facts)
    assert "no calls." not in said(facts._replace(concerns=(NEED,)))
