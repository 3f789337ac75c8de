import jax
import numpy as np
import pytest

from armwise.data import Cohorts, Features, partition, split
from armwise.errors import InvalidInputError

SHAPE = (2, 2, 2)


def population(rng, num_people=23):
    """People whose features, transitions and counts all tell who they are."""
    who = np.arange(num_people)
    transitions = rng.dirichlet(np.ones(2), size=(num_people, 2, 2))
    return (
        Features(numeric=who[:, None].astype(float)),
        transitions,
        np.broadcast_to(who[:, None, None, None], (num_people, *SHAPE)),
    )


def cohorts_of(num_cohorts, num_arms=2):
    people = (num_cohorts, num_arms)
    features = Features(numeric=np.arange(num_cohorts * num_arms, dtype=float).reshape(*people, 1))
    return Cohorts(features, np.full((*people, *SHAPE), 0.5), np.zeros((*people, *SHAPE)), 1)


def test_a_partition_uses_everyone_at_most_once(rng):
    features, transitions, counts = population(rng)
    cohorts, left_over = partition(3, features, transitions, counts, size=5, budget=2)
    assert (cohorts.num_cohorts, cohorts.num_arms, cohorts.budget.tolist()) == (4, 5, [2] * 4)
    assert sorted([*cohorts.ids.ravel().tolist(), *left_over.tolist()]) == list(range(23))


def test_a_person_keeps_what_belongs_to_them(rng):
    features, transitions, counts = population(rng)
    cohorts, _ = partition(3, features, transitions, counts, size=5, budget=2)
    ids = np.asarray(cohorts.ids)
    np.testing.assert_array_equal(cohorts.features.numeric[..., 0], ids)
    np.testing.assert_array_equal(cohorts.counts[..., 0, 0, 0], ids)
    np.testing.assert_array_equal(cohorts.true_transitions, transitions[ids])


def test_who_is_with_whom_depends_on_ids_and_not_on_rows(rng):
    features, transitions, counts = population(rng)
    ids, order = rng.permutation(1000)[:23], rng.permutation(23)
    straight = partition(1, features, transitions, counts, 5, 2, ids)
    shuffled = partition(1, features[order], transitions[order], counts[order], 5, 2, ids[order])
    jax.tree.map(np.testing.assert_array_equal, straight, shuffled)


def test_seeds_and_keys_reproduce_and_differ(rng):
    people = population(rng)
    for one, other in ((0, 1), (jax.random.key(0), jax.random.key(1))):
        first, again, different = (partition(seed, *people, 5, 2).cohorts.ids for seed in (one, one, other))
        assert (first == again).all()
        assert (first != different).any()


def test_splits_share_no_cohort_and_follow_the_seed():
    cohorts = cohorts_of(10)
    splits = split(cohorts, 0, train=5, validation=2, test=2)
    assert [part.num_cohorts for part in splits] == [5, 2, 2]
    seen = [int(part) for cohorts in splits for part in cohorts.ids[:, 0]]
    assert len(set(seen)) == 9
    again, other = (split(cohorts, seed, 5, 2, 2) for seed in (0, 1))
    assert (splits.train.ids == again.train.ids).all()
    assert (splits.train.ids != other.train.ids).any()


def test_a_split_may_leave_a_part_empty():
    assert split(cohorts_of(3), 0, 3, 0, 0).test.num_cohorts == 0


def test_more_cohorts_than_there_are_cannot_be_asked_for():
    with pytest.raises(InvalidInputError, match=r"2 \+ 1 \+ 1 = 4 cohorts, but there are only 3"):
        split(cohorts_of(3), 0, 2, 1, 1)


def test_indexing_takes_cohorts():
    cohorts = cohorts_of(4)
    assert cohorts[1:3].ids.tolist() == [[2, 3], [4, 5]]
    assert cohorts[np.array([3, 0])].features.numeric[:, 0, 0].tolist() == [6.0, 0.0]
    assert cohorts[2].ids.tolist() == [4, 5]
    assert cohorts[2].num_cohorts == 1
    with pytest.raises(InvalidInputError, match="There are 4 cohorts, numbered from 0"):
        cohorts[np.array([4])]


def test_cohorts_are_a_pytree_to_vmap_over():
    means = jax.vmap(lambda cohort: cohort.features.numeric.mean() + cohort.budget)(cohorts_of(3))
    assert means.tolist() == [1.5, 3.5, 5.5]


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"true_transitions": np.full((2, 3, *SHAPE), 0.4)}, "cohort 0, arm 0, state 0, action 0 sums to 0.8"),
        ({"true_transitions": np.full((6, *SHAPE), 0.5)}, r"\[cohorts, arms, states, actions, states\]"),
        ({"counts": np.zeros((2, 2, *SHAPE))}, r"counts must have the shape \[2, 3, 2, 2, 2\]"),
        ({"features": Features(numeric=np.zeros((2, 4, 1)))}, r"features must have the shape \[2, 3\]"),
        ({"budget": [1, 2, 3]}, r"budget must have the shape \[2\]"),
        ({"budget": 0.5}, "budget must be whole numbers, but it has 0.5"),
        ({"budget": [1, -1]}, "cohort 1 has -1"),
        ({"ids": np.full((2, 3), 2**32)}, r"in \[0, 2\^32\), but cohort 0, arm 0 has 4294967296"),
        ({"ids": [[1, 2, 3], [5, 4, 5]]}, "5 stands for 2 arms in cohort 1, first for arm 0"),
    ],
)
def test_malformed_cohorts_are_refused(changes, part):
    people = (2, 3)
    fine = {
        "features": Features(numeric=np.zeros((*people, 1))),
        "true_transitions": np.full((*people, *SHAPE), 0.5),
        "counts": np.zeros((*people, *SHAPE)),
        "budget": 1,
    }
    with pytest.raises(InvalidInputError, match=part):
        Cohorts(**(fine | changes))


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"size": 24}, "at most the 23 people"),
        ({"size": 0}, "size must be at least 1"),
        ({"ids": [7] * 23}, "7 stands for 23 arms, first for arm 0"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"counts": np.zeros((5, *SHAPE))}, r"counts must have the shape \[23\]"),
    ],
)
def test_a_partition_that_makes_no_sense_is_refused(rng, changes, part):
    features, transitions, counts = population(rng)
    fine = {"seed": 0, "features": features, "true_transitions": transitions, "counts": counts, "size": 5, "budget": 1}
    with pytest.raises(InvalidInputError, match=part):
        partition(**(fine | changes))
