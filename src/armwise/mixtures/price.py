"""The search for the price of budget, the one number that links all arms (the paper's Algorithm 2).

Spend falls as the price rises (the appendix's proposition on softmax monotonicity), so the price is the root of a
decreasing function of one scalar. Newton's method alone diverges, because at low temperature the spend is a staircase.
Bisection alone takes 30 to 60 steps. Newton inside a bracket takes about eight steps at moderate temperature, and up to
45 at temperature 0.001 with returns of 1,000. A good starting price halves these numbers. The paper's bracket
±R_max/(1 − γ) can miss the root; this bracket grows until it contains the root.

It is written by hand, because Optimistix has Newton without a bracket and bisection within a given one, not both.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from armwise.mixtures.rounding import epsilon

MAX_STEPS = 100
_GROWTH = 8.0
_EDGE = 0.05

# Takes a price; returns how far spend exceeds budget, on any increasing scale, and how fast that falls with the price.
Residual = Callable[[Float[Array, ""]], tuple[Float[Array, ""], Float[Array, ""]]]


class Scale(NamedTuple):
    """The scale of a problem, which the search needs.

    Attributes:
        floor: the lowest price; if the spend there is within the budget, the search ends.
        unit: a price of the right order of magnitude.
        tolerance: a Newton step this short is the last one.
        noise: steps this short are rounding errors if they no longer shrink.
    """

    floor: Float[Array, ""]
    unit: Float[Array, ""]
    tolerance: Float[Array, ""]
    noise: Float[Array, ""]


class Bracket(NamedTuple):
    """Two prices with the root between them, and their residuals; infinite until evaluated."""

    lower: Float[Array, ""]
    upper: Float[Array, ""]
    lower_value: Float[Array, ""]
    upper_value: Float[Array, ""]


class Search(NamedTuple):
    """The state of the search: the next price to try, or the answer once converged."""

    price: Float[Array, ""]
    bracket: Bracket
    reach: Float[Array, ""]
    last_size: Float[Array, ""]
    last_move: Float[Array, ""]
    num_steps: Int[Array, ""]
    converged: Bool[Array, ""]


def find_price(residual: Residual, start: Float[Array, ""], scale: Scale, needed: Bool[Array, ""]) -> Search:
    """The price at which `residual` is 0, or the floor if `residual` is negative there.

    Args:
        residual: a decreasing function of the price.
        start: the first price to try: the floor, or the price of a similar problem.
        scale: the scale of the problem.
        needed: if false, take no step.
    """
    infinity = jnp.full_like(start, jnp.inf)
    search = Search(
        price=jnp.maximum(start, scale.floor),
        bracket=Bracket(scale.floor, infinity, infinity, -infinity),
        reach=_GROWTH * scale.unit,
        last_size=infinity,
        last_move=infinity,
        num_steps=jnp.zeros((), jnp.int32),
        converged=~needed,
    )

    def advance(packed: Float[Array, " fields"]) -> Float[Array, " fields"]:
        search = _unpack(packed)
        return _pack(_step(search, *residual(search.price), scale))

    return _unpack(lax.while_loop(_is_on, advance, _pack(search)))


def _is_on(packed: Float[Array, " fields"]) -> Bool[Array, ""]:
    search = _unpack(packed)
    return ~search.converged & (search.num_steps < MAX_STEPS)


def _pack(search: Search) -> Float[Array, " fields"]:
    """The search as one vector, because XLA uses a separate call to write each array that a loop carries.

    The fields are selected by position, not stacked, so that all of this is one call.
    """
    fields = [field.astype(search.price.dtype) for field in jax.tree.leaves(search)]
    place = jnp.arange(len(fields))
    packed = jnp.full(len(fields), fields[0])
    for number, field in enumerate(fields[1:], start=1):
        packed = jnp.where(place == number, field, packed)
    return packed


def _unpack(packed: Float[Array, " fields"]) -> Search:
    price, *bracket, reach, last_size, last_move, num_steps, converged = packed
    return Search(price, Bracket(*bracket), reach, last_size, last_move, num_steps.astype(jnp.int32), converged > 0)


def _step(search: Search, value: Array, slope: Array, scale: Scale) -> Search:
    """Narrow the bracket by one evaluation, then stop or choose the next price."""
    price = search.price
    bracket = _narrow(search.bracket, price, value)
    newton = price + value / slope
    move = jnp.abs(newton - price)
    settled = (value == 0) | ((value <= 0) & (price <= scale.floor))
    arrived = _has_arrived(move, search, scale)
    collapsed = bracket.upper - bracket.lower <= 2 * epsilon(price) * jnp.abs(bracket.upper)
    # Only the upper end keeps to the budget.
    answer = jnp.where(arrived, jnp.clip(newton, bracket.lower, bracket.upper), bracket.upper)
    answer = jnp.where(settled, price, answer)
    converged = (settled | arrived | collapsed) & jnp.isfinite(answer)

    trusted = (newton > bracket.lower) & (newton < bracket.upper) & (jnp.abs(value) <= search.last_size / 2)
    open_ended = jnp.isinf(bracket.upper) | jnp.isinf(bracket.lower_value)
    following = jnp.where(open_ended, _outside(newton, search, bracket), _inside(search, bracket))
    following = jnp.where(trusted & ~jnp.isinf(bracket.upper), newton, following)
    return Search(
        price=jnp.where(converged, answer, following),
        bracket=bracket,
        reach=jnp.where(jnp.abs(following - price) >= search.reach / 2, _GROWTH, 1) * search.reach,
        # Only a Newton step must halve the residual to be trusted again.
        last_size=jnp.where(trusted | open_ended, jnp.abs(value), jnp.inf),
        last_move=move,
        num_steps=search.num_steps + 1,
        converged=converged,
    )


def _narrow(bracket: Bracket, price: Array, value: Array) -> Bracket:
    within = value <= 0
    return Bracket(
        lower=jnp.where(within, bracket.lower, price),
        upper=jnp.where(within, price, bracket.upper),
        lower_value=jnp.where(within, bracket.lower_value, value),
        upper_value=jnp.where(within, value, bracket.upper_value),
    )


def _has_arrived(move: Array, search: Search, scale: Scale) -> Bool[Array, ""]:
    short = move <= scale.tolerance + 2 * epsilon(move) * jnp.abs(search.price)
    return short | ((move <= scale.noise) & (move >= search.last_move / 2))


def _outside(newton: Array, search: Search, bracket: Bracket) -> Float[Array, ""]:
    """The next price while one end is open: Newton's step, but at most the reach, which grows."""
    upward = jnp.isinf(bracket.upper)
    farthest = jnp.where(upward, search.price + search.reach, search.price - search.reach)
    ahead = jnp.where(upward, newton > search.price, newton < search.price)
    limited = jnp.where(upward, jnp.minimum(newton, farthest), jnp.maximum(newton, farthest))
    return jnp.maximum(jnp.where(ahead, limited, farthest), bracket.lower)


def _inside(search: Search, bracket: Bracket) -> Float[Array, ""]:
    """The next price inside the bracket: by the secant, or the middle if the bracket did not halve.

    The price stays away from the ends. On a staircase the secant follows the coarse shape, which the local slope does
    not show.
    """
    width = bracket.upper - bracket.lower
    share = bracket.lower_value / (bracket.lower_value - bracket.upper_value)
    halved = width <= (search.bracket.upper - search.bracket.lower) / 2
    share = jnp.where(jnp.isfinite(bracket.lower_value) & jnp.isfinite(bracket.upper_value) & halved, share, 0.5)
    return bracket.lower + width * jnp.clip(share, _EDGE, 1 - _EDGE)
