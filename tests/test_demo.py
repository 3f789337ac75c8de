"""The demonstration, and the report on a programme's own files, end to end as a user runs them."""

import json
import re

import polars as pl
import pytest
from typer.testing import CliRunner

from armwise import demo
from armwise.cli import app
from armwise.demo import run_demo
from armwise.errors import ExitCode
from armwise.evaluation.simple_rules import RULES_OF_THUMB
from armwise.models.chains import fitting
from armwise.report import report_programme
from armwise.weekly import evaluate, read_assessment
from armwise.weekly.evaluate import losses_to_compare
from tests.weekly.backtests import record_fits


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """A demonstration of few people that learns for two turns, and what it said."""
    folder = tmp_path_factory.mktemp("demo") / "new"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "NUM_TURNS", 2)
        patch.setattr(evaluate, "losses_to_compare", lambda: {"the same": None})
        small = {"num_people": 300, "progress": False}
        patch.setattr(demo, "run_demo", lambda target, say, **_: run_demo(target, say, **small))
        result = run("demo", folder)
        again = run("demo", folder)
    assert result.exit_code == ExitCode.OK, result.output
    assert again.exit_code == ExitCode.OK, again.output
    return folder, result, again


@pytest.fixture
def programme(shown, tmp_path):
    """A copy that a test may spoil."""
    for file in shown[0].iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path / "programme.toml"


def test_the_demonstration_goes_from_raw_files_to_the_report(shown):
    folder, result, _ = shown
    names = {path.name for path in folder.iterdir()}
    tables = {"programme.toml", "beneficiaries.csv", "engagement.csv", "interventions.csv"}
    results = {"model.armwise", "evaluation.json", "call-list.csv", "manifests", "probabilities", "report.html"}
    assert names == tables | results
    assert re.findall(r"\[(\d)/6\]", result.stderr) == list("123456")
    assert result.stderr.index("simulated") < result.stderr.index("[1/6]")
    assert "SIMULATED" in result.stdout
    assert "What the simulation assumes: people differ" in result.stderr
    assert re.search(r"the same +[+−]?\d+\.\d \(.* 0\.0 \(0\.0 to 0\.0\)\n", result.stdout)
    assert "Did calls help?" in result.stdout
    assert "armwise is not shown to be better than: " in result.stdout
    assert f"report     {folder / 'report.html'}" in result.stdout
    assert "Next: open" in result.stderr
    assert "\x1b" not in result.output


def test_nobody_is_named_in_what_it_says(shown):
    folder, result, _ = shown
    ids = pl.read_csv(folder / "beneficiaries.csv", infer_schema=False)["id"]
    assert not any(identity in result.output for identity in ids)


def test_run_again_it_gives_the_same(shown):
    folder, result, again = shown
    assert again.stdout == result.stdout
    assert report_programme(folder / "programme.toml").html == (folder / "report.html").read_text()


def test_the_report_holds_the_list(shown):
    folder, _, _ = shown
    page = (folder / "report.html").read_text()
    calls = pl.read_csv(folder / "call-list.csv", infer_schema=False)
    assert calls.height == 42
    assert all(f"<td>{identity}</td>" in page for identity in calls["id"])
    assert "SIMULATED DATA" in page
    assert "What the simulation assumes: people differ" in page
    assert "computed from other files" not in page
    assert "the week from 2024-02-26" in page


def test_the_evaluation_is_of_past_weeks_beside_every_rule_of_thumb(shown):
    kept = read_assessment(shown[0] / "evaluation.json")
    assert kept.num_people == 300
    assert kept.origins == (3, 4, 5)
    assert [each.name for each in kept.ways] == ["armwise", "the same", *RULES_OF_THUMB]
    assert kept.ways[1][1:] == (kept.ways[0].gain, (0.0, 0.0, 0.0))
    assert sum(each.number for each in kept.left_alone) > 20


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    result = run("demo", tmp_path)
    assert result.exit_code == ExitCode.NOT_WRITTEN
    assert "exists already" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    assert run("demo", tmp_path / "no" / "where").exit_code == ExitCode.NOT_WRITTEN


def test_report_says_where_it_is_and_what_to_do_next(programme):
    (programme.parent / "report.html").unlink()
    (programme.parent / "evaluation.json").unlink()
    result = run("report", programme)
    assert result.exit_code == ExitCode.OK, result.output
    assert result.stdout == f"{programme.parent / 'report.html'}\n"
    assert f"armwise evaluate {programme} --for-report" in result.stderr
    assert "Next: open" in result.stderr
    assert "armwise evaluate PROGRAMME --for-report" in (programme.parent / "report.html").read_text()


def test_a_dry_run_and_a_small_group_on_request(programme):
    before = {path: path.read_bytes() for path in programme.parent.iterdir()}
    result = run("report", programme, "--dry-run", "--json", "--smallest-group", 1000)
    answer = json.loads(result.stdout)
    assert (answer["written"], answer["evaluated"]) == (False, True)
    assert {path: path.read_bytes() for path in programme.parent.iterdir()} == before
    page = report_programme(programme, smallest_group=1000).html
    assert "no column that divides people into groups of at least 1000" in page


def test_an_evaluation_of_changed_files_is_marked(programme):
    programme.write_text(programme.read_text() + "\n# changed\n")
    assert "computed from other files than the list" in report_programme(programme).html


def test_exit_codes(programme, tmp_path):
    assert run("report", programme, "--output", tmp_path / "no" / "where.html").exit_code == ExitCode.NOT_WRITTEN
    assert run("report", programme, "--smallest-group", 0).exit_code == ExitCode.USAGE
    assert run("report", tmp_path / "nothing.toml").exit_code == ExitCode.INVALID_INPUT
    (programme.parent / "evaluation.json").write_text("{}")
    result = run("report", programme)
    assert result.exit_code == ExitCode.INVALID_INPUT
    assert "Evaluate again" in result.stderr
    (programme.parent / "evaluation.json").unlink()
    programme.write_text(programme.read_text().replace("2024-02-26", "2024-03-04"))
    assert run("report", programme).exit_code == ExitCode.OUTAGE
    assert run("report", programme, "--despite-outage").exit_code == ExitCode.OK


def test_ids_and_levels_of_the_files_are_escaped(programme):
    attack = "<script>alert(1)</script>"
    first = pl.read_csv(programme.parent / "call-list.csv", infer_schema=False)["id"][0]
    for name in ("beneficiaries", "engagement", "interventions"):
        path = programme.parent / f"{name}.csv"
        path.write_text(path.read_text().replace(f"{first},", f"{attack},").replace(",hindi,", f",{attack},"))
    page = report_programme(programme).html
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 3


def test_evaluate_keeps_what_the_report_shows(programme, monkeypatch):
    (programme.parent / "evaluation.json").unlink()
    fits = record_fits(monkeypatch)
    result = run("evaluate", programme, "--for-report")
    assert result.exit_code == ExitCode.OK, result.output
    assert "whom to call" in result.stdout
    assert all(name in result.stdout for name in losses_to_compare())
    assert len(fits) == 18
    assert f"Next: armwise report {programme}" in result.stderr
    assert report_programme(programme).facts.is_current
