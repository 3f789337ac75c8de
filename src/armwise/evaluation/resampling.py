"""Least squares on many resamples of people: the whole regression for each resample, at a small cost.

Resampling a person multiplies her part of the normal equations. So each person's part is computed once, and one matrix
product gives all resamples.
"""

import functools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, UInt8
from scipy.special import ndtri, stdtrit

from armwise._validation import check_share
from armwise.errors import InvalidInputError

LEVEL, NUM_RESAMPLES = 0.95, 400
# The standard error is at least this share of the error without an effect. A larger share would widen intervals that
# are smaller by chance alone: with 1, 96 % instead of 95 % of the intervals cover 0 in 500 worlds without effects.
SMALLEST_SHARE = 0.85
# People whose products are held in memory at a time.
BLOCK = 1024
# Relative to the largest product. It makes the equations solvable if columns are empty or repeat others. The
# coefficients of such columns have no meaning; ``Regression.information`` tells which columns they are.
RIDGE = 1e-9

# People, steps, columns. The axes have no names because blocks differ in size.
Columns = Float[np.ndarray, "_ _ _"]


def check_level(name: str, level: Any) -> float:
    """The checked level of intervals: how often they should cover the truth."""
    share = check_share(name, level)
    if not 0.5 <= share <= 0.999:
        raise InvalidInputError(f"{name} must be between 0.5 and 0.999, not {share:g}. Usual is 0.95.")
    return share


class Estimate(NamedTuple):
    """A figure with its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:z.3f} ({self.low:z.3f} to {self.high:z.3f})"

    @property
    def is_above_zero(self) -> bool:
        """Whether the whole interval is above 0."""
        return self.low > 0

    @property
    def is_below_zero(self) -> bool:
        """Whether the whole interval is below 0."""
        return self.high < 0

    def at_level(self, level: float, present: float = LEVEL) -> "Estimate":
        """The interval at another level, computed from the interval at the present level. Both are normal."""
        half = (self.high - self.value) * float(ndtri(0.5 + level / 2) / ndtri(0.5 + present / 2))
        return Estimate(self.value, self.value - half, self.value + half)


class Resampled(NamedTuple):
    """A figure or an array of figures, and the same on each resample of people.

    Attributes:
        value: of all people.
        draws: of the resamples, along the first axis.
    """

    value: Any
    draws: Any

    def map(self, function: Any) -> "Resampled":
        """Apply a function to the figure and to all resamples. The function must accept a leading axis."""
        return Resampled(function(self.value[None])[0], function(self.draws))

    def interval(
        self, level: float = LEVEL, num_calls: float | int = np.inf, error_without_effect: float = 0.0
    ) -> Estimate:
        """The interval of a single figure, with the standard deviation of the resamples as its standard error.

        The standard error is itself uncertain, so this is Student's t interval. Its degrees of freedom are half the
        number of calls: after a call most people do what they nearly always do, and few people decide how much results
        vary. The number of resamples also limits the degrees of freedom.

        Args:
            level: how often such intervals cover the truth.
            num_calls: the calls behind the figure; infinite if it does not depend on calls.
            error_without_effect: the standard error if calls changed nothing. A few calls with the same outcome do not
                vary between resamples, but that does not make the figure certain.
        """
        error = max(float(np.std(self.draws, ddof=1)), SMALLEST_SHARE * error_without_effect)
        freedom = 1 / (1 / max(1.0, num_calls / 2) + 1 / (len(self.draws) - 1))
        half = float(stdtrit(freedom, 0.5 + level / 2)) * error
        return Estimate(float(self.value), float(self.value) - half, float(self.value) + half)


# Up to 65,000 people, all regressions of a programme share one draw of the weights. Larger programmes draw them again.
@functools.lru_cache(maxsize=64)
def draw_weights(num_people: int, num_resamples: int, seed: int, block: int) -> UInt8[np.ndarray, "samples people"]:
    """How often each person of a block counts: once in the first row, then as often as drawn in each resample.

    Each count is Poisson with mean 1, as in a resample of a large population. So blocks are independent of each other.
    """
    drawn = np.random.default_rng([seed, block]).poisson(1.0, (num_resamples, num_people))
    weights = np.concatenate([np.ones((1, num_people), drawn.dtype), drawn]).astype(np.uint8)
    weights.setflags(write=False)
    return weights


class Blocks(NamedTuple):
    """Rows of a regression, a block of people at a time.

    Attributes:
        shared: columns that every regression has, ``[people, steps, columns]`` by block; rows of 0 do not count.
        outcomes: ``[people, steps, outcomes]`` by block.
    """

    shared: Sequence[Columns]
    outcomes: Sequence[Columns]


class Regression:
    """Regressions of the same outcomes on shared columns and further ones, for everyone and each resample of people.

    The products of the shared columns are computed once.

    Args:
        blocks: the rows, at most ``BLOCK`` people at a time.
        num_resamples: the number of resamples.
        seed: of the resamples.
    """

    def __init__(self, blocks: Blocks, num_resamples: int = NUM_RESAMPLES, seed: int = 0):
        self._blocks, self._num_resamples, self._seed = blocks, num_resamples, seed
        self._squares = self._sum(zip(blocks.shared, blocks.shared, strict=True))
        self._products = self._sum(zip(blocks.shared, blocks.outcomes, strict=True))

    def fit(self, terms: Sequence[Columns]) -> Resampled:
        """Coefficients ``[terms, outcomes]`` of further columns, by least squares."""
        shared, outcomes = self._blocks
        across = self._sum(zip(shared, terms, strict=True))
        corner = self._sum(zip(terms, terms, strict=True))
        products = np.concatenate([self._products, self._sum(zip(terms, outcomes, strict=True))], axis=1)
        above = np.concatenate([self._squares, across], axis=2)
        below = np.concatenate([np.swapaxes(across, 1, 2), corner], axis=2)
        squares = np.concatenate([above, below], axis=1)
        coefficients = np.linalg.solve(squares + _ridge(squares), products)[:, -corner.shape[1] :]
        return Resampled(coefficients[0], coefficients[1:])

    def row_weights(self, terms: Sequence[Columns], functional: Float[np.ndarray, "terms outcomes"]) -> list[Columns]:
        """The weight of each row's outcomes in a figure that is linear in the coefficients of ``fit``, by block.

        Args:
            terms: as in ``fit``.
            functional: the factor of each coefficient in the figure.
        """
        squares = self._all_squares(terms)
        target = np.zeros((len(squares), functional.shape[1]))
        target[-len(functional) :] = functional
        solved = np.linalg.solve(squares, target)
        blocks = zip(self._blocks.shared, terms, strict=True)
        return [np.concatenate(block, axis=-1) @ solved for block in blocks]

    def information(self, terms: Sequence[Columns]) -> Float[np.ndarray, " terms"]:
        """The sum of squares of each further column that the other columns do not explain; 0 if they repeat it."""
        squares = self._all_squares(terms)
        return 1 / np.diag(np.linalg.inv(squares))[-terms[0].shape[-1] :]

    def _all_squares(self, terms: Sequence[Columns]) -> Float[np.ndarray, "columns columns"]:
        """Everyone's normal equations of the shared and the further columns."""
        squares: Any = 0.0
        for block in zip(self._blocks.shared, terms, strict=True):
            rows = np.concatenate(block, axis=-1).reshape(-1, sum(part.shape[-1] for part in block))
            squares = squares + rows.T @ rows
        return squares + _ridge(squares[None])

    def shared_coefficients(self) -> Float[np.ndarray, "columns outcomes"]:
        """Everyone's coefficients of the shared columns alone."""
        return np.linalg.solve(self._squares[0] + _ridge(self._squares), self._products[0])

    def _sum(self, pairs: Iterable[tuple[Columns, Columns]]) -> Float[np.ndarray, "samples left right"]:
        """The products of two sets of columns, added up over people, each as often as she was drawn."""
        total: Any = 0.0
        for number, (left, right) in enumerate(pairs):
            products = np.swapaxes(left, 1, 2) @ right
            weights = draw_weights(len(left), self._num_resamples, self._seed, number)
            total = total + weights.astype(float) @ products.reshape(len(left), -1)
        return total.reshape(self._num_resamples + 1, left.shape[2], right.shape[2])


def _ridge(squares: Float[np.ndarray, "samples columns columns"]) -> Float[np.ndarray, "columns columns"]:
    return RIDGE * np.max(np.abs(squares)) * np.eye(squares.shape[1])
