"""Whole training epochs, model and Adam included: every loss and every peer at the paper's three shapes.

Run with ``make bench``. Peers: a PyTorch port of Fast DEC-DFL, checked against ours before it is timed, and DEC-DFL
through cvxpylayers, whose epoch is taken from two of its steps. ``--full`` adds SIM-DFL with 10 trajectories, and SCS
at a tolerance of 1e-6, which takes minutes at five states.
"""

import warnings
from collections.abc import Iterator
from typing import Literal

import jax

import armwise as aw
from armwise.data import Cohorts
from benchmarks.epochs import FAST, FULL_ONLY, LOSSES, MSE, SHAPES, TEMPERATURE, cohorts, first_model, one_run, size_of
from benchmarks.harness import Row, Timing, arguments, measure, measure_in_turn, report

PORT = "Fast DEC-DFL (entropy), PyTorch port"
# The paper's seconds per epoch (the table in its "Computational Cost Results"), in the order of SHAPES.
PAPER = {
    "NLL": (0.69, 0.22, 0.24),
    MSE: (0.49, 0.15, 0.18),
    "SIM-DFL (1 trajectory)": (18.20, 6.51, 18.18),
    "SIM-DFL (10 trajectories)": (21.34, 8.83, 19.97),
    "SIM-DFL (100 trajectories)": (51.10, 29.33, 34.07),
    "SIM-DFL (1,000 trajectories)": (503.24, 305.69, 246.48),
    "DEC-DFL (L2, cvxpylayers": (4.63, 2.20, 46.28),
    "DEC-DFL (entropy, cvxpylayers": (19.51, 11.61, 289.62),
    FAST: (1.07, 0.39, 0.70),
}
HEADLINES = (FAST, PORT, "SIM-DFL (1,000 trajectories)", "DEC-DFL (entropy, cvxpylayers, Clarabel)")
Regulariser = Literal["entropy", "l2"]
Solver = Literal["SCS", "Clarabel"]
REGULARISERS: dict[str, Regulariser] = {"entropy": "entropy", "L2": "l2"}
SOLVERS: dict[str, tuple[Solver, float]] = {"SCS": ("SCS", 1e-4), "Clarabel": ("Clarabel", 1e-8)}
# Epochs in one measurement, and measurements, of losses by simulation; the first that matches.
EFFORT = {"(1,000": (1, 1), "(100": (1, 3), "SIM": (5, 3)}
FULL_SOLVERS: dict[str, tuple[Solver, float]] = {"SCS to 1e-6": ("SCS", 1e-6)}


def fast_epochs(data: Cohorts, num_epochs: int = 50) -> dict[str, Timing]:
    """Epochs of the losses that take about as long as one another, measured in turn."""
    runs = {label: one_run(data, loss, num_epochs) for label, loss in LOSSES.items() if "SIM" not in label}
    return {label: timing.per(num_epochs) for label, timing in measure_in_turn(runs, repeats=9).items()}


def slow_epoch(data: Cohorts, label: str) -> Timing:
    """An epoch of a loss by simulation; the slower it is, the fewer epochs and repeats."""
    num_epochs, repeats = next(effort for part, effort in EFFORT.items() if part in label)
    return measure(one_run(data, LOSSES[label], num_epochs), repeats=repeats).per(num_epochs)


def reference_epoch(data: Cohorts, regulariser: Regulariser, solver: Solver, tolerance: float) -> Timing:
    """An epoch's gradients through the solver that cannot be compiled, from the time of two of its steps.

    Both at the first weights: some of its gradients are NaN, and no problem can be solved at weights that are.
    """
    loss = aw.DecDFL(aw.CvxpyMixture(regulariser, TEMPERATURE, solver=solver, tolerance=tolerance))
    model = first_model(data)
    problem = aw.Problem(num_states=model.num_states)
    prepared = [loss.prepare(data[n].true_transitions, problem, data[n].budget) for n in range(2)]
    gradient = jax.grad(lambda model, features, prepared: loss(model(features), prepared))
    timing = measure(lambda: [gradient(model, data[n].features, prepared[n]) for n in range(2)], repeats=2)
    return timing.per(2 / data.num_cohorts)


def port_epoch(data: Cohorts) -> tuple[Timing, str]:
    """An epoch of the PyTorch port, and how it was run."""
    from benchmarks import torch_port  # PyTorch is installed for ``make bench`` only

    timing, threads, difference = torch_port.epoch_time(data)
    return timing, f", {threads} thread{'s' * (threads > 1)}, loss and gradient within {difference:.0e} of ours"


def timings(data: Cohorts, full: bool) -> Iterator[tuple[str, Timing, str]]:
    """Everything at one shape: its name, its time, and a remark."""
    for label, timing in fast_epochs(data).items():
        yield label, timing, ""
    for label in LOSSES:
        if "SIM" in label and (full or label not in FULL_ONLY):
            yield label, slow_epoch(data, label), ""
    yield PORT, *port_epoch(data)
    for regulariser, code in REGULARISERS.items():
        for solver, settings in (SOLVERS | FULL_SOLVERS if full else SOLVERS).items():
            yield f"DEC-DFL ({regulariser}, cvxpylayers, {solver})", reference_epoch(data, code, *settings), ""


def shape_rows(name: str, full: bool) -> Iterator[Row]:
    medians: dict[str, float] = {}
    for label, timing, remark in timings(cohorts(*SHAPES[name]), full):
        medians[label] = timing.median
        numbers = {"to_mse": timing.median / medians[MSE]}
        figure = f"{numbers['to_mse']:,.2f} × MSE"
        if FAST in medians and label not in (FAST, "Fast DEC-DFL (L2)"):
            numbers["to_fast"] = timing.median / medians[FAST]
            figure = f"{numbers['to_fast']:,.0f} × Fast DEC-DFL"
        paper = next((seconds for start, seconds in PAPER.items() if label.startswith(start) and label != PORT), None)
        if paper:
            numbers["paper"] = paper[list(SHAPES).index(name)]
        yield Row(label, size_of(name), timing, figure + remark, label in HEADLINES, numbers)


def main() -> None:
    given = arguments(__doc__, shapes={"nargs": "*", "choices": list(SHAPES), "default": list(SHAPES)})
    warnings.simplefilter("ignore")  # the solvers remark on their own accuracy
    rows = (row for name in given.shapes for row in shape_rows(name, given.full))
    report("training", rows, packages=("torch", "cvxpylayers", "diffcp", "scs", "clarabel"))


if __name__ == "__main__":
    main()
