"""The command line: data to stdout, messages to stderr, documented exit codes, a quick start."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import armwise.programme
from armwise.cli import EPILOG, ModelKind, app
from armwise.errors import ExitCode
from armwise.weekly.fit import KINDS
from tests.programme.small import edited, write_programme


def run(*arguments: object):
    return CliRunner().invoke(app, [str(each) for each in arguments])


def test_help_starts_neither_jax_nor_polars():
    code = (
        "import sys, armwise.cli; print([name for name in ('jax', 'jinja2', 'polars', 'numpy') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "command", [[], ["init"], ["check"], ["fit"], ["evaluate"], ["plan"], ["explain"], ["report"], ["demo"]]
)
def test_every_command_has_help(command):
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.stdout


def test_python_m_armwise_is_the_same():
    result = subprocess.run([sys.executable, "-m", "armwise", "check", "nowhere.toml"], capture_output=True, text=True)
    assert result.returncode == ExitCode.INVALID_INPUT
    assert "There is no such file" in result.stdout
    assert "Traceback" not in result.stderr


def test_the_exit_codes_are_documented():
    page = (Path(__file__).parents[1] / "docs" / "data-format.md").read_text()
    for code in ExitCode:
        assert re.search(rf"\b{code.value} ", EPILOG)
        assert f"| {code.value} |" in page


@pytest.mark.parametrize("command", ["fit", "evaluate"])
def test_a_wrong_kind_names_the_kinds(command):
    result = run(command, "--kind", "quadratic")
    assert result.exit_code == 2
    for kind in ModelKind:
        assert f"'{kind}'" in result.stderr
    assert [*ModelKind] == [*KINDS]


def test_shell_completion_offers_the_kinds():
    asked = {"_ARMWISE_COMPLETE": "complete_bash", "COMP_WORDS": "armwise fit --kind ", "COMP_CWORD": "3"}
    result = CliRunner().invoke(app, prog_name="armwise", env=asked)
    assert result.stdout.split() == [*ModelKind]


def test_the_version_is_printed():
    assert run("--version").stdout == f"armwise {armwise.__version__}\n"


def test_init_then_check(tmp_path):
    result = run("init", tmp_path / "new")
    assert result.exit_code == ExitCode.OK
    assert Path(result.stdout.splitlines()[0]).name == "programme.toml"
    assert "simulated" in result.stderr
    assert f"Next: armwise check {tmp_path / 'new' / 'programme.toml'}" in result.stderr
    result = run("check", tmp_path / "new" / "programme.toml")
    assert (result.exit_code, result.stdout) == (ExitCode.OK, "")
    assert "no problems" in result.stderr
    assert "300 people, 8 steps" in result.stderr


def test_a_dry_run_writes_nothing(tmp_path):
    result = run("init", tmp_path / "new", "--dry-run", "--json")
    assert result.exit_code == ExitCode.OK
    assert json.loads(result.stdout)["written"] is False
    assert list(tmp_path.iterdir()) == []


def test_init_does_not_overwrite(tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    result = run("init", tmp_path)
    assert result.exit_code == ExitCode.NOT_WRITTEN
    assert "exists already" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_findings_go_to_stdout_and_the_summary_to_stderr(tmp_path):
    path = write_programme(tmp_path, engagement=edited("engagement.csv", "yes,45", "yes,-45"))
    result = run("check", path)
    assert result.exit_code == ExitCode.INVALID_INPUT
    assert result.stdout.startswith("error   engagement.csv, row 2, column 'seconds', id '0001': Seconds cannot be")
    assert result.stdout.count("\n") == 1
    assert "1 error." in result.stderr
    assert f"armwise check {path}" in result.stderr
    assert "\x1b" not in result.stdout


def test_an_outage_has_its_own_exit_code_and_a_flag(tmp_path):
    run("init", tmp_path / "new")
    path = tmp_path / "new" / "programme.toml"
    # Planning a week later, with nothing logged in between.
    path.write_text(path.read_text().replace("2024-02-26", "2024-03-04"))
    result = run("check", path)
    assert result.exit_code == ExitCode.OUTAGE
    assert "0% of people were observed, usually" in result.stdout
    assert "--despite-outage" in result.stderr
    assert run("check", path, "--despite-outage").exit_code == ExitCode.OK


def test_json_is_one_object(tmp_path):
    result = run("check", write_programme(tmp_path), "--json")
    answer = json.loads(result.stdout)
    assert (answer["exit_code"], answer["findings"], answer["quality"]["num_people"]) == (0, [], 4)


def test_wrong_usage():
    assert run("check", "--nonsense").exit_code == ExitCode.USAGE
    assert run("frobnicate").exit_code == ExitCode.USAGE


def test_a_terminal_cannot_be_steered_by_a_cell(tmp_path):
    path = write_programme(tmp_path, engagement=edited("engagement.csv", "yes,45", "[red]\x1b]0;x\x07,45"))
    result = run("check", path)
    assert "\x1b" not in result.stdout
    assert "[red]" in result.stdout


def test_an_interruption_has_its_own_exit_code(tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(armwise.programme, "examine_programme", interrupt)
    result = run("check", write_programme(tmp_path))
    assert result.exit_code == ExitCode.INTERRUPTED
    assert "Interrupted" in result.stderr
