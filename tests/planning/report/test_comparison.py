"""The comparison with simpler ways says no more than the evaluation shows."""

import pytest

from armwise.planning.intervals import errors_for_95
from armwise.planning.judging import POLICIES, Evaluation, PolicyQuality
from armwise.planning.report.comparison import WAYS, Verdict, answer, judge_ways
from armwise.planning.report.page import write_page
from tests.planning.report.pages import make_assessment, make_facts, sample_data


def evaluation(leads, num_cohorts=100):
    own = PolicyQuality("armwise", 0.5, 0.1, 2.0, 1.0, 0.0, 0.0)
    others = [PolicyQuality(name, 0.4, 0.1, 1.5, 1.0, *lead) for name, lead in leads.items()]
    return Evaluation((own, *others), num_cohorts, 20, 1, 100)


def test_every_policy_has_a_name():
    assert set(WAYS) == set(POLICIES)


@pytest.mark.parametrize(
    ("lead", "error", "verdict"),
    [
        (2.1, 1.0, Verdict.BETTER),
        (1.9, 1.0, Verdict.SAME),
        (0.0, 0.0, Verdict.SAME),
        (-1.9, 1.0, Verdict.SAME),
        (-2.1, 1.0, Verdict.WORSE),
        (2.1, float("nan"), Verdict.UNKNOWN),
        (float("nan"), 1.0, Verdict.UNKNOWN),
    ],
)
def test_a_difference_counts_from_two_standard_errors(lead, error, verdict):
    [judged] = judge_ways(evaluation({"random": (lead, error)}))
    assert judged.verdict == verdict


def test_few_cohorts_need_a_larger_difference():
    # Student's t with 4 degrees of freedom: 2.776 standard errors.
    assert judge_ways(evaluation({"random": (2.7, 1.0)}, 5))[0].verdict == Verdict.SAME
    assert judge_ways(evaluation({"random": (2.8, 1.0)}, 5))[0].verdict == Verdict.BETTER
    assert judge_ways(evaluation({"random": (9.9, 1.0)}, 1))[0].verdict == Verdict.UNKNOWN
    assert errors_for_95(2) == pytest.approx(12.706, abs=1e-3)


def test_the_answer_is_yes_only_if_every_way_is_beaten():
    def answered(**leads):
        return answer(judge_ways(evaluation({name.replace("_", " "): (lead, 1.0) for name, lead in leads.items()})))

    assert (
        answered(random=3, round_robin=3)
        == "Yes, better than drawing lots and calling everyone in turn, in a simulation."
    )
    unsure = answered(random=3, disengaged_first=0)
    assert unsure.startswith("It is not shown to be better than the rule of thumb (disengaged first)")
    assert "It is better than drawing lots" in unsure
    assert answered(random=-3).startswith("No: it did worse than drawing lots.")
    assert answer(judge_ways(evaluation({"random": (1, 1)}, 1))).startswith("The evaluation cannot say")
    assert answer([]).startswith("The evaluation cannot say")


def test_the_page_says_it_near_the_top_with_intervals(tmp_path):
    page = write_page(make_facts(sample_data(tmp_path), assessment=make_assessment()))
    section = page[page.index('id="better"') : page.index('id="calls"')]
    assert page.index('id="better"') < page.index('id="calls"')
    # Five cohorts: 2.776 standard errors of 0.2.
    assert "No different from</strong> the risk score (least likely to engage): +0.1 (−0.5 to +0.7)." in section
    assert "Better than</strong> the rule of thumb (disengaged first): +0.5 (+0.2 to +0.8)." in section
    assert "Worse than</strong> calling everyone in turn" in section
    assert "Not comparable with</strong> drawing lots." in section
