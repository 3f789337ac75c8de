"""The weekly job end to end, as a user runs it: fit, plan, verify, explain, evaluate; and after a power failure."""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from armwise.cli import app
from armwise.data import Encoder
from armwise.errors import ExitCode, InvalidInputError
from armwise.planner import OutreachPlanner
from armwise.planner.plan import COLUMNS
from armwise.programme import init_programme, load_programme
from armwise.weekly.fit import ID
from armwise.weekly.plan import check_same_features
from tests.programme.small import write_programme
from tests.weekly.backtests import record_fits

# One thread, as in a small machine; and a plain terminal.
ONE_THREAD = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "POLARS_MAX_THREADS": "1", "NO_COLOR": "1"}


def armwise_command(*arguments, **environment):
    command = [sys.executable, "-m", "armwise", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.fixture(scope="module")
def learned(tmp_path_factory) -> Path:
    """A sample programme with what 'armwise fit' learned from it, in a process of its own and in float32."""
    path = init_programme(tmp_path_factory.mktemp("weekly") / "programme")[0]
    result = armwise_command("fit", path)
    assert result.returncode == ExitCode.OK, result.stderr
    assert result.stdout == f"{path.parent / 'model.armwise'}\n"
    assert f"Next: armwise plan {path}" in result.stderr
    return path


@pytest.fixture
def programme(learned, tmp_path) -> Path:
    """A copy that a test may spoil."""
    for file in learned.parent.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path / "programme.toml"


def test_a_plan_keeps_to_the_programmes_rules(programme):
    result = run("plan", programme)
    assert result.exit_code == ExitCode.OK, result.output
    assert result.stdout == f"{programme.parent / 'call-list.csv'}\n"
    assert "12 of 12 calls, for 300 people" in result.stderr
    assert "called recently" in result.stderr
    assert f"Next: armwise explain {programme} " in result.stderr
    calls = pl.read_csv(programme.parent / "call-list.csv", infer_schema=False)
    assert calls.columns == list(COLUMNS)
    assert calls["group"].value_counts()["count"].to_list() == [4, 4, 4]
    # Sentences are of people's own weeks, not the same one for all.
    assert calls["reason"].n_unique() > 6
    assert calls["reason"].str.contains("if left alone").all()
    data = load_programme(programme)
    may = dict(zip(data.ids, data.roster["exclusion"].is_null(), strict=True))
    assert all(may[identity] for identity in calls["id"])


def test_the_same_bytes_whatever_the_rows_and_the_threads(programme, tmp_path):
    run_once = armwise_command("plan", programme)
    assert run_once.returncode == ExitCode.OK, run_once.stderr
    expected = (programme.parent / "call-list.csv").read_bytes()
    for name in ("beneficiaries", "engagement", "interventions"):
        header, *rows = (programme.parent / f"{name}.csv").read_text().splitlines()
        random.Random(1).shuffle(rows)
        (programme.parent / f"{name}.csv").write_text("\n".join([header, *rows]) + "\n")
    again = armwise_command("plan", programme, "--output", tmp_path / "again.csv", **ONE_THREAD)
    assert again.returncode == ExitCode.OK, again.stderr
    assert (tmp_path / "again.csv").read_bytes() == expected


def test_a_dry_run_prints_the_list_and_writes_nothing(programme):
    before = sorted(programme.parent.iterdir())
    result = run("plan", programme, "--dry-run")
    assert result.stdout.startswith(",".join(COLUMNS) + "\n")
    assert result.stdout.count("\n") == 13
    assert sorted(programme.parent.iterdir()) == before


def test_json_holds_the_plan_and_its_manifest(programme):
    answer = json.loads(run("plan", programme, "--json").stdout)
    assert answer["written"] is True
    assert answer["summary"]["num_calls"] == len(answer["calls"]) == 12
    assert set(answer["inputs"]) == {"settings", "beneficiaries", "engagement", "interventions", "model"}
    manifest = Path(answer["manifest"]).read_text()
    (probabilities,) = (programme.parent / "probabilities").iterdir()
    assert probabilities.stem == Path(answer["manifest"]).stem
    known = pl.read_csv(probabilities, infer_schema_length=None, schema_overrides={"id": pl.String})
    assert set(known.filter(pl.col("list_probability") > 0)["id"]) >= {each["id"] for each in answer["calls"]}
    assert known["list_probability"].sum() == pytest.approx(12)
    assert json.loads(manifest)["calls"] == answer["calls"] or len(json.loads(manifest)["calls"]) == 64
    assert not any(identity in manifest for identity in load_programme(programme).ids)


def test_what_was_written_can_be_verified(programme):
    assert run("plan", programme, "--verify").exit_code == ExitCode.INVALID_INPUT
    run("plan", programme)
    result = run("plan", programme, "--verify")
    assert result.exit_code == ExitCode.OK
    assert "CHANGED" not in result.stdout
    assert "planned again: the same list" in result.stdout


@pytest.mark.parametrize(
    ("file", "old", "new", "complaint"),
    [
        ("call-list.csv", "\n", "\n\n", "CHANGED call-list.csv: no manifest knows it"),
        ("engagement.csv", ",no,", ",No,", "CHANGED engagement (engagement.csv)"),
        ("programme.toml", "total = 12", "total = 11", "CHANGED planned again: another list"),
    ],
)
def test_verifying_notices_a_change(programme, file, old, new, complaint):
    run("plan", programme)
    path = programme.parent / file
    path.write_text(path.read_text().replace(old, new, 1))
    result = run("plan", programme, "--verify", "--json")
    assert result.exit_code == ExitCode.NOT_VERIFIED
    assert json.loads(result.stdout)["holds"] is False
    assert complaint in run("plan", programme, "--verify").stdout


def test_a_total_below_the_groups_sum_limits_all_groups_together(programme):
    programme.write_text(programme.read_text().replace("total = 12", "total = 5"))
    answer = json.loads(run("plan", programme, "--dry-run", "--json").stdout)
    assert answer["summary"]["num_calls"] == 5
    assert all(used <= cap == 4 for used, cap in answer["summary"]["calls_by_group"].values())


def test_explain_says_why(programme):
    plan = json.loads(run("plan", programme, "--dry-run", "--json").stdout)
    first = plan["calls"][0]["id"]
    assert f"{first} is number 1 on the list." in run("explain", programme, first).stdout
    data = load_programme(programme)
    out = data.ids.filter(data.roster["exclusion"].is_not_null())[0]
    answer = json.loads(run("explain", programme, out, "--json").stdout)
    assert answer["rank"] is None
    assert "never to be called (status:" in answer["reasons"][0]
    result = run("explain", programme, "nobody")
    assert result.exit_code == ExitCode.INVALID_INPUT
    assert "no person with the id 'nobody'" in result.stderr


def test_without_a_model_the_remedy_is_said(tmp_path):
    path = init_programme(tmp_path / "new")[0]
    result = run("plan", path)
    assert result.exit_code == ExitCode.INVALID_INPUT
    assert "armwise fit" in result.stderr


def test_a_model_of_other_states_is_refused(programme):
    programme.write_text(programme.read_text().replace("thresholds = [30]", "thresholds = [30, 60]"))
    result = run("plan", programme)
    assert result.exit_code == ExitCode.INVALID_INPUT
    assert "learned with 2 states, and the programme has 3" in result.stderr


def test_a_list_that_cannot_be_written(programme):
    result = run("plan", programme, "--output", programme.parent / "nowhere" / "list.csv")
    assert result.exit_code == ExitCode.NOT_WRITTEN
    assert run("plan", programme, "--output", programme.parent / "list.pdf").exit_code == ExitCode.INVALID_INPUT


def test_evaluation_is_of_everyone_with_the_programmes_own_budget(learned, monkeypatch):
    seen, original = {}, OutreachPlanner.backtest

    def backtest(planner, people, trajectories, **options):
        seen.update(planner=planner, people=people, trajectories=trajectories, **options)
        return original(planner, people, trajectories, **options)

    record_fits(monkeypatch)
    monkeypatch.setattr(OutreachPlanner, "backtest", backtest)
    result = run("evaluate", learned)
    assert result.exit_code == ExitCode.OK, result.output
    data = load_programme(learned)
    assert seen["people"][ID].to_list() == data.ids.to_list()
    assert (seen["trajectories"].states == data.trajectories.states).all()
    assert seen["planner"].budget_share == 12 / 300
    assert seen["losses"] == {}
    assert (seen["groups"]["district"] == data.groups.to_numpy()).all()
    assert "Backtest: learning 6 times" in result.stderr
    assert f"armwise evaluate {learned} --for-report" in result.stderr
    assert not (learned.parent / "evaluation.json").exists()
    parts = [
        "Did calls help?",
        "whom to call",
        "armwise is not shown to be better than",
        "Predictions",
        "no rule could",
    ]
    assert [result.stdout.index(part) for part in parts] == sorted(result.stdout.index(part) for part in parts)
    answer = json.loads(run("evaluate", learned, "--json").stdout)
    assert [each["name"] for each in answer["ways"]][:2] == ["armwise", "never"]
    assert answer["effects"]["overall"]["num_calls"] > 20


def test_evaluation_that_is_not_possible_is_said_in_one_line(learned, tmp_path):
    for file in learned.parent.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "interventions.csv").write_text("id,date,status\n")
    result = run("evaluate", tmp_path / "programme.toml")
    assert result.exit_code == ExitCode.INVALID_INPUT
    assert "make some by lot" in result.stderr
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1


def killed(command, seconds):
    """Run a command and end it with SIGKILL after so many seconds, if it has not ended before."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    process.kill()
    process.wait()


@pytest.mark.parametrize(
    ("command", "file", "seconds"), [("plan", "call-list.csv", [0.5, 1.5, 2.3]), ("fit", "model.armwise", [7])]
)
def test_killed_at_any_moment_the_old_result_stays_and_a_rerun_gives_the_same(programme, command, file, seconds):
    assert command == "fit" or armwise_command(command, programme).returncode == ExitCode.OK
    output = programme.parent / file
    new, chance = output.read_bytes(), random.Random(command)
    for typical in seconds:
        output.write_bytes(b"the old result")
        killed([sys.executable, "-m", "armwise", command, str(programme)], chance.uniform(0.5, 1.5) * typical)
        assert output.read_bytes() in (b"the old result", new)
    assert armwise_command(command, programme).returncode == ExitCode.OK
    assert output.read_bytes() == new


WRITER = """
import os, random, signal, sys, time
from pathlib import Path
from types import SimpleNamespace
from armwise.weekly.manifest import find_manifest, find_probabilities
from armwise.weekly import write_plan

output = Path(sys.argv[1])
lists = [b"first\\n" * 20_000, b"second\\n" * 30_000]
manifest, made = SimpleNamespace(to_json=lambda: "{}"), SimpleNamespace(probabilities_to_bytes=lambda: b"id")
plans = [SimpleNamespace(content=each, files=(), manifest=manifest, plan=made) for each in lists]
for plan in plans:
    write_plan(plan, output)
start = time.perf_counter()
for plan in plans:
    write_plan(plan, output)
once_each, chance, seen = time.perf_counter() - start, random.Random(0), set()
for trial in range(60):
    child = os.fork()
    if not child:
        while True:
            for plan in plans:
                write_plan(plan, output)
    time.sleep(chance.uniform(0, 3 * once_each))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    content = output.read_bytes()
    assert content in lists, len(content)
    assert find_manifest(output, content).read_bytes() == b"{}"
    assert find_probabilities(output, content).read_bytes() == b"id"
    seen.add(content[:1])
print(len(seen))
"""


def test_killed_while_writing_a_list_is_whole_and_has_its_manifest(tmp_path):
    """A process that does nothing but write, killed 60 times at random: the moment that a whole run rarely meets.

    How long it may write follows from how long writing takes, so that on a slow disk both lists are seen, too.
    """
    command = [sys.executable, "-W", "ignore", "-c", WRITER, str(tmp_path / "list.csv")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "2"


def test_an_outage_stops_a_plan_unless_it_is_wanted(programme):
    # Planning a week later, with nothing logged in between.
    programme.write_text(programme.read_text().replace("2024-02-26", "2024-03-04"))
    result = run("plan", programme)
    assert result.exit_code == ExitCode.OUTAGE
    assert not (programme.parent / "call-list.csv").exists()
    result = run("plan", programme, "--despite-outage", "--dry-run")
    assert result.exit_code == ExitCode.OK
    assert result.stdout.count("not seen for 1 week, ") == 12
    assert "last week" not in result.stdout


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"schooling", ', "", "'schooling' (no longer in the settings)"),
        ('"schooling", ', '"schooling", "district", ', "'district' (new in the settings)"),
    ],
)
def test_features_changed_after_fit_are_named(programme, old, new, told):
    text = programme.read_text()
    assert old in text
    programme.write_text(text.replace(old, new, 1))
    result = run("plan", programme)
    assert result.exit_code == ExitCode.INVALID_INPUT
    assert f"fitted with other features than programme.toml names: {told}. Run 'armwise fit' again" in result.stderr


def test_a_feature_that_changed_its_kind_is_named(tmp_path):
    data = load_programme(write_programme(tmp_path))
    check_same_features(Encoder.fit(data.features, categorical=["language"], numeric=["age"]), data)
    with pytest.raises(InvalidInputError, match=r"'age' \(a number then and a category now, or the reverse\)"):
        check_same_features(Encoder.fit(data.features, categorical=["language", "age"], numeric=[]), data)
