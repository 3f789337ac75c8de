"""A job: one domain × one loss × one model, all splits, first weights and hyperparameters, as a part of the results.

A part (``reproduction.parts``) holds a row per run, validation by epoch and, for Figure 3, Whittle indices. A job whose
part is there is finished and is not run again; one that was stopped goes on from its last checkpoint.
"""

import dataclasses
import shutil
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, Int

from armwise._hardware import on_cpu
from armwise.data import Domain, SplitNumbers
from armwise.errors import InvalidInputError
from armwise.rmab import default_horizon
from armwise.training import TrainedRuns, train_many
from reproduction.parts import find_part, unfinished, write_part
from reproduction.provenance import provenance
from reproduction.runs.calibration import fit_maps
from reproduction.runs.protocol import Protocol, check_loss, model_maker
from reproduction.runs.reference import train_step_by_step
from reproduction.runs.rows import Job, JobScores, history_rows, index_rows, job_sizes, run_rows
from reproduction.runs.scoring import score

# What the simulations of SIM-DFL may hold on to in all runs side by side, in bytes.
_CPU_MEMORY = 2**30
_ACCELERATOR_MEMORY = 40 * 2**30
_CPU_RUNS, _ACCELERATOR_RUNS = 50, 400
# What a protocol may ask for beside the numbers of the tables, without changing any of them: quality and its
# trajectories only where the epoch to keep is not chosen by them.
EXTRAS = ("quality", "keep_indices")
_QUALITY = ("quality", "quality_trajectories")
_CHANGE_NOTHING = ("keep_indices", "evaluate")


def run_job(
    job: Job,
    domain: Domain,
    protocol: Protocol,
    results: Path,
    study: str = "paper",
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
        results: the folder of all results.
        study: to which of them the part belongs.
        chunk_size: runs side by side; by default what fits.
        checkpoints: whether to leave checkpoints on the way.
        needs: which of the protocol's ``EXTRAS`` a part must have to count as finished.
        progress: whether to show bars; by default on a terminal.

    Returns:
        The file that holds the part.
    """
    known = find_part(results, study, job.name)
    if known is not None and is_finished(job.name, known[1], domain, protocol, needs):
        return known[0]
    start, stopped = time.perf_counter(), unfinished(results, study) / job.name
    splits = [domain.split_numbers(seed) for seed in range(protocol.num_splits)]
    size = runs_at_once(job, domain) if chunk_size is None else chunk_size
    trained = _train(job, domain, protocol, splits, size, stopped if checkpoints else None, progress)
    trained_at = time.perf_counter()
    scores = _score(job, trained, domain, protocol, splits, progress)
    seconds = (trained_at - start, time.perf_counter() - trained_at)
    tables: dict[str, Sequence[Any]] = {
        "runs": run_rows(job, protocol, trained, scores, seconds),
        "validation": history_rows(job, protocol, trained),
    }
    if protocol.keep_indices:
        tables["indices"] = index_rows(job, domain, trained, splits[0])
    asked = {
        "job": job._asdict(),
        "domain": {"name": domain.name, "note": domain.note, "cohorts": domain.sizes},
        "protocol": _as_json(protocol),
        "runs_at_once": size,
        "data": describe_data(domain),
    }
    page = job.labels() | job_sizes(job, protocol, scores, seconds) | provenance(time.perf_counter() - start)
    part = write_part(results, study, job.name, page | {"asked": asked}, tables)
    shutil.rmtree(stopped, ignore_errors=True)
    return part


def is_finished(
    name: str, known: dict[str, Any], domain: Domain, protocol: Protocol, needs: Collection[str] = EXTRAS
) -> bool:
    """Whether a part that was asked for so is there in full; one of other data or another protocol is refused.

    A part that lacks an extra which is asked for and needed is not finished. Data are compared up to rounding, since
    they are made anew on every machine.
    """
    asked = _as_json(protocol)
    before = _as_json(Protocol()) | known["protocol"]  # what a part does not mention was not there to be chosen
    free = _CHANGE_NOTHING + (_QUALITY if protocol.select_by == "loss" else ())
    same = all(before[name] == value for name, value in asked.items() if name not in free)
    check_part(name, same, known.get("data"), describe_data(domain))
    return not any(asked[extra] and not known["protocol"][extra] for extra in needs)


def check_part(name: str, same_protocol: bool, known: dict[str, float] | None, asked: dict[str, float]) -> None:
    """Refuse a part of another protocol or other data; data that no one described pass."""
    numbers = [(asked if known is None else known).get(what, np.nan) for what in asked]
    if not same_protocol or not np.allclose(numbers, list(asked.values()), rtol=1e-3):
        raise InvalidInputError(
            f"The results of {name} are of another protocol or other data. Name another folder, or remove them first."
        )


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

    Step by step, SIM-DFL keeps every step of its simulations, for all validation cohorts of a run together. Its kernel
    keeps two bytes for each arm, step and pair of trajectories, and only the returns where it takes no gradient.
    """
    most, memory = (_CPU_RUNS, _CPU_MEMORY) if on_cpu() else (_ACCELERATOR_RUNS, _ACCELERATOR_MEMORY)
    trajectories = check_loss(job.loss).trajectories
    if not trajectories:
        return most
    arms, states = domain.cohorts.num_arms, domain.problem.num_states
    steps = default_horizon(float(domain.problem.discount))
    lanes = min(arms * (trajectories + 1), 2**18 // (1 + steps // 16))
    of_run = max(1, domain.sizes[1]) * lanes * 20 * steps
    if not on_cpu() and _has_kernel(arms, states):
        of_run = lanes * (steps + 4 * states) + domain.sizes[1] * lanes * 4
    return int(np.clip(memory // of_run, 1, most))


def _has_kernel(num_arms: int, num_states: int) -> bool:
    from armwise.losses.sim_dfl import kernel  # here, so that a CPU never loads Pallas

    return kernel.is_available() and kernel.fits(num_arms, num_states, np.dtype("float32"))


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
    return train_many(*what, protocol.config(family), chunk_size=size, folder=folder, **grid)


def _score(
    job: Job,
    trained: TrainedRuns,
    domain: Domain,
    protocol: Protocol,
    splits: list[SplitNumbers],
    progress: bool | None,
) -> JobScores:
    """What the runs are worth on the test cohorts, and on the validation cohorts where training does not know it."""
    quality, maps = trained.at_best("quality"), None
    if check_loss(job.loss).calibrated:
        # Fitted on the training cohorts, so that validation can tell whether it helps people not learned from.
        maps = fit_maps(trained.models, trained.setting.split, domain, [split.train for split in splits])
        if protocol.quality == "joint":
            sides = [split.validation for split in splits]
            luck: dict[str, Any] = {
                "num_trajectories": protocol.quality_trajectories,
                "seed": protocol.seed + 1,
                "progress": progress,
            }
            quality = score(trained.models, trained.setting.split, domain, sides, maps=maps, **luck).joint.quality
    chosen = _to_test(trained, protocol, quality)
    models = jax.tree.map(lambda leaf: leaf[chosen] if eqx.is_array(leaf) else leaf, trained.models)
    scores = score(
        models,
        trained.setting.split[chosen],
        domain,
        [split.test for split in splits],
        maps=None if maps is None else maps[chosen],
        num_trajectories=protocol.num_trajectories,
        horizon=protocol.horizon,
        seed=protocol.seed,
        progress=progress,
    )
    return JobScores(scores, {int(run): row for row, run in enumerate(chosen)}, quality)


def _to_test(
    trained: TrainedRuns, protocol: Protocol, quality: Float[np.ndarray, " runs"]
) -> Int[np.ndarray, " chosen"]:
    """The runs that a selection can lead to, by loss or by quality, of each temperature; or all of them."""
    everyone = np.arange(len(trained.best_epoch))
    if protocol.evaluate == "all":
        return everyone
    chosen = [trained.select(shared=False).ravel()]
    for worse in (trained.at_best("loss"), -quality) if np.isfinite(quality).any() else (trained.at_best("loss"),):
        for number in np.unique(trained.setting.loss):
            own = everyone[trained.setting.loss == number]
            rates = trained.setting.learning_rate[own]
            means = [np.mean(np.nan_to_num(worse[own][rates == rate], nan=np.inf)) for rate in np.unique(rates)]
            chosen.append(own[rates == np.unique(rates)[np.argmin(means)]])
    return np.unique(np.concatenate(chosen))
