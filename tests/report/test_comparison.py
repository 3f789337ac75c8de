"""The comparison with simpler ways says no more than past weeks show."""

import math

import pytest

from armwise.evaluation.resampling import Estimate
from armwise.evaluation.simple_rules import RULES_OF_THUMB
from armwise.planner import WayJudged
from armwise.report.comparison import WAYS, Verdict, answer, judge_ways
from armwise.report.page import write_page
from tests.report.pages import make_assessment, make_effects, make_facts, make_way, sample_data, write_section


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    return make_facts(sample_data(tmp_path_factory.mktemp("comparison")))


def ways(**leads):
    others = [make_way(name.replace("_", " "), 5.0, lead, 1.96) for name, lead in leads.items()]
    return [make_way("armwise", 8.0), *others]


def test_every_way_has_a_name():
    assert set(WAYS) == {"armwise", *RULES_OF_THUMB}
    assert judge_ways([make_way("accuracy (MSE)", 1.0)])[0].name == "armwise learned by accuracy (MSE)"


@pytest.mark.parametrize(
    ("lead", "verdict"),
    [
        (2.1, Verdict.BETTER),
        (1.9, Verdict.SAME),
        (0.0, Verdict.SAME),
        (-1.9, Verdict.SAME),
        (-2.1, Verdict.WORSE),
        (math.nan, Verdict.UNKNOWN),
    ],
)
def test_a_difference_counts_if_its_whole_interval_does(lead, verdict):
    [judged] = judge_ways(ways(random=lead))
    assert judged.verdict == verdict


def test_a_lead_without_an_interval_is_not_comparable():
    unknown = WayJudged("random", Estimate(1.0, 0.0, 2.0), Estimate(1.0, math.nan, math.nan))
    assert judge_ways([unknown])[0].verdict == Verdict.UNKNOWN


def test_the_answer_is_yes_only_if_every_way_is_beaten():
    def answered(is_shown=True, **leads):
        return answer(judge_ways(ways(**leads)), is_shown, "week")

    yes = "Yes, armwise did better than drawing lots and calling everyone in turn, in past weeks."
    assert answered(random=3, round_robin=3) == yes
    assert answered(False, random=3, round_robin=3) == (
        f"{yes} But past calls are not shown to help at all, so that this may be chance too."
    )
    unsure = answered(random=0, disengaged_first=0, round_robin=3)
    assert unsure.startswith(
        "armwise is not shown to be better than drawing lots or disengaged first: the difference may be chance."
    )
    assert "It did better than calling everyone in turn" in unsure
    assert "easier to explain" in unsure
    assert answered(random=-3).startswith("No: armwise did worse than drawing lots.")
    assert "easier to explain" not in answered(never=0)
    assert answered(random=math.nan).startswith("The evaluation cannot say")
    assert answer([], True, "week").startswith("The evaluation cannot say")
    # Another loss is no simpler way: it is shown, and not part of the answer.
    both = judge_ways([make_way("accuracy (MSE)", 1.0, 0.0), *ways(random=3)])
    assert [each.name for each in both] == ["drawing lots", "armwise learned by accuracy (MSE)"]
    assert answer(both, True, "week") == "Yes, armwise did better than drawing lots, in past weeks."


def test_the_page_says_it_near_the_top_with_intervals(facts):
    page = write_page(facts)
    section = page[page.index('id="better"') : page.index('id="calls"')]
    assert page.index('id="effect"') < page.index('id="better"') < page.index('id="calls"')
    assert "No clear difference from</strong> disengaged first: −1.0 (−4.0 to +2.0)." in section
    assert "Better than</strong> drawing lots: +10.0 (+6.0 to +14.0)." in section
    assert "Better than</strong> no calls at all: +20.0 (+16.0 to +24.0)." in section
    assert "Worse than</strong> one order for all (population index): −6.0" in section
    assert "Not comparable with</strong> the risk score (least likely to engage)." in section
    # What each way gains, in the table.
    assert '<td>disengaged first</td><td class="number">+21.0 (+18.0 to +24.0)</td>' in section


def test_the_bound_is_said_with_its_condition(facts):
    assert "No rule could gain more than 40.0 engaged weeks by 100 calls, if people behave as estimated" in (
        write_section("better", facts)
    )
    doubtful = facts._replace(effects=make_effects((0.0, -0.1, 0.1), (0.0, -0.1, 0.1), (0.0, -0.1, 0.1)))
    assert "it may as well be 0" in write_section("better", doubtful)
    nothing = facts._replace(assessment=make_assessment(bound=0.01))
    assert "No rule could gain anything by calls" in write_section("better", nothing)
    assert "No rule could" not in write_section("better", facts._replace(assessment=make_assessment(bound=None)))
