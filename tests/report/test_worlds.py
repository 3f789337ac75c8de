"""The report of whole programmes in which calls do nothing, or hurt: from their files, without an evaluation."""

import pytest

from armwise.programme.sample import sample_programme
from armwise.report import report_programme
from tests.weekly.quick import quick_programme

NUM_PEOPLE = 300


def write_world(folder, **assumed):
    """The sample's files from another simulation, with the sample's model: only the history differs."""
    path = quick_programme(folder)
    contents = sample_programme(0, num_people=NUM_PEOPLE, calls_per_week=40, **assumed).contents
    for name, text in contents.items():
        (folder / name).write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("assumed", "effect", "top_of_list"),
    [
        (
            {"call_effect": 0.0, "call_effect_spread": 0.0},
            "Past calls not shown to help.",
            "Past calls are not shown to help; this list is a guess about whom a call might help.",
        ),
        (
            {"call_effect": -3.0, "call_effect_spread": 0.0, "unaffected": 0.0},
            "Past calls hurt.",
            "Past calls are shown to hurt. Do not use this list before you know why.",
        ),
        ({"call_effect": 3.0, "call_effect_spread": 0.0, "unaffected": 0.0}, "Past calls helped.", None),
    ],
)
def test_a_report_says_what_calls_did_in_its_world(tmp_path, assumed, effect, top_of_list):
    page = report_programme(write_world(tmp_path, **assumed)).html
    section = page[page.index('id="effect"') : page.index('id="better"')]
    assert f'<p class="answer">{effect}</p>' in section
    calls = page[page.index('id="calls"') : page.index('id="forecast"')]
    if top_of_list is None:
        assert 'class="banner"' not in calls
    else:
        assert calls.index(top_of_list) < calls.index("<table")
        first_alarm = page[page.index('class="alarms"') :].partition("</li>")[0]
        assert 'href="#effect"' in first_alarm
    # Nothing else is claimed without an evaluation.
    assert page.count("has not been computed yet") == 3
