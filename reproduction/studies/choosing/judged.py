"""The recommended recipe's averages beside the best single loss, from the results alone."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from reproduction.results import read_rows
from reproduction.runs.protocol import LOSSES
from reproduction.runs.records import RunRow, group_by
from reproduction.runs.selection import choose
from reproduction.runs.summary import standard_error
from reproduction.studies.choosing.recipe import Difference, best_single, in_words
from reproduction.studies.choosing.recommended import MEMBERS, RecommendedRow

BOLDLY = ("accuracy_weight", "learning_rate")


@dataclasses.dataclass(frozen=True)
class Judged(Difference):
    """The recipe's average of the most models beside the best single loss, on the splits where the recipe was run."""

    best: str
    best_quality: float
    by_members: dict[int, float]  # joint quality of the average of so many models
    bold_quality: float  # of the setting of the highest validation quality, cautious or not, averaged likewise
    accuracy_quality: float  # of the squared error, averaged likewise; NaN where it was not run
    accuracy: Difference  # of the recipe to it


def judge_recommended(results: Path) -> list[Judged]:
    """The recipe beside the best single loss, one line per domain that has both.

    The best is taken by its test quality, which no one would know in practice: the comparison is the hardest one.
    """
    paper = read_rows(results, "paper", "runs", RunRow)
    tested = read_rows(results, "recommended", "averages", RecommendedRow)
    rows = [row for row in tested if row.chosen]
    lines = []
    for (domain, method), own in group_by(rows, "domain", "method").items():
        if method != "recommended":
            continue
        by_members = {size: _by_split(list(few)) for (size,), few in group_by(own, "num_members").items()}
        splits = by_members[max(MEMBERS)]
        best = best_single(paper, domain, {(split, 0) for split in splits})
        if not best:
            continue
        single = _by_split([run for run in best if run.split in splits])
        averages = [row for row in tested if row.domain == domain and row.num_members == max(MEMBERS)]
        plain = _by_split([row for row in averages if row.method == "mse" and row.chosen and row.split in splits])
        bold = group_by([row for row in averages if row.method == "recommended"], "split").values()
        lines.append(
            Judged(
                **dataclasses.asdict(_difference(domain, splits, single)),
                best=best[0].loss,
                best_quality=_mean(single),
                by_members={size: _mean(by_members.get(size, {})) for size in MEMBERS},
                bold_quality=_mean(
                    _by_split([row for own in bold for row in choose(own, "validation_quality", BOLDLY)])
                ),
                accuracy_quality=_mean(plain),
                accuracy=_difference(domain, splits, plain),
            )
        )
    return sorted(lines, key=lambda line: line.domain)


def recommended_table(results: Path) -> str:
    """The comparison as Markdown."""
    sizes = " | ".join(f"{size} model{'s' * (size > 1)}" for size in MEMBERS)
    lines = [
        f"| domain | splits | best single loss | joint | the recipe: {sizes} | difference, 95 % interval | | "
        f"{max(MEMBERS)} models without caution | MSE: {max(MEMBERS)} models | the recipe less MSE |",
        "|---|--:|---|--:|" + "--:|" * len(MEMBERS) + "--:|---|--:|--:|--:|",
    ]
    for line in judge_recommended(results):
        plain = "– | –"
        if line.accuracy.num_splits:
            plain = f"{line.accuracy_quality:.3f} | {line.accuracy.difference:+.4f} ± {line.accuracy.error:.4f}"
        averages = " | ".join(f"{line.by_members[size]:.3f}" for size in MEMBERS)
        lines.append(
            f"| {line.domain} | {line.num_splits} | {LOSSES[line.best].label} | {line.best_quality:.3f} | {averages} | "
            f"{line.interval} | {line.verdict} | {line.bold_quality:.3f} | {plain} |"
        )
    return "\n".join(lines) + "\n"


def verdict(results: Path) -> str:
    """What the comparison comes to, in words."""
    return in_words([line for line in judge_recommended(results) if line.num_splits > 1])


def _difference(domain: str, ours: dict[int, float], theirs: dict[int, float]) -> Difference:
    """Paired by the splits that both have."""
    differences = [ours[split] - theirs[split] for split in ours if split in theirs]
    mean = float(np.mean(differences)) if differences else float("nan")
    return Difference(domain, mean, standard_error(differences), len(differences))


def _mean(by_split: dict[int, float]) -> float:
    return float(np.mean(list(by_split.values()))) if by_split else float("nan")


def _by_split(rows: Sequence[RunRow] | Sequence[RecommendedRow]) -> dict[int, float]:
    """The mean joint quality on each split."""
    values: dict[int, list[float]] = {}
    for row in rows:
        values.setdefault(row.split, []).append(row.joint_quality)
    return {split: float(np.mean(each)) for split, each in sorted(values.items())}
