"""People who finished, or are not enrolled yet, are neither observed, planned nor counted; their weeks still teach."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from armwise.cli import app
from armwise.errors import ExitCode
from armwise.programme import check_programme, load_programme
from armwise.report.facts import collect
from armwise.weekly import plan_programme
from armwise.weekly.plan import prepare_plan
from tests.programme.small import BENEFICIARIES, INTERVENTIONS, PROGRAMME, edited, write_programme
from tests.report.pages import make_assessment
from tests.weekly.quick import NUM_PEOPLE, quick_files, write_quick_programme

WITH_LEFT = edited("programme.toml", 'enrolled = "enrolled"', 'enrolled = "enrolled"\nleft = "left"')


def leaving(**days: str) -> str:
    """The table of the four people with the day on which some left, by their last digit."""
    header, *rows = BENEFICIARIES.splitlines()
    return "\n".join([f"{header},left", *(f"{row},{days.get(f'p{row[3]}', '')}" for row in rows)]) + "\n"


def load(folder, people: str, programme: str = WITH_LEFT, **texts: str):
    return load_programme(write_programme(folder, programme=programme, beneficiaries=people, **texts))


def test_nobody_left_is_the_programme_as_it_was(tmp_path):
    data, before = load(tmp_path, leaving()), load_programme(write_programme(tmp_path))
    assert data.quality == before.quality
    assert data.roster["exclusion"].equals(before.roster["exclusion"])


def test_whoever_left_is_not_observed_planned_or_counted_from_then_on(tmp_path):
    data = load(tmp_path, leaving(p1="2024-01-08"))
    # 0001 was seen on the 1st and the 15th; she left on the 8th.
    assert np.asarray(data.trajectories.observed)[0].tolist() == [True, False, False]
    assert data.roster["exclusion"].to_list() == ["finished", None, "status: opted out", None]
    assert data.taking_part.tolist() == [False, True, True, True]
    assert data.quality.observed_shares == pytest.approx([2 / 3, 2 / 3, 0 / 3])
    assert (data.quality.num_finished, data.quality.num_excluded, data.quality.num_never_observed) == (1, 1, 0)
    assert data.quality.num_left_out == 2
    findings = check_programme(tmp_path / "programme.toml").findings
    assert [(each.kind, each.what) for each in findings] == [
        ("row-after-exit", "2 rows are from after people left; left out.")
    ]
    assert (findings[0].person, findings[0].row) == ("0001", 6)


def test_in_the_step_of_leaving_only_those_observed_count(tmp_path):
    data = load(tmp_path, leaving(p1="2024-01-16", p2="2024-01-16"))
    assert data.quality.observed_shares == pytest.approx([2 / 3, 2 / 4, 1 / 3])
    assert data.quality.num_finished == 2
    assert np.asarray(data.trajectories.observed)[0].tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("day", "reason"), [("2024-01-22", "finished"), ("2024-01-28", "finished"), ("2024-01-29", None)]
)
def test_whoever_leaves_before_the_planned_step_is_over_is_not_planned(tmp_path, day, reason):
    data = load(tmp_path, leaving(p1=day))
    assert data.roster["exclusion"][0] == reason
    assert check_programme(tmp_path / "programme.toml").findings == ()


def test_calls_after_leaving_are_left_out(tmp_path):
    more = INTERVENTIONS + "0001,2024-01-18,delivered\n"
    data = load(tmp_path, leaving(p1="2024-01-17"), interventions=more)
    assert data.roster["calls"].to_list() == [1, 0, 0, 1]


def test_a_length_counts_from_enrolment(tmp_path):
    settings = edited("programme.toml", 'enrolled = "enrolled"', 'enrolled = "enrolled"\nlength = 2')
    data = load(tmp_path, BENEFICIARIES, settings)
    # Enrolled on 1, 1, 2 and 8 January; two weeks later three have finished, and 0004 leaves on the planned day.
    assert data.roster["exclusion"].to_list() == ["finished"] * 4
    settings = settings.replace("length = 2", "length = 3")
    longer = load(tmp_path, BENEFICIARIES, settings).roster
    assert longer["exclusion"].to_list() == ["finished", "finished", "finished", None]


def test_the_earlier_of_leaving_and_length_counts(tmp_path):
    settings = WITH_LEFT.replace('left = "left"', 'left = "left"\nlength = 30')
    assert load(tmp_path, leaving(p1="2024-01-08"), settings).quality.num_finished == 1


def test_weeks_that_are_numbered(tmp_path):
    settings = WITH_LEFT.replace('date = "date"', 'week = "week"').replace("step_days = 7\nplan_date = 2024-01-22", "")
    texts = {
        "engagement": "id,week,connected,seconds\n"
        + "".join(f"000{person},{week},yes,40\n" for week in range(3) for person in (1, 2, 3, 4)),
        "interventions": "id,week,status\n0001,0,delivered\n",
    }
    people = leaving(p1="2", p2="3", p4="4").replace("2024-01-01", "0").replace("2024-01-02", "0")
    data = load(tmp_path, people.replace("2024-01-08", "0"), settings, **texts)
    assert np.asarray(data.trajectories.observed)[0].tolist() == [True, True, False]
    assert data.quality.observed_shares == (1, 1, 1)
    assert data.roster["exclusion"].to_list() == ["finished", "finished", "status: opted out", None]


def test_whoever_is_enrolled_after_the_planned_step_is_not_planned(tmp_path):
    people = BENEFICIARIES.replace("active,2024-01-08", "active,2024-01-29")
    data = load(tmp_path, people, PROGRAMME)
    assert data.roster["exclusion"].to_list() == [None, None, "status: opted out", "not enrolled yet"]
    assert (data.quality.num_not_enrolled, data.quality.num_finished) == (1, 0)


@pytest.fixture
def graduates(tmp_path):
    """The sample in which two thirds of the people left before the last week, and the dialler stopped calling them."""
    path = write_quick_programme(tmp_path)
    table = pl.read_csv(tmp_path / "beneficiaries.csv", infer_schema=False).sort("id")
    gone = table["id"].head(2 * NUM_PEOPLE // 3)
    left = pl.Series([None] * table.height, dtype=pl.String).set(table["id"].is_in(gone.implode()), "2024-02-19")
    calls = pl.read_csv(tmp_path / "engagement.csv", infer_schema=False)
    calls.filter(~(pl.col("id").is_in(gone.implode()) & (pl.col("date") >= "2024-02-19"))).write_csv(
        tmp_path / "engagement.csv"
    )
    table.with_columns(left=left).write_csv(tmp_path / "beneficiaries.csv")
    assert check_programme(path).exit_code == ExitCode.OUTAGE
    path.write_text(path.read_text().replace('# left = "left"', 'left = "left"'))
    return path, gone


def test_finished_people_are_no_outage_and_not_on_the_list(graduates):
    path, gone = graduates
    assert check_programme(path).exit_code == ExitCode.OK
    result = CliRunner().invoke(app, ["plan", str(path), "--json"])
    assert result.exit_code == ExitCode.OK, result.output
    answer = json.loads(result.stdout)
    assert not {call["id"] for call in answer["calls"]} & set(gone)
    summary = answer["summary"]
    assert summary["excluded"]["finished"] == len(gone)
    assert summary["num_eligible"] + sum(summary["excluded"].values()) == NUM_PEOPLE
    assert "has finished the programme" in CliRunner().invoke(app, ["explain", str(path), gone[0]]).stdout
    assert f"{NUM_PEOPLE} people ({len(gone)} finished)" in CliRunner().invoke(app, ["check", str(path)]).stderr


def test_the_report_counts_only_those_who_take_part(graduates):
    path, gone = graduates
    facts = collect(prepare_plan(path), make_assessment())
    for grouping in facts.groupings:
        shown = sum(group.num_people for group in grouping.groups)
        assert shown + grouping.num_hidden_people == NUM_PEOPLE - len(gone)
    assert facts.quality.num_finished == len(gone)
    everyone = load_programme(path)
    assert everyone.trajectories.num_arms == NUM_PEOPLE  # they still teach
    assert everyone.of_those_taking_part().ids.to_list() == sorted(set(everyone.ids) - set(gone))


def test_if_everyone_finished_the_plan_says_so(tmp_path):
    path = write_quick_programme(tmp_path)
    path.write_text(path.read_text().replace("# length = 40", "length = 1"))
    result = CliRunner().invoke(app, ["plan", str(path), "--despite-outage"])
    assert result.exit_code == ExitCode.INVALID_INPUT
    assert f"{NUM_PEOPLE} people have finished" in result.stderr


def test_without_anybody_leaving_the_list_is_the_same_to_the_byte(tmp_path):
    path = write_quick_programme(tmp_path)
    before = plan_programme(path).content
    header, *rows = quick_files()["beneficiaries.csv"].splitlines()
    (tmp_path / "beneficiaries.csv").write_text("\n".join([f"{header},left", *(f"{row}," for row in rows)]) + "\n")
    path.write_text(path.read_text().replace('# left = "left"', 'left = "left"'))
    assert plan_programme(path).content == before
