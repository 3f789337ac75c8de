"""Cohorts: groups of people who share a budget, stacked so that one compiled program handles all groups."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt32

from armwise._validation import (
    as_float_array,
    as_whole_numbers,
    check_count,
    check_distributions,
    check_finite,
    check_ids,
    check_shape,
    generator,
    is_concrete,
    refuse_boolean,
)
from armwise.data.features import Features
from armwise.errors import InvalidInputError


class Cohorts(eqx.Module):
    """Cohorts of equal size, stacked along the leading axis of every array; a pytree for ``vmap`` or ``scan``.

    Args:
        features: the features of each person, ``[cohorts, arms, …]``.
        true_transitions: ``[cohorts, arms, states, actions, states]``, used to judge decisions.
        counts: how often each transition was seen, in the same shape.
        budget: how many people of a cohort can be reached at each step: one number, or one per cohort.
        ids: a whole number in [0, 2³²) per person, ``[cohorts, arms]``, different within a cohort; by default
            consecutive numbers over all cohorts.
    """

    features: Features
    true_transitions: Float[Array, "*cohorts arms states actions states"]
    counts: Float[Array, "*cohorts arms states actions states"]
    budget: Int[Array, "*cohorts"]
    ids: UInt32[Array, "*cohorts arms"]

    def __init__(self, features: Features, true_transitions: Any, counts: Any, budget: Any, ids: Any = None):
        self.features = features
        self.true_transitions = _check_transitions(true_transitions)
        self.counts = as_float_array("counts", counts)
        check_finite("counts", self.counts, "cohort", "arm", "state", "action", "next state")
        check_shape("counts", self.counts.shape, self.true_transitions.shape, "true_transitions")
        people = self.true_transitions.shape[:2]
        check_shape("features", features.numeric.shape[:-1], people, "true_transitions' cohorts and arms")
        self.budget = _check_budget(budget, people[0])
        self.ids = check_ids(ids, people)

    @property
    def num_cohorts(self) -> int:
        """How many cohorts there are."""
        return self.budget.size

    @property
    def num_arms(self) -> int:
        """How many people each cohort has."""
        return self.ids.shape[-1]

    def __getitem__(self, index: Any) -> "Cohorts":
        """Some of the cohorts; a slice or an array of numbers keeps the leading axis, a single number drops it."""
        if is_concrete(index):
            _check_index(index, self.num_cohorts)
        return jax.tree.map(lambda leaf: leaf[index], self)


class Partition(NamedTuple):
    """A population divided into cohorts, and the ids of the people left over."""

    cohorts: Cohorts
    left_over: UInt32[np.ndarray, " people"]


class Splits(NamedTuple):
    """Cohorts for training, validation and test; no cohort is in two of them."""

    train: Cohorts
    validation: Cohorts
    test: Cohorts


def partition(
    seed: Any, features: Features, true_transitions: Any, counts: Any, size: int, budget: int, ids: Any = None
) -> Partition:
    """Divide a population into random cohorts of one size ("Real-World Dataset": 76 people, a budget of 3).

    Args:
        seed: a whole number or a JAX key. The cohorts depend only on it and on the ids, never on the order of rows.
        features: the features of each person, ``[people, …]``.
        true_transitions: ``[people, states, actions, states]``.
        counts: how often each transition was seen, in the same shape.
        size: people in a cohort.
        budget: how many people of a cohort can be reached at each step.
        ids: distinct whole numbers in [0, 2³²), ``[people]``; by default the row numbers.

    Returns:
        As many full cohorts as possible, and the ids of the people left over.

    Example:
        >>> people = Features(numeric=np.zeros((7, 1)))
        >>> cohorts, left_over = partition(0, people, np.full((7, 2, 2, 2), 0.5), np.zeros((7, 2, 2, 2)), 3, 1)
        >>> cohorts.num_cohorts, cohorts.num_arms, len(left_over)
        (2, 3, 1)
    """
    num_people, arms = features.numeric.shape[0], check_count("size", size, minimum=1)
    if arms > num_people:
        raise InvalidInputError(f"size must be at most the {num_people} people there are, not {arms}.")
    identity = np.asarray(check_ids(ids, (num_people,)))
    for name, array in (("true_transitions", true_transitions), ("counts", counts)):
        check_shape(name, np.shape(array)[:1], (num_people,), "features' people")
    order = np.argsort(identity)[generator(seed).permutation(num_people)]
    num_cohorts = num_people // arms
    taken, left = order[: num_cohorts * arms].reshape(num_cohorts, arms), order[num_cohorts * arms :]
    transitions, seen = (np.asarray(array)[taken] for array in (true_transitions, counts))
    cohorts = Cohorts(features[taken], transitions, seen, budget, identity[taken])
    return Partition(cohorts, np.sort(identity[left]))


class SplitNumbers(NamedTuple):
    """The numbers of the cohorts for training, validation and test."""

    train: Int[np.ndarray, " train"]
    validation: Int[np.ndarray, " validation"]
    test: Int[np.ndarray, " test"]


def split(cohorts: Cohorts, seed: Any, train: int, validation: int, test: int) -> Splits:
    """Random cohorts for training, validation and test; the same for the same seed.

    Args:
        cohorts: the cohorts to draw from.
        seed: a whole number or a JAX key.
        train: how many cohorts to train on.
        validation: how many to choose settings with.
        test: how many to report results on. The three need not use all cohorts.
    """
    return Splits(*(cohorts[side] for side in split_numbers(cohorts.num_cohorts, seed, train, validation, test)))


def split_numbers(num_cohorts: int, seed: Any, train: int, validation: int, test: int) -> SplitNumbers:
    """The numbers of the cohorts that ``split`` draws, for many runs on one copy of the data.

    Args:
        num_cohorts: how many cohorts there are.
        seed: a whole number or a JAX key.
        train: how many cohorts to train on.
        validation: how many to choose settings with.
        test: how many to report results on. The three need not use all cohorts.
    """
    sizes = [
        check_count(name, size, minimum=0)
        for name, size in (("train", train), ("validation", validation), ("test", test))
    ]
    if sum(sizes) > num_cohorts:
        raise InvalidInputError(
            f"train + validation + test = {' + '.join(map(str, sizes))} = {sum(sizes)} cohorts, but there are only "
            f"{num_cohorts}. Ask for fewer, or make the cohorts smaller."
        )
    order = generator(seed).permutation(num_cohorts)
    return SplitNumbers(*np.split(order[: sum(sizes)], np.cumsum(sizes)[:2]))


def _check_transitions(transitions: Any) -> Float[Array, "cohorts arms states actions states"]:
    array = as_float_array("true_transitions", transitions)
    if array.ndim != 5 or array.shape[2] != array.shape[4] or 0 in array.shape:
        raise InvalidInputError(
            "true_transitions must have the shape [cohorts, arms, states, actions, states], at least one each, not "
            f"{list(array.shape)}."
        )
    check_distributions("true_transitions", array, "cohort", "arm", "state", "action", "next state")
    return array


def _check_budget(budget: Any, num_cohorts: int) -> Int[Array, " cohorts"]:
    refuse_boolean("budget", budget)
    array = as_whole_numbers("budget", budget, *["cohort"] * np.ndim(budget), remedy="Round it down.")
    if array.ndim:
        check_shape("budget", array.shape, (num_cohorts,), "true_transitions' cohorts")
    return jnp.asarray(np.broadcast_to(array, (num_cohorts,)).astype(np.int32))


def _check_index(index: Any, num_cohorts: int) -> None:
    # JAX silently clamps an index beyond the end; using a cohort twice by mistake would spoil a split.
    try:
        np.arange(num_cohorts)[np.asarray(index) if isinstance(index, list | jax.Array) else index]
    except IndexError as error:
        raise InvalidInputError(f"There are {num_cohorts} cohorts, numbered from 0: {error}.") from error
