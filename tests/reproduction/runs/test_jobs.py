"""A job ends in the same part, whether it is run at once or goes on; a finished one is not run again."""

import dataclasses
import os
import shutil
import subprocess

import numpy as np
import pytest

from armwise.errors import InvalidInputError
from armwise.rmab import whittle_indices
from reproduction import provenance
from reproduction.parts import find_part, read_part
from reproduction.results import join_parts, read_rows
from reproduction.runs import jobs
from reproduction.runs.jobs import run_job, runs_at_once
from reproduction.runs.records import HistoryRow, IndexRow, RunRow
from reproduction.runs.rows import Job
from tests.reproduction.small import PROTOCOL, small_domain

JOB = Job("synthetic-2", "fast-entropy")


@pytest.fixture(scope="module")
def domain():
    return small_domain()


@pytest.fixture(scope="module")
def finished(domain, tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    protocol = dataclasses.replace(PROTOCOL, quality="joint", quality_trajectories=3, keep_indices=True)
    return folder, protocol, run_job(JOB, domain, protocol, folder)


def runs_in(results):
    return read_rows(results, "paper", "runs", RunRow)


def rows_without_times(results):
    rows = runs_in(results)
    return [dataclasses.replace(row, train_seconds=0.0, evaluate_seconds=0.0, validation_quality=0.0) for row in rows]


def test_one_row_per_run(finished):
    folder, protocol, _ = finished
    rows = runs_in(folder)
    assert len(rows) == 2 * 2 * 2 * 2
    assert len({(row.split, row.initialisation, row.learning_rate, row.temperature) for row in rows}) == 16
    for row in rows:
        gain = (row.joint_achieved - row.joint_never) / (row.joint_perfect - row.joint_never)
        assert row.joint_quality == pytest.approx(gain, rel=1e-5)
        assert row.decomposed_achieved <= row.decomposed_perfect * (1 + 1e-6)
        assert (row.num_epochs, row.num_test_cohorts) == (protocol.num_epochs, 3)
    bounds = {(row.split, row.joint_never, row.joint_perfect, row.decomposed_perfect) for row in rows}
    assert len(bounds) == 2  # all runs of a split meet the same luck


def test_validation_by_epoch_is_beside_it(finished):
    folder, _, _ = finished
    rows = read_rows(folder, "paper", "validation", HistoryRow)
    assert len(rows) == 2 * 2 * 3
    assert all(row.num_runs == 4 and np.isfinite(row.validation_quality) for row in rows)
    runs = [run for run in runs_in(folder) if (run.temperature, run.learning_rate) == (1.0, 1e-2)]
    own = [row for row in rows if (row.temperature, row.learning_rate) == (1.0, 1e-2)]
    # Each run's best epoch is no worse than the epoch that is best on average, and equal to one of them for one run.
    assert np.mean([run.validation_loss for run in runs]) <= min(row.validation_loss for row in own) + 1e-6
    assert all(row.validation_loss_error > 0 for row in own)


def test_indices_are_those_of_the_test_cohorts(finished, domain):
    folder, _, _ = finished
    rows = read_rows(folder, "paper", "indices", IndexRow)
    test = domain.split_numbers(0).test
    assert len(rows) == 3 * 6 * 2
    for row in rows[::7]:
        assert row.cohort in test
        true = whittle_indices(domain.cohorts.true_transitions[row.cohort], domain.problem)
        assert row.true_index == pytest.approx(float(true[row.arm, row.state]), rel=1e-4)


def test_the_page_says_what_made_it(finished):
    page = read_part(finished[2])
    assert {"command", "commit", "machine", "wall_seconds", "date", "asked"} <= page.keys()
    assert page["asked"]["protocol"]["learning_rates"] == [1e-2, 1e-3]


def test_a_finished_part_is_not_run_again(finished, domain, monkeypatch):
    folder, protocol, part = finished
    monkeypatch.setattr(jobs, "_train", None)
    assert run_job(JOB, domain, protocol, folder) == part
    assert run_job(JOB, domain, PROTOCOL, folder) == part  # asked for less than there is


def test_a_part_without_what_is_needed_is_run_again(domain, tmp_path):
    run_job(Job("synthetic-2", "mse"), domain, PROTOCOL, tmp_path)
    more = dataclasses.replace(PROTOCOL, keep_indices=True)
    assert not read_rows(tmp_path, "paper", "indices", IndexRow)
    run_job(Job("synthetic-2", "mse"), domain, more, tmp_path, needs=())
    assert not read_rows(tmp_path, "paper", "indices", IndexRow)
    run_job(Job("synthetic-2", "mse"), domain, more, tmp_path)
    assert read_rows(tmp_path, "paper", "indices", IndexRow)


@pytest.mark.parametrize("what", ["protocol", "data"])
def test_a_part_of_something_else_is_refused(finished, domain, what):
    folder, protocol, _ = finished
    other = dataclasses.replace(protocol, num_epochs=4) if what == "protocol" else protocol
    data = small_domain() if what == "protocol" else domain._replace(cohorts=domain.cohorts[:6])
    with pytest.raises(InvalidInputError, match="another protocol or other data"):
        run_job(JOB, data, other, folder)


class StoppedError(Exception):
    pass


def test_a_stopped_job_goes_on_to_the_same_part(finished, domain, tmp_path, monkeypatch):
    """Stopped after training, the weights come from the checkpoint: no gradient step is taken again."""
    with monkeypatch.context() as patch:
        patch.setattr(jobs, "score", lambda *_, **__: (_ for _ in ()).throw(StoppedError))
        with pytest.raises(StoppedError):
            run_job(JOB, domain, PROTOCOL, tmp_path)
    stopped = tmp_path / "unfinished" / "paper" / JOB.name
    assert list(stopped.glob("*.npz"))
    assert find_part(tmp_path, "paper", JOB.name) is None
    run_job(JOB, domain, PROTOCOL, tmp_path)
    assert not stopped.exists()
    assert rows_without_times(tmp_path) == rows_without_times(finished[0])


def test_only_runs_that_can_be_selected_are_tested(domain, tmp_path):
    run_job(JOB, domain, dataclasses.replace(PROTOCOL, evaluate="selected"), tmp_path)
    tested = [not np.isnan(row.joint_quality) for row in runs_in(tmp_path)]
    assert 4 <= sum(tested) < 16


def test_what_is_best_by_quality_is_tested_too(domain, tmp_path):
    """Of each temperature, since the recipe's is given."""
    from reproduction.studies.choosing.recipe import choose_by_quality

    changes = {"evaluate": "selected", "quality": "joint", "quality_trajectories": 3}
    run_job(JOB, domain, dataclasses.replace(PROTOCOL, **changes), tmp_path)
    rows = runs_in(tmp_path)
    for temperature in (1.0, 0.1):
        chosen = choose_by_quality([row for row in rows if row.temperature == temperature])
        assert len(chosen) == 4
        assert not any(np.isnan(row.joint_quality) for row in chosen)


def test_every_candidate_runs(domain, tmp_path):
    """Two epochs of each that is trained or tested in a way of its own."""
    changes = {"num_epochs": 2, "quality": "joint", "quality_trajectories": 2, "select_by": "quality"}
    protocol = dataclasses.replace(PROTOCOL, num_initialisations=1, learning_rates=(1e-2,), **changes)
    names = ("nll-then-dec-slow", "price-annealed", "dec-spread", "mse-decay1", "dec-budgets", "price-calibrated")
    for name in names:
        run_job(Job("synthetic-2", name), domain, protocol, tmp_path)
        rows = [row for row in runs_in(tmp_path) if row.loss == name]
        assert len(rows) == (2 if name == "mse-decay1" else 4)
        assert all(np.isfinite((row.joint_quality, row.validation_quality)).all() for row in rows)


def test_fewer_looks_are_told_by_fewer_rows(domain, tmp_path):
    protocol = dataclasses.replace(PROTOCOL, num_epochs=4, validate_every=2)
    part = run_job(Job("synthetic-2", "mse"), domain, protocol, tmp_path)
    rows = read_rows(tmp_path, "paper", "validation", HistoryRow)
    assert {row.epoch for row in rows} == {2, 4}
    assert not any(np.isnan(row.validation_loss) for row in rows)
    assert read_part(part)["asked"]["protocol"]["validate_every"] == 2


def test_a_part_from_before_an_option_counts_as_its_default(finished, domain):
    _, protocol, part = finished
    asked = read_part(part)["asked"]
    del asked["protocol"]["validate_every"]
    assert jobs.is_finished(JOB.name, asked, domain, protocol)
    with pytest.raises(InvalidInputError, match="another protocol"):
        jobs.is_finished(JOB.name, asked, domain, dataclasses.replace(protocol, validate_every=3))


def test_trajectories_count_where_the_epoch_is_chosen_by_them(finished, domain):
    _, protocol, part = finished
    asked = read_part(part)["asked"]
    more = dataclasses.replace(protocol, quality="joint", quality_trajectories=99)
    assert jobs.is_finished(JOB.name, asked, domain, more, needs=())  # the loss chooses
    asked["protocol"] |= {"select_by": "quality", "quality": "joint", "quality_trajectories": 20}
    by_quality = dataclasses.replace(protocol, quality="joint", select_by="quality", quality_trajectories=20)
    assert jobs.is_finished(JOB.name, asked, domain, by_quality)
    with pytest.raises(InvalidInputError, match="another protocol"):
        jobs.is_finished(JOB.name, asked, domain, dataclasses.replace(by_quality, quality_trajectories=6))


def test_a_joined_part_is_not_run_again_either(finished, domain, tmp_path, monkeypatch):
    folder, protocol, _ = finished
    shutil.copytree(folder, tmp_path / "results")
    before = runs_in(tmp_path / "results")
    joined = join_parts(tmp_path / "results", "paper")
    assert runs_in(tmp_path / "results") == before
    assert not list((tmp_path / "results" / "unfinished").rglob("*.json"))
    monkeypatch.setattr(jobs, "_train", None)
    assert run_job(JOB, domain, protocol, tmp_path / "results") == joined
    with pytest.raises(InvalidInputError, match="another protocol"):
        run_job(JOB, domain, dataclasses.replace(protocol, num_epochs=4), tmp_path / "results")


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_results_of_changed_code_say_so(tmp_path, monkeypatch):
    for name in ("ARMWISE_COMMIT", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, os.devnull)
    package = tmp_path / "reproduction"
    package.mkdir(parents=True)
    module = package / "provenance.py"
    module.write_text("")
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "first"]):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True, capture_output=True)
    head = ["git", "-C", str(tmp_path), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(head, check=True, capture_output=True, text=True).stdout.strip()
    monkeypatch.setattr(provenance, "__file__", str(module))
    assert provenance._commit() == commit
    (tmp_path / "notes.txt").write_text("not code")
    assert provenance._commit() == commit
    module.write_text("changed = True")
    assert provenance._commit() == commit + "+"
    monkeypatch.setenv("ARMWISE_COMMIT", "abc1234")
    assert provenance._commit() == "abc1234"


def test_simulations_bound_the_runs_side_by_side():
    domain = small_domain()
    assert runs_at_once(JOB, domain) == 50
    counts = [runs_at_once(Job("synthetic-2", f"sim-{number}"), domain) for number in (1, 100, 1000)]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] >= 1


@pytest.mark.parametrize("num_validated", [0, 1, 50])
def test_a_gpu_takes_fewer_runs_where_it_has_no_kernel(monkeypatch, num_validated):
    domain = small_domain()._replace(sizes=(2, num_validated, 2))
    monkeypatch.setattr(jobs.jax, "default_backend", lambda: "gpu")
    counts = []
    for has_kernel in (True, False):
        monkeypatch.setattr(jobs, "_has_kernel", lambda *_, has_kernel=has_kernel: has_kernel)
        counts.append(runs_at_once(Job("synthetic-2", "sim-1000"), domain))
    assert counts[0] == 400
    assert 1 <= counts[1] <= counts[0]
    assert counts[1] < counts[0] or num_validated < 50


def test_unknown_names_are_listed(domain, tmp_path):
    with pytest.raises(InvalidInputError, match="no loss 'mae'; there are nll, mse"):
        run_job(Job("synthetic-2", "mae"), domain, PROTOCOL, tmp_path)
    with pytest.raises(InvalidInputError, match="no model '9x9'; there are linear"):
        run_job(Job("synthetic-2", "mse", "9x9"), domain, PROTOCOL, tmp_path)
