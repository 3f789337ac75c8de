"""Worlds in which calls do nothing, however people were chosen for them."""

import numpy as np
import pytest

from tests.evaluation.test_effects import null_effect

NUM_WORLDS = 100


@pytest.mark.parametrize("rule", ["random", "disengaged first", "longest first", "lowest share", "once"])
def test_about_1_interval_in_20_leaves_0_out(rule):
    """Within three binomial standard errors of 5 % of 100 worlds; the estimates centre on 0."""
    effects = [null_effect(rule, seed, num_people=400) for seed in range(1000, 1000 + NUM_WORLDS)]
    values = np.array([each.value for each in effects])
    claims = sum(each.is_above_zero or each.is_below_zero for each in effects)
    assert abs(values.mean()) < 3 * values.std() / np.sqrt(NUM_WORLDS)
    assert claims <= 5 + 3 * np.sqrt(5 * 0.95)
