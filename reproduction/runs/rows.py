"""A job by name, and what it leaves as rows of the results."""

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from armwise.data import Domain, SplitNumbers
from armwise.evaluation.decision_quality import all_indices
from armwise.training import TrainedRuns
from armwise.training.engine import cast
from reproduction.provenance import hardware
from reproduction.runs.protocol import Protocol, check_loss
from reproduction.runs.records import HistoryRow, IndexRow, RunRow
from reproduction.runs.scoring import BothScores, Scores


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


class JobScores(NamedTuple):
    """What the runs of a job are worth.

    Attributes:
        test: returns on the test cohorts of the runs that were tested.
        row: where in them a run is.
        validation_quality: of every run, ``[runs]``; NaN where none was measured.
    """

    test: BothScores
    row: dict[int, int]
    validation_quality: Float[np.ndarray, " runs"]


def run_rows(
    job: Job,
    protocol: Protocol,
    trained: TrainedRuns,
    scores: JobScores,
    seconds: tuple[float, float],
) -> list[RunRow]:
    """A row per run; the qualities of those that were not tested are NaN."""
    temperatures = protocol.losses(check_loss(job.loss))[1]
    shared = job_sizes(job, protocol, scores, seconds) | {"hardware": hardware()}
    losses = trained.at_best("loss")
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
            validation_quality=float(scores.validation_quality[run]),
            **_quality_columns("joint", scores.test.joint, scores.row.get(run)),
            **_quality_columns("decomposed", scores.test.decomposed, scores.row.get(run)),
        )
        for run in range(len(trained.best_epoch))
    ]


def job_sizes(job: Job, protocol: Protocol, scores: JobScores, seconds: tuple[float, float]) -> dict[str, Any]:
    """How much a job ran in all, and how long that took."""
    return {
        "num_splits": protocol.num_splits,
        "num_initialisations": protocol.num_initialisations,
        "num_learning_rates": len(protocol.learning_rates),
        "num_temperatures": len(protocol.losses(check_loss(job.loss))[1]),
        "num_epochs": protocol.num_epochs,
        "num_test_cohorts": scores.test.joint.never.shape[1],
        "num_trajectories": protocol.num_trajectories,
        "train_seconds": seconds[0],
        "evaluate_seconds": seconds[1],
    }


def _quality_columns(kind: str, scores: Scores, row: int | None) -> dict[str, Any]:
    names = ("quality", "achieved", "never", "perfect", "by_cohort")
    if row is None:
        return {f"{kind}_{name}": float("nan") for name in names}
    achieved, never, perfect = (np.asarray(part[row], dtype=float) for part in scores)
    gain, best = achieved - never, perfect - never
    by_cohort = np.mean(np.divide(gain, best, out=np.full_like(gain, np.nan), where=best != 0))
    values = (gain.sum() / best.sum(), achieved.sum(), never.sum(), perfect.sum(), by_cohort)
    return {f"{kind}_{name}": float(value) for name, value in zip(names, values, strict=True)}


def history_rows(job: Job, protocol: Protocol, trained: TrainedRuns) -> list[HistoryRow]:
    """Validation at each look, for each learning rate and temperature, over its splits and first weights."""
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
                if (epoch + 1) % protocol.validate_every == 0
            ]
    return rows


def _columns(kind: str, values: np.ndarray) -> dict[str, Any]:
    return {f"validation_{kind}": float(values[0]), f"validation_{kind}_error": float(values[1])}


def _mean_and_error(values: Any) -> np.ndarray:
    """Mean and standard error over the leading axis, ``[epochs, 2]``; no error of a single run."""
    array = np.asarray(values, dtype=float)
    spread = array.std(axis=0, ddof=1) if len(array) > 1 else np.full(array.shape[1], np.nan)
    return np.stack([array.mean(axis=0), spread / len(array) ** 0.5], axis=1)


def index_rows(job: Job, domain: Domain, trained: TrainedRuns, split: SplitNumbers) -> list[IndexRow]:
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
