"""What the calls of a list will bring: the promise that the report makes, with its interval."""

from armwise.evaluation.resampling import LEVEL, Estimate

PROMISE_LEVEL = 0.9


def promise_gain(gain: Estimate, num_calls: int) -> Estimate:
    """Engaged steps that a list gains in the 12 steps after its calls, over no calls, with a 90 % interval.

    It is what as many calls would have gained that were chosen in the same way in past weeks, for people whom the
    planner had not learned from. The list itself cannot be judged: its planner has learned from everyone, and prefers
    people for whom calls seemed to work, be it by luck.

    Args:
        gain: of 100 calls chosen in the same way, from a backtest.
        num_calls: on the list.

    Example:
        >>> promise = promise_gain(Estimate(10.0, 0.2, 19.8), num_calls=50)
        >>> [round(number, 1) for number in promise]
        [5.0, 0.9, 9.1]
    """
    value, low, high = (num_calls / 100 * number for number in gain.at_level(PROMISE_LEVEL, LEVEL))
    return Estimate(value, low, high)
