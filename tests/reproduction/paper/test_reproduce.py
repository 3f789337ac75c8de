"""Every table and figure from a tiny set-up, what is printed beside what, and the page that is written from results."""

import dataclasses
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from armwise.errors import ExitCode, InvalidInputError
from reproduction import summaries
from reproduction.__main__ import main, make_parser
from reproduction.paper import claims, figures, reproduce, tables
from reproduction.paper import printed as paper
from reproduction.paper.columns import duration
from reproduction.paper.page import NOT_RUN, PICTURES, SECTIONS, with_results
from reproduction.paper.reproduce import Setup
from reproduction.paper.sensitivity import run_sensitivity, variants
from reproduction.paper.times import TimeRow
from reproduction.parts import read_part
from reproduction.results import parts_of
from reproduction.runs.commands import protocol_of
from reproduction.runs.domains import load_domain, save_domain
from reproduction.runs.protocol import LOSSES, PAPER_PROTOCOL, Protocol
from reproduction.runs.summary import summarise
from tests.reproduction.small import run_row, small_domain

ROOT = Path(__file__).parents[3]
TINY = Protocol(2, 1, (1e-2,), (1.0,), num_epochs=2, num_trajectories=4, horizon=5, quality_trajectories=2)


@pytest.fixture(scope="module")
def setup(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    domains = {"mmitra_like": small_domain, "synthetic-5": lambda: small_domain(3)}
    return Setup(folder, domains, TINY, {}, ("mse", "sim-1", "fast-entropy"), ("linear", "2x64"))


@pytest.fixture(scope="module")
def reproduced(setup):
    return reproduce.reproduce("all", setup)


def test_all_tables_and_figures_are_there(setup, reproduced):
    for words in ("table1", "table2", "figure2a", "paper: real-world", "mmitra_like: 2x64", "Seconds per epoch"):
        assert words in reproduced
    for name in ("figure2b", "figure3"):
        assert (setup.folder / "figures" / f"{name}.svg").read_text().startswith("<?xml")
        assert (setup.folder / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_finished_is_not_run_again(setup, reproduced, monkeypatch):
    monkeypatch.setattr(reproduce, "epoch_times", None)
    monkeypatch.setattr("reproduction.runs.jobs._train", None)
    assert reproduce.reproduce("all", setup) == reproduced


def test_what_is_there_is_shown_without_running_anything(setup, reproduced, monkeypatch):
    """Whatever its protocol, as for the results that a clone comes with; and it says which that was."""
    monkeypatch.setattr(reproduce, "run_job", None)
    monkeypatch.setattr(reproduce, "epoch_times", None)
    other = dataclasses.replace(setup, protocol=PAPER_PROTOCOL, losses=tuple(LOSSES), only_shows=True)
    shown = reproduce.reproduce("all", other)
    assert shown.split("figure2b")[0] == reproduced.split("figure2b")[0]
    for name in ("figure2b", "figure3"):
        assert str(setup.folder / "figures" / f"{name}.svg") in shown
    assert "- mmitra_like: mse, sim-1: 2 splits × 1 first weight × 1 learning rate, 2 epochs, on" in shown
    assert reproduce.has_results(setup.folder)
    assert not reproduce.has_results(setup.folder / "absent")


def test_only_missing_times_are_measured(setup, reproduced, monkeypatch):
    measured = []

    def epoch_times(name, domain, losses, progress):
        measured.append((name, list(losses)))
        return [TimeRow(name, loss, 1.0, 1.0, 1.0, 1, 1, 1, 1, "test") for loss in losses]

    monkeypatch.setattr(reproduce, "epoch_times", epoch_times)
    part = setup.folder / "unfinished" / "times" / "epochs.json"
    before = part.read_bytes()
    reproduce.figure2a(dataclasses.replace(setup, losses=("mse", "nll")))
    assert measured == [("mmitra_like", ["nll"]), ("synthetic-5", ["nll"])]
    part.write_bytes(before)


def test_an_unknown_name_is_refused(setup):
    with pytest.raises(InvalidInputError, match="no 'table3' to reproduce; there are table1"):
        reproduce.reproduce("table3", setup)


def test_the_page_is_written_from_results(setup, reproduced):
    document = "".join(f"<!-- {name} -->\nstale words\n<!-- /{name} -->\nkept\n" for name in (*SECTIONS, *PICTURES))
    page = setup.folder.parent / "page.md"
    written = with_results(document, page, setup.folder)
    assert "stale words" not in written
    assert written.count("kept") == len(SECTIONS) + len(PICTURES)
    assert f"]({setup.folder.name}/figures/figure3.svg)" in written
    assert "SIM-DFL (1 trajectory)" in written
    assert with_results(written, page, setup.folder) == written


def test_without_results_the_page_says_so(tmp_path):
    assert (
        with_results("<!-- table1 -->\n<!-- /table1 -->", tmp_path / "p.md", tmp_path)
        .split("\n", 1)[1]
        .startswith(NOT_RUN)
    )


def test_the_committed_page_shows_the_committed_results():
    page = ROOT / "docs" / "reproduction.md"
    assert with_results(page.read_text(), page, ROOT / "results") == page.read_text()
    both = page.read_text() + (ROOT / "docs" / "choosing-a-loss.md").read_text()
    assert all(f"<!-- {name} -->" in both for name in (*SECTIONS, *PICTURES))


def test_table_1_by_hand():
    rows = [run_row(loss="nll", split=split, joint_quality=value) for split, value in ((0, 0.2), (1, 0.4))]
    line = next(line for line in tables.table_1(summarise(rows)).splitlines() if line.startswith("| NLL"))
    assert line == r"| NLL | – | – | – | 0.04 ± 0.06 | 0.30 ± 0.10\* | 0.59 ± 0.13 | – | 0.16 ± 0.04 |"


def test_less_than_the_papers_protocol_is_starred():
    full = run_row(num_splits=10, num_initialisations=5, num_learning_rates=4, num_temperatures=1, num_epochs=100)
    (whole,) = summarise([full])
    assert not tables.is_reduced(whole)
    for name in ("num_splits", "num_initialisations", "num_learning_rates", "num_epochs"):
        assert tables.is_reduced(summarise([dataclasses.replace(full, **{name: 3})])[0])
    assert tables.is_reduced(summarise([dataclasses.replace(full, loss="fast-entropy")])[0])  # one temperature of two


def test_the_papers_gap_is_its_timeout():
    assert "timeout" in tables.table_1([])
    assert paper.TABLE_1_JOINT["sim-1000"][0] is None
    assert set(paper.TABLE_1_JOINT) == set(paper.TABLE_1_DECOMPOSED) == set(paper.FIGURE_2A) <= set(LOSSES)


def test_claims_by_hand():
    def runs(loss, values, domain="mmitra_like", **changes):
        return [
            run_row(loss=loss, domain=domain, split=split, joint_quality=value, decomposed_quality=value, **changes)
            for split, value in enumerate(values)
        ]

    rows = runs("mse", [0.1, 0.2, 0.15]) + runs("fast-entropy", [0.5, 0.61, 0.56]) + runs("sim-1", [0.5, 0.6, 0.57])
    found = {(one.claim, one.domain): one for one in claims.verdicts(rows)}
    assert found["DEC-DFL does better than two-stage", "mmitra_like"].holds == "yes"
    assert "= 0.41 ± 0.00" in found["DEC-DFL does better than two-stage", "mmitra_like"].evidence
    assert found["DEC-DFL does better than SIM-DFL", "mmitra_like"].holds == "undecided"
    mirrored = found["Decomposed quality puts the losses in the order of joint quality", "mmitra_like"]
    assert (mirrored.holds, mirrored.evidence[:21]) == ("yes", "rank correlation 1.00")
    worse = claims.verdicts(runs("mse", [0.9, 0.9]) + runs("fast-entropy", [0.5, 0.51]))
    assert worse[0].holds == "no"
    larger = runs("fast-entropy", [0.51, 0.61, 0.57], model="2x64") + runs("mse", [0.3, 0.4, 0.36], model="4x500")
    larger = [dataclasses.replace(row, num_splits=10, num_initialisations=5, num_epochs=100) for row in larger]
    found = {one.claim: one for one in claims.verdicts(rows + larger)}
    same = found["Capacity does not change DEC-DFL (within 0.05)"]
    assert (same.evidence, same.holds) == ("Fast DEC-DFL (entropy): 2x64 − linear = 0.01 ± 0.00", "yes")
    helps = found["Capacity helps MSE and SIM-DFL (1 trajectory)"]
    assert (helps.evidence, helps.holds) == ("MSE: 4x500 − linear = 0.20 ± 0.00", "yes")
    text = claims.as_markdown([same])
    assert r"= 0.01 ± 0.00\* | yes |" in text
    assert "1 × 1 × 1 × 1, 1 epochs for fast-entropy on mmitra_like." in text


@pytest.mark.parametrize(
    ("values", "alike", "better"),
    [
        ((0.01, 0.02, 0.01), "yes", "yes"),
        ((0.20, 0.21, 0.22), "no", "yes"),
        ((-0.20, -0.21, -0.22), "no", "no"),
        ((0.00, 0.10, -0.10), "undecided", "undecided"),  # noise confirms nothing
        ((0.04, 0.05, 0.06), "undecided", "yes"),
        ((0.2,), "undecided", "undecided"),  # one split tells nothing
    ],
)
def test_a_claim_holds_only_beyond_two_standard_errors(values, alike, better):
    def runs(loss, values):
        return [run_row(loss=loss, split=split, joint_quality=value) for split, value in enumerate(values)]

    ours, theirs = runs("fast-entropy", values), runs("mse", [0.0] * len(values))
    assert claims._alike("", ours, theirs).holds == alike
    assert claims._better("", ours, theirs).holds == better


def test_the_claim_of_speed_by_hand():
    times = [TimeRow("oulad", loss, value, value, value, 1, 1, 1, 1, "") for loss, value in SPEEDS.items()]
    (one,) = claims.verdicts([], times)
    assert (one.holds, one.evidence.split()[0]) == ("no", "100")


SPEEDS = {"fast-entropy": 0.01, "sim-1000": 1.0}


def test_the_top_share_of_indices_by_hand():
    from reproduction.runs.records import IndexRow

    rows = [IndexRow("d", "", "linear", "mse", 0, arm, 0, 1, float(arm), float(10 * arm)) for arm in range(4)]
    cut, there, overall = figures.top_share(rows)
    assert 2 < cut <= 3
    assert (there, overall) == (30.0, 15.0)


def test_figures_without_data_say_what_to_run(tmp_path):
    with pytest.raises(InvalidInputError, match="quality='joint'"):
        figures.figure_2b([], [], tmp_path, ["oulad"])
    with pytest.raises(InvalidInputError, match="keep_indices"):
        figures.figure_3([], tmp_path, "oulad")


def test_without_matplotlib_figures_say_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(figures.MissingMatplotlibError, match=r"armwise\[figures\]"):
        figures.figure_3([], tmp_path, "oulad")


def test_the_study_changes_one_thing_at_a_time(tmp_path):
    protocol = dataclasses.replace(TINY, num_epochs=1)
    knobs = {"num_cohorts": 8, "num_arms": 6, "budget": 2, "width": 10}
    labels = ("", "noise=1", "horizon=10")
    parts = run_sensitivity("synthetic-2", protocol, tmp_path, losses=("mse",), labels=labels, **knobs)
    assert [part.stem for part in parts] == [
        "synthetic-2--linear--mse",
        "synthetic-2+noise=1--linear--mse",
        "synthetic-2+horizon=10--linear--mse",
    ]
    with pytest.raises(InvalidInputError, match="no variant"):
        run_sensitivity("synthetic-2", protocol, tmp_path, labels=("noise=7",))
    assert len({variant.label for variant in variants(5)}) == len(variants(5))


def test_the_command_runs_a_saved_domain_without_the_packages_that_read_data(tmp_path):
    """On a machine with JAX alone: polars is a stub there, typer, fastexcel, cvxpy and Matplotlib are absent."""
    save_domain(tmp_path / "tiny.npz", small_domain())
    (tmp_path / "stubs").mkdir()
    (tmp_path / "stubs" / "polars.py").write_text("def __getattr__(name):\n    return object\n")
    for name in ("typer", "fastexcel", "cvxpy", "matplotlib"):
        (tmp_path / "stubs" / f"{name}.py").write_text("raise ImportError\n")
    command = [sys.executable, "-m", "reproduction", "runs", "--domain", str(tmp_path / "tiny.npz")]
    command += ["--quick", "--epochs", "1", "--loss", "mse", "--trajectories", "2", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, env={"PYTHONPATH": str(tmp_path / "stubs"), "PATH": ""}, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert (tmp_path / "out" / "unfinished" / "paper" / "tiny--linear--mse.json").exists()


def test_the_columns_command_times_every_run(tmp_path, capsys):
    save_domain(tmp_path / "mmitra_like.npz", small_domain())
    command = ["columns", "--domain", str(tmp_path / "mmitra_like.npz"), "--quick", "--epochs", "2"]
    assert main([*command, "--out", str(tmp_path)]) == 0
    (column,) = parts_of(tmp_path, "columns")["columns"][0].to_list()
    assert (column["domain"], column["num_runs"], column["num_epochs"]) == ("mmitra_like", 8, 2)
    assert column["compile_seconds"] > 0
    assert column["run_seconds"] > 0
    printed = capsys.readouterr().out
    assert "| the paper's epochs, 400 × 100 of them | 11.9 h | 4.3 h | 7.8 h | 24.0 h | – |" in printed
    assert "(8 runs × 2 epochs)" in printed


def test_durations_are_in_the_unit_that_suits_them():
    assert [duration(seconds) for seconds in (7.4, 119.0, 150.0, 86400.0)] == ["7 s", "119 s", "2.5 min", "24.0 h"]


def test_the_closest_choice_by_hand():
    rows = [
        run_row(loss=loss, variant=variant, joint_quality=quality)
        for variant, qualities in (("", (0.69, 0.93)), ("noise=1", (0.49, 0.83)), ("noise=2", (0.0, 0.0)))
        for loss, quality in zip(("nll", "mse"), qualities, strict=True)
    ]
    names = [("default", ""), ("noise", "noise=1"), ("noise", "noise=2"), ("discount", "discount=0.8")]
    words = "Closest to the paper's synthetic-2 column: noise 1, 0.05 away on average; the defaults are 0.10 away.\n"
    assert tables.closest(summarise(rows), names, "synthetic-2") == words
    assert tables.closest(summarise(rows), names, "synthetic-5") == ""


def test_options_change_the_protocol():
    given = make_parser().parse_args(["runs", "--domain", "synthetic-2", "--epochs", "7", "--learning-rates", "1", "2"])
    assert protocol_of(given) == dataclasses.replace(PAPER_PROTOCOL, num_epochs=7, learning_rates=(1.0, 2.0))


def test_the_module_reports_mistakes_without_a_traceback(capsys, tmp_path):
    assert main(["runs", "--domain", str(tmp_path / "absent.npz")]) == 3
    assert "absent.npz is not a domain" in capsys.readouterr().err
    assert main(["domains", "--out", str(tmp_path), "oulad"]) == 3


def test_the_command_line_prints_the_table_beside_the_papers(setup, reproduced, monkeypatch, capsys):
    joined = []
    monkeypatch.setattr(reproduce, "make_setup", lambda *_, **__: setup)
    monkeypatch.setattr(summaries, "join_all", lambda _: joined.append(1))
    assert main(["table1", "--out", str(setup.folder)]) == 0
    told = capsys.readouterr()
    assert "0.59 ± 0.13" in told.out
    assert "Without ctn0094 and oulad" in told.err
    assert joined


def test_nothing_is_reproduced_outside_a_clone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduce, "make_setup", lambda *_, **__: pytest.fail("a run began"))
    assert main(["table1"]) == ExitCode.INVALID_INPUT
    assert "--quick" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["report", "choosing", "join"])
def test_pages_are_not_written_from_a_folder_without_results(command, tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("<!-- table1 -->\nkept\n<!-- /table1 -->\n")
    options = [] if command == "join" else ["--page", str(page)]
    assert main([command, "--results", str(tmp_path / "nowhere"), *options]) == ExitCode.INVALID_INPUT
    assert "with --results" in capsys.readouterr().err
    assert "kept" in page.read_text()


def test_a_page_that_does_not_exist_is_named(tmp_path, capsys):
    absent = tmp_path / "absent.md"
    assert main(["report", "--results", str(ROOT / "results"), "--page", str(absent)]) == ExitCode.INVALID_INPUT
    assert f"There is no page {absent}" in capsys.readouterr().err


def test_a_folder_of_data_that_does_not_exist_is_named(tmp_path, capsys):
    absent = tmp_path / "absent"
    assert main(["table1", "--out", str(tmp_path), "--data", str(absent)]) == ExitCode.INVALID_INPUT
    assert f"There is no folder {absent}" in capsys.readouterr().err


COMMANDS = ["table1", "table2", "figure2a", "figure2b", "figure3", "all", "report", "choosing", "columns", "domains"]
COMMANDS += [
    "join",
    "runs",
    "sensitivity",
    "recommended",
    "deciding",
    "null-worlds",
    "off-policy",
    "next-state",
    "demo-truth",
]


@pytest.mark.parametrize("command", [*COMMANDS, "demo-truth", "choice-by-lot"])
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    assert "usage: python -m reproduction" in capsys.readouterr().out


def test_a_command_that_does_not_exist_is_answered_by_those_that_do(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["table9"])
    told = capsys.readouterr().err
    assert all(name in told for name in COMMANDS)


def test_a_saved_domain_and_a_made_one_count_as_the_same_data(setup, reproduced, tmp_path):
    save_domain(tmp_path / "d.npz", small_domain())
    other = dataclasses.replace(setup, domains={"mmitra_like": lambda: load_domain(tmp_path / "d.npz")})
    assert "mmitra_like" in reproduce.table1(other)


def test_what_was_run_for_a_figure_alone_fills_in(setup, reproduced, tmp_path, monkeypatch):
    """Only for domains and losses of which the runs kept nothing."""
    for study in ("paper", "curves"):
        shutil.copytree(setup.folder / "unfinished" / "paper", tmp_path / "unfinished" / study)
    slow = tmp_path / "unfinished" / "paper" / "mmitra_like--linear--sim-1.json"
    page = read_part(slow)
    quality = page["tables"]["validation"]["validation_quality"]
    page["tables"]["validation"]["validation_quality"] = [float("nan")] * len(quality)
    slow.write_text(json.dumps(page))
    drawn = []
    monkeypatch.setattr(reproduce.figures, "figure_2b", lambda history, *_: drawn.extend(history) or [])
    reproduce.figure2b(dataclasses.replace(setup, folder=tmp_path, only_shows=True))
    places = [(row.domain, row.model, row.loss, row.learning_rate, row.temperature, row.epoch) for row in drawn]
    assert len(set(places)) == len(places)
    assert {row.loss for row in drawn if row.domain == "mmitra_like"} == {"mse", "sim-1", "fast-entropy"}
