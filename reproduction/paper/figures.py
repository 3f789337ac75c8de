"""The paper's figures as SVG and PNG. Needs the extra ``figures``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from armwise.errors import ArmwiseError, InvalidInputError
from reproduction.runs.protocol import LOSSES
from reproduction.runs.records import HistoryRow, IndexRow, group_by
from reproduction.runs.summary import Summary

# One colour and line per loss in all figures: SIM-DFL from light to dark with its trajectories, the others from the
# palette of Okabe and Ito, which the colour-blind can tell apart.
STYLES: dict[str, tuple[str, str]] = {
    "nll": ("#7a7a7a", ":"),
    "mse": ("#000000", "--"),
    "sim-1": ("#f7b267", "-"),
    "sim-10": ("#f4845f", "-"),
    "sim-100": ("#d1495b", "-"),
    "sim-1000": ("#6d1a36", "-"),
    "dec-l2-cvxpy": ("#56b4e9", "-."),
    "dec-entropy-cvxpy": ("#0072b2", "-."),
    "fast-entropy": ("#009e73", "-"),
    "fast-l2": ("#0072b2", "-"),
    "price": ("#cc79a7", "-"),
}
# Figure 3's panels, as in the paper where it has them.
PANELS = ("nll", "mse", "sim-1", "sim-10", "sim-100", "fast-entropy", "fast-l2", "price")


class MissingMatplotlibError(ArmwiseError, ImportError):
    """Figures need Matplotlib, which is not installed."""


def figure_2b(
    history: Sequence[HistoryRow], summaries: Sequence[Summary], folder: Path, domains: Sequence[str]
) -> list[Path]:
    """Validation quality by epoch, every loss at the hyperparameters that its validation loss prefers.

    Args:
        history: validation by epoch, with a quality.
        summaries: which hyperparameters were chosen.
        folder: where ``figure2b.svg`` and ``figure2b.png`` go.
        domains: a panel each.

    Returns:
        The two files.
    """
    plt = _pyplot()
    chosen = {(one.domain, one.loss): one for one in summaries if one.model == "linear" and not one.variant}
    curves = {
        place: _curve(history, one)
        for place, one in chosen.items()
        if place[0] in domains and _has_quality(history, one)
    }
    present = [name for name in domains if any(place[0] == name for place in curves)]
    if not present:
        raise InvalidInputError("No run measured a validation quality by epoch: run the jobs with quality='joint'.")
    figure, panels = plt.subplots(
        1, len(present), figsize=(3.1 * len(present) + 2.3, 3.1), squeeze=False, layout="constrained"
    )
    for axes, name in zip(panels[0], present, strict=True):
        for loss in LOSSES:
            if (name, loss) in curves:
                _draw_curve(axes, loss, *curves[name, loss])
        axes.axhline(0, color="#bbbbbb", linewidth=0.8, zorder=0)
        axes.set(title=name, xlabel="epoch")
        axes.locator_params(axis="x", integer=True, nbins=5)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0][0].set_ylabel("validation quality\n(0: never act, 1: perfect predictions)")
    _legend(figure, panels[0])
    return _save(plt, figure, folder / "figure2b")


def figure_3(rows: Sequence[IndexRow], folder: Path, domain: str) -> list[Path]:
    """Predicted against true Whittle indices of the test cohorts, a panel per loss, the highest predicted ones shaded.

    Args:
        rows: indices of each loss's run.
        folder: where ``figure3.svg`` and ``figure3.png`` go.
        domain: of which domain.

    Returns:
        The two files.
    """
    plt = _pyplot()
    by_loss = {loss: own for (loss,), own in group_by([row for row in rows if row.domain == domain], "loss").items()}
    present = [loss for loss in PANELS if loss in by_loss]
    if not present:
        raise InvalidInputError(f"No Whittle indices of {domain!r} were kept: run its jobs with keep_indices.")
    width = min(4, len(present))
    height = -(-len(present) // width)
    size = (2.5 * width + 0.4, 2.45 * height + 0.35)
    figure, panels = plt.subplots(height, width, figsize=size, squeeze=False, sharex=True, layout="constrained")
    for place, axes in enumerate(panels.ravel()):
        axes.set_visible(place < len(present))
        axes.tick_params(labelsize=8, labelbottom=place + width >= len(present))
    for axes, loss in zip(panels.ravel(), present, strict=False):
        _draw_indices(axes, loss, by_loss[loss])
    figure.supxlabel("true Whittle index", fontsize=10)
    figure.supylabel("predicted Whittle index", fontsize=10)
    return _save(plt, figure, folder / "figure3")


def top_share(rows: Sequence[IndexRow]) -> tuple[float, float, float]:
    """The predicted index above which the budget's share of states lies, and the mean true index there and overall."""
    predicted = np.array([row.predicted_index for row in rows])
    true = np.array([row.true_index for row in rows])
    num_arms = 1 + max(row.arm for row in rows)
    share = np.mean([row.budget for row in rows]) / num_arms
    cut = float(np.quantile(predicted, 1 - share))
    return cut, float(true[predicted >= cut].mean()), float(true.mean())


def _draw_indices(axes: Any, loss: str, rows: Sequence[IndexRow]) -> None:
    cut, there, overall = top_share(rows)
    predicted = np.array([row.predicted_index for row in rows])
    true = np.array([row.true_index for row in rows])
    margin = 0.06 * (predicted.max() - predicted.min() + 1e-9)
    lowest, highest = predicted.min() - margin, predicted.max() + 4 * margin
    axes.axhspan(cut, highest, color="#56b4e9", alpha=0.22, linewidth=0)
    above = predicted >= cut
    for inside, colour in ((~above, "#8a8a8a"), (above, "#0072b2")):
        axes.scatter(true[inside], predicted[inside], s=5, color=colour, alpha=0.45, linewidths=0, rasterized=True)
    axes.set_ylim(lowest, highest)
    axes.set_title(LOSSES[loss].label, fontsize=9)
    text = f"mean true index: {there:.2f} shaded, {overall:.2f} all"
    axes.text(0.03, 0.97, text, transform=axes.transAxes, fontsize=7, va="top")
    axes.spines[["top", "right"]].set_visible(False)
    axes.locator_params(axis="x", nbins=4)


def _has_quality(history: Sequence[HistoryRow], summary: Summary) -> bool:
    return any(not np.isnan(row.validation_quality) for row in _of(history, summary))


def _of(history: Sequence[HistoryRow], summary: Summary) -> list[HistoryRow]:
    place = (summary.domain, summary.variant, summary.model, summary.loss, summary.temperature, summary.learning_rate)
    return [
        row
        for row in history
        if (row.domain, row.variant, row.model, row.loss, row.temperature, row.learning_rate) == place
    ]


def _curve(history: Sequence[HistoryRow], summary: Summary) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = sorted(_of(history, summary), key=lambda row: row.epoch)
    columns = [[row.epoch for row in rows], [row.validation_quality for row in rows]]
    return np.array(columns[0]), np.array(columns[1]), np.array([row.validation_quality_error for row in rows])


def _draw_curve(axes: Any, loss: str, epochs: np.ndarray, means: np.ndarray, errors: np.ndarray) -> None:
    colour, line = STYLES[loss]
    is_ours = loss.startswith("fast")
    axes.plot(epochs, means, line, color=colour, linewidth=2 if is_ours else 1.3, label=LOSSES[loss].label)
    if not np.isnan(errors).any():
        axes.fill_between(epochs, means - errors, means + errors, color=colour, alpha=0.12, linewidth=0)


def _legend(figure: Any, panels: Any) -> None:
    """One for all panels, in the order of the tables."""
    handles: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    labels = [family.label for family in LOSSES.values() if family.label in handles]
    found = [handles[label] for label in labels]
    figure.legend(found, labels, loc="outside right center", frameon=False, fontsize=8, handlelength=2.6)


def _save(plt: Any, figure: Any, stem: Path) -> list[Path]:
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_suffix(".svg"), stem.with_suffix(".png")]
    figure.savefig(paths[0], metadata={"Date": None}, dpi=200)
    figure.savefig(paths[1], dpi=200)
    plt.close(figure)
    return paths


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise MissingMatplotlibError("Figures need Matplotlib: pip install 'armwise[figures]'.") from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.family": "DejaVu Sans", "font.size": 9, "svg.hashsalt": "armwise"})
    return plt
