r"""How often each person belongs on the list, and lists drawn by lot that cost almost nothing.

A model that knows its uncertainty gives each person many indices: one for each posterior draw. Each draw has one best
list under the budgets. A person's *call probability* is the share of draws whose list she is on. It is 1 for people
who surely belong on the list.

Calls with these probabilities would lose much of the gain: a person of whom little is known is on many lists although
her expected index is low. So lots decide only between people whose expected indices hardly differ. Each draw x_i of a
person with the expected index m_i is moved towards it, to m_i + c (x_i − m_i). The *lot probability* is the share of
the moved draws whose list she is on. It uses the largest c at which the list's expected sum of indices is below the
highest by no more than a given cost, 1 % by default. With c = 0 the list takes the highest indices, and lots decide
only between equal ones; with c = 1 the lot probability is the call probability.

Budgets. At most ``places[g]`` people of group g and at most ``budget`` in all. In one draw, group g has the cut-off
$γ_g$, its ``places[g]``-th largest index. The total has the cut-off $τ$: the ``budget``-th largest index among people
who are not below the cut-offs of their groups. A person with the index $x$ is on that draw's list with the share

    s_g(x) s_τ(x),   s_c(x) = 1 above the cut-off c, 0 below it, and (places left) / (people there) on it:

people with equal indices share the places that are left. So each draw's shares sum to the number of calls, and those
of a group to at most its places. The same is true of the average over draws.

Lots. Lay the probabilities end to end, group after group, as intervals on a line. One random number u in [0, 1)
decides everything: a person is called if her interval holds one of the points u, u + 1, u + 2, … (systematic sampling,
Madow 1949). An interval of length p ≤ 1 holds a point with probability exactly p. A group whose intervals sum to L gets
⌊L⌋ or ⌈L⌉ calls, never more than its budget. Probabilities are whole multiples of ``1 / UNIT``, so rounding errors
cannot break this: the recorded probability is the chance that the lots give.

Reference: Madow (1949), "On the theory of systematic sampling, II", *Annals of Mathematical Statistics* 20.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Bool, Float, Int, Int64

from armwise.errors import ConvergenceError

# Probabilities are whole multiples of 1 / UNIT; the shares of 32, 64, 100 and 1,000 draws are such multiples.
UNIT = 2**16 * 5**6
# The values of c to try; each is about a fifth larger than the one before.
NOISES = tuple(float(each) for each in 2.0 ** np.arange(-10, 0.1, 0.25))
# Candidates are thinned out when there are twice as many as after the last time, but not before there are so many.
FEWEST_TO_THIN = 2**15

Draws = Float[np.ndarray, "draws people"]
Probabilities = Float[np.ndarray, " people"]
Codes = Int[np.ndarray, " people"]


class CutOffs(NamedTuple):
    """Where each draw's list ends: minus infinity if everyone has a place, infinity if nobody has one.

    Attributes:
        group: the lowest index that has a place in its group.
        total: the lowest index on the whole list.
    """

    group: Float[np.ndarray, "draws groups"]
    total: Float[np.ndarray, " draws"]

    @property
    def lowest(self) -> Float[np.ndarray, "draws groups"]:
        """The index below which nobody of the group is on the draw's list."""
        return np.maximum(self.group, self.total[:, None])


def find_cut_offs(index_draws: Draws, groups: Codes, places: Sequence[int], budget: int) -> CutOffs:
    """The cut-offs of each draw.

    Args:
        index_draws: each person's index in each posterior draw.
        groups: each person's group, a position in ``places``.
        places: the most calls for each group.
        budget: calls in all.
    """
    tops = [_largest(index_draws[:, groups == code], min(cap, budget)) for code, cap in enumerate(places)]
    together = np.concatenate([kept for kept, _ in tops], axis=1)
    return CutOffs(np.stack([cut for _, cut in tops], axis=1), _largest(together, budget)[1])


def _largest(values: Draws, number: int) -> tuple[Float[np.ndarray, "draws largest"], Float[np.ndarray, " draws"]]:
    """The largest values of each draw, and the lowest one of them."""
    if number >= values.shape[1]:
        return values, np.full(len(values), -np.inf, values.dtype)
    if number == 0:
        return values[:, :0], np.full(len(values), np.inf, values.dtype)
    kept = np.partition(values, -number, axis=1)[:, -number:]
    return kept, kept[:, 0]


def call_probabilities(index_draws: Draws, groups: Codes, places: Sequence[int], budget: int) -> Probabilities:
    """The share of posterior draws whose list each person is on. The shares sum to the number of calls.

    Args:
        index_draws: each person's index in each posterior draw.
        groups: each person's group, a position in ``places``; all 0 without groups.
        places: the most calls for each group.
        budget: calls in all.

    Example:
        Two draws disagree on the second call. In one of them, the third and the fourth person have equal indices.

        >>> index_draws = np.array([[3, 2, 1, 0], [3, 0, 1, 1]], np.float32)
        >>> call_probabilities(index_draws, np.zeros(4, int), [2], 2).tolist()
        [1.0, 0.5, 0.25, 0.25]
    """
    cuts, caps = find_cut_offs(index_draws, groups, places, budget), np.minimum(places, budget)
    num_calls = min(budget, int(np.minimum(np.bincount(groups, minlength=len(caps)), caps).sum()))
    shares = np.zeros(index_draws.shape[1])
    for values, of_groups, of_all in zip(index_draws, *cuts, strict=True):
        listed = values >= np.maximum(of_groups, of_all)[groups]
        is_clear = np.count_nonzero(listed) == num_calls
        shares += listed if is_clear else _shares_of_draw(values, groups, of_groups, of_all, caps, budget)
    return _in_units(shares / len(index_draws), groups, len(places))


def _shares_of_draw(
    values: Float[np.ndarray, " people"],
    groups: Codes,
    of_groups: Float[np.ndarray, " groups"],
    of_all: np.floating,
    places: Int[np.ndarray, " groups"],
    budget: int,
) -> Probabilities:
    """Who is on the list of one draw. People with equal indices at its end share the places left."""
    edge = of_groups[groups]
    above, level = (np.bincount(groups[each], minlength=len(places)) for each in (values > edge, values == edge))
    left = (places - above) / np.maximum(level, 1)
    in_group = np.where(values == edge, left[groups], values > edge)
    sure, tied = in_group[values > of_all].sum(), in_group[values == of_all].sum()
    return in_group * np.where(values == of_all, (budget - sure) / max(tied, 1.0 / UNIT), values > of_all)


def _in_units(shares: Probabilities, groups: Codes, num_groups: int) -> Probabilities:
    """The shares as multiples of ``1 / UNIT``. Their sum is a whole number, and no group exceeds its places."""
    # Without people, NumPy's sums are integers, so convert them.
    sums = np.bincount(groups, weights=shares, minlength=num_groups).astype(float) * UNIT
    targets = _round_to_sum(sums, round(shares.sum()) * UNIT)
    units = np.zeros(len(shares), np.int64)
    for code, target in enumerate(targets):
        mine = groups == code
        units[mine] = _round_to_sum(shares[mine] * UNIT, int(target))
    return units / UNIT


def _round_to_sum(values: Float[np.ndarray, " n"], target: int) -> Int64[np.ndarray, " n"]:
    """Round values to whole numbers that sum to the target.

    Values are rounded down; the largest remainders get one more, the first of equal ones before the others. A value
    that is whole up to rounding error keeps its number: a certain call stays certain, and a full group stays full.
    """
    whole = np.rint(values)
    exact = np.where(np.abs(values - whole) < 0.01, whole, values)
    floors = np.floor(exact)
    rounded = floors.astype(np.int64)
    rounded[np.argsort(floors - exact, kind="stable")[: target - int(rounded.sum())]] += 1
    return rounded


def lot_probabilities(
    index: Float[np.ndarray, " people"],
    index_draws: Draws,
    groups: Codes,
    places: Sequence[int],
    budget: int,
    cost: float,
) -> Probabilities:
    """The probability of a call for each person. Lots decide between close indices, within the given cost.

    Args:
        index: each person's expected index.
        index_draws: each person's index in each posterior draw.
        groups: each person's group, a position in ``places``; all 0 without groups.
        places: the most calls for each group.
        budget: calls in all.
        cost: the largest loss of the expected sum of indices, as a share of the highest sum.

    Example:
        The first person is far ahead. The other indices are uncertain by about 1, and differ by about 1 or less.

        >>> index, noise = np.array([9.0, 1.01, 1.0, 0.0]), np.random.default_rng(0).normal(size=(100, 4))
        >>> lot_probabilities(index, index + noise, np.zeros(4, int), [2], 2, cost=0.01).tolist()
        [1.0, 0.51, 0.44, 0.05]
    """
    expected = index.astype(index_draws.dtype)

    def at(noise: float) -> Probabilities:
        moved = expected + index_draws.dtype.type(noise) * (index_draws - expected)
        return call_probabilities(moved, groups, places, budget)

    highest = at(0.0)
    lowest_sum = highest @ index - cost * (highest @ np.abs(index))
    low, high, best = 0, len(NOISES), highest
    while low < high:
        middle = (low + high) // 2
        found = at(NOISES[middle])
        low, high, best = (middle + 1, high, found) if found @ index >= lowest_sum else (low, middle, best)
    return best


def draw_list(probabilities: Probabilities, groups: Codes, start: int) -> Bool[np.ndarray, " people"]:
    """Draw the list: each person is called with exactly her probability.

    If people come in a random order, such as by a lot for each person, any two of a group can be called together.

    Args:
        probabilities: from ``call_probabilities`` or ``lot_probabilities``, in an order that does not depend on them.
        groups: each person's group.
        start: the random number u, in units: at least 0 and below ``UNIT``.

    Example:
        >>> draw_list(np.array([1.0, 0.5, 0.25, 0.25]), np.zeros(4, int), start=UNIT // 3).tolist()
        [True, True, False, False]
    """
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.rint(probabilities[order] * UNIT).astype(np.int64))
    # How many of the points start, start + UNIT, … are below each end.
    points = (ends - start + UNIT - 1) // UNIT
    chosen = np.zeros(len(probabilities), bool)
    chosen[order] = np.diff(points, prepend=0) > 0
    return chosen


class Candidates:
    """Everyone who is on the list of at least one draw, from a stream of people.

    A person below the cut-offs of all draws among the people seen so far stays below them, because more people never
    lower a cut-off. So only the others are remembered: at most draws × budget people, mostly a few times the budget,
    and everyone whose index equals the last one on a list.

    Args:
        places: the most calls for each group.
        budget: calls in all.
        fewest_to_thin: everyone is remembered until there are so many people; changes memory and time only.
    """

    def __init__(self, places: Sequence[int], budget: int, fewest_to_thin: int = FEWEST_TO_THIN):
        self._places, self._budget, self._fewest = places, budget, fewest_to_thin
        self._parts: list[tuple[pl.DataFrame, Codes, Draws]] = []
        self._lowest: Float[np.ndarray, "draws groups"] | None = None
        self._limit = fewest_to_thin

    def add(self, people: pl.DataFrame, groups: Codes, index_draws: Draws) -> None:
        """Consider more people.

        Args:
            people: one row for each person.
            groups: each person's group, a position in ``places``.
            index_draws: each person's index in each draw; the same number of draws every time.
        """
        self._check(people, index_draws)
        if self._lowest is not None:
            hopeful = _reaches(index_draws, groups, self._lowest)
            people, groups, index_draws = people.filter(hopeful), groups[hopeful], index_draws[:, hopeful]
        self._parts.append((people, groups, index_draws))
        if sum(len(groups) for _, groups, _ in self._parts) > self._limit:
            self._limit = max(self._fewest, 2 * len(self.thin()[1]))

    def thin(self) -> tuple[pl.DataFrame, Codes, Draws]:
        """Forget everyone who cannot be on a list, and return the candidates: rows, groups and indices."""
        frames, codes, draws = zip(*self._parts, strict=True)
        people, groups, index_draws = pl.concat(frames), np.concatenate(codes), np.concatenate(draws, axis=1)
        self._lowest = find_cut_offs(index_draws, groups, self._places, self._budget).lowest
        kept = _reaches(index_draws, groups, self._lowest)
        self._parts = [(people.filter(kept), groups[kept], index_draws[:, kept])]
        return self._parts[0]

    def _check(self, people: pl.DataFrame, index_draws: Draws) -> None:
        finite = np.isfinite(index_draws).all(axis=0)
        if not finite.all():
            identity = people["id"][int(np.argmin(finite))]
            raise ConvergenceError(f"The model gives id {identity!r} an index that is not finite. Fit it anew.")


def _reaches(
    index_draws: Draws, groups: Codes, lowest: Float[np.ndarray, "draws groups"]
) -> Bool[np.ndarray, " people"]:
    """Who is at or above the lowest index of her group in some draw. The loop over draws saves memory."""
    reaches = np.zeros(len(groups), bool)
    for values, edges in zip(index_draws, lowest, strict=True):
        reaches |= values >= edges[groups]
    return reaches
