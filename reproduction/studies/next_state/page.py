"""The page and the picture about next states, written from the results alone."""

import hashlib
import textwrap
from itertools import starmap
from pathlib import Path
from typing import Any

from armwise.io.writing import write_file
from reproduction.markdown import markdown, read_rows
from reproduction.studies.next_state.data import PROTOCOLS
from reproduction.studies.next_state.study import ARMWISE, NUM_RESAMPLES

Lines = list[dict[str, str]]

WIDTH = 120
PICTURE = "next-state.svg"
LOGISTIC, BOOSTING = "logistic regression on history", "gradient boosting on history"
DRAWN = {ARMWISE: ("#0b6e4f", "o"), LOGISTIC: ("#c8791d", "s"), BOOSTING: ("#6b7280", "^")}
# The ways that armwise should beat, and those that it should at least come near.
SIMPLER = ("population's chain", "demographics and last state", LOGISTIC, "logistic regression, with demographics")
BOOSTED = (BOOSTING, "gradient boosting, with demographics")

PAGE = """# What will this person do next?

<!-- Written by `python -m reproduction next-state --page` from results/next-state/*.csv. Change the text there. -->

armwise plans with each person's own chain: what she will probably do next week if she is left alone, and if she is
called. This page judges the first half of that on real histories: how well the model of `armwise.models.chains`
predicts the next state. It does not judge effects of calls; [judgement.md](judgement.md) is about these.

Predictions are made **out of time**: what people have in common is learned from earlier steps, and later steps are
predicted, each from all steps of the same person before it. Where there are enough people, those who are judged are
not those who were learned from.

{protocols}

## Ways to predict

- **population's chain**: the share of people who moved to "engaged" from the same last state, under the same action.
- **demographics and last state**: logistic regression on what is known at intake, the last state and the action.
- **logistic regression on history**: on the last state, the action and seven hand-made numbers of a person's past:
  last state, streak, own share of moves to "engaged" from each state, share of the last four steps and of all steps,
  and whether both of the last two were engaged. Then the same with demographics.
- **gradient boosting on history**: scikit-learn's `HistGradientBoostingClassifier` on the same columns; the same with
  demographics.
- **armwise**: `fit_chains` with demographics, and without.

Penalties, sizes of trees and their number are chosen by cross-validation over people, within the steps to learn from.
The tables below tried two sizes and two numbers. The command tries more today (3, 8 or 16 leaves; 60, 120 or 240 trees;
five folds) and takes longer; it was run on CTN-0051 alone. There the log-loss of boosting on history falls from 0.3327
to 0.3237, and that of logistic regression on history from 0.3234 to 0.3224: armwise, with 0.3216, is then level with
both. Demographics have a penalty of their own. armwise has nothing to choose. It
learns from all steps up to the last that the others learn from, also from those that serve the others as the past only.

## Log-loss

Log-loss is the mean of −log(probability given to what came true); lower is better. A difference is that way less
armwise, so a positive one means that armwise is better. ± is one standard error, from {resamples:,} resamples of
people, of the same people for all ways. It does not contain the chance in who was learned from; several splits are
averaged for that. The calibration error is the mean distance between predicted and true shares, over tenths of the
cases in the order of the prediction.

{tables}

## Does armwise do what it should?

It should be better than the population's chain, demographics and logistic regression, and not behind gradient boosting
by more than a standard error. "Level" is a difference of at most one standard error.

{verdict}

## Are the probabilities right?

In each tenth of the cases, the share in which the person was engaged should be the predicted one: points should lie on
the diagonal. Points above it mean that people were engaged more often than predicted.

![Predicted probability and true share of engaged steps, by tenths of the cases, for armwise, logistic regression and \
gradient boosting, one panel per data set](images/{picture})

armwise by tenths of the cases: mean prediction → share that came true, both in %, all splits together. The other ways
are in `results/next-state/calibration.csv`.

{reliability}

## What this does not show

- OULAD has no calls, and CTN-0094 has one lot for each person. Only HeartSteps has an action that changes from step to
  step, for 37 people.
- Weeks are counted from each person's start. People whose later weeks are judged started in the same years as those
  who were learned from.
- The model's memory was designed with OULAD in mind, where people drop out for good. The standard errors do not contain
  such choices.
- CTN-0030, the third trial of CTN-0094, is left out: its first phase had no fixed length, and its second started in a
  different week for each person. So it has no weeks that are earlier or later for everyone.
- Predicting well is not deciding well. [deciding.md](deciding.md) judges decisions.

## Run it again

    python -m reproduction next-state           # about an hour on two cores; needs ../shared/data
    python -m reproduction next-state --page    # only this page and its picture, from the results
"""


def write_page(results: Path, docs: Path) -> None:
    """Write ``next-state.md`` and its picture from ``summary.csv`` and ``calibration.csv``."""
    summary, calibration = (read_rows(results / f"{name}.csv") for name in ("summary", "calibration"))
    draw(calibration, docs / "images" / PICTURE)
    write_file(docs / "next-state.md", page_text(summary, calibration))


def page_text(summary: Lines, calibration: Lines) -> str:
    """The page."""
    names = list(dict.fromkeys(row["data"] for row in summary))
    protocols = [f"- **{name}**: {each.in_words}" for name, each in zip(names, PROTOCOLS, strict=True)]
    return PAGE.format(
        protocols="\n".join(map(_wrapped, protocols)),
        resamples=NUM_RESAMPLES,
        tables="\n\n".join(_table(_of(summary, name)) for name in names),
        verdict=_verdict(summary, names),
        picture=PICTURE,
        reliability=_reliability([row for row in calibration if row["way"] == ARMWISE]),
    )


def _of(rows: Lines, name: str) -> Lines:
    return [row for row in rows if row["data"] == name]


def _wrapped(item: str) -> str:
    return textwrap.fill(item, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _table(rows: Lines) -> str:
    first = rows[0]
    splits = "in one split" if first["splits"] == "1" else f"in {first['splits']} splits, each"
    title = f"**{first['data']}**: {int(first['people']):,} people judged {splits} of {int(first['cases']):,} cases."
    header = ["way", "log-loss", "difference to armwise", "calibration error"]
    return f"{title}\n\n{markdown(header, [_cells(row) for row in rows])}"


def _cells(row: dict[str, str]) -> list[str]:
    loss, error, off = (float(row[name]) for name in ("log_loss", "error", "calibration_error"))
    difference = "" if row["way"] == ARMWISE else _difference(row)
    return [row["way"], f"{loss:.4f} ± {error:.4f}", difference, f"{off:.3f}"]


def _difference(row: dict[str, str]) -> str:
    difference, error = float(row["difference"]), float(row["difference_error"])
    return f"{difference:+z.4f} ± {error:.4f}".replace("-", "−")


def _level(row: dict[str, str]) -> str:
    difference, error = float(row["difference"]), float(row["difference_error"])
    return "level" if abs(difference) <= error else "better" if difference > 0 else "behind"


def _verdict(summary: Lines, names: list[str]) -> str:
    """Which ways armwise is better than, level with or behind; and the cases in which it is not better in words."""
    found = {(row["data"], row["way"]): row for row in summary}
    lines = [[way, *(_level(found[name, way]) for name in names)] for way in (*SIMPLER, *BOOSTED)]
    ways = {"simpler ways": SIMPLER, "gradient boosting": BOOSTED}
    short = {title: [found[name, way] for way in mine for name in names] for title, mine in ways.items()}
    return "\n\n".join([markdown(["armwise against", *names], lines), *starmap(_in_words, short.items())])


def _in_words(title: str, rows: Lines) -> str:
    """One sentence on some ways."""
    levels = [_level(row) for row in rows]
    behind = [f"{row['way']} on {row['data']} ({_difference(row)})" for row in rows if _level(row) == "behind"]
    text = f"Against {title}, armwise is better in {levels.count('better')} of {len(rows)} comparisons, level in "
    text += f"{levels.count('level')} and behind in {len(behind)}{': ' if behind else ''}{'; '.join(behind)}."
    return textwrap.fill(text, WIDTH, break_on_hyphens=False)


def _reliability(rows: Lines) -> str:
    """One line per data set, one column per tenth."""
    lines: dict[str, list[str]] = {}
    for row in rows:
        cell = f"{100 * float(row['predicted']):.0f} → {100 * float(row['came']):.0f}"
        lines.setdefault(row["data"], [f"{row['data']} ({int(row['cases']):,})"]).append(cell)
    tenths = range(1, max(map(len, lines.values())))
    return markdown(["data (cases in a tenth)", *map(str, tenths)], lines.values())


def fingerprint(calibration: Lines) -> str:
    """Of the numbers drawn; the picture carries it, so that a test can tell whether it is up to date."""
    return hashlib.sha256(repr([row for row in calibration if row["way"] in DRAWN]).encode()).hexdigest()[:16]


def draw(calibration: Lines, path: Path) -> None:
    """One panel per data set: true shares against predicted ones."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.family": "DejaVu Sans", "font.size": 8, "svg.hashsalt": "armwise"})
    names = list(dict.fromkeys(row["data"] for row in calibration))
    figure, panels = plt.subplots(1, len(names), figsize=(2.9 * len(names), 3.4), sharey=True, layout="constrained")
    for axes, name in zip(panels, names, strict=True):
        _draw_panel(axes, name, _of(calibration, name))
    panels[0].set_ylabel("engaged, %")
    figure.supxlabel("predicted, %", fontsize=8)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(DRAWN), frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None, "Description": f"results {fingerprint(calibration)}"})
    plt.close(figure)


def _draw_panel(axes: Any, name: str, rows: Lines) -> None:
    axes.plot([0, 100], [0, 100], color="#9ca3af", linewidth=0.8, zorder=0)
    for way, (colour, marker) in DRAWN.items():
        mine = [row for row in rows if row["way"] == way]
        predicted, came = ([100 * float(row[column]) for row in mine] for column in ("predicted", "came"))
        axes.plot(predicted, came, color=colour, marker=marker, markersize=4, linewidth=0.9, label=way, alpha=0.85)
    axes.set(title=name, xlim=(0, 100), ylim=(0, 100), aspect="equal")
    axes.grid(color="#e5e7eb", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
