"""A programme's evaluation: on later weeks and other people than were learned from, and clear where it cannot be."""

import dataclasses
import re
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest

import armwise as aw
from armwise.errors import InvalidInputError, InvalidProgrammeError
from armwise.evaluation.simple_rules import RULES_OF_THUMB
from armwise.programme import load_programme
from armwise.weekly import Assessment, assess_programme, losses_to_compare
from tests.planner.outreach import small
from tests.programme.small import write_programme
from tests.weekly.backtests import Learned, record_fits, write_sample

NUM_PEOPLE = 120


@pytest.fixture
def programme(tmp_path):
    return write_sample(tmp_path, NUM_PEOPLE)


class Judged(NamedTuple):
    """The evaluation of a programme that no test changes: its result, what was learned from, what was said."""

    kept: Assessment
    fits: list[Learned]
    said: list[str]


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    said = []
    with pytest.MonkeyPatch.context() as patch:
        fits = record_fits(patch)
        path = write_sample(tmp_path_factory.mktemp("judged"), NUM_PEOPLE)
        return Judged(assess_programme(path, losses={}, started=said.append), fits, said)


def change_rows(programme, name, change):
    """Rewrite one of a programme's tables."""
    path = programme.parent / f"{name}.csv"
    change(pl.read_csv(path, infer_schema=False)).write_csv(path)


def test_all_rules_of_thumb_are_judged_beside_armwise(judged):
    kept = judged.kept
    assert [each.name for each in kept.ways] == ["armwise", *RULES_OF_THUMB]
    assert [each.name for each in kept.predictions] == ["armwise", "population", "own weeks"]
    assert kept.num_people == NUM_PEOPLE
    assert kept.budget_share == pytest.approx(12 / NUM_PEOPLE)
    assert kept.num_calls == sum(each.number for each in kept.called)
    assert kept.num_judged == sum(each.number for each in (*kept.called, *kept.left_alone))


def test_losses_are_judged_too_unless_none_is_wanted(programme, monkeypatch):
    fits = record_fits(monkeypatch)
    kept = assess_programme(programme)
    assert [each.name for each in kept.ways] == ["armwise", *losses_to_compare(), *RULES_OF_THUMB]
    assert len(fits) == 2 * 3 * len(kept.origins)


def test_each_fit_has_seen_half_of_the_people_and_no_later_step(judged):
    kept, fits = judged.kept, judged.fits
    assert len(fits) == 2 * len(kept.origins)
    assert all(len(each.frame) == NUM_PEOPLE // 2 for each in fits)
    assert [each.states.shape[1] for each in fits] == 2 * [origin + 1 for origin in kept.origins]
    assert max(kept.origins) < 8 - 1


def test_what_happens_later_changes_nothing_that_was_learned(programme, monkeypatch, judged):
    fits, last = record_fits(monkeypatch), "2024-02-19"
    louder = pl.when((pl.col("date") >= last) & (pl.col("connected") == "yes")).then(pl.lit("119"))
    change_rows(programme, "engagement", lambda rows: rows.with_columns(louder.otherwise("seconds").alias("seconds")))
    change_rows(programme, "interventions", lambda rows: rows.filter(pl.col("date") < last))
    changed = assess_programme(programme, losses={})
    for old, new in zip(judged.fits, fits, strict=True):
        assert old.frame.equals(new.frame)
        np.testing.assert_array_equal(old.states, new.states)
        np.testing.assert_array_equal(old.actions, new.actions)
    # The weeks judged on did change: everyone is engaged in the last.
    assert engaged(changed.left_alone) > engaged(judged.kept.left_alone) + 0.05


def engaged(bins):
    return sum(each.observed.value * each.number for each in bins) / sum(each.number for each in bins)


def test_the_same_rows_in_any_order_give_the_same_bytes(programme, monkeypatch, judged):
    record_fits(monkeypatch)
    for name in ("beneficiaries", "engagement", "interventions"):
        change_rows(programme, name, lambda rows: rows.sort(rows.columns, descending=True))
    again = dataclasses.replace(assess_programme(programme, losses={}), inputs=judged.kept.inputs)
    assert again.to_json() == judged.kept.to_json()


def test_effects_are_estimated_by_category_and_group_but_not_for_a_few_people(programme, monkeypatch):
    record_fits(monkeypatch)
    rare = pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("sign language")).otherwise("language").alias("language")
    change_rows(programme, "beneficiaries", lambda rows: rows.with_columns(rare))
    kept = assess_programme(programme, losses={})
    assert set(kept.effects.by_group) == {"language", "phone_owner", "schooling", "first_pregnancy", "district"}
    assert [each.name for each in kept.effects.by_group["district"]] == ["centre", "north", "south"]
    assert "sign language" not in kept.to_json()


def test_what_will_be_done_is_said_first(judged):
    (said,) = judged.said
    assert re.match(r"Backtest: learning 6 times from the early steps of half of 120 people.* About \d+ s", said)


def test_people_without_any_history_are_no_obstacle(programme, monkeypatch):
    record_fits(monkeypatch)
    silent = load_programme(programme).ids[:20]
    for name in ("engagement", "interventions"):
        change_rows(programme, name, lambda rows: rows.filter(~pl.col("id").is_in(silent.implode())))
    kept = assess_programme(programme, losses={})
    assert kept.num_people == NUM_PEOPLE
    assert kept.num_judged <= (NUM_PEOPLE - 20) * 4


def test_weeks_in_the_future_are_refused(programme):
    programme.write_text(programme.read_text().replace("plan_date = 2024-02-26", "plan_date = 2024-02-19"))
    with pytest.raises(InvalidProgrammeError, match="on or after") as refused:
        assess_programme(programme)
    assert "engagement.csv" in str(refused.value)


def test_a_person_who_is_there_twice_is_refused(programme):
    change_rows(programme, "beneficiaries", lambda rows: pl.concat([rows, rows[:1]]))
    with pytest.raises(InvalidProgrammeError, match="twice"):
        assess_programme(programme)


def test_a_history_without_any_call_is_refused(programme):
    change_rows(programme, "interventions", lambda rows: rows.with_columns(pl.lit("missed").alias("status")))
    with pytest.raises(InvalidInputError, match=r"Nobody in the history was called.*by lot"):
        assess_programme(programme)


def test_too_few_steps_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="takes 4 steps, and the history has 3"):
        assess_programme(write_programme(tmp_path))


def test_calls_of_the_last_week_alone_leave_nothing_to_judge_on(programme):
    change_rows(programme, "interventions", lambda rows: rows.filter(pl.col("date") >= "2024-02-12"))
    with pytest.raises(InvalidInputError, match=r"first calls were made in step 7 of 8.*Wait for another step"):
        assess_programme(programme)


def test_a_half_without_early_calls_is_refused(programme, monkeypatch):
    record_fits(monkeypatch)
    rows = pl.read_csv(programme.parent / "interventions.csv", infer_schema=False)
    someone = rows.filter((pl.col("status") == "delivered") & (pl.col("date") < "2024-01-15"))["id"][0]
    early = (pl.col("date") < "2024-02-05") & (pl.col("id") != someone)
    change_rows(programme, "interventions", lambda rows: rows.filter(~early))
    with pytest.raises(InvalidInputError, match=r"In the first 4 of 8 steps, one half of the people has no call"):
        assess_programme(programme)


def test_a_state_that_half_of_the_people_never_showed_early_is_refused(programme, monkeypatch):
    record_fits(monkeypatch)
    early = (pl.col("date") < "2024-02-05") & (pl.col("connected") == "yes")
    silent = pl.when(early).then(pl.lit("5")).otherwise("seconds").alias("seconds")
    change_rows(programme, "engagement", lambda rows: rows.with_columns(silent))
    with pytest.raises(InvalidInputError, match="was in state 1, left alone"):
        assess_programme(programme)


def small_case():
    """People and a long table of their weeks, as a planner takes them."""
    case = small()
    return case.people.select("id", "phone", "language"), case.weeks, aw.OutreachPlanner()


def test_people_without_rows_in_a_long_table_were_never_observed(monkeypatch):
    fits = record_fits(monkeypatch)
    people, weeks, planner = small_case()
    silent = people["id"][:30].implode()
    result = planner.backtest(people, weeks.filter(~pl.col("id").is_in(silent)), num_resamples=10)
    assert result.decisions.valid.any(axis=1).sum() <= 90
    assert len(fits) == 6


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda people, weeks: (pl.concat([people, people[:1]]), weeks), "stands in two rows"),
        (lambda people, weeks: (people[1:], weeks), "whom people does not have"),
        (lambda people, weeks: (people, weeks.with_columns(action=0)), "Nobody in the history was called"),
        (lambda people, weeks: (people, weeks.filter(pl.col("step") < 3)), "takes 4 steps, and the history has 3"),
    ],
    ids=["one person twice", "a stranger", "no call", "too few steps"],
)
def test_what_a_backtest_cannot_be_made_of_is_one_clear_message(monkeypatch, change, complaint):
    record_fits(monkeypatch)
    people, weeks, planner = small_case()
    with pytest.raises(InvalidInputError, match=complaint):
        planner.backtest(*change(people, weeks), num_resamples=10)


def test_a_single_person_cannot_be_divided():
    weeks = pl.DataFrame({"id": "a", "step": range(6), "state": [0, 1] * 3, "action": [1, 0] * 3})
    with pytest.raises(InvalidInputError, match="it takes at least 2"):
        aw.OutreachPlanner().backtest(pl.DataFrame({"id": ["a"], "phone": ["own"]}), weeks)
