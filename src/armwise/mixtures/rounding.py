"""Sums and differences that keep float32 honest at a million arms and at low temperature.

Two things go wrong in plain float32. A spend of 500,000 is only known to 0.03, so one undecided arm among a million
cannot be placed; and a return of 1,000 divided by a temperature of 0.001 turns the last digit of
``reward - price * spend`` into a logit error of 0.06. Both are cured by carrying the rounding errors along.

Only additions, and products that are exact, are compensated: XLA may fuse a product into the addition that follows
it, and would then break the usual compensated product.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from armwise.mixtures.policy_sums import largest

_FOLD = 16
_LONG = 4096


def epsilon(values: Array) -> float:
    """The machine epsilon of the type of `values`."""
    return float(np.finfo(values.dtype).eps)


def add_exactly(left: Float[Array, "..."], right: Float[Array, "..."]) -> tuple[Array, Array]:
    """The rounded sum and its rounding error (Knuth's two-sum)."""
    total = left + right
    moved = total - left
    return total, (left - (total - moved)) + (right - moved)


def accurate_sum(values: Float[Array, " terms"]) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The sum as a rounded part and what rounding left behind; float64 has digits to spare and adds plainly."""
    if not _is_short(values):
        return jnp.sum(values), jnp.zeros((), values.dtype)
    if values.shape[0] <= _LONG:
        return _at_once(values)
    return lax.platform_dependent(values, cpu=_in_lanes, default=_at_once)


def _in_one_reduction(values: Float[Array, " terms"], rests: Float[Array, " terms"]) -> tuple[Array, Array]:
    """Not a tree written out: XLA would compute the tree anew wherever its result is used."""
    zero = np.zeros((), values.dtype)
    total, rest = lax.reduce((values, rests), (zero, zero), _add_short, dimensions=(0,))
    return add_exactly(total, rest)


def _at_once(values: Float[Array, " terms"]) -> tuple[Array, Array]:
    return _in_one_reduction(values, jnp.zeros_like(values))


def _in_lanes(values: Float[Array, " terms"]) -> tuple[Array, Array]:
    """A long sum on a CPU, whose reductions take one element at a time.

    An accelerator's do not: the lanes' many launches took it 830 µs for 3,000,000 terms, one reduction 170.
    """
    rests = jnp.zeros_like(values)
    while values.shape[0] > _LONG:
        values, rests = _shorten(values, rests)
    return _in_one_reduction(values, rests)


def plain_sums(*terms: Float[Array, " terms"]) -> tuple[Float[Array, ""], ...]:
    """Several plain sums; short ones in one reduction.

    Given one by one, XLA merges a sum over arms with the sums over policies that it follows, into a walk over all of
    them that takes twice as long as the two.
    """
    if terms[0].shape[0] > _LONG:
        return tuple(jnp.sum(values) for values in terms)
    zeros = tuple(np.zeros((), values.dtype) for values in terms)
    return tuple(lax.reduce(terms, zeros, lambda left, right: tuple(map(jnp.add, left, right)), dimensions=(0,)))


def accurate_and_plain_sums(accurate: Float[Array, " terms"], *plain: Float[Array, " terms"]) -> tuple[Array, ...]:
    """One sum with what rounding left behind, then others without, all in a single pass over their terms."""
    zero = np.zeros((), accurate.dtype)

    def add(left: tuple[Array, ...], right: tuple[Array, ...]) -> tuple[Array, ...]:
        carefully = _add_short((left[0], left[1]), (right[0], right[1]))
        return *carefully, *map(jnp.add, left[2:], right[2:])

    terms = accurate, jnp.zeros_like(accurate), *plain
    total, rest, *others = lax.reduce(terms, (zero,) * len(terms), add, dimensions=(0,))
    return *add_exactly(total, rest), *others


def accurate_cumulative_sum(values: Float[Array, " terms"]) -> Float[Array, " terms"]:
    """Running sums, in float32 each rounded only once."""
    if not _is_short(values):
        return jnp.cumsum(values)
    totals, rests = lax.associative_scan(_add_pairs, (values, jnp.zeros_like(values)))
    running: Array = totals + rests
    return running


def charge(
    rewards: Float[Array, "policies arms"], spend: Float[Array, "policies arms"], price: Float[Array, ""]
) -> Float[Array, "policies arms"]:
    """``rewards - price * spend`` less each arm's largest, free of cancellation.

    Only the leading product must be subtracted exactly. The others are at most 2⁻¹¹ of it in float32, so what rounding
    takes from their plain sum is beyond the 34th bit.
    """
    price_head, price_tail = _halves(price)
    spend_head, spend_tail = _halves(spend)
    net, lost = add_exactly(rewards, -price_head * spend_head)
    small = price_head * spend_tail + (price_tail * spend_head + price_tail * spend_tail)
    exact = (net - largest(net)) + (lost - small)
    return exact - largest(exact)


def _halves(values: Float[Array, "..."]) -> tuple[Array, Array]:
    """Two addends of half as many significant bits, so that the product of two such halves is exact."""
    integer, dropped = (jnp.uint32, 12) if _is_short(values) else (jnp.uint64, 27)
    bits = lax.bitcast_convert_type(values, integer)
    head = lax.bitcast_convert_type((bits >> dropped) << dropped, values.dtype)
    return head, values - head


def _is_short(values: Array) -> bool:
    return bool(np.finfo(values.dtype).bits < 64)


def _shorten(values: Float[Array, " terms"], rests: Float[Array, " terms"]) -> tuple[Array, Array]:
    """Fold a sum 16-fold; lanes add side by side, so this is one vectorised pass."""
    lanes = -(-values.shape[0] // _FOLD)
    padding = (0, lanes * _FOLD - values.shape[0])
    rows = jnp.pad(values, padding).reshape(_FOLD, lanes)
    rest_rows = jnp.pad(rests, padding).reshape(_FOLD, lanes)
    start = (jnp.zeros_like(rows[0]), jnp.zeros_like(rows[0]))
    # Not unrolled: XLA would compute what is summed again for each of the 16 rows.
    return lax.scan(_add_row, start, (rows, rest_rows))[0]


def _add_row(so_far: tuple[Array, Array], row: tuple[Array, Array]) -> tuple[tuple[Array, Array], None]:
    total, error = add_exactly(so_far[0], row[0])
    return (total, so_far[1] + (error + row[1])), None


def _add_short(left: tuple[Array, Array], right: tuple[Array, Array]) -> tuple[Array, Array]:
    total, error = add_exactly(left[0], right[0])
    return total, error + (left[1] + right[1])


def _add_pairs(left: tuple[Array, Array], right: tuple[Array, Array]) -> tuple[Array, Array]:
    total, error = add_exactly(left[0], right[0])
    return add_exactly(total, error + left[1] + right[1])
