"""What an evaluation says on a terminal: no lead that may be chance is called one, and no success without an effect."""

import dataclasses

import pytest

from armwise.evaluation.effects import NOTHING, CallEffect
from armwise.evaluation.resampling import Estimate
from armwise.planner.reasons import describe_evidence
from armwise.weekly import write_text
from armwise.weekly.evaluation_text import write_effects, write_verdict, write_ways
from tests.report.pages import make_assessment, make_way


def without_effect(kept, value=0.01):
    """The same evaluation where calls are not shown to do anything."""
    nothing = Estimate(value, value - 0.05, value + 0.05)
    effects = dataclasses.replace(
        kept.effects,
        overall=CallEffect("everyone", 60, nothing),
        by_state=tuple(each._replace(effect=nothing) for each in kept.effects.by_state),
    )
    return dataclasses.replace(kept, effects=effects)


def with_leads(kept, **leads):
    """The same evaluation with these leads over ways, each with an interval of ± 1."""
    own = make_way("armwise", 10.0)
    ways = tuple(make_way(name.replace("_", " "), 10.0 - lead, lead) for name, lead in leads.items())
    return dataclasses.replace(kept, ways=(own, *ways))


def test_the_order_is_that_of_the_questions_of_a_programme():
    text = write_text(make_assessment())
    parts = ["Did calls help?", "whom to call", "armwise did worse than", "Predictions of", "no rule could gain"]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert describe_evidence(make_assessment().effects) in text


def test_effects_are_told_by_state_and_group_with_their_intervals():
    lines = [" ".join(line.split()) for line in write_effects(make_assessment(), "week").splitlines()]
    assert "disengaged +30.0 (+15.0 to +45.0), 40 calls" in lines
    assert "engaged +10.0 (−5.0 to +25.0), 20 calls" in lines
    assert "language: urdu not estimated: 3 calls are too few" in lines


def test_states_beyond_two_keep_their_numbers():
    kept = make_assessment(num_states=3)
    assert "  state 0  " in write_effects(kept, "week")
    assert "disengaged" not in write_effects(kept, "week")


def test_too_few_calls_are_said_and_no_effect_is_shown():
    kept = make_assessment(effects=dataclasses.replace(make_assessment().effects, comparable=5.0))
    text = write_effects(kept, "week")
    assert "too few past calls" in text
    assert "+30.0" not in text


def test_each_way_has_a_line_with_gain_and_lead():
    lines = [" ".join(line.split()) for line in write_ways(make_assessment().ways, "day").splitlines()]
    assert "engaged days by 100 calls" in lines[0]
    assert lines[1] == "armwise +20.0 (+16.0 to +24.0)"
    assert lines[4] == "random +10.0 (+6.0 to +14.0) +10.0 (+6.0 to +14.0)"
    assert lines[8] == "least likely to engage not estimated not estimated"


def test_the_verdict_names_first_what_does_better_and_what_may_be_chance():
    lines = write_verdict(make_assessment()).splitlines()
    assert lines[0] == "armwise did worse than: population index."
    assert lines[1].startswith("armwise is not shown to be better than: disengaged first, least likely to engage. ")
    assert lines[2] == "Learning by another loss is not shown to do better or worse: accuracy (MSE)."
    assert lines[3] == "armwise did better than: never, random, round robin."
    assert "use the rule" in lines[4]


@pytest.mark.parametrize(("lead", "better"), [(0.9, False), (1.1, True), (-1.1, False)])
def test_only_an_interval_above_zero_is_better(lead, better):
    text = write_verdict(with_leads(make_assessment(), random=lead))
    assert ("armwise did better than: random" in text) is better
    assert ("armwise did worse than: random" in text) is (lead < -1)
    assert ("is not shown to be better than: random" in text) is (abs(lead) < 1)


def test_a_world_without_effects_does_not_sound_like_success():
    kept = without_effect(with_leads(make_assessment(), never=0.3, random=-0.2, round_robin=0.5))
    text = write_text(kept)
    assert "not shown to help" in text.splitlines()[1]
    assert "armwise's calls are not shown to gain more than no calls." in text
    assert "armwise is not shown to be better than: random, round robin." in text
    assert "did better" not in text
    assert "it may as well be 0" in text


def test_a_lead_without_an_effect_is_doubted():
    text = write_verdict(without_effect(with_leads(make_assessment(), random=2.0)))
    assert "may be chance too" in text
    assert "may be chance too" not in write_verdict(with_leads(make_assessment(), random=2.0))


def test_a_bound_that_was_not_computed_is_not_mentioned():
    assert "no rule could" not in write_text(make_assessment(bound=None))


def test_what_predicts_better_is_named():
    kept = make_assessment()
    assert "armwise predicts worse than: own weeks." in write_text(kept)
    assert "predicts worse" not in write_text(make_assessment(predictions=kept.predictions[:2]))


def test_without_later_calls_no_verdict_is_given():
    kept = make_assessment()
    kept = dataclasses.replace(
        kept, ways=tuple(each._replace(gain=NOTHING, lead=NOTHING) for each in kept.ways), num_calls=7
    )
    assert write_verdict(kept) == (
        "Nothing can be compared. Lists are judged by calls that could have gone otherwise in later steps; of 7 later "
        "calls, too few could. It takes 20, and people alike who were not called."
    )
    assert "not estimated" in write_ways(kept.ways, "week")
