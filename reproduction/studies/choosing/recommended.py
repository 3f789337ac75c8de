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

from armwise._validation import check_count
from armwise.data import Domain, SplitNumbers
from armwise.errors import InvalidInputError
from armwise.losses import MeanSquaredError
from armwise.models import average_models
from armwise.training import RECOMMENDED_CONFIG, Recommended, TrainConfig, train_recommended
from armwise.training.recipe import ACCURACY_WEIGHTS, LEARNING_RATES, runs_by_setting, train_averaged
from reproduction.parts import find_part, unfinished, write_part
from reproduction.provenance import hardware, provenance
from reproduction.runs.jobs import check_part, describe_data
from reproduction.runs.protocol import model_maker
from reproduction.runs.scoring import score

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
    results: Path,
    *,
    methods: Sequence[str] = METHODS,
    num_splits: int = 10,
    num_trajectories: int = 1000,
    config: TrainConfig = RECOMMENDED_CONFIG,
    progress: bool | None = None,
) -> list[Path]:
    """Train by the recipe on every split of a domain, and test the averages of the first 1, 3 and 5 models.

    Settings that the recipe does not take are tested too, to see what its choice costs.
    A method that is in the folder already is left as it is; interrupted, it goes on where it was.

    Args:
        name: of the domain.
        domain: its cohorts.
        results: the folder of all results; a part for each method.
        methods: "recommended", or "mse" alone.
        num_splits: of the domain.
        num_trajectories: simulated runs of each test cohort.
        config: of every run.
        progress: whether to show bars; by default on a terminal.

    Returns:
        The file that holds each method's part.
    """
    parts = []
    check_count("num_splits", num_splits, minimum=1)
    for method in methods:
        if method not in METHODS:
            raise InvalidInputError(f"method must be one of {', '.join(METHODS)}, not {method!r}.")
        part = f"{name}--{method}"
        asked = {
            "num_splits": num_splits,
            "num_trajectories": num_trajectories,
            "accuracy_weights": list(ACCURACY_WEIGHTS),
            "learning_rates": list(LEARNING_RATES),
            "config": dataclasses.asdict(config),
            "data": describe_data(domain),
        }
        known = find_part(results, "recommended", part)
        if known is not None:
            _check(part, known[1], asked)
            parts.append(known[0])
            continue
        start, stopped = time.perf_counter(), unfinished(results, "recommended") / part
        outer = [domain.split_numbers(seed) for seed in range(num_splits)]
        trained = [
            _train(method, domain, outer[seed], seed, config, stopped / str(seed), progress)
            for seed in range(num_splits)
        ]
        rows = _test(name, method, domain, outer, trained, num_trajectories, progress)
        page = {"domain": name, "method": method} | provenance(time.perf_counter() - start)
        parts.append(write_part(results, "recommended", part, page | {"asked": asked}, {"averages": rows}))
        shutil.rmtree(stopped, ignore_errors=True)
    return parts


def _check(part: str, known: dict[str, Any], asked: dict[str, Any]) -> None:
    """Refuse a part of other data or another protocol."""
    before = asked | known | {"config": dataclasses.asdict(TrainConfig()) | known["config"]}
    check_part(part, all(before[name] == asked[name] for name in asked if name != "data"), known["data"], asked["data"])


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
