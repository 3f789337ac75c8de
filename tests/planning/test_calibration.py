"""Predicted against observed: perfect predictions agree, wrong ones do not, and nothing is lost in the bins."""

import numpy as np
import pytest

from armwise.planning.calibration import FEWEST_IN_BIN, NUM_BINS, compare_with_observed


def draw(rng, num_people, num_states=2, per_cell=4):
    transitions = rng.dirichlet(np.ones(num_states), (num_people, num_states, 2))
    counts = rng.multinomial(per_cell, transitions)
    return transitions, counts


def test_true_chances_lie_in_their_intervals(rng):
    transitions, counts = draw(rng, 3000, num_states=3)
    for bins in compare_with_observed(transitions, counts):
        assert len(bins) == NUM_BINS
        inside = [each.observed.low <= each.predicted <= each.observed.high for each in bins]
        assert sum(inside) >= 8
        predicted = [each.predicted for each in bins]
        assert predicted == sorted(predicted)


def test_wrong_chances_do_not(rng):
    transitions, counts = draw(rng, 3000)
    left_alone, _ = compare_with_observed(transitions[..., ::-1], counts)
    assert not any(
        each.observed.low <= each.predicted <= each.observed.high for each in (left_alone[0], left_alone[-1])
    )


def test_every_observation_is_in_one_bin_with_its_outcome(rng):
    transitions, counts = draw(rng, 200, num_states=3)
    for action, bins in enumerate(compare_with_observed(transitions, counts)):
        seen = counts[:, :, action]
        assert sum(each.number for each in bins) == seen.sum()
        assert sum(each.observed.value * each.number for each in bins) == pytest.approx(seen[..., 1:].sum())


def test_the_order_of_people_changes_nothing(rng):
    transitions, counts = draw(rng, 100)
    transitions[50:] = transitions[0]  # many equal predictions
    order = rng.permutation(100)
    for first, second in zip(
        compare_with_observed(transitions, counts),
        compare_with_observed(transitions[order], counts[order]),
        strict=True,
    ):
        assert [each.number for each in first] == [each.number for each in second]
        assert [each.observed for each in first] == [each.observed for each in second]


def test_few_observations_make_few_bins_and_none_makes_none(rng):
    transitions, counts = draw(rng, 20, per_cell=1)
    counts[:, :, 1] = 0
    left_alone, called = compare_with_observed(transitions, counts)
    assert 1 <= len(left_alone) <= counts.sum() // FEWEST_IN_BIN
    assert called == ()
