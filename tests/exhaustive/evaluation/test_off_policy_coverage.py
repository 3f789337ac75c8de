"""A thousand simulated programmes: the 95 % intervals hold the truth in 93 to 97 % of them."""

import pytest

from reproduction.studies.off_policy.coverage import WORLDS, cover


@pytest.mark.parametrize("name", ["calls 20%"])
def test_a_thousand_programmes(name):
    world = next(world for world in WORLDS if world.name == name)
    for row in cover(world, num_programmes=1000):
        assert 0.93 <= row["covered"] <= 0.97, row
        # Four standard errors of an average of a thousand.
        assert abs(row["bias"]) < 4 * row["error"] / 1000**0.5, row
