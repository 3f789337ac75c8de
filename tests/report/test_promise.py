"""What the calls bring: what past weeks bear out, in words that promise no more than the interval."""

import pytest

from armwise.evaluation.effects import NOTHING
from armwise.report.alarms import find_alarms
from armwise.report.facts import make_promise
from armwise.report.promise import say_promise
from tests.report import pages
from tests.report.pages import make_assessment, make_effects, make_facts, sample_data, write_section


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return sample_data(tmp_path_factory.mktemp("promise"))


def test_a_list_is_promised_what_as_many_calls_gained_in_past_weeks():
    """20 ± 4 by 100 calls of armwise and 10 ± 4 by lot, with 95 % intervals; so 10 ± 1.68 and 5 ± 1.68 with 90 %."""
    promise = make_promise(make_assessment(), 50)
    narrower = 1.6449 / 1.96
    assert promise.listed == pytest.approx((10.0, 10 - 2 * narrower, 10 + 2 * narrower), abs=1e-3)
    assert promise.lots == pytest.approx((5.0, 5 - 2 * narrower, 5 + 2 * narrower), abs=1e-3)
    assert promise.lead == pytest.approx((5.0, 5 - 2 * narrower, 5 + 2 * narrower), abs=1e-3)


def test_nobody_on_the_list_gains_nothing(data):
    promise = make_promise(make_assessment(), 0)
    assert promise.listed == (0, 0, 0)
    assert "Nobody is on the list" in write_section("forecast", make_facts(data, promise=promise))


SHOWN, NOT_SHOWN, HARMFUL = make_effects(), make_effects(*[(0.0, -0.1, 0.1)] * 3), make_effects((-0.2, -0.3, -0.1))


@pytest.mark.parametrize(
    ("effects", "listed", "lead", "words"),
    [
        (SHOWN, (30, 10, 50), (10, 2, 18), "are expected to gain engaged weeks. That is better than as many calls by"),
        (SHOWN, (30, 10, 50), (-10, -18, -2), "As many calls by lot are expected to do better, by 10.0 engaged weeks."),
        (SHOWN, (3, -2, 8), (0, -1, 1), "includes 0, so nothing can be promised. It is not shown to be better"),
        (HARMFUL, (-5, -8, -2), (0, -1, 1), "expected to cost engaged weeks: do not make them before you know why."),
        (NOT_SHOWN, (-5, -8, -2), (0, -1, 1), "may cost engaged weeks, though past calls are not shown to hurt."),
        (NOT_SHOWN, (5, 2, 8), (0, -1, 1), "Past calls are not shown to help, so nothing can be promised."),
    ],
)
def test_each_case_has_its_words(data, effects, listed, lead, words):
    promise = pages.make_promise(listed, lead=lead)
    assert words in say_promise(promise, effects, "week")
    section = write_section("forecast", make_facts(data, promise=promise, effects=effects))
    assert words in section
    assert "What is not promised" in section


def test_the_numbers_are_shown_beside_lots_and_no_calls(data):
    section = write_section("forecast", make_facts(data))
    assert "3 calls on this list: +30.0 engaged weeks in the next 12 weeks (90 % interval +10.0 to +50.0)." in section
    for row in ("this list</td>", "as many calls by lot</td>", "no calls</td>", "this list, more than lots</td>"):
        assert row in section
    assert "1 call on this list" in say_promise(pages.make_promise(num_calls=1), SHOWN, "week")


def test_without_an_evaluation_the_command_is_named(data):
    section = write_section("forecast", make_facts(data, promise=None, assessment=None))
    assert "has not been computed yet" in section
    assert "armwise evaluate PROGRAMME --for-report" in section


def test_without_calls_to_judge_by_nothing_is_promised(data):
    unknown = make_promise(
        make_assessment(ways=tuple(each._replace(gain=NOTHING) for each in make_assessment().ways)), 5
    )
    assert not unknown.is_known
    facts = make_facts(data, promise=unknown)
    section = write_section("forecast", facts)
    assert "too few past calls to tell what this list will bring. Nothing can be promised." in section
    assert "nan" not in section
    (alarm,) = [each for each in find_alarms(facts) if each.section == "forecast"]
    assert alarm.what == "Nothing can be promised of these calls."
    assert alarm.meaning == "There are too few past calls to tell what this list will bring."
