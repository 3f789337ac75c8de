"""Rules for a budget that is just enough: the same for all mixtures, inside and outside `jit`, in JAX and in C++.

Spends and budgets are already rounded when they arrive here. So differences of a few rounding errors count as 0:

- if two policies of one arm spend the same up to rounding, they spend the same, and no budget chooses between them;
- if a budget equals the spend of all the cheapest policies up to rounding, it just pays for them.

A budget that just pays for the cheapest policies allows no other policy, except for arms whose policies all spend the
same. A smaller budget has no solution. Outside `jit` this is an error. Inside `jit`, `converged` is false, `gap` is
infinite, and the mixture contains only the cheapest policies, as at an infinite price.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from armwise.mixtures.policy_sums import largest
from armwise.mixtures.rounding import accurate_sum, epsilon

MARGIN = 4.0  # machine epsilons: a budget and a spend are rounded when typed, when added up, and when divided by 1 − γ


def above_cheapest(
    budget_returns: Float[Array, "policies arms"],
) -> tuple[Float[Array, "policies arms"], Float[Array, " arms"]]:
    """Each policy's spend above its arm's cheapest policy, and the spend of the cheapest.

    A difference that may be rounding becomes 0. Gradients pass neither through the cheapest policy nor through this
    rounding: the derivative of each spend with respect to its own budget return is always 1.
    """
    known = lax.stop_gradient(budget_returns)
    cheapest = -largest(-known)
    rounding = MARGIN * epsilon(known) * jnp.abs(cheapest)
    spend = budget_returns - cheapest
    return spend - jnp.where(known - cheapest <= rounding, known - cheapest, 0), cheapest[0]


def left_over(
    discounted_budget: Float[Array, ""], cheapest: Float[Array, " arms"]
) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
    """The budget left by the cheapest policies, their total spend, and the rounding error of that total."""
    least, least_rest = accurate_sum(cheapest)
    left = (discounted_budget - least) - least_rest
    known = lax.stop_gradient(left)
    rounding = MARGIN * epsilon(left) * jnp.sum(jnp.abs(cheapest))
    return left - jnp.where(jnp.abs(known) <= rounding, known, 0), least, least_rest
