"""How many people share how many calls in training and evaluation: the programme's own share, in whole calls.

A cohort's calls are a whole number, because simulated calls are. So the cohort's size follows from its calls: a
programme with 1 call for 3,000 people is learned in cohorts of 3,000 people, however small the usual cohort is. A
fraction of a call for a small cohort would be no substitute: its price would be that of the best of 100 people, and the
programme's is that of the best of 3,000.
"""

from typing import NamedTuple

from armwise.errors import InvalidInputError

# Enough to learn from some and to choose settings by others.
FEWEST_COHORTS = 5


class CohortShape(NamedTuple):
    """Cohorts that are all alike.

    Attributes:
        size: people in each.
        budget: calls in each, per step.
        number: of cohorts.
    """

    size: int
    budget: int
    number: int


def cohort_shape(num_people: int, budget_share: float, cohort_size: int, max_cohorts: int) -> CohortShape:
    """The cohorts of a population, with the programme's share of calls.

    ``budget / size`` is the share up to the rounding of the size to whole people: at most ``budget_share / 2`` calls
    too many or too few. Only where all people together have less than one call, there is one cohort of them all with
    one call.

    Cohorts are about as large as asked for, and so that there are five. They are larger, and then maybe fewer, only
    where one call takes more people.

    Args:
        num_people: there are, at least 1.
        budget_share: calls per step and person, above 0 and at most 1.
        cohort_size: people in a cohort, if the share allows it.
        max_cohorts: at most so many. Larger cohorts are fewer: in all at most ``max_cohorts * cohort_size`` people, or
            five cohorts.

    Example:
        >>> cohort_shape(10_000, 0.05, cohort_size=100, max_cohorts=1000)
        CohortShape(size=100, budget=5, number=100)
        >>> cohort_shape(3_000_000, 1000 / 3_000_000, cohort_size=100, max_cohorts=1000)
        CohortShape(size=3000, budget=1, number=33)
    """
    if not 0 < budget_share <= 1:
        raise InvalidInputError(
            f"budget_share must be above 0 and at most 1, not {budget_share!r}: without calls there is nothing to "
            "learn. Give the calls per person and step, such as 42 / 1000."
        )
    most = max(1, num_people // FEWEST_COHORTS)
    budget = max(1, round(budget_share * min(cohort_size, most)))
    # Rounded up, the calls may take more people than leave five cohorts; one call fewer never does.
    if budget > 1 and round(budget / budget_share) > most:
        budget -= 1
    # The smaller of the two is rounded, not the quotient: that of a tiny share may be infinite.
    size = round(min(num_people, budget / budget_share))
    affordable = max(FEWEST_COHORTS, max_cohorts * cohort_size // size)
    return CohortShape(size, budget, min(max_cohorts, affordable, num_people // size))
