"""No result is written over a file that it is made from, and what cannot be written is said before the work."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

import armwise.report
import armwise.weekly
from armwise.cli import app
from armwise.errors import ExitCode, OutputError
from armwise.weekly import plan_programme, write_plan
from tests.weekly.quick import quick_programme

COMMANDS = {"plan": "--output", "report": "--output", "fit": "--model"}
TABLES = ("beneficiaries.csv", "engagement.csv", "interventions.csv")
INPUTS = ("programme.toml", *TABLES, "model.armwise", "evaluation.json")


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.fixture
def programme(tmp_path, monkeypatch) -> Path:
    """A programme, and commands that must refuse before any work begins."""
    begun = {"fit_programme", "plan_programme", "assess_programme"}
    for package, name in [*((armwise.weekly, name) for name in begun), (armwise.report, "report_programme")]:
        monkeypatch.setattr(package, name, lambda *_, **__: pytest.fail("the work began"))
    return quick_programme(tmp_path)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


# A model replaces the one before.
CASES = [(command, name) for command in COMMANDS for name in INPUTS if (command, name) != ("fit", "model.armwise")]


@pytest.mark.parametrize(("command", "name"), CASES)
def test_no_output_replaces_an_input(programme, command, name):
    (programme.parent / "evaluation.json").write_text("{}")
    before = contents(programme.parent)
    result = run(command, programme, COMMANDS[command], programme.parent / name)
    assert result.exit_code == ExitCode.NOT_WRITTEN, result.output
    assert name in result.stderr
    assert contents(programme.parent) == before


@pytest.mark.parametrize("how", ["relative", "symbolic link", "hard link", "dots"])
def test_an_input_is_known_by_any_name(programme, monkeypatch, how):
    name = {"relative": "beneficiaries.csv", "dots": "manifests/../beneficiaries.csv"}.get(how, "list.csv")
    monkeypatch.chdir(programme.parent)
    (programme.parent / "manifests").mkdir()
    if how == "symbolic link":
        Path(name).symlink_to("beneficiaries.csv")
    elif how == "hard link":
        os.link("beneficiaries.csv", name)
    before = contents(programme.parent)
    result = run("plan", programme, "--output", name)
    assert result.exit_code == ExitCode.NOT_WRITTEN
    assert "is a file that the result is made from" in result.stderr
    assert contents(programme.parent) == before


def test_a_model_elsewhere_is_an_input_too(programme):
    (programme.parent / "model.armwise").rename(programme.parent / "mine.csv")
    result = run("plan", programme, "--model", programme.parent / "mine.csv", "--output", programme.parent / "mine.csv")
    assert result.exit_code == ExitCode.NOT_WRITTEN


def test_a_list_is_not_written_over_an_input_by_the_library_either(tmp_path):
    planned = plan_programme(quick_programme(tmp_path))
    with pytest.raises(OutputError, match="made from"):
        write_plan(planned, tmp_path / "engagement.csv")


@pytest.mark.parametrize(("command", "name"), [("fit", "export.csv"), ("fit", "notes.xlsx"), ("report", "list.csv")])
def test_a_file_of_another_kind_is_not_replaced(programme, command, name):
    (programme.parent / name).write_text("someone's work")
    result = run(command, programme, COMMANDS[command], programme.parent / name)
    assert result.exit_code == ExitCode.NOT_WRITTEN
    assert "Give another name" in result.stderr
    assert (programme.parent / name).read_text() == "someone's work"


@pytest.mark.parametrize("command", ["plan", "report", "fit", "evaluate"])
def test_a_folder_that_cannot_be_written_is_noticed_before_the_work(programme, monkeypatch, command):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("armwise.io.writing.tempfile.mkstemp", refuse)
    result = run(command, programme, *(["--for-report"] if command == "evaluate" else []))
    assert result.exit_code == ExitCode.NOT_WRITTEN
    assert "Permission denied" in result.stderr


def test_damaged_settings_are_still_protected(programme):
    programme.write_text("not = [toml")
    assert run("report", programme, "--output", programme).exit_code == ExitCode.NOT_WRITTEN
    assert programme.read_text() == "not = [toml"


@pytest.mark.parametrize("command", ["init", "demo"])
def test_a_folder_that_may_not_be_entered_is_said(tmp_path, monkeypatch, command):
    def closed(original):
        def guarded(path, *rest, **more):
            if "closed" in str(path):
                raise PermissionError(13, "Permission denied")
            return original(path, *rest, **more)

        return guarded

    for name in ("stat", "lstat", "mkdir"):
        monkeypatch.setattr(os, name, closed(getattr(os, name)))
    result = run(command, tmp_path / "closed" / "new")
    assert result.exit_code == ExitCode.NOT_WRITTEN, result.output
    assert "new could not be written, and nothing was" in result.stderr
