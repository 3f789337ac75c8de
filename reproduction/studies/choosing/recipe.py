"""The study of losses behind the recommended recipe, one model each, from the CSV of its runs.

On every domain the recipe is compared with the best single loss of the paper's protocol on the same splits. The best is
taken by its test quality, which no one would know in practice: the comparison is the hardest one for the recipe.
"""

import dataclasses
from collections.abc import Sequence, Set
from pathlib import Path

import numpy as np
from scipy.special import stdtrit

from armwise.training.recipe import TEMPERATURE
from reproduction.results import read_rows
from reproduction.runs.protocol import LOSSES, check_loss
from reproduction.runs.records import RunRow, group_by
from reproduction.runs.selection import choose
from reproduction.runs.summary import paired_difference, select, standard_error

RECIPE = ("price", "price+1mse", "price+3mse", "price+10mse", "price+30mse")
SINGLE = ("nll", "mse", "sim-1", "sim-10", "sim-100", "sim-1000", "fast-entropy", "fast-l2")


@dataclasses.dataclass(frozen=True)
class Difference:
    """In joint quality on one domain, paired by split."""

    domain: str
    difference: float
    error: float  # over the splits
    num_splits: int

    @property
    def half_width(self) -> float:
        """Of Student's 95 % interval over the splits; NaN of one split."""
        return float(stdtrit(self.num_splits - 1, 0.975)) * self.error if self.num_splits > 1 else float("nan")

    @property
    def interval(self) -> str:
        """The difference and its interval, as a table shows them."""
        if self.num_splits < 2:
            return f"{self.difference:+.4f}"
        low, high = self.difference - self.half_width, self.difference + self.half_width
        return f"{self.difference:+.4f} [{low:+.4f}, {high:+.4f}]"

    @property
    def verdict(self) -> str:
        """Whether the interval excludes zero, and on which side."""
        if self.difference - self.half_width > 0:
            return "better"
        if self.difference + self.half_width < 0:
            return "worse"
        return "no difference shown"


@dataclasses.dataclass(frozen=True)
class Comparison(Difference):
    """The recipe beside the best single loss of one domain; joint qualities are means over runs."""

    best: str
    best_quality: float
    chosen: str
    learning_rate: float
    quality: float


def choose_by_quality(rows: Sequence[RunRow]) -> list[RunRow]:
    """The runs of the loss, temperature and learning rate whose validation quality is highest on average."""
    return choose(rows, "validation_quality", ["loss", "temperature", "learning_rate"])


def compare(results: Path) -> list[Comparison]:
    """The recipe beside the best single loss, one line per domain that has both."""
    paper, study = (read_rows(results, name, "runs", RunRow) for name in ("paper", "recipe"))
    lines = []
    for (domain,), rows in group_by(study, "domain").items():
        own = recipe_runs(rows)
        best = best_single(paper, domain, {(run.split, run.initialisation) for run in own})
        if own and best:
            lines.append(compare_runs(domain, choose_by_quality(own), best))
    return lines


def best_single(paper: Sequence[RunRow], domain: str, places: Set[tuple[int, int]]) -> list[RunRow]:
    """The runs of the single loss of the highest joint test quality, its setting chosen as in the paper.

    Few runs of a slow loss may be best by luck: only losses that were run on all these splits and starts count.
    """
    jobs = group_by([run for run in paper if run.domain == domain and run.model == "linear"], "loss")
    singles = [select(runs) for (loss,), runs in jobs.items() if loss in SINGLE]
    complete = [runs for runs in singles if places <= {(run.split, run.initialisation) for run in runs}]
    return choose([run for runs in complete for run in runs], "joint_quality", ["loss"])


def recipe_runs(rows: Sequence[RunRow]) -> list[RunRow]:
    """The runs that the recipe chooses among."""
    return [run for run in rows if run.loss in RECIPE and run.temperature == TEMPERATURE]


def comparison_table(results: Path) -> str:
    """The comparison as Markdown."""
    lines = [
        "| domain | best single loss | joint | the recipe chose | joint | difference, 95 % interval | |",
        "|---|---|--:|---|--:|--:|---|",
    ]
    for line in compare(results):
        chosen = f"{check_loss(line.chosen).label}, {line.learning_rate:g}"
        cells = (line.domain, LOSSES[line.best].label, f"{line.best_quality:.3f}", chosen, f"{line.quality:.3f}")
        lines.append("| " + " | ".join((*cells, line.interval, line.verdict)) + " |")
    return "\n".join(lines) + "\n"


def calls_table(results: Path) -> str:
    """What each loss gains where validation quality chooses for it instead of validation loss, as Markdown."""
    paper, study = (
        group_by([run for run in read_rows(results, name, "runs", RunRow) if run.model == "linear"], "domain", "loss")
        for name in ("paper", "recipe")
    )
    domains = sorted({domain for domain, _ in study})
    lines = ["| loss | " + " | ".join(domains) + " |", "|---|" + "--:|" * len(domains)]
    for loss in (name for name in LOSSES if any(place in paper for place in study if place[1] == name)):
        cells = [_gain(study.get((domain, loss)), paper.get((domain, loss))) for domain in domains]
        lines.append(f"| {LOSSES[loss].label} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def candidates_table(results: Path) -> str:
    """Every candidate of the study, its settings and epochs chosen by validation quality, as Markdown."""
    rows = read_rows(results, "recipe", "runs", RunRow)
    domains = sorted({run.domain for run in rows})
    cells = {
        (domain, loss): choose_by_quality(runs) for (domain, loss), runs in group_by(rows, "domain", "loss").items()
    }
    losses = sorted({loss for _, loss in cells}, key=lambda loss: check_loss(loss).label)
    lines = ["| candidate | " + " | ".join(domains) + " |", "|---|" + "--:|" * len(domains)]
    for loss in losses:
        values = [_cell(cells.get((domain, loss))) for domain in domains]
        lines.append(f"| {check_loss(loss).label} | " + " | ".join(values) + " |")
    return "\n".join(lines) + "\n"


def verdict(results: Path) -> str:
    """What the comparison comes to, in words."""
    return in_words(compare(results))


def in_words(lines: Sequence[Difference]) -> str:
    """Not worse beyond its standard error where, and better where."""
    if not lines:
        return "Not run yet.\n"
    behind = [
        f"{one.domain} (by {-one.difference:.3f} ± {one.error:.3f})" for one in lines if one.difference < -one.error
    ]
    ahead = [one.domain for one in lines if one.difference > 0]
    surely = [one.domain for one in lines if one.verdict == "better"]
    first = (
        f"Worse than the best single loss beyond their difference's standard error on {', '.join(behind)}"
        if behind
        else f"On none of {len(lines)} domains worse than the best single loss beyond their difference's standard error"
    )
    second = f"ahead on {len(ahead)} of {len(lines)}"
    third = f"with an interval that excludes zero on {len(surely)}" + (f" ({', '.join(surely)})" if surely else "")
    return f"{first}; {second}, {third}.\n"


def compare_runs(domain: str, recipe: Sequence[RunRow], best: Sequence[RunRow]) -> Comparison:
    """Some runs beside those they should beat, on the splits and as many starts as both have, paired by split."""
    difference, error = paired_difference(recipe, best)
    places = [{(run.split, run.initialisation) for run in runs} for runs in (recipe, best)]
    shared = places[0] & places[1]
    recipe, best = ([run for run in runs if (run.split, run.initialisation) in shared] for runs in (recipe, best))
    return Comparison(
        domain=domain,
        best=best[0].loss,
        best_quality=_mean(best),
        chosen=recipe[0].loss,
        learning_rate=recipe[0].learning_rate,
        quality=_mean(recipe),
        difference=difference,
        error=error,
        num_splits=len({split for split, _ in shared}),
    )


def signed(value: float) -> str:
    """Three decimals with their sign, and never −0.000."""
    return f"{value:+.3f}".replace("-0.000", "+0.000").replace("-", "−")


def _gain(by_calls: Sequence[RunRow] | None, by_loss: Sequence[RunRow] | None) -> str:
    if by_calls is None or by_loss is None:
        return "–"
    mean, error = paired_difference(choose_by_quality(by_calls), select(by_loss))
    return f"{signed(mean)} ± {error:.3f}"


def _cell(runs: Sequence[RunRow] | None) -> str:
    if runs is None:
        return "–"
    return f"{_mean(runs):.3f} ± {standard_error([run.joint_quality for run in runs]):.3f}"


def _mean(runs: Sequence[RunRow]) -> float:
    return float(np.mean([run.joint_quality for run in runs]))
