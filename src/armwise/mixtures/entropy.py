"""The entropy mixture: a softmax under a budget (the paper's Equation 10, Algorithm 2 and Equation 12)."""

import functools
import math
from collections.abc import Iterable
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from armwise.mixtures.budgeted import RowRule
from armwise.mixtures.policy_sums import MANY_POLICIES, in_temperatures, largest, total
from armwise.mixtures.smooth import SmoothMixture


def softmax(scaled: Float[Array, "policies arms"]) -> Float[Array, "policies arms"]:
    """Shares in proportion to the exponential of the input; each arm's largest input must be 0."""
    weights = jnp.exp(scaled)
    return weights / total(weights)


def _jacobian_product(shares: Float[Array, "policies arms"], direction: Float[Array, "policies arms"]) -> Array:
    """Shares times the direction's deviation from its mean.

    The direction is measured from each arm's main policy. The origin does not change the result, but this one avoids
    cancellation when one share is nearly 1.
    """
    main = shares == largest(shares)
    origin = total(jnp.where(main, direction, 0)) / total(main.astype(shares.dtype))
    direction = direction - origin
    return shares * (direction - total(shares * direction))


def _spends(
    rewards: Float[Array, "policies arms"],
    spend: Float[Array, "policies arms"],
    price: Float[Array, ""],
    temperature: Float[Array, ""],
) -> tuple[Float[Array, " arms"], Float[Array, " arms"]]:
    """The mean and the variance of each arm's spend at a price; deviations from the mean avoid cancellation.

    Few policies are written out one by one. This makes no difference on a CPU. On an accelerator it gives one kernel
    instead of four: 27 µs instead of 121 for 3,000,000 arms on an H200.
    """
    net = rewards - price * spend
    if len(spend) > MANY_POLICIES:
        shares = softmax(in_temperatures(net, temperature))
        spent = total(shares * spend)
        return spent[0], total(shares * (spend - spent) ** 2)[0]
    best = functools.reduce(jnp.maximum, net)
    weights = [jnp.exp((policy - best) / temperature) for policy in net]

    def mean(rows: Iterable[Float[Array, " arms"]]) -> Float[Array, " arms"]:
        return functools.reduce(jnp.add, map(jnp.multiply, weights, rows)) / functools.reduce(jnp.add, weights)

    spent = mean(spend)
    return spent, mean((policy - spent) ** 2 for policy in spend)


ENTROPY = RowRule(
    choose=softmax,
    jacobian_product=_jacobian_product,
    spends=_spends,
    # On a logarithmic scale, because spend falls exponentially in the price: a budget of 1e-6 of the spend takes 14
    # plain Newton steps, but two of these.
    residual=lambda excess, budget: jnp.where(excess == 0, 0, jnp.log1p(excess / budget)),
    residual_slope=lambda excess, budget: 1 / (excess + budget),
    # An arm's third central moment is at most its widest spend times its variance, so a Newton step of x
    # temperatures leaves an error below x².
    last_step=math.sqrt,
    coarse_step=lambda epsilon: epsilon**0.25,
    most_regular=math.log,
    always_mixes=True,
)


class EntropyMixture(SmoothMixture):
    """Maximise ⟨mixture, rewards⟩ + temperature · H(mixture) under the budget, H(Z) = −Σ Z log Z.

    Given the price of budget, each row is softmax((reward_returns − price · budget_returns) / temperature). Algorithm 2
    prints the softmax without the temperature. We divide by it, as the dual objective does.

    Attributes:
        temperature: weight of the entropy, above 0; may be traced, so that `vmap` can run over temperatures.

    Example:
        There are two patients and a budget for one visit. The second patient gains more from a visit.

        >>> from armwise.mixtures import EntropyMixture
        >>> solution = EntropyMixture(temperature=0.1)([[0.0, 1.0], [0.0, 2.0]], [[0.0, 1.0], [0.0, 1.0]], 1.0)
        >>> [[round(float(share), 2) for share in arm] for arm in solution.mixture]
        [[0.99, 0.01], [0.01, 0.99]]
        >>> round(float(solution.budget_price), 3)
        1.5
    """

    rule: ClassVar[RowRule] = ENTROPY
