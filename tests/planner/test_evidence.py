"""What is said of past calls: each case in its own words, and never more than the intervals show."""

import pytest

from armwise.evaluation import CallEffect, CallEffects, Estimate
from armwise.planner.reasons import BOTH, EVIDENCE, HELPED, HURT, NOT_SHOWN, TOO_FEW, describe_evidence, name_evidence

NAN = float("nan")


def effects(overall, *states, comparable=90.0):
    by_state = tuple(CallEffect(f"state {number}", 50, Estimate(*each)) for number, each in enumerate(states))
    return CallEffects(CallEffect("everyone", 100, Estimate(*overall)), by_state, {}, comparable, 0.95)


UNCLEAR = (0.02, -0.05, 0.09)
CASES = {
    HELPED: effects((0.12, 0.04, 0.2), (0.2, 0.1, 0.3), UNCLEAR),
    HURT: effects((-0.12, -0.2, -0.04), UNCLEAR, UNCLEAR),
    BOTH: effects(UNCLEAR, (0.2, 0.1, 0.3), (-0.2, -0.3, -0.1)),
    NOT_SHOWN: effects(UNCLEAR, UNCLEAR, UNCLEAR),
    TOO_FEW: effects((0.12, 0.04, 0.2), (0.2, 0.1, 0.3), comparable=19.9),
}


@pytest.mark.parametrize("name", EVIDENCE)
def test_each_case_has_its_words(name):
    assert name_evidence(CASES[name]) == name
    sentence = describe_evidence(CASES[name])
    assert sentence.isprintable()
    if name != TOO_FEW:
        assert sentence.startswith(name.capitalize() + ". After 100 calls there were ")
        assert "95 % interval" in sentence


def test_a_sentence_has_the_figures():
    assert describe_evidence(CASES[HELPED], "day") == (
        "Past calls helped. After 100 calls there were 12.0 more people engaged in 100 (95 % interval +4.0 to +20.0) "
        "in the next day than without a call, among people alike before. Of people not engaged before the call: 20.0 "
        "more people engaged in 100 (95 % interval +10.0 to +30.0)."
    )
    assert "12.0 fewer people engaged in 100 (95 % interval −20.0 to −4.0)" in describe_evidence(CASES[HURT])
    assert "19 could be compared; it takes 20" in describe_evidence(CASES[TOO_FEW])
    assert "No gain can be promised" in describe_evidence(CASES[NOT_SHOWN])


def test_a_state_is_told_only_where_it_shows_something():
    """Of two states, the interval that counts is wider than the one of a single state."""
    narrow = (0.1, 0.001, 0.199)
    assert name_evidence(effects(UNCLEAR, narrow, UNCLEAR)) == NOT_SHOWN
    assert "Of people" not in describe_evidence(effects(UNCLEAR, narrow, UNCLEAR))
    assert "Of people engaged before the call: 20.0 fewer" in describe_evidence(CASES[BOTH])


def test_where_everyone_together_shows_nothing_the_sentence_says_whom_calls_helped():
    helped = describe_evidence(effects((-0.02, -0.09, 0.05), (0.2, 0.1, 0.3), UNCLEAR))
    assert helped.startswith(
        "Past calls helped people not engaged before the call. After 100 calls there were 2.0 fewer"
    )
    hurt = describe_evidence(effects(UNCLEAR, UNCLEAR, (-0.2, -0.3, -0.1)))
    assert hurt.startswith("Past calls hurt people engaged before the call. After 100 calls there were 2.0 more")


def test_more_states_are_points_of_engagement_and_keep_their_numbers():
    joined = CallEffect("states 1, 2", 50, Estimate(0.2, 0.1, 0.3))
    several = CallEffects(
        CallEffect("everyone", 80, Estimate(0.1, 0.05, 0.15)),
        (CallEffect("state 0", 30, Estimate(NAN, NAN, NAN)), joined),
        {},
        70.0,
        0.95,
    )
    sentence = describe_evidence(several, num_states=3)
    assert "10.0 more points of engagement in 100" in sentence
    assert "Of people in states 1, 2 before the call: 20.0 more points" in sentence
    assert "nan" not in sentence
