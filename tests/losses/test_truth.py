import jax
import jax.numpy as jnp
import numpy as np
import pytest

import armwise as aw

EVEN = np.full((3, 2, 2, 2), 0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((EVEN[0], aw.Problem(), 1), r"transitions must have the shape \[arms, states, actions, states\]"),
        (
            (2 * EVEN, aw.Problem(), 1),
            "transitions must sum to 1 over the last axis, but arm 0, state 0, action 0 sums",
        ),
        ((EVEN, aw.Problem(num_states=3), 1), "problem has 3 states, but transitions has 2"),
        ((EVEN, aw.Problem(), -1), "budget must be a finite number of at least 0, not -1"),
        ((EVEN, aw.Problem(), True), "budget must be a number, not True"),
    ],
)
def test_what_cannot_be_true_is_refused(arguments, message):
    with pytest.raises(aw.InvalidInputError, match=message):
        aw.CohortTruth(*arguments)


def test_counts_and_ids_belong_to_the_same_arms():
    with pytest.raises(aw.InvalidInputError, match=r"counts has the shape \[2, 2, 2, 2\]"):
        aw.CohortTruth(EVEN, aw.Problem(), 1, counts=EVEN[:2])
    with pytest.raises(aw.InvalidInputError, match="ids must differ, but 4 stands for 2 arms, first for arm 0"):
        aw.CohortTruth(EVEN, aw.Problem(), 1, ids=[4, 4, 5])


def test_it_is_immutable_and_can_be_stacked_over_cohorts():
    truth = aw.CohortTruth(EVEN, aw.Problem(), 1)
    with pytest.raises(AttributeError):
        truth.budget = 2
    stacked = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), truth)
    loss = aw.DecDFL(aw.LinearMixture())
    both = jax.vmap(loss)(jnp.stack([EVEN, EVEN]), jax.vmap(loss.prepare)(stacked))
    np.testing.assert_allclose(both, float(loss(EVEN, loss.prepare(truth))))


def test_one_of_many_cohorts_is_a_truth():
    domain = aw.synthetic(0, num_cohorts=10, num_arms=5, budget=1)
    truth, cohort = aw.CohortTruth.of(domain.cohorts[2], domain.problem), domain.cohorts[2]
    np.testing.assert_array_equal(truth.transitions, cohort.true_transitions)
    np.testing.assert_array_equal(truth.counts, cohort.counts)
    np.testing.assert_array_equal(truth.ids, cohort.ids)
    assert int(truth.budget) == int(cohort.budget)
