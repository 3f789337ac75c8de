"""The result of every domain, and functions that several domains use to build it."""

from typing import Any, NamedTuple

from jaxtyping import Array, Float

from armwise.data.cohorts import Cohorts, SplitNumbers, Splits, split, split_numbers
from armwise.rmab import Problem

PAPER_SHARES = (0.6, 0.2, 0.2)


class Domain(NamedTuple):
    """Cohorts for training and test, with their problem.

    Attributes:
        cohorts: all cohorts, not yet split.
        problem: rewards, discount, first states and costs.
        sizes: how many cohorts to train, validate and test on by default.
        name: the name of the domain in tables and figures.
        note: what is simulated or assumed, and what was left out.
        behaviour: the true chains that simulated people follow, in the shape and order of the cohorts'
            ``true_transitions``; None if they are not known. The two differ if ``true_transitions`` are estimates from
            observed weeks, as in the paper.
    """

    cohorts: Cohorts
    problem: Problem
    sizes: tuple[int, int, int]
    name: str
    note: str
    behaviour: Float[Array, "cohorts arms states actions states"] | None = None

    def split(self, seed: Any) -> Splits:
        """Training, validation and test cohorts of the default sizes."""
        return split(self.cohorts, seed, *self.sizes)

    def split_numbers(self, seed: Any) -> SplitNumbers:
        """The numbers of the cohorts in ``split``."""
        return split_numbers(self.cohorts.num_cohorts, seed, *self.sizes)


def split_sizes(num_cohorts: int, shares: tuple[float, float, float] = PAPER_SHARES) -> tuple[int, int, int]:
    """How many cohorts to train, validate and test on; every cohort is used, and fewer than three are all for training.

    Args:
        num_cohorts: how many cohorts there are.
        shares: the shares of training, validation and test; 60/20/20 by default, as in "Real-World Dataset".

    Example:
        >>> split_sizes(100), split_sizes(4)
        ((60, 20, 20), (2, 1, 1))
    """
    if num_cohorts < 3:
        return num_cohorts, 0, 0
    validation, test = (max(1, int(share * num_cohorts)) for share in shares[1:])
    return num_cohorts - validation - test, validation, test


def left_over_note(left_over: Any, size: int) -> str:
    """A sentence that says how many people are in no cohort."""
    return f"{len(left_over):,} people are left over from cohorts of {size}."
