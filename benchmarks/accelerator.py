"""The same on one accelerator: runs side by side, millions of arms in one cohort, joint evaluation, and the limit.

``python -m benchmarks.accelerator`` on a machine with one; jax, equinox, optax, jaxtyping, rich and numpy are enough
there. "Of the limit" compares with the time in which the bytes that cannot be avoided would cross the memory bus, at
the bandwidth that a copy reaches in the same run. Beside it stand the bytes and operations that XLA counts in the
program it compiled; of a loop of unknown length, such as the search for the price, it counts one turn.
"""

import argparse
import functools
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import armwise as aw
from armwise.data import Cohorts
from benchmarks.draws import draws_alone
from benchmarks.epochs import FAST, LOSSES, MSE, SHAPES, cohorts, first_model, many_runs, one_run
from benchmarks.harness import Row, Timing, arguments, measure, report

EPOCHS, CATEGORIES = 20, 44
JOINT = (60, 100, 10)  # cohorts, arms, calls
# Bytes for each arm of two states that no program avoids: predictions read and their gradient written (8 numbers
# each), and of the truth either the chains (MSE) or both returns of four policies (Fast DEC-DFL) read. Each price that
# the search tries reads what every policy promises and spends once more: no cache holds so many arms.
LOSS_BYTES = {MSE: 4 * (8 + 8 + 8), FAST: 4 * (8 + 8 + 8)}
PRICE_BYTES = 4 * (4 + 4)
# With a model in front, predictions need not be stored, but codes are read twice: for them and for the gradient.
EPOCH_BYTES = {MSE: 2 * CATEGORIES + 4 * 8, FAST: 2 * CATEGORIES + 4 * 8}


def bandwidth(megabytes: int) -> Timing:
    """Copying an array that is read once and written once; both count."""
    array = jnp.zeros(megabytes * 2**18, jnp.float32)
    return measure(jax.jit(lambda array: array + 1), array, repeats=20)


def peak_operations(size: int) -> Timing:
    """Multiplying two square float32 matrices without shortcuts: 2 · size³ operations."""
    matrix = jnp.ones((size, size), jnp.float32)
    return measure(jax.jit(lambda a: jnp.matmul(a, a, precision=jax.lax.Precision.HIGHEST)), matrix, repeats=5)


class Limits:
    """What this machine can do, measured: bytes and operations a second."""

    def __init__(self, megabytes: int, size: int):
        copy, product = bandwidth(megabytes), peak_operations(size)
        self.bytes = 2 * megabytes * 2**20 / copy.median
        self.operations = 2 * size**3 / product.median
        figure = f"{self.bytes / 1e9:,.0f} GB a second"
        numbers = {"bytes_a_second": self.bytes}
        self.rows = [Row("copying memory", f"{megabytes:,} MiB read and written", copy, figure, False, numbers)]
        figure, numbers = f"{self.operations / 1e12:,.1f} Tflop/s", {"operations_a_second": self.operations}
        self.rows.append(Row("multiplying matrices", f"{size:,} × {size:,}, float32", product, figure, False, numbers))

    def figures(self, timing: Timing, needed: float, cost: dict[str, float]) -> tuple[str, dict[str, float]]:
        """How near a measurement is to the limits, in words and in numbers."""
        counted, operations = cost.get("bytes accessed", 0.0), cost.get("flops", 0.0)
        numbers = {
            "needed_bytes": needed,
            "counted_bytes": counted,
            "operations": operations,
            "times_limit": timing.median * self.bytes / needed,
            "operations_share": operations / timing.median / self.operations,
        }
        figure = (
            f"{numbers['times_limit']:,.1f} × the bandwidth limit ({needed / 1e6:,.0f} MB needed, {counted / 1e6:,.0f} "
            f"counted), {numbers['operations_share']:.1%} of the operations"
        )
        return figure, numbers


def cost_of(function: Callable[..., Any], *arguments: Any) -> dict[str, float]:
    """XLA's count of bytes and operations of a compiled function."""
    cost: Any = jax.jit(function).lower(*arguments).compile().cost_analysis()
    return cost[0] if isinstance(cost, list) else cost or {}


def runs_row(name: str, label: str, num_runs: int) -> Row:
    """An epoch of so many runs at one of the paper's shapes."""
    data = cohorts(*SHAPES[name])
    epoch = measure(many_runs(data, LOSSES[label], EPOCHS, num_runs), repeats=5).per(EPOCHS)
    steps = num_runs * data.num_cohorts / epoch.median
    figure = f"{steps:,.0f} gradient steps a second"
    headline = name == "real-world" and num_runs == 400 and label == FAST
    return Row(label, f"{name}: {num_runs} runs side by side", epoch, figure, headline, {"steps_a_second": steps})


@functools.lru_cache(maxsize=1)  # drawing ten million people takes longer than any measurement of them
def one_large_cohort(num_arms: int) -> Cohorts:
    return cohorts(1, num_arms, 2, max(1, num_arms // 25), CATEGORIES, 0)


def cohort_row(num_arms: int, label: str, limits: Limits) -> Row:
    """An epoch, which is one step, over one cohort with 44 categories; prices are counted with the first weights."""
    data, loss = one_large_cohort(num_arms), LOSSES[label]
    epoch = measure(one_run(data, loss, EPOCHS), repeats=5).per(EPOCHS)
    one, model = data[0], first_model(data)
    prepared = loss.prepare(aw.CohortTruth.of(one, aw.Problem()))
    step = jax.value_and_grad(lambda model, features, prepared: loss(model(features), prepared))
    needed = (EPOCH_BYTES[label] + PRICE_BYTES * prices_tried(loss, model(one.features), prepared)) * num_arms
    figure, numbers = limits.figures(epoch, needed, cost_of(step, model, one.features, prepared))
    return Row(label, f"one cohort of {num_arms:,} arms, 44 categories", epoch, figure, label == FAST, numbers)


def prices_tried(loss: aw.Loss, predicted: jax.Array, prepared: Any) -> int:
    """How many prices the search tries; 0 for a loss without one."""
    return int(jax.jit(loss.solve)(predicted, prepared).num_steps) if isinstance(loss, aw.DecDFL) else 0


def loss_row(num_arms: int, label: str, limits: Limits) -> Row:
    """The loss and its gradient alone, by the predictions."""
    one, loss = one_large_cohort(num_arms)[0], LOSSES[label]
    prepared = loss.prepare(aw.CohortTruth.of(one, aw.Problem()))
    predicted = jax.nn.softmax(jax.random.normal(jax.random.key(0), one.true_transitions.shape), axis=-1)
    step = jax.value_and_grad(lambda predicted, prepared: loss(predicted, prepared))
    timing = measure(jax.jit(step), predicted, prepared, repeats=21)
    tried = prices_tried(loss, predicted, prepared)
    needed = (LOSS_BYTES[label] + PRICE_BYTES * tried) * num_arms
    figure, numbers = limits.figures(timing, needed, cost_of(step, predicted, prepared))
    if tried:
        numbers["prices"] = float(tried)
        figure += f", {tried} prices tried"
    return Row(f"{label}, loss and gradient alone", f"{num_arms:,} arms", timing, figure, label == FAST, numbers)


def joint_rows(num_states: int, trajectories: int) -> list[Row]:
    """Joint evaluation, which simulates three policies, beside drawing the random numbers of one simulation."""
    num_cohorts, num_arms, calls = JOINT
    data, problem = cohorts(num_cohorts, num_arms, num_states, calls, 0, 1), aw.Problem(num_states=num_states)
    predicted, true, horizon = (
        jnp.roll(data.true_transitions, 1, axis=1),
        data.true_transitions,
        aw.default_horizon(0.9),
    )
    arguments = (jax.random.key(1), predicted, true, problem, data.budget, trajectories)
    quality = measure(lambda: aw.joint_decision_quality(*arguments), repeats=5)
    draws = measure(draws_alone(num_cohorts * num_arms, trajectories, horizon), jax.random.key(2)[None], repeats=5)
    size = f"{num_cohorts} cohorts × {num_arms} arms × {trajectories:,} trajectories, {num_states} states"
    rows = []
    for what, timing, number in (("joint evaluation, three policies", quality, 3), ("random numbers of one", draws, 1)):
        speed = number * num_cohorts * num_arms * trajectories * horizon / timing.median
        figure = f"{speed / 1e6:,.0f} million arm-steps a second"
        rows.append(Row(what, size, timing, figure, number == 3, {"arm_steps_a_second": speed}))
    return rows


def all_rows(given: argparse.Namespace) -> Iterator[Row]:
    """The most wanted first: time on such a machine may run out."""
    limits, (first, *larger) = Limits(given.megabytes, given.matrix), given.arms
    yield from limits.rows
    yield from cohort_rows(first, limits)
    for number, name in itertools.product(sorted(given.runs, reverse=True), SHAPES):
        for label in (MSE, FAST):
            yield runs_row(name, label, number)
    for num_states in (2, 5):
        yield from joint_rows(num_states, given.trajectories)
    for number in larger:
        yield from cohort_rows(number, limits)


def cohort_rows(num_arms: int, limits: Limits) -> Iterator[Row]:
    for label in (MSE, FAST):
        yield loss_row(num_arms, label, limits)
        yield cohort_row(num_arms, label, limits)


def main() -> None:
    given = arguments(
        __doc__,
        out={"type": Path, "help": "write the results into this file instead of benchmarks/results"},
        runs={"type": int, "nargs": "*", "default": (1, 50, 400)},
        arms={"type": int, "nargs": "*", "default": (3_000_000, 10_000_000)},
        trajectories={"type": int, "default": 1000},
        megabytes={"type": int, "default": 2048},
        matrix={"type": int, "default": 8192},
    )
    report("accelerator", all_rows(given), "python -m benchmarks.accelerator", out=given.out)


if __name__ == "__main__":
    main()
