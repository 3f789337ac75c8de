"""How time and memory grow: arms in one cohort, states, runs side by side; Fast DEC-DFL beside the squared error.

Run with ``make bench``; each row in a process of its own. ``--full`` adds sizes between and goes on to 20 states. What
needs more than 80 % of the free memory, or more than its time, is ended and said to be too large.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import armwise as aw
from armwise.losses.policy_sets import POLICY_SETS
from benchmarks.apart import OUT_OF_MEMORY, measure_apart
from benchmarks.epochs import FAST, LOSSES, MSE, SHAPES, TEMPERATURE, cohorts, many_runs, one_run
from benchmarks.harness import Row, Timing, arguments, gigabytes, measure, peak_memory, report, seconds

SIZES: dict[str, tuple[int, ...]] = {
    "arms": (100, 10_000, 100_000, 1_000_000, 10_000_000),
    "states": (2, 5, 8, 10, 12, 14, 16),
    "runs": (1, 50, 400),
}
FULL_SIZES = {"arms": (1_000, 3_000_000), "states": (3, 4, 6, 7, 9, 20), "runs": (10, 100, 200)}
HEADLINE_STATES = 10
NUM_ARMS = 100  # of the cohort whose states grow
TIME_LIMIT, FULL_TIME_LIMIT = 60.0, 600.0  # seconds of processor time


def of_arms(num_arms: int, label: str) -> Timing:
    """An epoch, which is one step, over one cohort with 44 categories."""
    data = cohorts(1, num_arms, 2, max(1, num_arms // 25), 44, 0)
    num_epochs = max(1, min(1000, 3_000_000 // num_arms))
    return measure(one_run(data, LOSSES[label], num_epochs), repeats=3).per(num_epochs)


def of_states(num_states: int, label: str) -> Timing:
    """A loss and its gradient on one cohort; the label is a loss or a set of policies to mix."""
    rng = np.random.default_rng(0)
    true, predicted = (rng.dirichlet(np.ones(num_states), (NUM_ARMS, num_states, 2)) for _ in range(2))
    loss = LOSSES[MSE] if label == MSE else aw.DecDFL(aw.EntropyMixture(TEMPERATURE), policies=label)
    prepared = loss.prepare(aw.CohortTruth(true.astype(np.float32), aw.Problem(num_states=num_states), NUM_ARMS // 10))
    step = jax.jit(jax.value_and_grad(lambda logits: loss(jax.nn.softmax(logits, axis=-1), prepared)))
    return measure(step, jnp.log(jnp.asarray(predicted, jnp.float32)), repeats=9)


def of_runs(num_runs: int, label: str) -> Timing:
    """An epoch of so many runs at the real-world shape."""
    num_epochs = max(1, 40 // num_runs)
    data = cohorts(*SHAPES["real-world"])
    return measure(many_runs(data, LOSSES[label], num_epochs, num_runs), repeats=3).per(num_epochs)


KINDS = {"arms": of_arms, "states": of_states, "runs": of_runs}


def measure_here(kind: str, size: int, label: str) -> None:
    """In a process of its own: print the time and the peak of memory."""
    try:
        timing = KINDS[kind](size, label)
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error) and "Out of memory" not in str(error):
            raise
        sys.exit(OUT_OF_MEMORY)
    print(json.dumps({"timing": vars(timing), "peak": peak_memory()}))


def row(kind: str, size: int, label: str, what: str, where: str, limit: float, headline: bool = False) -> Row:
    """A row without its ratio, or one that says why there is none."""
    result = measure_apart("benchmarks.growth", "--kind", kind, "--size", str(size), "--label", label, time_limit=limit)
    if isinstance(result, str):
        return Row(what, where, None, result, headline)
    return Row(what, where, Timing(**result["timing"]), "", headline, {"size": size, "peak": result["peak"]})


def with_figure(one: Row, base: Row, unit: str, units: float) -> Row:
    """The row with what it takes per unit, as a multiple of the base, and at its peak of memory."""
    if one.timing is None:
        return one
    numbers = one.numbers | {"per_unit": one.timing.median / units}
    figure = f"{seconds(numbers['per_unit'])} {unit}, "
    if base.timing is not None:
        numbers["to_mse"] = one.timing.median / base.timing.median
        figure += f"{numbers['to_mse']:.2f} × MSE, "
    figure += f"peak {gigabytes(one.numbers['peak'])}"
    return Row(one.what, one.size, one.timing, figure, one.headline, numbers)


def arms_rows(sizes: tuple[int, ...], limit: float) -> Iterator[Row]:
    for size in sizes:
        where, headline = f"one cohort of {size:,} arms, 44 categories", size >= SIZES["arms"][-1]
        base = row("arms", size, MSE, MSE, where, limit)
        yield with_figure(base, base, "an arm", size)
        yield with_figure(row("arms", size, FAST, FAST, where, limit, headline), base, "an arm", size)


def states_rows(sizes: tuple[int, ...], limit: float) -> Iterator[Row]:
    """Sets of policies stop growing at the first size that is too large."""
    ended = set[str]()
    for size in sizes:
        where = f"{NUM_ARMS} arms × {size} states, loss and gradient"
        base = row("states", size, MSE, MSE, where, limit)
        yield with_figure(base, base, "an arm", NUM_ARMS)
        for label in POLICY_SETS:
            if label not in ended:
                what = f"{FAST}, {label} policies"
                one = row("states", size, label, what, where, limit, size == HEADLINE_STATES)
                yield with_figure(one, base, "an arm", NUM_ARMS)
                ended |= {label} if one.timing is None else set()


def runs_rows(sizes: tuple[int, ...], limit: float) -> Iterator[Row]:
    for size in sizes:
        where, headline = f"real-world: {size} runs side by side", size == SIZES["runs"][-1]
        base = row("runs", size, MSE, MSE, where, limit)
        yield with_figure(base, base, "a run", size)
        yield with_figure(row("runs", size, FAST, FAST, where, limit, headline), base, "a run", size)


def all_rows(given: argparse.Namespace) -> Iterator[Row]:
    limit = FULL_TIME_LIMIT if given.full else TIME_LIMIT
    chosen = {name: SIZES[name] + (FULL_SIZES[name] if given.full else ()) for name in SIZES}
    chosen |= {name: tuple(vars(given)[name]) for name in SIZES if vars(given)[name] is not None}
    yield from arms_rows(tuple(sorted(chosen["arms"])), limit)
    yield from states_rows(tuple(sorted(chosen["states"])), limit)
    yield from runs_rows(tuple(sorted(chosen["runs"])), limit)


def main() -> None:
    numbers: dict[str, Any] = {"type": int, "nargs": "*"}
    own = {"kind": {"choices": list(KINDS)}, "size": {"type": int}, "label": {}}
    given = arguments(__doc__, arms=numbers, states=numbers, runs=numbers, **own)
    if given.kind:
        measure_here(given.kind, given.size, given.label)
    else:
        report("growth", all_rows(given))


if __name__ == "__main__":
    main()
