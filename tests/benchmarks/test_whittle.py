"""What armwise's indices are compared with is right to its tolerance: a peer that is wrong would be no peer."""

import numpy as np
import pytest

from benchmarks.whittle import bisected_indices, exact_indices, float64_arms, package_indices


@pytest.mark.parametrize("num_states", [2, 5])
def test_bisection_finds_the_index_to_its_tolerance(num_states):
    arms = float64_arms(50, num_states)
    np.testing.assert_allclose(bisected_indices(arms, 1e-6), exact_indices(arms), atol=2e-5)


@pytest.mark.parametrize("num_states", [2, 5])
def test_the_package_computes_the_same_index(num_states):
    arms = float64_arms(20, num_states)
    found, times = package_indices(arms)
    np.testing.assert_allclose(found, exact_indices(arms), atol=1e-8)
    assert len(times) == 20
