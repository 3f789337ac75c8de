"""The decision layers: against cvxpylayers, Newton against bisection, growth in arms and in states.

Run with ``make bench``. About two minutes on two cores.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from armwise.mixtures import CvxpyMixture, EntropyMixture, LinearMixture, Mixture, QuadraticMixture
from armwise.mixtures.entropy import softmax
from armwise.mixtures.policy_sums import largest, total
from benchmarks.harness import Row, arguments, measure, report, seconds

TEMPERATURE = 0.1
ARMS = (100, 1_000, 10_000, 100_000, 1_000_000)
SMOOTH = {"entropy": EntropyMixture(TEMPERATURE), "l2": QuadraticMixture(TEMPERATURE)}


def random_problem(num_arms: int, num_policies: int, dtype: type) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Returns as at a discount of 0.9, the first policy never acting, and a budget of 4 % of acting always."""
    rng = np.random.default_rng(0)
    spend = rng.uniform(0, 10, (num_arms, num_policies))
    spend[:, 0] = 0
    rewards = rng.uniform(0, 10, (num_arms, 1)) + spend * rng.uniform(0, 1, (num_arms, 1))
    rewards += rng.uniform(0, 1, spend.shape)
    return jnp.asarray(rewards, dtype), jnp.asarray(spend, dtype), jnp.asarray(0.4 * num_arms, dtype)


def forward_and_backward(layer: Mixture) -> Callable[..., Any]:
    def loss(rewards: jax.Array, spend: jax.Array, budget: jax.Array) -> jax.Array:
        return jnp.sum(layer(rewards, spend, budget).mixture * spend)

    return jax.value_and_grad(loss, argnums=(0, 1))


def against_cvxpylayers(num_arms: int, num_policies: int) -> Iterator[Row]:
    """Forward and backward in float64, as cvxpylayers computes; with its defaults, and its own set-up apart."""
    size = f"{num_arms} × {num_policies}"
    with jax.enable_x64(True):
        problem = random_problem(num_arms, num_policies, np.float64)
        for regulariser, layer in SMOOTH.items():
            ours = measure(jax.jit(forward_and_backward(layer)), *problem, repeats=51)
            yield Row(f"{regulariser}, forward and backward", size, ours)
            for solver, tolerance in (("SCS", 1e-4), ("Clarabel", 1e-8)):
                reference = CvxpyMixture(regulariser, TEMPERATURE, solver=solver, tolerance=tolerance)  # type: ignore[arg-type]
                theirs = measure(forward_and_backward(reference), *problem, repeats=3)
                what, ratio = f"{regulariser}, cvxpylayers with {solver}", theirs.median / ours.median
                yield Row(what, size, theirs, f"{ratio:,.0f} × ours", numbers={"to_ours": ratio})


def bisection(rewards: jax.Array, spend: jax.Array, budget: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Algorithm 2 as printed but for the temperature and a bracket that grows: the price to the last digit.

    On the same layout and with the same sums over policies as ours, so that only the search differs.
    """
    gains, costs = rewards.T, spend.T

    def shares(price: jax.Array) -> jax.Array:
        net = (gains - price * costs) / TEMPERATURE
        return softmax(net - largest(net))

    def overspends(price: jax.Array) -> jax.Array:
        return jnp.sum(total(shares(price) * costs)) > budget

    def widen(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        return 2 * state[0], state[1] + 1

    def halve(state: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        lower, upper, steps = state
        middle = (lower + upper) / 2
        above = overspends(middle)
        return jnp.where(above, middle, lower), jnp.where(above, upper, middle), steps + 1

    upper, steps = jax.lax.while_loop(lambda state: overspends(state[0]), widen, (jnp.ones_like(budget), jnp.int32(1)))
    tolerance = 4 * np.finfo(budget.dtype).eps
    _, upper, steps = jax.lax.while_loop(
        lambda state: state[1] - state[0] > tolerance * state[1], halve, (jnp.zeros_like(budget), upper, steps)
    )
    return shares(upper).T, steps


def newton_against_bisection(num_arms: int, num_policies: int) -> list[Row]:
    with jax.enable_x64(True):
        problem = random_problem(num_arms, num_policies, np.float64)
        size = f"{num_arms:,} × {num_policies}"
        layer, solution = SMOOTH["entropy"], SMOOTH["entropy"](*problem)
        warm_price = 1.01 * solution.budget_price
        # Only the mixture is asked for, of each: no certificate that bisection does not give.
        newton = measure(jax.jit(lambda *problem: layer(*problem).mixture), *problem, repeats=51)
        halving = measure(jax.jit(lambda *problem: bisection(*problem)[0]), *problem, repeats=51)
        warm = jax.jit(lambda price, *problem: layer(*problem, initial_price=price).mixture)
        warm_time = measure(warm, warm_price, *problem, repeats=51)
        warm_steps = layer(*problem, initial_price=warm_price).num_steps
        return [
            Row("entropy forward, Newton in a bracket", size, newton, f"{solution.num_steps} steps"),
            Row("entropy forward, the same from a price 1 % off", size, warm_time, f"{warm_steps} steps"),
            Row("entropy forward, bisection", size, halving, f"{jax.jit(bisection)(*problem)[1]} steps"),
        ]


def growth_in_arms(sizes: tuple[int, ...]) -> Iterator[Row]:
    for num_arms in sizes:
        problem = random_problem(num_arms, 4, np.float32)
        for name, layer in SMOOTH.items():
            timing = measure(jax.jit(forward_and_backward(layer)), *problem, repeats=5)
            steps = layer(*problem).num_steps
            figure = f"{seconds(timing.median / num_arms)} an arm, {steps} steps"
            size, headline = f"{num_arms:,} × 4", num_arms == 1_000_000 and name == "entropy"
            numbers = {"arms": num_arms, "per_arm": timing.median / num_arms}
            yield Row(f"{name}, forward and backward, float32", size, timing, figure, headline, numbers)
        linear = measure(jax.jit(LinearMixture()), *problem, repeats=3)
        figure = f"{seconds(linear.median / num_arms)} an arm"
        yield Row("linear, forward, float32", size, linear, figure)


def growth_in_states() -> Iterator[Row]:
    for num_states in (2, 5, 8):
        problem = random_problem(100, 2**num_states, np.float32)
        for name, layer in SMOOTH.items():
            timing = measure(jax.jit(forward_and_backward(layer)), *problem, repeats=7)
            figure = f"{num_states} states, {seconds(timing.median / 100 / 2**num_states)} a policy"
            size = f"100 × {2**num_states}"
            yield Row(f"{name}, forward and backward, float32", size, timing, figure)


def all_rows(sizes: tuple[int, ...]) -> Iterator[Row]:
    for shape in ((76, 4), (100, 32)):
        yield from against_cvxpylayers(*shape)
    for shape in ((76, 4), (100, 32), (10_000, 4)):
        yield from newton_against_bisection(*shape)
    yield from growth_in_arms(sizes)
    yield from growth_in_states()


def main() -> None:
    given = arguments(__doc__, arms={"type": int, "nargs": "*", "default": ARMS})
    warnings.simplefilter("ignore")  # the solvers remark on their own accuracy
    report("mixtures", all_rows(tuple(given.arms)), packages=("cvxpylayers", "diffcp", "scs", "clarabel"))


if __name__ == "__main__":
    main()
