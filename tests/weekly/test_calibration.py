"""Predicted against observed: perfect predictions agree, wrong ones do not, and nothing is lost in the bins."""

import numpy as np
import pytest

from armwise.data import Trajectories
from armwise.evaluation.decisions import find_decisions
from armwise.weekly.calibration import FEWEST_IN_BIN, NUM_BINS, compare_with_observed


def draw(rng, num_people, num_states=2, num_steps=8, call_share=0.4):
    """Chances not to be in the lowest state next, drawn for each decision; and decisions that follow them."""
    calls = rng.random((num_people, num_steps)) < call_share
    chance = rng.random((num_people, num_steps - 1))
    states = rng.integers(0, num_states, (num_people, num_steps))
    raised = rng.random(chance.shape) < chance
    states[:, 1:] = np.where(raised, rng.integers(1, num_states, chance.shape), 0)
    history = Trajectories.from_arrays(states, calls, num_states=num_states)
    return chance, find_decisions(history, np.linspace(0, 1, num_states))


def test_true_chances_lie_in_their_intervals(rng):
    for bins in compare_with_observed(*draw(rng, 3000, num_states=3)):
        assert len(bins) == NUM_BINS
        inside = [each.observed.low <= each.predicted <= each.observed.high for each in bins]
        assert sum(inside) >= 8
        predicted = [each.predicted for each in bins]
        assert predicted == sorted(predicted)


def test_wrong_chances_do_not(rng):
    chance, decisions = draw(rng, 3000)
    left_alone, _ = compare_with_observed(1 - chance, decisions)
    assert not any(
        each.observed.low <= each.predicted <= each.observed.high for each in (left_alone[0], left_alone[-1])
    )


def test_every_observation_is_in_one_bin_with_its_outcome(rng):
    chance, decisions = draw(rng, 200, num_states=3)
    chance[:, :3] = np.nan  # steps in which nothing was predicted
    for action, bins in enumerate(compare_with_observed(chance, decisions)):
        seen = (decisions.called == action) & ~np.isnan(chance)
        assert sum(each.number for each in bins) == seen.sum()
        happened = (decisions.next_states[seen] > 0).sum()
        assert sum(each.observed.value * each.number for each in bins) == pytest.approx(happened)


def test_the_order_of_people_changes_nothing(rng):
    chance, decisions = draw(rng, 100)
    chance[50:] = chance[0]  # many equal predictions
    order = rng.permutation(100)
    changed = decisions._replace(
        **{name: getattr(decisions, name)[order] for name in decisions._fields if name != "num_states"}
    )
    assert compare_with_observed(chance, decisions) == compare_with_observed(chance[order], changed)


def test_few_observations_make_few_bins_and_none_makes_none(rng):
    chance, decisions = draw(rng, 10, call_share=0.0)
    left_alone, called = compare_with_observed(chance, decisions)
    assert 1 <= len(left_alone) <= 70 // FEWEST_IN_BIN
    assert called == ()
