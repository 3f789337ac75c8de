"""A figure of a simulated programme beside its truth."""

from typing import Any, NamedTuple


class Figure(NamedTuple):
    """One figure of one world.

    Attributes:
        world: its name.
        seed: of the world.
        figure: what it is.
        value: the estimate.
        error: its standard error.
        truth: what it should be; NaN where that is not defined.
    """

    world: str
    seed: int
    figure: str
    value: float
    error: float
    truth: float


def value_and_error(estimate: Any) -> tuple[float, float]:
    """An estimate's value, and the standard error that its 95 % interval stands for."""
    return estimate.value, (estimate.high - estimate.low) / (2 * 1.959963984540054)
