"""Each person's own sentence: true to her numbers, different from others', and without a gain that is not shown."""

import itertools

import polars as pl
import pytest

from armwise.planner.plan import call_table
from armwise.planner.reasons import BOTH, EVIDENCE, HELPED, HURT, NOT_SHOWN, OWN_COLUMNS, Evidence, in_100, reasons
from armwise.planner.rules import CallRules

PERSON = {
    "id": "1",
    "group": None,
    "state": 0,
    "since_observed": 1,
    "index": 0.3,
    "gain": 0.5,
    "gain_low": 0.2,
    "gain_high": 0.8,
    "own_weeks": 9,
    "engaged_weeks": 6,
    "streak": 3,
    "answered": 2,
    "calls": 3,
    "chance": 0.24,
    "chance_called": 0.36,
    "chance_low": 0.05,
    "chance_high": 0.19,
    "own_share": 0.7,
    "call_probability": 0.83,
}


def reason(evidence=HELPED, num_states=2, **changes):
    frame = pl.DataFrame([PERSON | changes], schema_overrides={"state": pl.Int32})
    (told,) = reasons(frame, CallRules(1), num_states, Evidence(evidence, ""))
    return told


def test_the_whole_sentence():
    assert reason() == (
        "not engaged for 3 weeks, engaged in 6 of 9 weeks; comes back with 24 % if left alone (mostly from her own "
        "weeks), 36 % if called (5 to 19 points more, engaged the week after 2 of 3 calls); 83 of 100 likely models "
        "choose her"
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"streak": 1}, "not engaged last week, engaged in 6 of 9 weeks; "),
        ({"since_observed": 4}, "not seen for 3 weeks, not engaged for 3 weeks before, engaged in 6 of 9 weeks; "),
        ({"since_observed": 2, "streak": 1}, "not seen for 1 week, not engaged before, "),
        ({"since_observed": 2}, "; is engaged next week with 24 % if left alone"),
        ({"engaged_weeks": 0, "streak": 9}, "not engaged for 9 weeks, as in all 9 weeks observed; "),
        ({"own_weeks": 1, "engaged_weeks": 0, "streak": 1}, "not engaged last week, the only week observed; "),
        ({"state": 1}, "engaged for 3 weeks, engaged in 6 of 9 weeks; stays with 24 % if left alone"),
        ({"state": None, "own_weeks": 0}, "new: not observed in any week yet; is engaged next week with 24 %"),
        (
            {"own_share": 0.2},
            "24 % if left alone (mostly from similar people), 36 % if called (5 to 19 points more, engaged",
        ),
        ({"calls": 0, "answered": 0}, "(5 to 19 points more, from similar people: never called)"),
        ({"calls": 1, "answered": 0}, "engaged the week after 0 of 1 call)"),
        ({"call_probability": 1.0}, "; all likely models choose her"),
        ({"call_probability": 0.001}, "; 1 of 100 likely models choose her"),
        ({"call_probability": 0.999}, "; 99 of 100 likely models choose her"),
        ({"call_probability": None}, "2 of 3 calls)"),
    ],
)
def test_what_is_known_is_said(changes, words):
    assert words in reason(**changes)


def test_more_than_two_states():
    told = reason(num_states=4, state=2)
    assert told.startswith(
        "in state 2 of 0 to 3 for 3 weeks, above state 0 in 6 of 9 weeks; is above state 0 with 24 %"
    )
    assert "all 9 weeks above state 0" in reason(num_states=4, state=2, engaged_weeks=9)
    assert "higher the week after 2 of 3 calls" in told
    assert "none of 9 weeks above state 0" in reason(num_states=4, state=0, engaged_weeks=0)


@pytest.mark.parametrize("evidence", EVIDENCE)
@pytest.mark.parametrize(("low", "high"), [(0.05, 0.19), (-0.03, 0.12), (-0.2, -0.04)])
def test_no_change_is_claimed_that_is_not_shown(evidence, low, high):
    told = reason(evidence, chance_low=low, chance_high=high)
    assert ("points more" in told) == (low > 0 and evidence in (HELPED, BOTH))
    assert ("points fewer" in told) == (high < 0 and evidence in (HURT, BOTH))
    assert ("not certain for her" in told) == ("points more" not in told and "points fewer" not in told)


def test_the_interval_has_signs_where_nothing_is_shown():
    assert "(−3 to +12 points, not certain for her, " in reason(NOT_SHOWN, chance_low=-0.03, chance_high=0.12)
    assert "(0 to +19 points, not certain for her, " in reason(chance_low=-0.001)


def test_without_own_weeks_it_is_the_sentence_of_the_state():
    frame = pl.DataFrame([PERSON]).drop(OWN_COLUMNS)
    (told,) = reasons(frame, CallRules(1), 2, Evidence(HELPED, ""))
    assert told == (
        "not engaged when last observed, last week; past calls to people in such a state gained 0.5 weeks on average "
        "(95 %: 0.2 to 0.8)"
    )
    assert reason(chance=None) == told


def test_people_with_different_weeks_have_different_reasons():
    people = [
        PERSON | {"id": str(number), "streak": streak, "engaged_weeks": weeks, "chance": chance}
        for number, (streak, weeks, chance) in enumerate(
            itertools.product([1, 2, 3], [3, 4, 5, 6], [0.1, 0.2, 0.3, 0.4])
        )
    ]
    frame, evidence = pl.DataFrame(people), Evidence(HELPED, "")
    told = frame.with_columns(reasons(frame, CallRules(48), 2, evidence))
    table = call_table(told, evidence, has_groups=False)
    assert table["reason"].n_unique() == 48
    assert table.columns[-3:] == ["call_probability", "reason", "evidence"]


@pytest.mark.parametrize(("probability", "words"), [(0.0, "0"), (1.0, "100"), (0.004, "1"), (0.996, "99"), (0.5, "50")])
def test_small_chances_are_not_none_and_large_ones_not_all(probability, words):
    assert in_100(probability) == f"{words} of 100"
