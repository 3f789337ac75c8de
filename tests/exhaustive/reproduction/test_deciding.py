"""The study of ways to decide, run in small."""

import jax
import numpy as np
import pytest

import armwise as aw
from armwise.evaluation.simple_rules import RULES_OF_THUMB
from armwise.training.recipe import train_recommended
from reproduction import deciding

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
    rows = deciding.run_job("default", 8, SIZE, sim_dfl=True)
    assert {row.way for row in rows} == set(deciding.SIMULATED)
    assert len(rows) == 4
    assert all(np.isfinite(row.quality) for row in rows)
