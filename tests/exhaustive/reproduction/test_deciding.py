"""The study of ways to decide, run in small."""

import dataclasses

import jax
import numpy as np
import pytest

import armwise as aw
from armwise.evaluation.simple_rules import RULES_OF_THUMB
from armwise.training.recipe import train_recommended
from reproduction.studies.deciding import study as deciding

SIZE = deciding.Size(num_seeds=2, cohorts=(3, 2, 2), cohort_size=20, budget=1, num_epochs=4, num_trajectories=40)


@pytest.fixture(scope="module")
def people():
    return deciding.simulate_programmes(deciding.WORLDS["default"], 8, SIZE)


def test_every_way_is_judged_by_both_truths():
    rows = deciding.run_job("default", 8, SIZE)
    ways = [*RULES_OF_THUMB, *deciding.LOSSES, deciding.RECOMMENDED]
    known = [deciding.TRUE_INDEX, deciding.ESTIMATED_INDEX, deciding.BOUND]
    for seed in range(2):
        for judged_by, best in (("behaviour", deciding.TRUE_INDEX), ("estimates", deciding.ESTIMATED_INDEX)):
            own = {row.way: row for row in rows if (row.seed, row.judged_by) == (seed, judged_by)}
            assert list(own) == [*ways, *known]
            assert own["never"].quality == own["never"].gain == 0
            assert own[best].quality == pytest.approx(1)
            assert all(row.quality < own[deciding.BOUND].quality + 0.3 for row in own.values())  # 80 runs are few


def test_the_recipe_is_that_of_the_library(people):
    """On the first programme alone, where runs have the same keys."""
    first = people.splits[0]
    own = people.cohorts[np.concatenate(first)]
    alone = train_recommended(
        jax.random.key(0),
        own,
        lambda key: aw.Linear(key, own.features, 2),
        deciding.shorter_recipe(SIZE.num_epochs),
        splits=deciding.inner_splits(first),
        problem=people.problem,
        progress=False,
    )
    together = deciding.train_recommended_side_by_side(people, SIZE)[0]
    for ours, theirs in zip(jax.tree.leaves(together), jax.tree.leaves(alone.model), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def test_sim_dfl_is_trained_alone():
    rows = deciding.run_job("default", 8, SIZE, "sim-dfl")
    assert {row.way for row in rows} == set(deciding.SIMULATED)
    assert len(rows) == 4
    assert all(np.isfinite(row.quality) for row in rows)


def test_posteriors_are_judged_alone_and_know_the_judged_peoples_own_weeks():
    rows = deciding.run_job("default", 8, SIZE, "posterior")
    assert {row.way for row in rows} == {deciding.POSTERIOR, deciding.NO_FEATURES, deciding.PERMUTED}
    assert len(rows) == 3 * 2 * 2
    assert all(np.isfinite(row.quality) for row in rows)
    others = deciding.run_job("small effect", 8, SIZE, "posterior")
    assert {row.way for row in others} == {deciding.POSTERIOR}


def test_the_posteriors_population_is_learned_from_other_cohorts(people, monkeypatch):
    taught = []
    fit = deciding.fit_chains

    def spy(features, history):
        taught.append(np.asarray(history.states))
        return fit(features, history)

    monkeypatch.setattr(deciding, "fit_chains", spy)
    deciding.posterior_ways(people, 1, {}, 8, SIZE)
    programme = aw.simulated_programme(1, num_people=140, num_weeks=8)
    ids = np.asarray(people.cohorts.ids)[np.concatenate(people.splits[1][:2])].ravel()
    np.testing.assert_array_equal(taught[0], np.asarray(programme.trajectories.states)[ids])


def test_fresh_programmes_have_seeds_of_their_own():
    rows = deciding.run_job("default", 8, dataclasses.replace(SIZE, first_seed=10), "fresh")
    assert {row.way for row in rows} == {*RULES_OF_THUMB, deciding.POSTERIOR, deciding.EXACT}
    assert {(row.seed, row.judged_by) for row in rows} == {(10, "behaviour"), (11, "behaviour")}
    assert all(np.isfinite(row.quality) for row in rows)
    # The programme of seed 11 is the second one here, and the first where seeds start at 11.
    alone = deciding.run_job("default", 8, dataclasses.replace(SIZE, first_seed=11, num_seeds=1), "fresh")
    own = [row for row in rows if row.seed == 11]
    assert [row.way for row in own] == [row.way for row in alone]
    np.testing.assert_allclose([row.quality for row in own], [row.quality for row in alone], atol=1e-6)
