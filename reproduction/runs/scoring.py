"""What many trained models are worth on the test cohorts of their splits, in bounded memory.

The numbers are those of ``armwise.evaluation``. What no prediction changes is computed once per split instead of once
per run, all runs of a split meet the same luck, and the indices of many cohorts come from one call, since on an
accelerator a call has a smallest size.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, Key

from armwise._hardware import on_cpu
from armwise.data import Cohorts, Domain
from armwise.evaluation.quality import over_cohorts
from armwise.losses import CohortTruth, DecDFL
from armwise.mixtures import LinearMixture
from armwise.rmab import Problem, passive_returns, simulate, simulate_policy, whittle_indices
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
    """The test cohorts of all splits, and the luck of each."""

    def __init__(self, domain: Domain, tests: Sequence[np.ndarray], num_trajectories: int, steps: int, seed: int):
        self.cohorts, self.problem = cast((domain.cohorts, domain.problem), jnp.dtype("float32"))
        self.numbers = jnp.asarray(np.stack(tests))  # [splits, cohorts]
        # Apart from the keys of training, which are folded from the same seed by small numbers.
        root = jax.random.fold_in(jax.random.key(seed), 2**31)
        self.keys = jax.random.split(root, self.numbers.shape)
        self.num_trajectories, self.steps = num_trajectories, steps

    def runs_at_once(self) -> int:
        """How many runs' predictions fit in memory."""
        return runs_at_once(self.numbers.shape[1], self.cohorts)

    def achieved(
        self, models: Any, split: Int[Array, " runs"], maps: Float[Array, "runs states 2"] | None
    ) -> tuple[Array, Array]:
        """Joint and decomposed returns ``[runs, cohorts]`` of acting on the models' predictions."""
        dynamic, static = eqx.partition(models, eqx.is_array)
        arguments = (dynamic, maps, self.numbers[split], self.keys[split], self.cohorts, self.problem)
        return _achieved(*arguments, static, self.num_trajectories, self.steps)

    def joint_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Never acting and acting on the truth, simulated, ``[splits, cohorts]``."""
        arguments = (self.numbers, self.keys, self.cohorts, self.problem, self.num_trajectories, self.steps)
        return _as_numpy(_joint_bounds(*arguments))

    def decomposed_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Never acting and acting on the truth, exactly, ``[splits, cohorts]``."""
        never, perfect = _as_numpy(_decomposed_bounds(self.cohorts, self.problem))
        return never[self.numbers], perfect[self.numbers]


def _as_numpy(arrays: tuple[Array, Array]) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(arrays[0]), np.asarray(arrays[1])


@eqx.filter_jit
def _achieved(
    dynamic: Any,
    maps: Float[Array, "runs states 2"] | None,
    numbers: Int[Array, "runs cohorts"],
    keys: Key[Array, "runs cohorts"],
    cohorts: Cohorts,
    problem: Problem,
    static: Any,
    num_trajectories: int,
    steps: int,
) -> tuple[Float[Array, "runs cohorts"], Float[Array, "runs cohorts"]]:
    predicted = predict(dynamic, numbers, cohorts, static)
    indices = all_indices(predicted, problem)
    if maps is not None:
        slope, intercept = (maps[:, None, None, :, part] for part in range(2))
        indices = slope * indices + intercept
    joint = _simulated(keys, indices, numbers, cohorts, problem, num_trajectories, steps)
    return joint, _decomposed(predicted, numbers, cohorts, problem)


def predict(
    dynamic: Any, numbers: Int[Array, "runs cohorts"], cohorts: Cohorts, static: Any
) -> Float[Array, "runs cohorts arms states actions states"]:
    """What each run's model predicts for its cohorts."""

    def of_run(weights: Any, own: Int[Array, " cohorts"]) -> Float[Array, "cohorts arms states actions states"]:
        model = eqx.combine(weights, static)
        return over_cohorts(model, jax.tree.map(lambda leaf: leaf[own], cohorts.features), cohorts.num_arms)

    return jax.vmap(of_run)(dynamic, numbers)


def all_indices(
    transitions: Float[Array, "*batch arms states actions states"], problem: Problem
) -> Float[Array, "*batch arms states"]:
    """The Whittle indices of all arms of all cohorts in one call."""
    flat = transitions.reshape(-1, *transitions.shape[-3:])
    return whittle_indices(flat, problem).reshape(transitions.shape[:-2])


def _simulated(
    keys: Key[Array, "runs cohorts"],
    indices: Float[Array, "runs cohorts arms states"],
    numbers: Int[Array, "runs cohorts"],
    cohorts: Cohorts,
    problem: Problem,
    num_trajectories: int,
    steps: int,
) -> Float[Array, "runs cohorts"]:
    """The mean return of each cohort under priorities."""

    def of_cohort(pair: tuple[Array, Array, Array]) -> Float[Array, ""]:
        key, own, number = pair
        cohort = jax.tree.map(lambda leaf: leaf[number], cohorts)
        size = (num_trajectories, steps)
        return jnp.mean(simulate(key, cohort.true_transitions, own, problem, cohort.budget, *size, ids=cohort.ids))

    return _over_pairs(of_cohort, (keys, indices, numbers), cohorts.num_arms, num_trajectories)


@eqx.filter_jit
def _joint_bounds(
    numbers: Int[Array, "splits cohorts"],
    keys: Key[Array, "splits cohorts"],
    cohorts: Cohorts,
    problem: Problem,
    num_trajectories: int,
    steps: int,
) -> tuple[Float[Array, "splits cohorts"], Float[Array, "splits cohorts"]]:
    def never(pair: tuple[Array, Array]) -> Float[Array, ""]:
        key, number = pair
        true = cohorts.true_transitions[number]
        no_one, ids = jnp.zeros(true.shape[:2], jnp.int32), cohorts.ids[number]
        return jnp.mean(simulate_policy(key, true, no_one, problem, num_trajectories, steps, ids=ids)[0])

    indices = all_indices(cohorts.true_transitions, problem)[numbers]
    perfect = _simulated(keys, indices, numbers, cohorts, problem, num_trajectories, steps)
    return _over_pairs(never, (keys, numbers), cohorts.num_arms, num_trajectories), perfect


def _over_pairs(function: Callable[[Any], Array], pairs: Any, num_arms: int, num_trajectories: int) -> Array:
    """The function of every pair of run and cohort, as many at once as the machine likes."""
    shape = pairs[0].shape[:2]
    flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), pairs)
    return over_cohorts(function, flat, num_arms, num_trajectories).reshape(shape)


def _decomposed(
    predicted: Float[Array, "runs cohorts arms states actions states"],
    numbers: Int[Array, "runs cohorts"],
    cohorts: Cohorts,
    problem: Problem,
) -> Float[Array, "runs cohorts"]:
    """The exact return of the mixture that looks best by the predictions, kept to the budget under the truth."""
    loss = DecDFL(LinearMixture())
    prepared = lax.map(lambda cohort: loss.prepare(CohortTruth.of(cohort, problem)), cohorts)

    def of_cohort(pair: tuple[Array, Array]) -> Float[Array, ""]:
        own, number = pair
        truth = jax.tree.map(lambda leaf: leaf[number], prepared)
        return jnp.sum(loss.solve(own, truth).mixture * truth.reward_returns)

    # One trajectory: the solver holds a few numbers per arm and policy, no simulated lanes.
    return _over_pairs(of_cohort, (predicted, numbers), cohorts.num_arms * 2**problem.num_states, 1)


@eqx.filter_jit
def _decomposed_bounds(cohorts: Cohorts, problem: Problem) -> tuple[Float[Array, " cohorts"], Float[Array, " cohorts"]]:
    numbers = jnp.arange(cohorts.num_cohorts)[None]
    perfect = _decomposed(cohorts.true_transitions[None], numbers, cohorts, problem)[0]
    never = lax.map(lambda true: jnp.sum(passive_returns(true, problem)), cohorts.true_transitions)
    return never, perfect
