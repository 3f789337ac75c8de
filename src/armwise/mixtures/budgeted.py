"""The solver of the smooth mixtures: forward (Algorithm 2) and backward (Equation 12).

Once budget has a price, both regularisers split Equation 9 into one problem per arm. A `RowRule` says how one arm
divides itself among its policies, given their net returns. This file finds the price and differentiates through it.
Arrays here are `[policies, arms]` (`policy_sums.py` says why).
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from armwise.mixtures.edge import above_cheapest, left_over
from armwise.mixtures.policy_sums import largest, total
from armwise.mixtures.price import Scale, find_price
from armwise.mixtures.rounding import accurate_sum, charge, epsilon, plain_sums
from armwise.mixtures.solution import MixtureSolution

_COARSE_STEP = 0.05  # in temperatures: the first search ends when its steps are this short and no longer shrink
_NOISE_POWER = 0.6  # a step of epsilon to this power, in temperatures, may be a rounding error
_ROUNDING = 8.0  # how many machine epsilons two sums of the same terms may differ by

# Takes each arm's spend and how fast it falls; returns the sum of the first, its rounding error, the sum of the second.
_Sums = Callable[[Array, Array], tuple[Array, Array, Array]]


class RowRule(NamedTuple):
    """How an arm chooses among its policies.

    Attributes:
        choose: takes net returns in units of temperature, each arm's largest 0; returns shares.
        jacobian_product: the (symmetric) Jacobian of `choose` at its result, times a direction.
        spends: takes rewards, spend, price and temperature; returns each arm's spend, and ⟨spend, Jacobian · spend⟩,
            which is how fast the spend falls with price / temperature.
        residual: takes (excess, budget); returns the overspend on the scale where it is nearest to linear in the price.
        residual_slope: the derivative of `residual` with respect to the excess.
        last_step: takes the machine epsilon; a Newton step this short, in temperatures, is the last one.
        coarse_step: takes the machine epsilon; after a Newton step this short, one more step is enough.
        most_regular: takes the number of policies; returns the largest difference of the regulariser between two
            mixtures of one arm.
        always_mixes: whether every policy keeps a positive share, so that no price reaches the cheapest mixture.
    """

    choose: Callable[[Array], Array]
    jacobian_product: Callable[[Array, Array], Array]
    spends: Callable[[Array, Array, Array, Array], tuple[Array, Array]]
    residual: Callable[[Array, Array], Array]
    residual_slope: Callable[[Array, Array], Array]
    last_step: Callable[[float], float]
    coarse_step: Callable[[float], float]
    most_regular: Callable[[int], float]
    always_mixes: bool


class Spending(NamedTuple):
    """The spend of the policies and the budget: the part of a problem that can be computed once for many rewards.

    All spends are relative to each arm's cheapest policy, so they start at 0. `left` is the budget that remains after
    the cheapest policies; it is negative if no mixture keeps to the budget (`edge.py` says how rounding counts).
    """

    spend: Float[Array, "policies arms"]
    left: Float[Array, ""]
    widest: Float[Array, ""]  # the largest spend
    least: Float[Array, ""]  # spend of the cheapest policies of all arms together, rounded
    least_rest: Float[Array, ""]  # the rounding error of `least`
    rounding: Float[Array, ""]  # how much two sums of these may differ by rounding


class BudgetedRewards(NamedTuple):
    """The rewards, and the part of a `Spending` that the search needs."""

    rewards: Float[Array, "policies arms"]
    spend: Float[Array, "policies arms"]
    budget: Float[Array, ""]
    temperature: Float[Array, ""]
    widest: Float[Array, ""]


class Found(NamedTuple):
    """A price of budget, the net returns near it, and the status of the search.

    `nearby` holds the net returns at a price near the final one, up to a constant for each arm. `left_to_charge` is the
    rest of the price, which `net` subtracts.
    """

    price: Float[Array, ""]
    nearby: Float[Array, "policies arms"]
    left_to_charge: Float[Array, ""]
    converged: Bool[Array, ""]
    num_steps: Int[Array, ""]

    def net(self, spend: Float[Array, "policies arms"]) -> Float[Array, "policies arms"]:
        """Every policy's net return at the price, minus the largest of its arm."""
        net = self.nearby - self.left_to_charge * spend
        return net - largest(net)


class _Saved(NamedTuple):
    """The values that the backward pass needs."""

    shares: Float[Array, "policies arms"]
    net: Float[Array, "policies arms"]
    spend: Float[Array, "policies arms"]
    temperature: Float[Array, ""]
    price: Float[Array, ""]


def measure(budget_returns: Float[Array, "arms policies"], discounted_budget: Float[Array, ""]) -> Spending:
    """The part of a problem that depends only on spend and budget.

    No gradient flows through the cheapest policies. If all of an arm's policies spend more, less budget is left, and
    the two effects cancel.
    """
    spend, cheapest = above_cheapest(budget_returns.T)
    left, least, least_rest = left_over(discounted_budget, cheapest)
    widest = jnp.max(largest(lax.stop_gradient(spend))[0])
    scale = jnp.maximum(jnp.maximum(jnp.abs(lax.stop_gradient(discounted_budget)), jnp.abs(least)), widest)
    return Spending(spend, left, widest, least, least_rest, rounding=_ROUNDING * epsilon(scale) * scale)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def solve(
    rule: RowRule,
    reward_returns: Float[Array, "arms policies"],
    spending: Spending,
    temperature: Float[Array, ""],
    initial_price: Float[Array, ""],
) -> MixtureSolution:
    """The mixture that maximises Equation 9 with the regulariser behind `rule`."""
    return _forward(rule, reward_returns, spending, temperature, initial_price)[0]


def _forward(
    rule: RowRule,
    reward_returns: Float[Array, "arms policies"],
    spending: Spending,
    temperature: Float[Array, ""],
    initial_price: Float[Array, ""],
) -> tuple[MixtureSolution, _Saved]:
    spend, _, _, least, least_rest, rounding = spending
    problem, attainable, found = charge_budget(rule, reward_returns.T, spending, temperature, initial_price)
    net = found.net(spend)
    shares = rule.choose(net / temperature)
    used, used_rest = accurate_sum(total(shares * spend)[0])
    excess = (used - problem.budget) + used_rest
    trimmed, lost = _trim(rule, shares, net, excess, problem)
    used, used_rest = accurate_sum(total(trimmed * spend)[0])
    solution = MixtureSolution(
        mixture=trimmed.T,
        budget_price=found.price,
        converged=attainable & found.converged & (jnp.abs(excess) * jnp.sign(found.price) <= 2 * rounding),
        num_steps=found.num_steps,
        budget_used=used + least + (used_rest + least_rest),
        # The shares attain the inner maximum. So before trimming, the dual minus the primal value is the violation of
        # complementary slackness (Equation 11).
        gap=jnp.where(attainable, lost + found.price * jnp.maximum(problem.budget - used, 0), jnp.inf),
    )
    return solution, _Saved(shares, net, spend, temperature, found.price)


def charge_budget(
    rule: RowRule,
    rewards: Float[Array, "policies arms"],
    spending: Spending,
    temperature: Float[Array, ""],
    initial_price: Float[Array, ""],
) -> tuple[BudgetedRewards, Bool[Array, ""], Found]:
    """The problem, whether a price keeps the arms to the budget, and the price found with its net returns."""
    problem = BudgetedRewards(rewards, spending.spend, jnp.maximum(spending.left, 0), temperature, spending.widest)
    attainable = _attainable(rule, problem, spending.left)
    # `cond` instead of a choice between two results: XLA lays out the arrays that enter a branch in memory. Without
    # the branch, every kernel would select them again from the arrays of all cohorts.
    found = lax.cond(attainable, partial(_search, rule), _cheapest_only, problem, initial_price, attainable)
    return problem, attainable, found


def _attainable(rule: RowRule, problem: BudgetedRewards, left: Array) -> Bool[Array, ""]:
    """Whether a finite price can keep the spend within what is left."""
    idle = problem.widest <= 0
    return (left > 0) | ((left == 0) & (idle | (not rule.always_mixes)))


def _plainly(spent: Float[Array, " arms"], falls: Float[Array, " arms"]) -> tuple[Array, Array, Array]:
    used, fall = plain_sums(spent, falls)
    return used, jnp.zeros_like(used), fall


def _accurately(spent: Float[Array, " arms"], falls: Float[Array, " arms"]) -> tuple[Array, Array, Array]:
    (fall,) = plain_sums(falls)
    return *accurate_sum(spent), fall


def _search(rule: RowRule, problem: BudgetedRewards, start: Float[Array, ""], attainable: Bool[Array, ""]) -> Found:
    """The price, the net returns near it, and the status of the search.

    The search runs twice, as in iterative refinement. The first search uses plain sums, which are several times as
    fast, and ends when one more step is enough or plain sums get no closer. The second search starts from the net
    returns at the first answer, so it finds only a small correction to the price and loses no digits. It is usually a
    single step.
    """
    sharpness = problem.temperature / jnp.where(problem.widest > 0, problem.widest, 1)
    zero, last_step = jnp.zeros_like(start), sharpness * rule.last_step(epsilon(start))
    coarse_step = sharpness * rule.coarse_step(epsilon(start))
    scale = Scale(floor=zero, unit=_typical_price(problem), tolerance=coarse_step, noise=sharpness * _COARSE_STEP)
    first = find_price(partial(_residual, rule, problem, _plainly), start, scale, attainable)
    net = charge(problem.rewards, problem.spend, first.price)
    charged = problem._replace(rewards=net)
    noise = sharpness * epsilon(start) ** _NOISE_POWER
    scale = Scale(floor=-first.price, unit=sharpness, tolerance=last_step, noise=noise)
    second = find_price(partial(_residual, rule, charged, _accurately), zero, scale, attainable)
    num_steps = first.num_steps + second.num_steps
    return Found(first.price + second.price, net, second.price, second.converged, num_steps)


def _cheapest_only(problem: BudgetedRewards, start: Float[Array, ""], attainable: Bool[Array, ""]) -> Found:
    """The limit of `_search` as the price grows to infinity: only the cheapest policies remain."""
    net = jnp.where(problem.spend > 0, -jnp.inf, problem.rewards)
    return Found(jnp.full_like(start, jnp.inf), net, jnp.zeros_like(start), attainable, jnp.zeros((), jnp.int32))


def _typical_price(problem: BudgetedRewards) -> Float[Array, ""]:
    """The price that an average arm would pay for its most expensive policy."""
    gain, cost = plain_sums((largest(problem.rewards) + largest(-problem.rewards))[0], largest(problem.spend)[0])
    return (gain + problem.temperature * problem.spend.shape[1]) / jnp.where(cost > 0, cost, 1)


def _residual(rule: RowRule, problem: BudgetedRewards, add: _Sums, price: Array) -> tuple[Array, Array]:
    """The overspend at a price, and how fast it falls with the price (Algorithm 2's EvalLambda and its derivative)."""
    budget = problem.budget
    used, rest, fall = add(*rule.spends(problem.rewards, problem.spend, price, problem.temperature))
    excess = (used - budget) + rest
    # An excess below one arm's rounding error counts as 0.
    near = 2 * epsilon(excess) * jnp.minimum(budget, problem.widest)
    excess = jnp.where(jnp.abs(excess) <= near, 0, excess)
    return rule.residual(excess, budget), rule.residual_slope(excess, budget) * fall / problem.temperature


def _trim(
    rule: RowRule,
    shares: Float[Array, "policies arms"],
    net: Float[Array, "policies arms"],
    excess: Float[Array, ""],
    problem: BudgetedRewards,
) -> tuple[Float[Array, "policies arms"], Float[Array, ""]]:
    """The shares, moved towards the cheapest policies until they keep to the budget, and an upper bound on the loss.

    The search ends within rounding errors of the budget, above or below it. This step puts every mixture within the
    budget, even after a failed search.
    """
    moved = part_to_trim(excess, problem.budget)
    cheap = (problem.spend <= 0).astype(shares.dtype)
    cheapest = cheap / total(cheap)
    # The objective is concave: a blend loses at most its part of what the cheapest policies lose.
    loss = jnp.sum(total(-net * cheapest)[0]) + problem.temperature * rule.most_regular(len(net)) * net.shape[1]
    return shares + moved * (cheapest - shares), moved * loss


def part_to_trim(excess: Float[Array, ""], budget: Float[Array, ""]) -> Float[Array, ""]:
    """The part of every mixture to move to the cheapest policies, so that all arms keep to the budget."""
    return jnp.where(excess > 0, excess / (excess + budget), 0)


def _backward(rule: RowRule, saved: _Saved, cotangent: MixtureSolution) -> tuple[Array, Spending, Array, Array]:
    """Equation 12 by elimination: the KKT system is diagonal, except for one row per arm and one for the budget.

    Let M be the Jacobian of the shares in net / temperature. Then spend(price) = budget gives
    ⟨spend, M spend⟩ d price = ⟨M spend, d net⟩ + temperature (⟨shares, d spend⟩ − d budget), with d net at fixed price.
    The matrix in the paper omits the temperature.
    """
    shares, net, spend, temperature, price = saved
    binds = (price > 0) & jnp.isfinite(price)
    loss_product = rule.jacobian_product(shares, cotangent.mixture.T)
    centred = spend - total(shares * spend)
    spend_product = rule.jacobian_product(shares, centred)
    variance, pulled = plain_sums(total(spend_product * centred)[0], total(loss_product * centred)[0])
    pull = temperature * cotangent.budget_price - pulled
    # If no arm mixes, a small change of the price changes nothing.
    push = jnp.where(binds & (variance > 0), pull / jnp.where(variance > 0, variance, 1), 0)
    to_rewards = (loss_product + push * spend_product) / temperature
    to_spend = push * shares - jnp.where(binds, price, 0) * to_rewards
    to_temperature = -jnp.sum(total(to_rewards * jnp.where(shares > 0, net, 0))[0]) / temperature
    zero = jnp.zeros_like(price)
    to_spending = Spending(to_spend, -push, zero, zero, zero, zero)
    return to_rewards.T, to_spending, to_temperature, zero


solve.defvjp(_forward, _backward)
