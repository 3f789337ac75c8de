"""A result names the very bytes it was made from, and a manifest is verified to its last byte."""

import hashlib
import json
import os
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from armwise.cli import app
from armwise.errors import ExitCode, InvalidInputError
from armwise.programme import load_programme, table_file
from armwise.report import report_programme
from armwise.weekly import assess_programme, plan_programme, verify_plan
from armwise.weekly.manifest import find_manifest
from armwise.weekly.plan import write_plan
from armwise.weekly.verify import compare
from tests.report.pages import make_effects
from tests.weekly.backtests import record_fits
from tests.weekly.quick import quick_programme

TABLES = ("beneficiaries", "engagement", "interventions")


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def programme(tmp_path) -> Path:
    return quick_programme(tmp_path)


@pytest.fixture
def swapped(programme, monkeypatch) -> dict[str, str]:
    """Every file is replaced right after it was read; the hashes of what was read."""
    files = {"settings": "programme.toml", "model": "model.armwise"} | {name: f"{name}.csv" for name in TABLES}
    before = {name: sha256((programme.parent / file).read_bytes()) for name, file in files.items()}

    def swapping(original):
        def read(path, *limits):
            content = original(path, *limits)
            Path(path).write_bytes(content + b"\n")
            return content

        return read

    for module in ("programme.table_file", "programme.settings_file", "training.untrusted"):
        monkeypatch.setattr(f"armwise.{module}.read_file", swapping(table_file.read_file))
    return before


def test_a_plan_names_what_was_read(programme, swapped):
    inputs = plan_programme(programme).manifest.inputs
    assert {name: each.sha256 for name, each in inputs.items()} == swapped


def test_a_report_names_what_was_read(programme, swapped, monkeypatch):
    monkeypatch.setattr("armwise.report.facts.estimate_effects", lambda *_: make_effects())
    monkeypatch.setattr("armwise.report.write_page", lambda *_: "")
    facts = report_programme(programme).facts
    assert {name: each.sha256 for name, each in facts.manifest.inputs.items()} == swapped


def test_an_evaluation_names_what_was_read(programme, swapped, monkeypatch):
    record_fits(monkeypatch)
    kept = assess_programme(programme, losses={})
    assert {name: each.sha256 for name, each in kept.inputs.items()} == {
        name: each for name, each in swapped.items() if name != "model"
    }


def test_a_file_of_several_tables_that_changes_between_them_is_refused(programme, monkeypatch):
    text = programme.read_text()
    programme.write_text(text.replace('file = "interventions.csv"', 'file = "engagement.csv"'))
    contents = iter([(programme.parent / "beneficiaries.csv").read_bytes(), b"id,date\n1,2\n", b"id,date\n1,3\n"])
    monkeypatch.setattr(table_file, "read_file", lambda _: next(contents))
    with pytest.raises(InvalidInputError, match="changed while it was read"):
        load_programme(programme)


@pytest.fixture
def written(programme, monkeypatch) -> tuple[Path, Path]:
    """A written list and its manifest; planned once, so that verifying many changes is quick."""
    planned = plan_programme(programme)
    manifest = write_plan(planned, programme.parent / "call-list.csv")
    monkeypatch.setattr("armwise.weekly.verify.plan_programme", lambda *_, **__: planned)
    return programme.parent / "call-list.csv", manifest


def test_every_byte_of_a_manifest_counts(programme, written):
    output, manifest = written
    whole, chance = manifest.read_bytes(), random.Random(0)
    for place in range(0, len(whole), 5):
        changed = bytearray(whole)
        changed[place] ^= chance.randrange(1, 256)
        manifest.write_bytes(changed)
        result = verify_plan(programme, output)
        assert not result.holds, (place, bytes(changed[place : place + 1]))
        assert str(result).isprintable() or "\n" in str(result)
    manifest.write_bytes(whole)
    assert verify_plan(programme, output).holds


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"seed": 0', '"seed": 1', "CHANGED seed: 0 now, 1 then"),
        ('"num_people": 300', '"num_people": 301', "CHANGED summary: num_people: 300 now, 301 then"),
        ('"file": "model.armwise"', '"file": "other.armwise"', "'model.armwise' now, 'other.armwise' then"),
        ('"seed": 0,', '"seed": 0, "extra": [1],', "CHANGED extra: nothing now, [1] then"),
        ('"seed": 0,', "", "CHANGED seed: 0 now, nothing then"),
        ('"seed": 0,', '"seed":  0,', "not the same when it is made again"),
        ('"version": 1', '"version": 2', "CHANGED version: 1 now, 2 then"),
        ('"sha256"', '"sha"', "not the file that was planned from"),
        ("{", "", "it is not JSON any more"),
    ],
)
def test_verifying_says_which_entry_differs(programme, written, old, new, complaint):
    output, manifest = written
    text = manifest.read_text()
    assert old in text
    manifest.write_text(text.replace(old, new, 1))
    result = verify_plan(programme, output)
    assert not result.holds
    assert complaint in str(result)


DEEP = '{"calls": ' + "[" * 900 + "]" * 900 + "}"


@pytest.mark.parametrize("page", ["[" * 100_000, DEEP, "[]", "null", '"x"', "{}", ""])
def test_a_manifest_of_nonsense_is_no_traceback(programme, written, page):
    output, manifest = written
    manifest.write_text(page)
    assert not verify_plan(programme, output).holds


@pytest.mark.parametrize("place", ["call-list.csv", "manifest", "evaluation.json", "model.armwise", "programme.toml"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "no rights"])
def test_what_cannot_be_read_is_a_message(programme, monkeypatch, place, kind):
    planned = plan_programme(programme)
    manifest = write_plan(planned, programme.parent / "call-list.csv")
    path = manifest if place == "manifest" else programme.parent / place
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_text("x")
        opened = os.open

        def refuse(name, *arguments, **options):
            if str(name) == str(path):
                raise PermissionError(13, "Permission denied", str(name))
            return opened(name, *arguments, **options)

        monkeypatch.setattr("armwise.io.reading.os.open", refuse)
    command = ["report", programme] if place == "evaluation.json" else ["plan", programme, "--verify"]
    result = run(*command)
    assert result.exit_code == ExitCode.INVALID_INPUT, result.output
    assert path.name in result.stderr


def test_json_says_the_same(programme, written):
    output, manifest = written
    manifest.write_text(manifest.read_text().replace('"seed": 0', '"seed": 1'))
    answer = compare(output, output.read_bytes(), output.read_bytes(), plan_programme(programme).manifest)
    assert not answer.holds
    assert find_manifest(output, output.read_bytes()) == manifest
    assert json.loads(run("plan", programme, "--verify", "--json").stdout)["holds"] is False
