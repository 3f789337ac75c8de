"""docs/performance.md's plot: an epoch's time for every loss and peer at the paper's three shapes, beside the paper's.

Drawn from ``benchmarks/results/training.json`` by ``python -m benchmarks.pages``.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import matplotlib

from benchmarks.epochs import FAST, SHAPES
from benchmarks.harness import load, rows_of, seconds

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.lines import Line2D

TARGET = Path(__file__).parents[1] / "docs" / "images" / "epochs.svg"
# From the fastest kind to the slowest: how each is named on the plot.
NAMES = {
    "MSE": "MSE",
    "NLL": "NLL",
    FAST: "Fast DEC-DFL, entropy",
    "Fast DEC-DFL (L2)": "Fast DEC-DFL, L2",
    "Fast DEC-DFL (entropy), PyTorch port": "Fast DEC-DFL, entropy: PyTorch port",
    "SIM-DFL (1 trajectory)": "SIM-DFL, 1 trajectory",
    "SIM-DFL (100 trajectories)": "SIM-DFL, 100 trajectories",
    "SIM-DFL (1,000 trajectories)": "SIM-DFL, 1,000 trajectories",
    "DEC-DFL (L2, cvxpylayers, SCS)": "DEC-DFL, L2: cvxpylayers, SCS",
    "DEC-DFL (L2, cvxpylayers, Clarabel)": "DEC-DFL, L2: cvxpylayers, Clarabel",
    "DEC-DFL (entropy, cvxpylayers, SCS)": "DEC-DFL, entropy: cvxpylayers, SCS",
    "DEC-DFL (entropy, cvxpylayers, Clarabel)": "DEC-DFL, entropy: cvxpylayers, Clarabel",
}
OURS, PEERS, PAPER = "#0b6e4f", "#c8791d", "#6b7280"
HIGHLIGHT = list(NAMES).index(FAST)
FOREIGN = ("Fast DEC-DFL (entropy), PyTorch", "DEC-DFL")  # what does not run on armwise's own layers

Values = dict[str, dict[str, tuple[float, float | None]]]


def values() -> Values:
    """By shape and loss: seconds measured, and the paper's."""
    rows, shapes = rows_of(load("training")), {}
    for shape in SHAPES:
        mine = {row.what: row for row in rows if row.size.startswith(shape + ":") and row.timing}
        shapes[shape] = {
            name: (mine[name].timing.median, mine[name].numbers.get("paper"))  # type: ignore[union-attr]
            for name in NAMES
            if name in mine
        }
    return shapes


def fingerprint(shapes: Values) -> str:
    """Of the numbers drawn; the picture carries it, so that a test can tell whether it is up to date."""
    return hashlib.sha256(json.dumps(shapes, sort_keys=True).encode()).hexdigest()[:16]


def draw_shape(axes: Any, measured: dict[str, tuple[float, float | None]]) -> None:
    """One panel: a dot for each loss, a mark where the paper has a figure."""
    axes.axhspan(HIGHLIGHT - 0.5, HIGHLIGHT + 0.5, color="#e7f3ee")
    for place, label in enumerate(NAMES):
        if label not in measured:
            continue
        value, paper = measured[label]
        axes.plot(value, place, marker="o", color=PEERS if label.startswith(FOREIGN) else OURS, markersize=6)
        # The text goes to the side on which the paper's mark is not.
        side = -1 if paper is not None and 1 <= paper / value < 200 else 1
        where, align = (7 * side, 0), "left" if side > 0 else "right"
        axes.annotate(seconds(value), (value, place), where, "data", "offset points", va="center", ha=align, fontsize=7)
        if paper is not None:
            axes.plot(paper, place, marker="|", color=PAPER, markersize=10, markeredgewidth=2)
    axes.set(xscale="log", xlim=(3e-5, 3e4))
    axes.set_xticks([1e-4, 1e-2, 1e0, 1e2], ["0.1 ms", "10 ms", "1 s", "100 s"])
    axes.minorticks_off()
    axes.grid(color="#e5e7eb", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)


def draw() -> Any:
    """The figure."""
    plt.rcParams.update({"font.family": "DejaVu Sans", "font.size": 8, "svg.hashsalt": "armwise"})
    figure, panels = plt.subplots(1, len(SHAPES), sharey=True, figsize=(10.5, 4.0), layout="constrained")
    shapes = values()
    for axes, (name, measured) in zip(panels, shapes.items(), strict=True):
        cohorts, arms = SHAPES[name][:2]
        draw_shape(axes, measured)
        axes.set_title(f"{name}\n{cohorts} cohorts × {arms} arms", fontsize=8.5)
    panels[0].set_yticks(range(len(NAMES)), NAMES.values())
    panels[0].invert_yaxis()
    marks = [
        Line2D([], [], color=OURS, marker="o", linestyle="none"),
        Line2D([], [], color=PEERS, marker="o", linestyle="none"),
        Line2D([], [], color=PAPER, marker="|", markersize=11, markeredgewidth=2, linestyle="none"),
    ]
    figure.legend(
        marks, ["armwise", "peers", "the paper's own figure"], loc="outside lower right", ncols=3, frameon=False
    )
    figure.supxlabel("time of an epoch, log scale", fontsize=8, x=0.35)
    return figure


def main() -> None:
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    draw().savefig(TARGET, metadata={"Date": None, "Description": f"results {fingerprint(values())}"})


if __name__ == "__main__":
    main()
