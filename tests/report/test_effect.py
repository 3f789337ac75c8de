"""The first section: what past calls did, in words that claim no more than the intervals show."""

import numpy as np
import pytest

from armwise.evaluation.effects import CallEffect
from armwise.evaluation.resampling import Estimate
from armwise.report.effect import MOST_OPEN, hurt_groups, list_warning
from armwise.report.page import SECTIONS, write_page
from tests.report.pages import ATTACK, make_effects, make_facts, sample_data, write_section

NOTHING = make_effects((0.01, -0.05, 0.07), (0.02, -0.05, 0.09), (0.0, -0.1, 0.1))


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    return make_facts(sample_data(tmp_path_factory.mktemp("effect")))


def test_it_is_the_first_section_after_the_alarms(facts):
    assert list(SECTIONS)[:2] == ["alarms", "effect"]
    assert "Did past calls help?" in write_page(facts)


def test_the_answer_everyone_the_states_and_the_groups_are_shown(facts):
    section = write_section("effect", facts)
    assert '<p class="answer">Past calls helped.</p><p>After 60 calls there were 20.0 more people engaged' in section
    for words in ("everyone", "not engaged before the call", "language: &lt;script&gt;"):
        assert words in section
    assert "<td>not engaged before the call</td>" in section
    assert "+30.0 (+15.0 to +45.0)" in section
    assert "<script" not in section


def test_a_group_with_too_few_calls_has_no_effect(facts):
    section = write_section("effect", facts)
    assert "too few calls" in section
    assert "nan" not in section.lower()


def test_many_groups_are_folded_and_chance_is_mentioned(facts):
    few = tuple(CallEffect(f"g{number}", 30, Estimate(0.1, 0.0, 0.2)) for number in range(MOST_OPEN))
    many = (*few, few[0])
    assert "<summary>By group</summary>" not in write_section(
        "effect", facts._replace(effects=make_effects(by_group={"a": few}))
    )
    section = write_section("effect", facts._replace(effects=make_effects(by_group={"a": many})))
    assert "<summary>By group</summary>" in section
    assert "about 1 would differ from 0 by chance" in section


def test_without_groups_and_without_calls_the_section_still_says_so(facts):
    nothing = make_effects(*([np.nan] * 3,) * 3, by_group={}, comparable=0.0)
    section = write_section("effect", facts._replace(effects=nothing))
    assert "There are too few past calls to tell whether calls help" in section
    assert "nan" not in section.lower()


@pytest.mark.parametrize(
    ("effects", "words"),
    [
        (NOTHING, "Past calls are not shown to help; this list is a guess about whom a call might help."),
        (make_effects(comparable=3.0), "There are too few past calls to tell whether calls help; this list is a guess"),
        (make_effects((-0.1, -0.2, -0.01)), "Past calls are shown to hurt. Do not use this list"),
        (make_effects(engaged=(-0.2, -0.3, -0.1)), "shown to hurt people engaged before the call. Do not call them"),
    ],
)
def test_the_list_says_at_its_top_what_it_is_worth(facts, effects, words):
    section = write_section("calls", facts._replace(effects=effects))
    assert words in section
    assert section.index(words) < section.index("<table")
    assert words in write_page(facts._replace(effects=effects))


def test_a_list_after_calls_that_helped_needs_no_warning(facts):
    assert list_warning(facts) is None
    assert list_warning(facts._replace(effects=make_effects((0.05, -0.01, 0.11), (0.2, 0.1, 0.3)))) is None


def test_names_of_groups_are_text(facts):
    assert ATTACK in facts.effects.by_group["language"][0].name
    assert "<script" not in write_page(facts)


def test_groups_that_calls_hurt_are_found_by_wider_intervals():
    def found(high, number=10, **changes):
        # The interval of one group, from −0.2 − (high + 0.2) to high, is the same for all.
        group = CallEffect("x", 30, Estimate(-0.2, -0.4 - high, high))
        others = [CallEffect(f"g{place}", 30, Estimate(0.0, -0.1, 0.1)) for place in range(number - 1)]
        return hurt_groups(make_effects(by_group={"language": (group, *others)}, **changes))

    # Of 10 groups, 2.807 standard errors count instead of 1.96: the half-width must be below 0.2 × 1.96 / 2.807.
    assert found(-0.2 + 0.139) == ["language: x"]
    assert found(-0.2 + 0.140) == []
    assert found(-0.2 + 0.140, number=9) == ["language: x"]
    assert found(-0.2 + 0.139, comparable=3.0) == []
    assert hurt_groups(make_effects(by_group={})) == []
