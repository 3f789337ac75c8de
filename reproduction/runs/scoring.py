"""What many trained models are worth on the test cohorts of their splits, in bounded memory.

The numbers are those of ``armwise.evaluation``, by the same code. All runs of a split meet the same luck.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from armwise._hardware import on_cpu
from armwise.data import Cohorts, Domain
from armwise.evaluation.decision_quality import (
    DecomposedReturns,
    JointReturns,
    SimulatedCohort,
    all_indices,
    over_cohorts,
)
from armwise.rmab import Problem
from armwise.rmab.simulate import check_horizon
from armwise.training.engine import cast, progress_bar

# Arms × next-state probabilities predicted together: what a chunk of runs may hold.
_CPU_PREDICTIONS = 2**23
_ACCELERATOR_PREDICTIONS = 2**28

PerCohort = Float[np.ndarray, "runs cohorts"]


class Scores(NamedTuple):
    """Returns by run and test cohort."""

    achieved: PerCohort
    never: PerCohort
    perfect: PerCohort

    @property
    def quality(self) -> Float[np.ndarray, " runs"]:
        """The normalised quality of each run, a ratio of sums over its cohorts."""
        return (self.achieved - self.never).sum(axis=1) / (self.perfect - self.never).sum(axis=1)


class BothScores(NamedTuple):
    """Both kinds of decision quality of every run."""

    joint: Scores
    decomposed: Scores


def score(
    models: Any,
    split: Int[np.ndarray, " runs"],
    domain: Domain,
    tests: Sequence[Int[np.ndarray, " cohorts"]],
    *,
    maps: Float[np.ndarray, "runs states 2"] | None = None,
    num_trajectories: int = 1000,
    horizon: int | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> BothScores:
    """The test returns of every run.

    Args:
        models: one model whose every weight has a leading axis over runs, as ``TrainedRuns.models``.
        split: which split each run belongs to.
        domain: where the cohorts and the problem come from.
        tests: the numbers of each split's test cohorts, all of the same length.
        maps: slope and intercept by which each run's predicted indices are changed, from ``fit_maps``; joint only.
        num_trajectories: simulated runs of each cohort.
        horizon: steps of each; by default until the discount makes the rest negligible.
        seed: of the luck that all runs of a split share.
        progress: whether to show a bar; by default on a terminal.
    """
    test = _Test(domain, tests, num_trajectories, check_horizon(horizon, domain.problem), seed)
    # A few runs are filled up to eight, so that small jobs of any size are one compiled program.
    size = min(test.runs_at_once(), max(8, len(split)))
    parts = []
    with progress_bar("test cohorts", -(-len(split) // size), progress) as tick:
        for inside in chunks(len(split), size):
            own = None if maps is None else jnp.asarray(maps[inside], jnp.float32)
            returns = test.achieved(take(models, inside), jnp.asarray(split[inside]), own)
            parts.append([np.asarray(kind) for kind in returns])
            tick(1)
    joint, decomposed = (np.concatenate(kind)[: len(split)] for kind in zip(*parts, strict=True))
    return BothScores(
        Scores(joint, *(part[split] for part in test.joint_bounds())),
        Scores(decomposed, *(part[split] for part in test.decomposed_bounds())),
    )


def chunks(num_runs: int, size: int) -> list[Int[np.ndarray, " size"]]:
    """The numbers of runs in chunks of one size; the last is filled up with the last run."""
    return [np.minimum(np.arange(start, start + size), num_runs - 1) for start in range(0, num_runs, size)]


def take(models: Any, runs: Int[np.ndarray, " chunk"]) -> Any:
    """Some of the runs' models."""
    return jax.tree.map(lambda leaf: leaf[runs] if eqx.is_array(leaf) else leaf, models)


def runs_at_once(num_cohorts: int, cohorts: Cohorts) -> int:
    """How many runs' predictions for so many cohorts fit in the memory meant for them."""
    of_run = num_cohorts * int(np.prod(cohorts.true_transitions.shape[1:]))
    bound = _CPU_PREDICTIONS if on_cpu() else _ACCELERATOR_PREDICTIONS
    return max(1, bound // of_run)


class _Test:
    """The test cohorts of all splits, what their truth alone decides, and the luck of each."""

    def __init__(self, domain: Domain, tests: Sequence[np.ndarray], num_trajectories: int, steps: int, seed: int):
        self.cohorts, self.problem = cast((domain.cohorts, domain.problem), jnp.dtype("float32"))
        self.numbers = jnp.asarray(np.stack(tests))  # [splits, cohorts]
        # Apart from the keys of training, which are folded from the same seed by small numbers.
        root = jax.random.fold_in(jax.random.key(seed), 2**31)
        self.keys = jax.random.split(root, self.numbers.shape)
        arguments = (self.keys.reshape(-1), self.numbers.reshape(-1), self.cohorts, self.problem)
        self.returns = _prepare(*arguments, num_trajectories, steps)

    def runs_at_once(self) -> int:
        """How many runs' predictions fit in memory."""
        return runs_at_once(self.numbers.shape[1], self.cohorts)

    def achieved(
        self, models: Any, split: Int[Array, " runs"], maps: Float[Array, "runs states 2"] | None
    ) -> tuple[Array, Array]:
        """Joint and decomposed returns ``[runs, cohorts]`` of acting on the models' predictions."""
        dynamic, static = eqx.partition(models, eqx.is_array)
        places = jnp.arange(self.numbers.size).reshape(self.numbers.shape)
        numbers = (places[split], self.numbers[split])
        return _achieved(dynamic, maps, numbers, self.returns, self.cohorts, static)

    def joint_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Never acting and acting on the truth, simulated, ``[splits, cohorts]``."""
        joint, _ = self.returns
        never, perfect = (np.asarray(bound).reshape(self.numbers.shape) for bound in (joint.never, joint.perfect))
        return never, perfect

    def decomposed_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Never acting and acting on the truth, exactly, ``[splits, cohorts]``."""
        _, decomposed = self.returns
        return np.asarray(decomposed.never)[self.numbers], np.asarray(decomposed.perfect)[self.numbers]


@eqx.filter_jit
def _prepare(
    keys: Key[Array, " tests"],
    numbers: Int[Array, " tests"],
    cohorts: Cohorts,
    problem: Problem,
    num_trajectories: int,
    steps: int,
) -> tuple[JointReturns, DecomposedReturns]:
    """Joint returns of every test cohort of every split, whose luck differs, and decomposed returns of every cohort."""
    true, budget, ids = (leaf[numbers] for leaf in (cohorts.true_transitions, cohorts.budget, cohorts.ids))
    joint = JointReturns(SimulatedCohort(keys, true, budget, ids), problem, num_trajectories, steps)
    return joint, DecomposedReturns(cohorts.true_transitions, problem, cohorts.budget)


@eqx.filter_jit
def _achieved(
    dynamic: Any,
    maps: Float[Array, "runs states 2"] | None,
    numbers: tuple[Int[Array, "runs cohorts"], Int[Array, "runs cohorts"]],
    returns: tuple[JointReturns, DecomposedReturns],
    cohorts: Cohorts,
    static: Any,
) -> tuple[Float[Array, "runs cohorts"], Float[Array, "runs cohorts"]]:
    (joint, decomposed), (places, own) = returns, numbers
    predicted = predict(dynamic, own, cohorts, static)
    indices = all_indices(predicted, joint.problem)
    if maps is not None:
        slope, intercept = (maps[:, None, None, :, part] for part in range(2))
        indices = slope * indices + intercept
    called = joint.of_priorities(places.ravel(), _flat(indices)).total
    mixed = decomposed.of_predictions(own.ravel(), _flat(predicted)).total
    return called.reshape(own.shape), mixed.reshape(own.shape)


def _flat(values: Float[Array, "runs cohorts *rest"]) -> Float[Array, "pairs *rest"]:
    """Every pair of run and cohort in one axis."""
    return values.reshape(-1, *values.shape[2:])


def predict(
    dynamic: Any, numbers: Int[Array, "runs cohorts"], cohorts: Cohorts, static: Any
) -> Float[Array, "runs cohorts arms states actions states"]:
    """What each run's model predicts for its cohorts."""

    def of_run(weights: Any, own: Int[Array, " cohorts"]) -> Float[Array, "cohorts arms states actions states"]:
        model = eqx.combine(weights, static)
        return over_cohorts(model, jax.tree.map(lambda leaf: leaf[own], cohorts.features), cohorts.num_arms)

    return jax.vmap(of_run)(dynamic, numbers)
