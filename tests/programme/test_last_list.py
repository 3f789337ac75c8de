"""A list without outcomes would be repeated: the next plan, the check and the report say so, and no byte changes."""

import io
import json
import shutil

import polars as pl
import pytest
from typer.testing import CliRunner

from armwise.cli import app
from armwise.io.spreadsheets import safe_text, to_workbook
from armwise.programme import check_programme, last_list, load_programme
from armwise.programme.last_list import LIST_WITHOUT_OUTCOMES
from armwise.weekly.plan import prepare_plan
from tests.weekly.quick import write_quick_programme


def run(*arguments):
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.exit_code == 0, result.output
    return result


def a_week_later(path) -> None:
    """The week of the list passes: its automated calls are logged as those of the week before, and the plan moves."""
    log = path.with_name("engagement.csv")
    table = pl.read_csv(log, infer_schema=False)
    week = table.filter(pl.col("date") >= "2024-02-19").with_columns(
        date=(pl.col("date").str.to_date() + pl.duration(days=7)).cast(pl.String)
    )
    pl.concat([table, week]).write_csv(log)
    path.write_text(path.read_text().replace("plan_date = 2024-02-26", "plan_date = 2024-03-04"))


def enter(path, ids, status="delivered") -> None:
    calls = path.with_name("interventions.csv")
    calls.write_text(calls.read_text() + "".join(f"{each},2024-02-27,{status}\n" for each in ids))


@pytest.fixture
def planned(tmp_path):
    """The sample a week after its list was written."""
    path = write_quick_programme(tmp_path)
    run("plan", path)
    listed = pl.read_csv(tmp_path / "call-list.csv", infer_schema=False)["id"].to_list()
    a_week_later(path)
    return path, listed


def warnings(path):
    return [each.what for each in check_programme(path).findings if each.kind == LIST_WITHOUT_OUTCOMES]


def test_a_list_without_outcomes_is_said_by_plan_check_and_report(planned):
    path, listed = planned
    said = "Of 12 people on the list of the step from 2024-02-26, 12 have no row in interventions.csv since then."
    assert warnings(path) == [said]
    prepared = prepare_plan(path)
    again = len(set(prepared.planned.plan.calls["id"]) & set(listed))
    assert again > 1
    [finding] = [each for each in prepared.findings.findings if each.kind == LIST_WITHOUT_OUTCOMES]
    assert finding.what == f"{said} {again} of them are on the new list again."
    result = run("plan", path, "--json")
    assert json.loads(result.stdout)["warnings"] == [str(finding)]
    assert f"Warning: {finding}" in result.stderr
    assert not any(identity in str(finding) for identity in listed)


def test_the_remedy_works(planned):
    path, listed = planned
    enter(path, listed)
    assert warnings(path) == []
    assert "Warning" not in run("plan", path).stderr


def test_calls_that_were_not_delivered_are_outcomes_too(planned):
    path, listed = planned
    enter(path, listed, "missed")
    assert warnings(path) == []


def test_half_of_the_outcomes_are_enough(planned):
    path, listed = planned
    enter(path, listed[:5])
    assert len(warnings(path)) == 1
    enter(path, listed[5:6])
    assert warnings(path) == []


def test_other_peoples_calls_are_no_outcomes_of_the_list(planned):
    path, listed = planned
    enter(path, [each for each in load_programme(path).ids if each not in listed][:12])
    assert len(warnings(path)) == 1


def test_the_list_changes_by_no_byte(planned, tmp_path):
    path, _ = planned
    with_last = prepare_plan(path).planned
    shutil.rmtree(path.parent / "manifests")
    without = prepare_plan(path).planned
    assert with_last.warnings
    assert not without.warnings
    assert with_last.content == without.content
    assert with_last.manifest.to_json() == without.manifest.to_json()


def test_it_is_said_again_after_the_new_list_took_the_place_of_the_last(planned):
    path, _ = planned
    run("plan", path)
    result = run("plan", path)
    assert "12 have no row" in result.stderr
    assert "again." not in result.stderr.split("since then.")[1].split("Enter")[0]  # whose ids are gone


@pytest.mark.parametrize("name", ["call-list.xlsx", "call-list-2024-02-26.parquet", "call-list-9.csv"])
def test_lists_of_every_format_are_found(tmp_path, name):
    path = write_quick_programme(tmp_path)
    run("plan", path, "--output", tmp_path / name)
    a_week_later(path)
    prepared = prepare_plan(path)
    assert "on the new list again" in prepared.planned.warnings[0]
    assert len(prepared.data.without_outcome) == 12


def test_a_list_of_the_same_step_is_no_last_list(tmp_path):
    path = write_quick_programme(tmp_path)
    run("plan", path)
    assert warnings(path) == []
    assert "Warning" not in run("plan", path).stderr


def test_ids_that_a_spreadsheet_would_run_are_recognised(planned):
    path, listed = planned
    # As if armwise had written the list of these ids: its manifest knows the hash.
    old, new = listed[0], f"-{listed[0]}"
    for name in ("beneficiaries.csv", "engagement.csv", "interventions.csv"):
        file = path.with_name(name)
        file.write_text(file.read_text().replace(f"{old},", f"{new},"))
    shutil.rmtree(path.parent / "manifests")
    text = path.read_text()
    path.write_text(text.replace("plan_date = 2024-03-04", 'plan_date = 2024-02-26\nlater_rows = "ignore"'))
    run("plan", path)
    path.write_text(text)
    listed = pl.read_csv(path.with_name("call-list.csv"), infer_schema=False)["id"].to_list()
    assert safe_text(new) in listed
    enter(path, [new])
    assert load_programme(path).without_outcome == frozenset(listed) - {safe_text(new)}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"{}",
        b"[" * 100_000,
        b"3",
        b'{"format": "armwise-plan", "summary": {"num_calls": true}, "planned_step": "week 1", "calls": ""}',
        b'{"format": "armwise-plan", "summary": {"num_calls": 9}, "calls": "", "planned_step": '
        b'"the step from 2024-02-31"}',
        b'{"format": "armwise-plan", "summary": {"num_calls": 9}, "planned_step": "week 3", "calls": ""}',
    ],
)
def test_whatever_lies_among_the_manifests_does_no_harm(planned, content):
    path, _ = planned
    shutil.rmtree(path.parent / "manifests")
    (path.parent / "manifests").mkdir()
    (path.parent / "manifests" / "odd.json").write_bytes(content)
    (path.parent / "manifests" / "folder.json").mkdir()
    assert warnings(path) == []


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet"])
def test_a_list_from_before_gains_had_intervals_is_read(suffix):
    old = {"rank": [1], "state": [0], "index": [0.5], "expected_gain": [0.5], "reason": ["not engaged"]}
    table = pl.DataFrame({"id": ["0012"], **old})
    stream = io.BytesIO()
    table.write_parquet(stream)
    content = {".csv": table.write_csv().encode(), ".xlsx": to_workbook(table, 4), ".parquet": stream.getvalue()}
    assert last_list._read_ids(suffix, content[suffix]) == ["0012"]
