"""Selection and aggregation against numbers worked out by hand."""

import math

import numpy as np
import pytest

from reproduction.runs.summary import paired_difference, select, standard_error, summarise
from tests.reproduction.small import run_row


def grid():
    """Two splits, one start, two rates: rate 0.1 has the lower mean validation loss, rate 0.2 the best single run."""
    cells = {  # (split, rate): (validation loss, joint quality)
        (0, 0.1): (1.0, 0.50),
        (0, 0.2): (0.5, 0.80),
        (1, 0.1): (1.0, 0.70),
        (1, 0.2): (9.0, 0.10),
    }
    return [
        run_row(split=split, learning_rate=rate, validation_loss=loss, joint_quality=joint, joint_by_cohort=joint / 2)
        for (split, rate), (loss, joint) in cells.items()
    ]


def test_one_setting_for_all_by_the_mean_validation_loss():
    assert [(run.split, run.learning_rate) for run in select(grid())] == [(0, 0.1), (1, 0.1)]


def test_or_each_run_its_own():
    assert [(run.split, run.learning_rate) for run in select(grid(), shared=False)] == [(0, 0.2), (1, 0.1)]


def test_a_diverged_run_is_never_chosen():
    rows = [run_row(learning_rate=0.1, validation_loss=math.nan), run_row(learning_rate=0.2, validation_loss=7.0)]
    assert select(rows)[0].learning_rate == 0.2
    assert select(rows, shared=False)[0].learning_rate == 0.2


def test_temperatures_are_chosen_too():
    rows = [run_row(temperature=1.0, validation_loss=1.0), run_row(temperature=0.1, validation_loss=0.9)]
    assert select(rows)[0].temperature == 0.1


def test_mean_and_standard_error_by_hand():
    (summary,) = summarise(grid())
    assert summary.joint == pytest.approx(0.6)
    # Deviations ±0.1: variance 0.02 with one degree of freedom, over two runs.
    assert summary.joint_error == pytest.approx(0.1)
    assert summary.joint_error_of_splits == pytest.approx(0.1)
    assert summary.by_cohort == pytest.approx(0.3)
    assert (summary.learning_rate, summary.num_runs) == (0.1, 2)


def test_runs_of_one_split_count_once_in_the_error_over_splits():
    rows = [
        run_row(split=split, initialisation=start, joint_quality=float(split)) for split in (0, 1) for start in range(5)
    ]
    (summary,) = summarise(rows)
    assert summary.joint_error == pytest.approx(math.sqrt(10 * 0.25 / 9 / 10))
    assert summary.joint_error_of_splits == pytest.approx(0.5)


def test_jobs_are_kept_apart():
    rows = [run_row(loss="nll"), run_row(loss="mse"), run_row(loss="mse", variant="noise=1")]
    assert [(one.loss, one.variant) for one in summarise(rows)] == [("nll", ""), ("mse", ""), ("mse", "noise=1")]


def test_differences_are_paired_by_split_and_start():
    one = [run_row(split=split, joint_quality=0.5 + split) for split in (0, 1, 2)]
    other = [run_row(split=split, joint_quality=0.4 + split) for split in (2, 1, 0)]
    mean, error = paired_difference(one, other)
    assert mean == pytest.approx(0.1)
    assert error == pytest.approx(0, abs=1e-12)
    assert np.isnan(paired_difference(one, [])).all()


def test_one_value_has_no_error():
    assert math.isnan(standard_error([1.0]))


def test_selection_is_that_of_the_trained_runs(tmp_path):
    """The CSV leads to the same runs as ``TrainedRuns.select``."""
    from reproduction.runs.jobs import _train
    from reproduction.runs.rows import Job, JobScores, run_rows
    from reproduction.runs.scoring import BothScores, Scores
    from tests.reproduction.small import PROTOCOL, small_domain

    domain, job = small_domain(), Job("synthetic-2", "fast-entropy")
    splits = [domain.split_numbers(seed) for seed in range(PROTOCOL.num_splits)]
    trained = _train(job, domain, PROTOCOL, splits, 16, None, False)
    nothing = Scores(*(np.ones((16, 1)) * value for value in (1, 0, 2)))
    scores = JobScores(BothScores(nothing, nothing), {run: run for run in range(16)}, np.zeros(16))
    rows = run_rows(job, PROTOCOL, trained, scores, (0.0, 0.0))
    for shared in (True, False):
        theirs = sorted(trained.select(shared=shared).ravel().tolist())
        assert sorted(rows.index(run) for run in select(rows, shared=shared)) == theirs
