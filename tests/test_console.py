"""What a terminal, a full disk, a closed pipe and Ctrl-C do to the commands."""

import json
import os
import subprocess
import sys
from importlib.metadata import version

import polars as pl
import pytest
from typer.testing import CliRunner

from armwise.cli import app
from armwise.console import tell, tell_json
from armwise.errors import ExitCode
from armwise.planner import PlanSummary
from armwise.planner.explanation import explain
from armwise.planner.reasons import NOTHING_KNOWN
from armwise.planner.rules import CallRules
from armwise.text import HIDDEN, counted, visible, visible_json
from tests.programme.small import edited, write_programme


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


def start(*arguments, **options):
    command = [sys.executable, "-m", "armwise", *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options)


def test_the_version():
    result = run("--version")
    assert (result.exit_code, result.stdout) == (ExitCode.OK, f"armwise {version('armwise')}\n")


def test_numbers_agree_with_their_nouns():
    assert [counted(number, "call") for number in (0, 1, 2, 1000)] == ["0 calls", "1 call", "2 calls", "1,000 calls"]


@pytest.mark.parametrize(
    "text", ["\x1b[2J", "\x9b2J", "a\rb", "\x07", "\u202eabc", "\u200b", "\ud800", "\U000e0041", "\x00"]
)
def test_nothing_hidden_is_printed(text, capsys):
    tell(f"group {text}")
    tell_json({"group": text})
    printed = capsys.readouterr().out
    assert not HIDDEN.search(printed)
    assert json.loads(printed.splitlines()[1])["group"] == text


@pytest.mark.parametrize("text", ["né\n\tü", "क्\u200dष", "می\u200cخواهم", "日本語", "👍"])
def test_what_people_write_is_printed_as_it_is(text):
    assert visible(text) == text
    assert visible_json(json.dumps(text, ensure_ascii=False)) == json.dumps(text, ensure_ascii=False)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('["opted out"]', '["opted\\u001b[2J out"]'),
        ("north = 1", '"no\\u009brth" = 1'),
        ('name = "Four people"', 'name = "Four\\u202e people"'),
        ('group = "district"', 'group = "dis\\u200btrict"'),
    ],
)
def test_hidden_characters_in_settings_are_refused(tmp_path, old, new):
    result = run("check", write_programme(tmp_path, programme=edited("programme.toml", old, new)))
    assert result.exit_code == ExitCode.INVALID_INPUT
    assert "invisible or control characters" in result.stdout
    assert not HIDDEN.search(result.output)


def test_a_header_cannot_steer_a_terminal(tmp_path):
    path = write_programme(tmp_path, beneficiaries=edited("beneficiaries.csv", "id,name,age", "id,na\x1b[2Jme,years"))
    result = run("check", path)
    assert result.exit_code == ExitCode.INVALID_INPUT
    assert "na\\x1b[2Jme" in result.stdout
    assert not HIDDEN.search(result.output)


@pytest.mark.parametrize("command", [["--version"], ["check", "PROGRAMME", "--json"], ["init", "NEW"]])
def test_a_full_device_is_said(tmp_path, command):
    programme = write_programme(tmp_path)
    arguments = [{"PROGRAMME": programme, "NEW": tmp_path / "new"}.get(each, each) for each in command]
    with open("/dev/full", "w") as full:
        process = start(*arguments, stdout=full)
        message = process.communicate()[1]
    assert process.returncode == ExitCode.NOT_WRITTEN
    assert "Standard output could not be written: No space left on device" in message
    assert "Traceback" not in message


def test_a_closed_pipe_is_no_traceback(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    process = start("check", write_programme(tmp_path), "--json", stdout=writer)
    os.close(writer)
    message = process.communicate()[1]
    assert process.returncode == ExitCode.NOT_WRITTEN
    assert "Traceback" not in message
    assert "Exception" not in message


def test_a_message_that_cannot_be_printed_changes_nothing(tmp_path):
    command = [sys.executable, "-m", "armwise", "check", str(write_programme(tmp_path))]
    with open("/dev/full", "w") as full:
        assert subprocess.run(command, stdout=subprocess.PIPE, stderr=full, check=False).returncode == ExitCode.OK


INTERRUPTED = """
import builtins, os, signal, sys
original = builtins.__import__

def interrupted(name, *rest, **more):
    if name == MODULE:
        os.kill(os.getpid(), signal.SIGINT)
    return original(name, *rest, **more)

from armwise.__main__ import main
builtins.__import__ = interrupted
sys.argv[0] = "armwise"
main()
"""


@pytest.mark.parametrize("module", ["typer", "numpy", "polars"])
def test_an_early_interruption_is_no_traceback(tmp_path, module):
    """While modules are loaded; what comes before, Python's own start, is not armwise's to change."""
    code = INTERRUPTED.replace("MODULE", repr(module))
    command = [sys.executable, "-c", code, "check", str(write_programme(tmp_path))]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == ExitCode.INTERRUPTED, result.stderr
    assert "Interrupted; nothing was left half-written." in result.stderr
    assert "Traceback" not in result.stderr


def test_a_programme_that_may_not_be_read_is_not_wrong_usage(tmp_path, monkeypatch):
    path = write_programme(tmp_path)
    access, opened = os.access, os.open

    def refuse(name, *arguments, **options):
        if str(name) == str(path):
            raise PermissionError(13, "Permission denied", str(name))
        return opened(name, *arguments, **options)

    monkeypatch.setattr("os.access", lambda name, *rest, **more: str(name) != str(path) and access(name, *rest, **more))
    monkeypatch.setattr("os.open", refuse)
    for command in ("check", "fit", "evaluate", "plan", "report"):
        result = run(command, path)
        assert result.exit_code == ExitCode.INVALID_INPUT, (command, result.output)


def test_fit_and_evaluate_do_not_name_each_other(tmp_path):
    for command, other in (("fit", "evaluate"), ("evaluate", "fit")):
        text = run(command, "--help").stdout
        assert f"Next: armwise {other}" not in text
        assert "Next: armwise plan" in text


def test_one_call_is_one_call():
    summary = PlanSummary(1, 1, 1, 1, {"north": (0, 1)}, {}, {}, 0, 0)
    assert str(summary).splitlines()[:2] == ["1 of 1 call, for 1 people:", "  north: 0 of 1 call"]
    person = pl.DataFrame({"id": ["a"], "group": ["north"], "state": [1], "since_observed": [1], "observed": [1]})
    person = person.with_columns(
        since_call=-1,
        calls=pl.lit(1),
        exclusion=pl.lit(None),
        index=0.1,
        gain=0.1,
        gain_low=0.0,
        gain_high=0.2,
        chance=None,
        reason=pl.lit("so"),
    )
    calls = pl.DataFrame({"id": ["b"], "rank": [1], "group": ["north"], "index": [0.5]})
    rules = CallRules(1)
    assert "the 1 call there is worth more" in str(explain(person, calls, rules, NOTHING_KNOWN))
    rules = CallRules(1, max_calls=1)
    assert "There has been 1 call already, and at most 1 call is allowed." in str(
        explain(person, calls, rules, NOTHING_KNOWN)
    )
