"""Calls that help women and not men: the effects are found, whatever useless features stand beside sex."""

import numpy as np
import pytest

from armwise.data import Features, Trajectories
from armwise.models.chains import fit_chains
from reproduction.studies.null_worlds.women_and_men import EFFECT, simulate

NUM_USELESS = 6


def average_effects(seed, num_useless):
    """What a call adds when not engaged, of women and of men."""
    women, states, calls = simulate(seed)
    rng = np.random.default_rng([seed, 1])
    codes = np.concatenate([women[:, None], rng.integers(0, 4, (len(women), num_useless))], axis=1)
    features = Features(codes=codes.astype(int), levels=(2, *[4] * num_useless))
    history = Trajectories.from_arrays(states, calls.astype(int))
    effects = fit_chains(features, history).posterior(features, history).effects()[0][:, 0]
    return effects[women].mean(), effects[~women].mean()


@pytest.fixture(scope="module")
def with_sex_alone():
    return average_effects(1, 0)


def test_effects_are_within_a_twentieth_of_the_truth(with_sex_alone):
    assert with_sex_alone == pytest.approx((EFFECT, 0.0), abs=0.05)


def test_useless_features_change_nothing(with_sex_alone):
    found = average_effects(1, NUM_USELESS)
    assert found == pytest.approx((EFFECT, 0.0), abs=0.05)
    assert found == pytest.approx(with_sex_alone, abs=0.002)
