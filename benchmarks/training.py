"""Whole training epochs, model and Adam included: every loss and every peer at the paper's three shapes.

Run with ``make bench``. Peers: a PyTorch port of Fast DEC-DFL, checked against ours before it is timed, and DEC-DFL
through cvxpylayers, whose epoch is taken from two of its steps. ``--full`` adds SIM-DFL with 10 trajectories, and SCS
at a tolerance of 1e-6, which takes minutes at five states.
"""

import warnings
from collections.abc import Iterator
from typing import Literal

import armwise as aw
from armwise.data import Cohorts
from benchmarks.epochs import FAST, FULL_ONLY, LOSSES, MSE, SHAPES, TEMPERATURE, cohorts, first_model, one_run, size_of
from benchmarks.harness import Row, Timing, arguments, measure, measure_in_turn, report
from reproduction.paper.printed import FIGURE_2A
from reproduction.paper.times import solver_steps

PORT = "Fast DEC-DFL (entropy), PyTorch port"
# How the paper's own table, whose columns are in the order of SHAPES, names what these labels begin with.
IN_PAPER = {
    "NLL": "nll",
    MSE: "mse",
    "SIM-DFL (1 trajectory)": "sim-1",
    "SIM-DFL (10 trajectories)": "sim-10",
    "SIM-DFL (100 trajectories)": "sim-100",
    "SIM-DFL (1,000 trajectories)": "sim-1000",
    "DEC-DFL (L2, cvxpylayers": "dec-l2-cvxpy",
    "DEC-DFL (entropy, cvxpylayers": "dec-entropy-cvxpy",
    FAST: "fast-entropy",
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
    """An epoch's gradients through the solver that cannot be compiled, from the time of two of its steps."""
    loss = aw.DecDFL(aw.CvxpyMixture(regulariser, TEMPERATURE, solver=solver, tolerance=tolerance))
    model = first_model(data)
    steps = solver_steps(loss, data, model, aw.Problem(num_states=model.num_states))
    return measure(steps, 2, repeats=2).per(2 / data.num_cohorts)


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
        theirs = next((code for start, code in IN_PAPER.items() if label.startswith(start) and label != PORT), None)
        entry = FIGURE_2A[theirs][list(SHAPES).index(name)] if theirs else None
        if entry:
            numbers["paper"] = entry[0]
        yield Row(label, size_of(name), timing, figure + remark, label in HEADLINES, numbers)


def main() -> None:
    given = arguments(__doc__, shapes={"nargs": "*", "choices": list(SHAPES), "default": list(SHAPES)})
    warnings.simplefilter("ignore")  # the solvers remark on their own accuracy
    rows = (row for name in given.shapes for row in shape_rows(name, given.full))
    report("training", rows, packages=("torch", "cvxpylayers", "diffcp", "scs", "clarabel"))


if __name__ == "__main__":
    main()
