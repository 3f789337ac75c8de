"""One mistyped date moves neither the plan nor the first step; breaks and small programmes are not refused."""

import datetime
import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armwise.programme import check_programme, load_programme
from armwise.programme.steps import Bulk, find_bulk
from tests.programme.small import ENGAGEMENT, INTERVENTIONS, PROGRAMME, edited, write_programme
from tests.weekly.quick import quick_files

NO_DATE = edited("programme.toml", "plan_date = 2024-01-22\n", "")
TODAY = datetime.date(2024, 2, 26)


@pytest.fixture
def sample(tmp_path):
    """The sample without a plan_date, as on the Monday after its last row; call it with a row to add."""

    def write(row: str = "", *, name: str = "engagement.csv", settings: str = ""):
        for file, text in quick_files().items():
            (tmp_path / file).write_text(text + row if file == name else text)
        path = tmp_path / "programme.toml"
        path.write_text(re.sub(r"plan_date = \S+", settings, path.read_text(), count=1))
        return path

    return write


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    def set_today(day: datetime.date) -> None:
        monkeypatch.setattr("armwise.programme.steps.today", lambda: day)

    set_today(datetime.date(2026, 1, 1))
    return set_today


def someone() -> str:
    return quick_files()["engagement.csv"].splitlines()[1].split(",")[0]


def errors(path):
    return [finding for finding in check_programme(path).findings if finding.severity == "error"]


@pytest.mark.parametrize(
    ("day", "kind", "remedy"),
    [
        ("2025-02-10", "row-far-after", "plan_date = 2025-02-17"),
        ("2024-03-25", "row-far-after", "plan_date = 2024-04-01"),
        ("2023-02-10", "row-far-before", "first_day = 2023-02-06"),
    ],
)
def test_a_lone_row_is_refused_and_the_remedies_work(sample, day, kind, remedy):
    path = sample(f"{someone()},{day},yes,40\n")
    [finding] = errors(path)
    assert (finding.kind, finding.value, finding.person) == (kind, day, someone())
    assert finding.row == len(quick_files()["engagement.csv"].splitlines()) + 1
    assert remedy in finding.remedy
    # Told that it is right, armwise goes on, and plans for what it said.
    path = sample(f"{someone()},{day},yes,40\n", settings=remedy)
    assert errors(path) == []
    assert load_programme(path, despite_outage=True).quality.planned_step.endswith(
        remedy.split()[-1] if "plan" in remedy else "2024-02-26"
    )
    # Corrected, nothing is said.
    assert check_programme(sample(f"{someone()},2024-02-10,yes,40\n")).findings == ()


def test_several_lone_rows_are_all_named(sample):
    days = ["2023-02-10", "2024-08-10", "2024-08-12", "2025-02-10"]
    rows = "".join(f"{someone()},{day},yes,40\n" for day in days)
    assert sorted(finding.value for finding in errors(sample(rows))) == days


def test_a_row_in_the_future_is_refused_only_where_the_plan_depends_on_it(sample, clock):
    row = f"{someone()},2024-02-28,yes,40\n"
    clock(TODAY)
    assert [(each.kind, each.value) for each in errors(sample(row))] == [("row-in-future", "2024-02-28")]
    clock(TODAY + datetime.timedelta(days=1))  # a time zone's difference
    assert errors(sample(row)) == []
    clock(TODAY)
    assert errors(sample(row, settings="plan_date = 2024-03-04")) == []


def test_a_plan_never_depends_on_the_day(sample, clock):
    path = sample()
    plans = []
    for day in (TODAY, datetime.date(2024, 2, 25), datetime.date(2031, 1, 1)):
        clock(day)
        plans.append(load_programme(path).quality)
    assert plans[0] == plans[1] == plans[2]


def test_a_break_of_weeks_is_no_error(tmp_path):
    """The last two weeks of the sample eight weeks later: everyone is there again."""
    files = quick_files()
    for name, text in files.items():
        later = re.sub(r"2024-02-(1[2-9]|2[0-5])", lambda date: f"2024-04-{int(date[1]):02d}", text)
        (tmp_path / name).write_text(later if name in ("engagement.csv", "interventions.csv") else text)
    path = tmp_path / "programme.toml"
    path.write_text(re.sub(r"plan_date = \S+", "", path.read_text(), count=1))
    assert errors(path) == []


def test_small_sparse_programmes_are_not_refused(tmp_path):
    rows = "id,date,connected,seconds\n" + "".join(
        f"000{1 + week % 4},{datetime.date(2024, 1, 1) + datetime.timedelta(weeks=week)},yes,40\n"
        for week in (0, 1, 5, 6, 14, 20)
    )
    assert errors(write_programme(tmp_path, programme=NO_DATE, engagement=rows)) == []
    one = ENGAGEMENT.replace("0001,2024-01-15,yes,5\n", "") + "0001,2024-01-29,yes,5\n"
    assert errors(write_programme(tmp_path, programme=NO_DATE, engagement=one)) == []


def test_a_lone_week_of_numbered_weeks(tmp_path):
    settings = PROGRAMME.replace('date = "date"', 'week = "date"').replace("step_days = 7\nplan_date = 2024-01-22", "")
    rows = "".join(f"000{person},{week},yes,40\n" for week in range(10, 20) for person in (1, 2, 4))
    texts = {
        "beneficiaries": "id,age,language,district,status,enrolled\n"
        + "".join(
            f"000{person},{person},l{person},{'ns'[person % 2]}orth,active,1\n" for person in range(1, 5)
        ).replace("sorth", "south"),
        "engagement": f"id,date,connected,seconds\n{rows}0004,152,yes,40\n",
        "interventions": "id,date,status\n0001,15,delivered\n",
    }
    path = write_programme(tmp_path, programme=settings, **texts)
    [finding] = errors(path)
    assert (finding.kind, finding.value, finding.row) == ("row-far-after", "152", 32)
    assert "plan_week = 153" in finding.remedy
    write_programme(tmp_path, programme=settings.replace("[time]", "[time]\nplan_week = 153"), **texts)
    assert load_programme(path).quality.planned_step == "week 153"


def test_a_call_with_a_mistyped_year_is_said(tmp_path):
    more = INTERVENTIONS + "0002,2023-01-16,delivered\n"
    settings = edited("programme.toml", 'enrolled = "enrolled"\n', "")
    report = check_programme(write_programme(tmp_path, programme=settings, interventions=more))
    assert [(each.kind, each.row, each.value) for each in report.findings] == [("call-far-before", 5, "2023-01-16")]


def test_a_call_from_before_enrolment_is_named_by_its_row(tmp_path):
    report = check_programme(write_programme(tmp_path, interventions=INTERVENTIONS + "0002,2023-01-16,delivered\n"))
    assert [(each.kind, each.row, each.person) for each in report.findings] == [("row-before-enrolment", 5, "0002")]


def test_many_calls_before_the_first_step_are_usual(tmp_path):
    more = INTERVENTIONS + "".join(f"0002,2023-01-{day:02d},delivered\n" for day in range(1, 9))
    settings = edited("programme.toml", 'enrolled = "enrolled"\n', "")
    assert check_programme(write_programme(tmp_path, programme=settings, interventions=more)).findings == ()


@given(
    rows=st.lists(st.integers(5, 300), min_size=1, max_size=12),
    strays=st.lists(st.integers(60, 400), max_size=1),
    early=st.lists(st.integers(60, 400), max_size=1),
)
def test_lone_steps_are_cut_off_and_nothing_else(rows, strays, early):
    steady = np.repeat(np.arange(len(rows)), rows)
    last = len(rows) - 1
    steps = np.concatenate([steady, last + np.array(strays, dtype=int), -np.array(early, dtype=int)])
    assert find_bulk(pl.Series(steps), 4) == Bulk(0, last)
    shuffled = np.random.default_rng(0).permutation(steps)
    assert find_bulk(pl.Series(shuffled), 4) == find_bulk(pl.Series(steps), 4)
