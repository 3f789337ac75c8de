"""Whole training epochs, model and Adam included: every loss at the paper's shapes, and one cohort of up to a million.

Run with ``make bench``. An epoch is one pass over the training cohorts, one gradient step each, inside ``train``'s own
compiled program; validation is left out, as it is in the paper's table.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import armwise as aw
from armwise.data import Cohorts, Features
from armwise.models import Linear
from armwise.training import TrainConfig
from armwise.training.engine import advance_one, make_material
from armwise.training.run import Run, State, first_state
from benchmarks.harness import Row, Timing, measure, report

COMMAND = "make bench"
# Training cohorts, arms, states, budget, categorical features, numeric features.
SHAPES = {
    "real-world": (60, 76, 2, 3, 44, 0),
    "synthetic, 2 states": (20, 100, 2, 10, 0, 16),
    "synthetic, 5 states": (20, 100, 5, 10, 0, 16),
}
FAST = "Fast DEC-DFL (entropy)"
LOSSES: dict[str, tuple[aw.Loss, int]] = {  # with the epochs that one measurement takes
    "MSE": (aw.MeanSquaredError(), 50),
    "NLL": (aw.NegativeLogLikelihood(), 50),
    FAST: (aw.DecDFL(aw.EntropyMixture(0.1)), 50),
    "Fast DEC-DFL (L2)": (aw.DecDFL(aw.QuadraticMixture(0.1)), 50),
    "SIM-DFL (1 trajectory)": (aw.SimDFL(1), 5),
    "SIM-DFL (10 trajectories)": (aw.SimDFL(10), 5),
    "SIM-DFL (100 trajectories)": (aw.SimDFL(100), 2),
    "SIM-DFL (1,000 trajectories)": (aw.SimDFL(1000), 1),
}
REFERENCES = {
    "DEC-DFL (entropy, cvxpylayers)": aw.DecDFL(aw.CvxpyMixture("entropy", 0.1, solver="SCS", tolerance=1e-6)),
    "DEC-DFL (L2, cvxpylayers)": aw.DecDFL(aw.CvxpyMixture("l2", 0.1, solver="SCS", tolerance=1e-6)),
}
# The paper's seconds per epoch (the table in its "Computational Cost Results"), in the order of SHAPES.
PAPER = {
    "NLL": (0.69, 0.22, 0.24),
    "MSE": (0.49, 0.15, 0.18),
    "SIM-DFL (1 trajectory)": (18.20, 6.51, 18.18),
    "SIM-DFL (10 trajectories)": (21.34, 8.83, 19.97),
    "SIM-DFL (100 trajectories)": (51.10, 29.33, 34.07),
    "SIM-DFL (1,000 trajectories)": (503.24, 305.69, 246.48),
    "DEC-DFL (L2, cvxpylayers)": (4.63, 2.20, 46.28),
    "DEC-DFL (entropy, cvxpylayers)": (19.51, 11.61, 289.62),
    FAST: (1.07, 0.39, 0.70),
}
LEVELS = 6


def cohorts(num_cohorts: int, arms: int, states: int, budget: int, categorical: int, numeric: int) -> Cohorts:
    """Cohorts of the given shape with made-up content: only the time matters here."""
    rng = np.random.default_rng(0)
    people = (num_cohorts, arms)
    true = rng.dirichlet(np.ones(states), (*people, states, 2)).astype(np.float32)
    features = Features(
        rng.normal(size=(*people, numeric)).astype(np.float32),
        rng.integers(0, LEVELS, (*people, categorical)),
        (LEVELS,) * categorical,
    )
    return Cohorts(features, true, rng.poisson(3 * true).astype(np.float32), budget)


def prepared_run(data: Cohorts, loss: aw.Loss, num_epochs: int) -> tuple[Callable[[], State], Any]:
    """A function that runs so many epochs, and the model it starts from."""
    config, states = TrainConfig(num_epochs=num_epochs), data.true_transitions.shape[-1]
    model = Linear(jax.random.key(0), data.features, states)
    weights, frozen = eqx.partition(model, eqx.is_inexact_array)
    material = make_material(data, [loss], frozen, aw.Problem(num_states=states), config)
    numbers = jnp.arange(data.num_cohorts)
    run = Run(jax.random.key(1), jnp.float32(1e-2), jnp.zeros((), int), numbers, numbers[:0])
    state, last = first_state(weights, config), jnp.asarray(num_epochs)
    return lambda: advance_one(state, run, material, config, last), model


def of_one_epoch(timing: Timing, num_epochs: float) -> Timing:
    median, fastest, slowest = (value / num_epochs for value in (timing.median, timing.fastest, timing.slowest))
    return Timing(median, fastest, slowest, timing.compile)


def reference_epoch(data: Cohorts, loss: aw.Loss) -> Timing:
    """An epoch's gradients through the solver that cannot be compiled, from the time of two of its steps.

    Both at the first weights: some of its gradients are NaN, and no problem can be solved at weights that are.
    """
    states = data.true_transitions.shape[-1]
    model = Linear(jax.random.key(0), data.features, states)
    problem = aw.Problem(num_states=states)
    prepared = [loss.prepare(data[n].true_transitions, problem, data[n].budget) for n in range(2)]
    gradient = jax.grad(lambda model, features, prepared: loss(model(features), prepared))
    timing = measure(lambda: [gradient(model, data[n].features, prepared[n]) for n in range(2)], repeats=2)
    return of_one_epoch(timing, 2 / data.num_cohorts)


def shape_rows(name: str, shape: tuple[int, ...]) -> list[Row]:
    data = cohorts(*shape)
    timings = {}
    for label, (loss, num_epochs) in LOSSES.items():
        run, _ = prepared_run(data, loss, num_epochs)
        timings[label] = of_one_epoch(
            measure(run, repeats=1 if "1,000" in label else 3 if "SIM" in label else 7), num_epochs
        )
    for label, loss in REFERENCES.items():
        timings[label] = reference_epoch(data, loss)
    fast, mse = timings[FAST].median, timings["MSE"].median
    size = f"{name}: {shape[0]} × {shape[1]} arms"
    rows = []
    for label, timing in timings.items():
        figure = f"{timing.median / mse:,.2f} × MSE"
        if "SIM" in label or "cvxpylayers" in label:
            figure = f"{timing.median / fast:,.0f} × Fast DEC-DFL"
        if label in PAPER:
            figure += f"; paper: {PAPER[label][list(SHAPES).index(name)]} s"
        rows.append(Row(label, size, timing, figure))
    return rows


def one_large_cohort(num_arms: int, label: str) -> dict[str, Any]:
    """An epoch over one cohort in a process of its own: its time, and the most memory that it ever held."""
    arguments = [sys.executable, "-m", "benchmarks.training", "--cohort", str(num_arms), "--loss", label]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def measure_cohort(num_arms: int, label: str) -> dict[str, Any]:
    """Time and peak memory, in MB, in this process."""
    data = cohorts(1, num_arms, 2, num_arms // 25, 44, 0)
    run, _ = prepared_run(data, LOSSES[label][0], 3)
    timing = of_one_epoch(measure(run, repeats=3), 3)
    # Not getrusage: on Linux a child's peak begins at its parent's.
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return {"timing": vars(timing), "peak": int(peak.split()[1]) / 1e3}


def growth_rows() -> list[Row]:
    rows = []
    for num_arms in (10_000, 100_000, 1_000_000):
        results = {label: one_large_cohort(num_arms, label) for label in ("MSE", FAST)}
        for label, result in results.items():
            timing = Timing(**result["timing"])
            ratio = timing.median / results["MSE"]["timing"]["median"]
            figure = f"{timing.median / num_arms * 1e9:.0f} ns an arm, {ratio:.2f} × MSE, peak {result['peak']:,.0f} MB"
            rows.append(Row(label, f"one cohort of {num_arms:,} arms, 44 features", timing, figure))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cohort", type=int, help="only measure one cohort of so many arms, and print JSON")
    parser.add_argument("--loss", choices=list(LOSSES), default=FAST)
    given = parser.parse_args()
    if given.cohort:
        print(json.dumps(measure_cohort(given.cohort, given.loss)))
        return
    rows = [row for name, shape in SHAPES.items() for row in shape_rows(name, shape)]
    report("training", rows + growth_rows(), COMMAND)


if __name__ == "__main__":
    main()
