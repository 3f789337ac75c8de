"""The true data of a cohort: everything that a loss uses in addition to the predictions."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num, UInt32

from armwise._validation import (
    ArrayLike,
    as_float_array,
    check_budget,
    check_ids,
    check_transitions,
    first_offender,
    is_concrete,
)
from armwise.data import Cohorts
from armwise.errors import InvalidInputError
from armwise.rmab import Problem
from armwise.rmab.returns import check_fits


class CohortTruth(eqx.Module):
    """The true data of one cohort. A pytree: ``vmap`` over a stack of cohorts.

    Args:
        transitions: the true transitions, ``[arms, states, actions, states]``, estimated from history.
        problem: rewards, discount, first states and costs.
        budget: arms acted on at each step.
        counts: how often each transition was observed, in the shape of the transitions; only some losses need it.
        ids: one whole number per arm, by default its row. A loss that draws random numbers draws them by id.

    Example:
        >>> truth = CohortTruth(np.full((3, 2, 2, 2), 0.5), Problem(), budget=1)
        >>> truth.transitions.shape, int(truth.budget), truth.ids.tolist()
        ((3, 2, 2, 2), 1, [0, 1, 2])
    """

    transitions: Float[Array, "arms states actions states"]
    problem: Problem
    budget: Num[Array, ""]
    counts: Float[Array, "arms states actions states"] | None
    ids: UInt32[Array, " arms"]

    def __init__(
        self,
        transitions: ArrayLike,
        problem: Problem,
        budget: ArrayLike,
        *,
        counts: ArrayLike | None = None,
        ids: ArrayLike | None = None,
    ):
        self.transitions = check_transitions(transitions)
        check_fits(problem, self.transitions)
        self.problem = problem
        check_budget(budget)
        self.budget = budget if isinstance(budget, jax.Array) else jnp.asarray(np.asarray(budget))
        self.counts = None if counts is None else _check_counts(counts, self.transitions.shape)
        self.ids = check_ids(ids, self.transitions.shape[:1])

    @classmethod
    def of(cls, cohort: Cohorts, problem: Problem) -> "CohortTruth":
        """The true data of one cohort of ``Cohorts``."""
        return cls(cohort.true_transitions, problem, cohort.budget, counts=cohort.counts, ids=cohort.ids)


def _check_counts(counts: Any, shape: tuple[int, ...]) -> Float[Array, "arms states actions states"]:
    observed = as_float_array("counts", counts)
    check_same_shape("counts", observed.shape, "transitions", shape)
    if is_concrete(observed) and not bool(jnp.all(observed >= 0)):
        array = np.asarray(observed)
        index = first_offender(~(array >= 0))
        raise InvalidInputError(f"counts must not be negative or missing, but counts{list(index)} is {array[index]}.")
    return observed


def check_same_shape(name: str, shape: tuple[int, ...], like: str, expected: tuple[int, ...]) -> None:
    """Refuse an array whose shape differs from that of another one."""
    if shape != expected:
        raise InvalidInputError(f"{name} has the shape {list(shape)}, but {like} has {list(expected)}.")
