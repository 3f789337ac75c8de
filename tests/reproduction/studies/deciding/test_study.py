"""The study of ways to decide: its programmes, its files and its parts. The exhaustive tier runs it in small."""

import inspect

import jax
import numpy as np
import pytest

import armwise as aw
from reproduction.results import join_parts
from reproduction.studies.deciding import study as deciding
from reproduction.studies.deciding.page import read_results

SMALL = deciding.Size(num_seeds=2, cohorts=(3, 1, 2), cohort_size=10, budget=1, num_epochs=2, num_trajectories=5)


def rows_of(world, weeks):
    return [
        deciding.Row(world, weeks, seed, way, judged_by, 0.5 + seed, -1.25)
        for seed in range(2)
        for way in ("random", "MSE")
        for judged_by in ("behaviour", "estimates")
    ]


def test_every_world_turns_knobs_that_there_are():
    knobs = inspect.signature(aw.simulated_programme).parameters
    for name, own in deciding.WORLDS.items():
        for knob, value in own.items():
            assert knobs[knob].default != value, name


@pytest.mark.parametrize("world", ["default", "10 % unobserved"])
def test_people_keep_their_true_chains_through_cohorts(world):
    people = deciding.simulate_programmes(deciding.WORLDS[world], 6, SMALL)
    for seed, split in enumerate(people.splits):
        programme = aw.simulated_programme(seed, num_people=60, num_weeks=6, **deciding.WORLDS[world])
        counts = np.asarray(aw.transition_counts(programme.trajectories))
        for cohort in np.concatenate(split):
            ids = np.asarray(people.cohorts.ids[cohort])
            np.testing.assert_allclose(people.behaviour[cohort], programme.transitions[ids])
            np.testing.assert_array_equal(people.cohorts.counts[cohort], counts[ids])
            np.testing.assert_array_equal(people.cohorts.features.codes[cohort], programme.features.codes[ids])
    everyone = np.concatenate([np.concatenate(split) for split in people.splits])
    np.testing.assert_array_equal(np.sort(everyone), np.arange(12))


def test_weeks_change_no_shape():
    """So that every loss compiles once for the whole study."""
    few, many = (
        jax.tree.map(np.shape, deciding.simulate_programmes(deciding.WORLDS["weekly decline"], weeks, SMALL)[:2])
        for weeks in (4, 9)
    )
    assert jax.tree.leaves(few) == jax.tree.leaves(many)
    assert jax.tree.structure(few) == jax.tree.structure(many)


def test_models_never_see_a_test_cohort_and_the_first_division_is_the_splits_own():
    split = aw.SplitNumbers(np.arange(6), np.arange(6, 8), np.arange(8, 10))
    inner = deciding.inner_splits(split)
    assert len(inner) == deciding.RECIPE_SPLITS
    np.testing.assert_array_equal(inner[0].train, split.train)
    for each in inner:
        np.testing.assert_array_equal(np.sort(np.concatenate(each[:2])), np.arange(8))


def test_rows_are_read_in_the_order_of_worlds(tmp_path, monkeypatch):
    monkeypatch.setattr(deciding, "run_job", lambda world, weeks, *_: rows_of(world, weeks))
    worlds = list(deciding.WORLDS)
    for kind in ("losses", "fresh"):
        deciding.run_jobs(tmp_path, SMALL, worlds[::-1], [8], "1/1", kind)
    expected = [row for world in worlds for row in rows_of(world, 8)]
    assert read_results(tmp_path) == (expected, expected)
    join_parts(tmp_path, "deciding")
    assert read_results(tmp_path) == (expected, expected)


def test_what_is_there_is_not_computed_again_and_parts_share_the_jobs(tmp_path, monkeypatch, capsys):
    done = []

    def run_job(world, weeks, size, kind):
        done.append((world, weeks))
        return rows_of(world, weeks)

    monkeypatch.setattr(deciding, "run_job", run_job)
    worlds = list(deciding.WORLDS)
    for part in ("1/4", "2/4", "3/4", "4/4", "1/1"):
        deciding.run_jobs(tmp_path, SMALL, worlds, deciding.WEEKS, part, "losses")
    assert sorted(done) == sorted((world, weeks) for world in worlds for weeks in deciding.WEEKS)
    assert len(read_results(tmp_path)[0]) == 18 * 8


@pytest.mark.parametrize("part", ["0/4", "5/4", "3", "a/b", "1/2/3", "-1/2", ""])
def test_parts_that_there_are_not(tmp_path, part):
    with pytest.raises(aw.InvalidInputError, match="such as 3/16"):
        deciding.run_jobs(tmp_path, SMALL, ["default"], [8], part, "losses")
