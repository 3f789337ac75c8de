"""The quadratic mixture: a simplex projection under a budget (Equation 9 with an L2 regulariser)."""

from typing import ClassVar

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from armwise.mixtures.budgeted import RowRule
from armwise.mixtures.policy_sums import in_temperatures, total
from armwise.mixtures.smooth import SmoothMixture


def project_to_simplex(scaled: Float[Array, "policies arms"]) -> Float[Array, "policies arms"]:
    """The nearest point of each arm's simplex; each arm's largest input must be 0.

    The threshold solves Σ max(scaled − threshold, 0) = 1. This sum is convex and piecewise linear, so Newton's method
    climbs to the threshold from below and is exact once the support stops shrinking (Michelot 1986). No sort is needed.
    """

    def climb(state: tuple[Array, Array]) -> tuple[Array, Bool[Array, ""]]:
        threshold, _ = state
        kept = scaled > threshold
        count = total(kept.astype(scaled.dtype))
        following = (total(jnp.where(kept, scaled, 0)) - 1) / count
        return jnp.maximum(following, threshold), jnp.any(following > threshold)

    lowest = jnp.full_like(scaled[:1], -1)
    threshold, _ = lax.while_loop(lambda state: state[1], climb, (lowest, jnp.ones((), bool)))
    return jnp.maximum(scaled - threshold, 0)


def _jacobian_product(shares: Float[Array, "policies arms"], direction: Float[Array, "policies arms"]) -> Array:
    kept = shares > 0
    mean = total(jnp.where(kept, direction, 0)) / total(kept.astype(shares.dtype))
    return jnp.where(kept, direction - mean, 0)


def _spends(
    rewards: Float[Array, "policies arms"],
    spend: Float[Array, "policies arms"],
    price: Float[Array, ""],
    temperature: Float[Array, ""],
) -> tuple[Float[Array, " arms"], Float[Array, " arms"]]:
    shares = project_to_simplex(in_temperatures(rewards - price * spend, temperature))
    spent = total(shares * spend)
    centred = spend - spent
    return spent[0], total(_jacobian_product(shares, centred) * centred)[0]


QUADRATIC = RowRule(
    choose=project_to_simplex,
    jacobian_product=_jacobian_product,
    spends=_spends,
    residual=lambda excess, _: excess,
    residual_slope=lambda excess, _: jnp.ones_like(excess),
    # Newton is exact on a linear piece, so the last step only confirms that the price is already there.
    last_step=lambda epsilon: 64 * epsilon,
    coarse_step=lambda epsilon: 64 * epsilon,
    most_regular=lambda _: 0.5,
    always_mixes=False,
)


class QuadraticMixture(SmoothMixture):
    """Maximise ⟨mixture, rewards⟩ − temperature / 2 · ‖mixture‖² under the budget.

    The paper writes the regulariser as ‖Z‖₂. We use −‖Z‖² / 2, which is strictly concave; `CvxpyMixture` uses the same.
    Given the price of budget, each row is the projection of (reward_returns − price · budget_returns) / temperature
    onto the simplex, so poor policies get no share at all. The gradient jumps where the support changes. At such a
    point we use the gradient for the current support.

    Attributes:
        temperature: weight of the regulariser, above 0; may be traced, so that `vmap` can run over temperatures.

    Example:
        >>> from armwise.mixtures import QuadraticMixture
        >>> solution = QuadraticMixture(temperature=0.1)([[0.0, 1.0], [0.0, 2.0]], [[0.0, 1.0], [0.0, 1.0]], 1.0)
        >>> solution.mixture.tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """

    rule: ClassVar[RowRule] = QUADRATIC
