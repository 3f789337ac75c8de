"""The recommended recipe as a programme runs it, judged on people it has not seen.

On each split of a domain, ``train_recommended`` gets what every single loss gets, the training and validation cohorts,
divides them in several ways, chooses by itself and averages; the test cohorts are the split's. So one or another of its
models trains on almost every validation cohort, which no single loss does. Beside it stands the squared error, trained,
chosen and averaged likewise, to tell what that and the average do from what the loss does.
"""

import dataclasses
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from armwise.data import Domain, SplitNumbers
from armwise.errors import InvalidInputError
from armwise.losses import MeanSquaredError
from armwise.models import average_models
from armwise.rmab.checks import check_count
from armwise.training import RECOMMENDED_CONFIG, Recommended, TrainConfig, train_recommended
from armwise.training.recipe import ACCURACY_WEIGHTS, LEARNING_RATES, runs_by_setting, train_averaged
from reproduction.provenance import hardware, provenance
from reproduction.results import RunRow, group_by, read_folder, read_page, write_page, write_rows
from reproduction.runs.jobs import check_part, describe_data
from reproduction.runs.protocol import LOSSES, model_maker
from reproduction.runs.scoring import score
from reproduction.runs.summary import standard_error
from reproduction.studies.choosing.recipe import Difference, best_single, in_words

METHODS = ("recommended", "mse")
MEMBERS = (1, 3, 5)


@dataclasses.dataclass(frozen=True)
class RecommendedRow:
    """The average of so many models of one setting on the test cohorts of one split."""

    domain: str
    method: str
    split: int
    num_members: int
    accuracy_weight: float  # of the squared error
    learning_rate: float
    chosen: int  # 1 where the recipe takes this setting
    validation_quality: float  # mean over the members, one by one
    joint_quality: float
    decomposed_quality: float
    hardware: str


def run_recommended(
    name: str,
    domain: Domain,
    folder: Path,
    *,
    methods: Sequence[str] = METHODS,
    num_splits: int = 10,
    num_trajectories: int = 1000,
    config: TrainConfig = RECOMMENDED_CONFIG,
    progress: bool | None = None,
) -> list[Path]:
    """Train by the recipe on every split of a domain, and test the averages of the first 1, 3 and 5 models.

    Settings that the recipe does not take are tested too, to see what its choice costs.
    A method that is in the folder already is left as it is; interrupted, it goes on from ``folder/unfinished``.

    Args:
        name: of the domain.
        domain: its cohorts.
        folder: where results go, one CSV for each method.
        methods: "recommended", or "mse" alone.
        num_splits: of the domain.
        num_trajectories: simulated runs of each test cohort.
        config: of every run.
        progress: whether to show bars; by default on a terminal.

    Returns:
        The CSV of each method.
    """
    parts = []
    check_count("num_splits", num_splits, minimum=1)
    for method in methods:
        if method not in METHODS:
            raise InvalidInputError(f"method must be one of {', '.join(METHODS)}, not {method!r}.")
        part = folder / f"{name}--{method}.csv"
        parts.append(part)
        asked = {
            "num_splits": num_splits,
            "num_trajectories": num_trajectories,
            "accuracy_weights": list(ACCURACY_WEIGHTS),
            "learning_rates": list(LEARNING_RATES),
            "config": dataclasses.asdict(config),
            "data": describe_data(domain),
        }
        if _is_finished(part, asked):
            continue
        start, unfinished = time.perf_counter(), folder / "unfinished" / part.stem
        outer = [domain.split_numbers(seed) for seed in range(num_splits)]
        trained = [
            _train(method, domain, outer[seed], seed, config, unfinished / str(seed), progress)
            for seed in range(num_splits)
        ]
        write_rows(part, _test(name, method, domain, outer, trained, num_trajectories, progress))
        write_page(part.with_suffix(".json"), provenance(time.perf_counter() - start) | asked)
        shutil.rmtree(unfinished, ignore_errors=True)
    return parts


def _is_finished(part: Path, asked: dict[str, Any]) -> bool:
    """Whether the part is there; one of other data or another protocol is refused."""
    if not part.with_suffix(".json").exists():
        return False
    page = read_page(part.with_suffix(".json"))
    known = asked | page | {"config": dataclasses.asdict(TrainConfig()) | page["config"]}
    check_part(part, all(known[name] == asked[name] for name in asked if name != "data"), page["data"], asked["data"])
    return True


def inner_splits(outer: SplitNumbers, seed: int, number: int = max(MEMBERS)) -> list[SplitNumbers]:
    """The training and validation cohorts of a split, divided anew at random; the first division is the split's own."""
    rng, known, size = np.random.default_rng(seed), np.concatenate(outer[:2]), len(outer.train)
    orders = [known, *(rng.permutation(known) for _ in range(number - 1))]
    return [SplitNumbers(order[:size], order[size:], outer.test) for order in orders]


def _train(
    method: str,
    domain: Domain,
    outer: SplitNumbers,
    seed: int,
    config: TrainConfig,
    folder: Path,
    progress: bool | None,
) -> Recommended:
    key, cohorts, model = jax.random.key(seed), domain.cohorts, model_maker("linear", domain)
    options: Any = {
        "splits": inner_splits(outer, seed),
        "problem": domain.problem,
        "folder": folder,
        "progress": progress,
    }
    if method == "recommended":
        return train_recommended(key, cohorts, model, config, **options)
    return train_averaged(key, cohorts, [MeanSquaredError()], model, config, learning_rates=LEARNING_RATES, **options)


def _test(
    name: str,
    method: str,
    domain: Domain,
    outer: Sequence[SplitNumbers],
    trained: Sequence[Recommended],
    num_trajectories: int,
    progress: bool | None,
) -> list[RecommendedRow]:
    """The averages of the first few models of every setting and split, on the luck that the single losses meet."""
    rows, averages = [], []
    for number, one in enumerate(trained):
        quality, setting = one.runs.at_best("quality"), one.runs.setting
        for runs in runs_by_setting(one.runs).T.tolist():
            for size in MEMBERS:
                members = [run for run in runs[:size] if np.isfinite(quality[run])]
                if not members:  # all diverged
                    continue
                averages.append(average_models([one.runs.model(run) for run in members]))
                rows.append(
                    RecommendedRow(
                        domain=name,
                        method=method,
                        split=number,
                        num_members=size,
                        accuracy_weight=ACCURACY_WEIGHTS[setting.loss[runs[0]]] if method == "recommended" else 1.0,
                        learning_rate=float(setting.learning_rate[runs[0]]),
                        chosen=int(set(one.members) <= set(runs)),
                        validation_quality=float(quality[members].mean()),
                        joint_quality=float("nan"),
                        decomposed_quality=float("nan"),
                        hardware=hardware(),
                    )
                )
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *averages)
    split, tests = np.array([row.split for row in rows]), [each.test for each in outer]
    scores = score(stacked, split, domain, tests, num_trajectories=num_trajectories, progress=progress)
    qualities = [kind.quality for kind in scores]
    return [
        dataclasses.replace(row, joint_quality=float(joint), decomposed_quality=float(decomposed))
        for row, joint, decomposed in zip(rows, *qualities, strict=True)
    ]


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
    paper, tested = read_folder(results / "runs", RunRow), read_folder(results / "recommended", RecommendedRow)
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
                bold_quality=_mean(_by_split([max(own, key=lambda row: row.validation_quality) for own in bold])),
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
