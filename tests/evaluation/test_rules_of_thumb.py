"""Rules of thumb: each against what it says, written out."""

import jax
import numpy as np
import pytest

import armwise as aw
from armwise.evaluation.simple_rules import RULES_OF_THUMB
from tests.oracles import random_transitions

KEY = jax.random.key(5)


@pytest.fixture
def chains(rng):
    return np.stack([random_transitions(rng, "dense", 8, 3) for _ in range(2)])


def test_every_rule_has_a_sentence(rng, chains):
    """That each can be judged is in test_bound.py and, with the budget it uses, in the exhaustive tier."""
    ways = aw.rules_of_thumb(aw.Problem(num_states=3), chains, rng.integers(1, 9, (4, 8, 3, 2, 3)))
    assert list(ways) == list(RULES_OF_THUMB)
    assert all(sentence.endswith(".") for sentence in RULES_OF_THUMB.values())


def test_never_calls_no_one(chains):
    problem = aw.Problem(num_states=3)
    quality = aw.priority_decision_quality(
        KEY, aw.rules_of_thumb(problem, chains, chains)["never"], chains, problem, 2, 9
    )
    np.testing.assert_array_equal(quality.achieved, quality.never)


def test_the_population_index_is_that_of_the_summed_counts(rng, chains):
    counts, problem = rng.integers(0, 5, (4, 8, 3, 2, 3)), aw.Problem(num_states=3)
    summed = counts.sum(axis=(0, 1)).astype(float)
    pool = summed / summed.sum(axis=-1, keepdims=True)
    index = aw.whittle_indices(pool[None], problem)[0]
    got = aw.rules_of_thumb(problem, chains, counts)["population index"]
    assert got.shape == chains.shape[:3]
    np.testing.assert_allclose(got, np.broadcast_to(index, got.shape), rtol=1e-9)


@pytest.mark.parametrize("per_arm", [False, True])
def test_least_likely_to_engage_looks_at_rows_without_a_call(rng, chains, per_arm):
    rewards = rng.normal(size=(8, 3)) if per_arm else np.array([0.0, 0.3, 1.0])
    got = np.asarray(aw.rules_of_thumb(aw.Problem(rewards=rewards), chains, chains)["least likely to engage"])
    for cohort, arm, state in np.ndindex(2, 8, 3):
        own = rewards[arm] if per_arm else rewards
        assert got[cohort, arm, state] == pytest.approx(-(chains[cohort, arm, state, 0] @ own))
    changed = chains.copy()
    changed[..., 1, :] = changed[..., 1, ::-1]
    again = aw.rules_of_thumb(aw.Problem(rewards=rewards), changed, chains)["least likely to engage"]
    np.testing.assert_array_equal(got, again)


def test_wrong_input(chains):
    with pytest.raises(aw.InvalidInputError, match=r"add an axis"):
        aw.rules_of_thumb(aw.Problem(num_states=3), chains[0], chains)
    unseen = np.ones((5, 3, 2, 3))
    unseen[:, 1, 1] = 0
    with pytest.raises(aw.InvalidInputError, match="State 1 with action 1 was never seen"):
        aw.rules_of_thumb(aw.Problem(num_states=3), chains, unseen)
