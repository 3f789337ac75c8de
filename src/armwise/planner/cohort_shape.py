"""How many people share how many calls in training and evaluation: the programme's own share, in whole calls.

A cohort has a whole number of calls, because simulated calls are whole. So the cohort's size follows from its calls. A
programme with 1 call for 3,000 people is learned in cohorts of 3,000 people, even if the usual cohort is smaller. A
fraction of a call for a small cohort would give the wrong price: that of the best of 100 people, while the programme's
price is that of the best of 3,000.
"""

from typing import NamedTuple

from armwise.errors import InvalidInputError

# Five cohorts are enough to learn from some and to choose settings with the others.
FEWEST_COHORTS = 5


class CohortShape(NamedTuple):
    """The size, budget and number of equal cohorts.

    Attributes:
        size: people in each cohort.
        budget: calls per step in each cohort.
        number: how many cohorts there are.
    """

    size: int
    budget: int
    number: int


def cohort_shape(num_people: int, budget_share: float, cohort_size: int, max_cohorts: int) -> CohortShape:
    """The cohorts of a population, with the programme's share of calls.

    ``budget / size`` equals the share, except that the size is rounded to whole people. The rounding makes at most
    ``budget_share / 2`` calls too many or too few. If all people together have less than one call, there is one cohort
    of all of them with one call.

    Cohorts are about as large as asked for, but small enough that there are five. They are larger, and perhaps fewer,
    only if one call takes more people.

    Args:
        num_people: how many people there are, at least 1.
        budget_share: calls per step and person, above 0 and at most 1.
        cohort_size: people in a cohort, if the share allows it.
        max_cohorts: the most cohorts. There are fewer if they are larger: in all at most ``max_cohorts * cohort_size``
            people, or five cohorts.

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
    # Calls that were rounded up may make cohorts too large for five of them; one call fewer never does.
    if budget > 1 and round(budget / budget_share) > most:
        budget -= 1
    # Take the minimum before rounding: with a tiny share the quotient may be infinite, which cannot be rounded.
    size = round(min(num_people, budget / budget_share))
    affordable = max(FEWEST_COHORTS, max_cohorts * cohort_size // size)
    return CohortShape(size, budget, min(max_cohorts, affordable, num_people // size))
