"""A job: one domain × one loss × one model, all splits, first weights and hyperparameters, as a part of the results.

A part is ``<domain>--<model>--<loss>.csv`` with one row per run, and beside it a page that says what made it; in
``history/`` validation by epoch, in ``indices/`` what Figure 3 shows. A job whose page is there is finished and is not
run again; one that was stopped goes on from its last checkpoint.
"""

import dataclasses
import shutil
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from armwise.data import Domain, SplitNumbers
from armwise.errors import InvalidInputError
from armwise.experiments.protocol import Protocol, check_loss, model_maker
from armwise.experiments.provenance import hardware, provenance
from armwise.experiments.reference import train_step_by_step
from armwise.experiments.results import HistoryRow, IndexRow, RunRow, read_page, write_page, write_rows
from armwise.experiments.scoring import BothScores, Scores, all_indices, score
from armwise.rmab import default_horizon
from armwise.training import TrainedRuns, train_many
from armwise.training.engine import cast

# What the simulations of SIM-DFL may hold on to in all runs side by side, in bytes.
_CPU_MEMORY = 2**30
_ACCELERATOR_MEMORY = 40 * 2**30
_CPU_RUNS, _ACCELERATOR_RUNS = 50, 400
# What a protocol may ask for beside the numbers of the tables, without changing any of them.
EXTRAS = ("quality", "keep_indices")
_CHANGE_NOTHING = (*EXTRAS, "quality_trajectories", "evaluate")


class Job(NamedTuple):
    """What a part of the results is about."""

    domain: str
    loss: str
    model: str = "linear"
    variant: str = ""

    @property
    def name(self) -> str:
        """The name of its files."""
        domain = f"{self.domain}+{self.variant}" if self.variant else self.domain
        return f"{domain}--{self.model}--{self.loss}"

    def labels(self) -> dict[str, Any]:
        """The columns that all its rows share."""
        return {"domain": self.domain, "variant": self.variant, "model": self.model, "loss": self.loss}


def run_job(
    job: Job,
    domain: Domain,
    protocol: Protocol,
    folder: Path,
    *,
    chunk_size: int | None = None,
    checkpoints: bool = True,
    needs: Collection[str] = EXTRAS,
    progress: bool | None = None,
) -> Path:
    """Train and test every run of a job, unless its part is in the folder already.

    Args:
        job: which domain, loss and model.
        domain: the domain of that name.
        protocol: how much to run.
        folder: where parts are kept.
        chunk_size: runs side by side; by default what fits.
        checkpoints: whether to leave checkpoints on the way, in ``folder/unfinished``.
        needs: which of the protocol's ``EXTRAS`` a part must have to count as finished.
        progress: whether to show bars; by default on a terminal.

    Returns:
        The part's CSV.
    """
    part = folder / f"{job.name}.csv"
    if is_finished(part, domain, protocol, needs):
        return part
    start, unfinished = time.perf_counter(), folder / "unfinished" / job.name
    splits = [domain.split_numbers(seed) for seed in range(protocol.num_splits)]
    size = runs_at_once(job, domain) if chunk_size is None else chunk_size
    trained = _train(job, domain, protocol, splits, size, unfinished if checkpoints else None, progress)
    trained_at = time.perf_counter()
    scores, rows_of_scores = _score(trained, domain, protocol, splits, progress)
    seconds = (trained_at - start, time.perf_counter() - trained_at)
    write_rows(part, _run_rows(job, protocol, trained, scores, rows_of_scores, seconds))
    write_rows(folder / "history" / part.name, _history_rows(job, protocol, trained))
    if protocol.keep_indices:
        write_rows(folder / "indices" / part.name, _index_rows(job, domain, trained, splits[0]))
    page = provenance(time.perf_counter() - start) | {
        "job": job._asdict(),
        "domain": {"name": domain.name, "note": domain.note, "cohorts": domain.sizes},
        "protocol": _as_json(protocol),
        "runs_at_once": size,
        "data": describe_data(domain),
    }
    write_page(part.with_suffix(".json"), page)
    shutil.rmtree(unfinished, ignore_errors=True)
    return part


def is_finished(part: Path, domain: Domain, protocol: Protocol, needs: Collection[str] = EXTRAS) -> bool:
    """Whether the part is there in full; a part of other data or another protocol is refused.

    A part that lacks an extra which is asked for and needed is not finished. Data are compared up to rounding, since
    they are made anew on every machine.
    """
    if not part.with_suffix(".json").exists():
        return False
    page, asked = read_page(part.with_suffix(".json")), _as_json(protocol)
    same = all(page["protocol"].get(name) == value for name, value in asked.items() if name not in _CHANGE_NOTHING)
    data = describe_data(domain)
    known = [page.get("data", data).get(name, np.nan) for name in data]
    if not same or not np.allclose(known, list(data.values()), rtol=1e-3):
        raise InvalidInputError(
            f"{part} holds results of another protocol or other data. Name another folder, or delete it and its .json."
        )
    return not any(asked[name] and not page["protocol"][name] for name in needs)


def describe_data(domain: Domain) -> dict[str, float]:
    """A few numbers by which data are known again, whatever the last digits."""
    cohorts, problem = domain.cohorts, domain.problem
    features = cohorts.features
    return {
        "cohorts": float(cohorts.num_cohorts),
        "arms": float(cohorts.num_arms),
        "budget": float(cohorts.budget.mean()),
        "transition": float((cohorts.true_transitions[..., -1] ** 2).mean()),
        "count": float((cohorts.counts**2).mean()),
        "numeric": float((features.numeric**2).mean()) if features.numeric.size else 0.0,
        "codes": float(features.codes.astype(float).mean()) if features.codes.size else 0.0,
        "discount": float(problem.discount),
        "first_state": float((problem.initial * problem.rewards).sum()),
    }


def _as_json(protocol: Protocol) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in dataclasses.asdict(protocol).items()
    }


def runs_at_once(job: Job, domain: Domain) -> int:
    """How many runs to train side by side: enough to fill the machine, few enough for its memory.

    SIM-DFL keeps every step of its simulations, for all validation cohorts of a run together; and on an accelerator a
    call of ``whittle_indices`` for three states or more fills up to 2¹⁶ arms, whatever it is given.
    """
    on_cpu = jax.default_backend() == "cpu"
    most, memory = (_CPU_RUNS, _CPU_MEMORY) if on_cpu else (_ACCELERATOR_RUNS, _ACCELERATOR_MEMORY)
    trajectories = check_loss(job.loss).trajectories
    if not trajectories:
        return most
    arms, states = domain.cohorts.num_arms, domain.problem.num_states
    steps = default_horizon(float(domain.problem.discount))
    of_cohort = 20 * steps * min(arms * (trajectories + 1), 2**18 // (1 + steps // 16))
    if states > 2 and not on_cpu:
        of_cohort += 2**16 * states * states * 4 * 6
    return int(np.clip(memory // (max(1, domain.sizes[1]) * of_cohort), 1, most))


def _train(
    job: Job,
    domain: Domain,
    protocol: Protocol,
    splits: list[SplitNumbers],
    size: int,
    folder: Path | None,
    progress: bool | None,
) -> TrainedRuns:
    family = check_loss(job.loss)
    what = (jax.random.key(protocol.seed), domain.cohorts, protocol.losses(family)[0], model_maker(job.model, domain))
    grid: dict[str, Any] = {
        "splits": splits,
        "num_initialisations": protocol.num_initialisations,
        "learning_rates": protocol.learning_rates,
        "problem": domain.problem,
        "progress": progress,
    }
    if not family.compiled:
        return train_step_by_step(*what, protocol.num_epochs, **grid)
    return train_many(*what, protocol.config(), chunk_size=size, folder=folder, **grid)


def _score(
    trained: TrainedRuns, domain: Domain, protocol: Protocol, splits: list[SplitNumbers], progress: bool | None
) -> tuple[BothScores, dict[int, int]]:
    """The scores of the runs to be scored, and the row of the scores that each of them has."""
    everyone = np.arange(len(trained.best_epoch))
    chosen = everyone
    if protocol.evaluate == "selected":
        chosen = np.unique([trained.select(shared=True), trained.select(shared=False)])
    models = jax.tree.map(lambda leaf: leaf[chosen] if eqx.is_array(leaf) else leaf, trained.models)
    scores = score(
        models,
        trained.setting.split[chosen],
        domain,
        [split.test for split in splits],
        num_trajectories=protocol.num_trajectories,
        horizon=protocol.horizon,
        seed=protocol.seed,
        progress=progress,
    )
    return scores, {int(run): row for row, run in enumerate(chosen)}


def _run_rows(
    job: Job,
    protocol: Protocol,
    trained: TrainedRuns,
    scores: BothScores,
    rows_of_scores: dict[int, int],
    seconds: tuple[float, float],
) -> list[RunRow]:
    temperatures = protocol.losses(check_loss(job.loss))[1]
    shared = {
        "num_splits": protocol.num_splits,
        "num_initialisations": protocol.num_initialisations,
        "num_learning_rates": len(protocol.learning_rates),
        "num_temperatures": len(temperatures),
        "num_epochs": protocol.num_epochs,
        "num_test_cohorts": scores.joint.never.shape[1],
        "num_trajectories": protocol.num_trajectories,
        "train_seconds": seconds[0],
        "evaluate_seconds": seconds[1],
        "hardware": hardware(),
    }
    losses, qualities = trained.at_best("loss"), trained.at_best("quality")
    return [
        RunRow(
            **job.labels(),
            **shared,
            temperature=temperatures[trained.setting.loss[run]],
            learning_rate=float(trained.setting.learning_rate[run]),
            split=int(trained.setting.split[run]),
            initialisation=int(trained.setting.initialisation[run]),
            best_epoch=int(trained.best_epoch[run]),
            validation_loss=float(losses[run]),
            validation_quality=float(qualities[run]),
            **_quality_columns("joint", scores.joint, rows_of_scores.get(run)),
            **_quality_columns("decomposed", scores.decomposed, rows_of_scores.get(run)),
        )
        for run in range(len(trained.best_epoch))
    ]


def _quality_columns(kind: str, scores: Scores, row: int | None) -> dict[str, Any]:
    names = ("quality", "achieved", "never", "perfect", "by_cohort")
    if row is None:
        return {f"{kind}_{name}": float("nan") for name in names}
    achieved, never, perfect = (np.asarray(part[row], dtype=float) for part in scores)
    gain, best = achieved - never, perfect - never
    by_cohort = np.mean(np.divide(gain, best, out=np.full_like(gain, np.nan), where=best != 0))
    values = (gain.sum() / best.sum(), achieved.sum(), never.sum(), perfect.sum(), by_cohort)
    return {f"{kind}_{name}": float(value) for name, value in zip(names, values, strict=True)}


def _history_rows(job: Job, protocol: Protocol, trained: TrainedRuns) -> list[HistoryRow]:
    """Validation by epoch for each learning rate and temperature, over its splits and first weights."""
    temperatures = protocol.losses(check_loss(job.loss))[1]
    rows = []
    for number, temperature in enumerate(temperatures):
        for rate in protocol.learning_rates:
            inside = (trained.setting.loss == number) & (trained.setting.learning_rate == rate)
            losses = _mean_and_error(trained.history.validation_loss[inside])
            qualities = _mean_and_error(trained.history.validation_quality[inside])
            common = {**job.labels(), "temperature": temperature, "learning_rate": rate, "num_runs": int(inside.sum())}
            rows += [
                HistoryRow(**common, epoch=epoch + 1, **_columns("loss", value), **_columns("quality", quality))
                for epoch, (value, quality) in enumerate(zip(losses, qualities, strict=True))
            ]
    return rows


def _columns(kind: str, values: np.ndarray) -> dict[str, Any]:
    return {f"validation_{kind}": float(values[0]), f"validation_{kind}_error": float(values[1])}


def _mean_and_error(values: Any) -> np.ndarray:
    """Mean and standard error over the leading axis, ``[epochs, 2]``; no error of a single run."""
    array = np.asarray(values, dtype=float)
    spread = array.std(axis=0, ddof=1) if len(array) > 1 else np.full(array.shape[1], np.nan)
    return np.stack([array.mean(axis=0), spread / len(array) ** 0.5], axis=1)


def _index_rows(job: Job, domain: Domain, trained: TrainedRuns, split: SplitNumbers) -> list[IndexRow]:
    """Predicted and true indices of the first split's test cohorts, for the run of its first weights that is chosen."""
    model = trained.model(int(trained.select(shared=True)[0, 0]))
    cohorts, problem = cast((domain.cohorts[split.test], domain.problem), np.dtype("float32"))
    predicted = np.asarray(all_indices(jax.vmap(model)(cohorts.features), problem))
    true = np.asarray(all_indices(cohorts.true_transitions, problem))
    return [
        IndexRow(
            **job.labels(),
            cohort=int(split.test[place[0]]),
            arm=place[1],
            state=place[2],
            budget=int(cohorts.budget[place[0]]),
            predicted_index=float(predicted[place]),
            true_index=float(true[place]),
        )
        for place in np.ndindex(*true.shape)
    ]
