"""Where a budget is just enough: one answer for all mixtures, the same inside `jit` and out, in JAX and natively.

Spends and budgets are rounded before they come here. What they differ by within a few rounding errors is no difference:

- policies of one arm that spend the same up to rounding spend the same, so that no budget chooses between them;
- a budget that equals what all cheapest policies spend together up to rounding just pays for them.

A budget that just pays for the cheapest policies leaves nothing else, but for arms whose policies all spend the same.
A budget below that has no solution: outside `jit` it is an error, inside `converged` is false, `gap` is infinite, and
the mixture is of the cheapest policies alone, as at a price without limit.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from armwise.mixtures.policy_sums import largest
from armwise.mixtures.rounding import accurate_sum, epsilon

MARGIN = 4.0  # machine epsilons: a budget and a spend are each rounded when typed, added up and divided by 1 − γ


def above_cheapest(
    budget_returns: Float[Array, "policies arms"],
) -> tuple[Float[Array, "policies arms"], Float[Array, " arms"]]:
    """What each policy spends more than its arm's cheapest, 0 where that may be rounding; and what the cheapest spends.

    Nothing flows back through the cheapest policies, nor through what is taken for rounding.
    """
    known = lax.stop_gradient(budget_returns)
    cheapest = -largest(-known)
    rounding = MARGIN * epsilon(known) * jnp.abs(cheapest)
    spend = budget_returns - cheapest
    return spend - jnp.where(known - cheapest <= rounding, known - cheapest, 0), cheapest[0]


def left_over(
    discounted_budget: Float[Array, ""], cheapest: Float[Array, " arms"]
) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
    """What the cheapest policies leave of the budget, what they spend together, and what rounding left of that."""
    least, least_rest = accurate_sum(cheapest)
    left = (discounted_budget - least) - least_rest
    known = lax.stop_gradient(left)
    rounding = MARGIN * epsilon(left) * jnp.sum(jnp.abs(cheapest))
    return left - jnp.where(jnp.abs(known) <= rounding, known, 0), least, least_rest
