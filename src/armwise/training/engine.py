"""The loop that trains runs: compiled blocks of epochs, with checkpoints and progress between them."""

import dataclasses
import functools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ParamSpec

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from armwise._hardware import on_cpu, platform
from armwise._validation import check_row_sums
from armwise.data import Cohorts
from armwise.errors import InvalidInputError
from armwise.losses import CohortTruth, Loss
from armwise.rmab import Problem
from armwise.training.checkpoint import Checkpoints
from armwise.training.config import TrainConfig
from armwise.training.optimizer import Optimizer
from armwise.training.quality import prepare_returns
from armwise.training.run import PreparedCohorts, Run, State, run_block

_Arguments = ParamSpec("_Arguments")


def prepare_cohorts(
    cohorts: Cohorts, losses: Sequence[Loss], frozen: PyTree, problem: Problem, config: TrainConfig
) -> PreparedCohorts:
    """Everything that does not change during training, in the precision of the settings."""
    cohorts, problem = cast((cohorts, problem), config.dtype)
    axes = ("cohort", "arm", "state", "action", "next state")
    check_row_sums("true_transitions", cohorts.true_transitions, problem.discount, *axes)
    losses = [jax.tree.map(lambda leaf: jnp.asarray(leaf, config.dtype), loss) for loss in losses]
    if len({jax.tree.structure(loss) for loss in losses}) > 1:
        raise InvalidInputError(
            "losses trained side by side must be alike but for their numbers, such as the temperature. Train these one "
            f"call after the other: {', '.join(type(loss).__name__ for loss in losses)}."
        )
    prepared = [_prepare(loss, cohorts, problem) for loss in losses]
    returns = prepare_returns(config.quality, cohorts, problem, config.quality_trajectories)
    return PreparedCohorts(cohorts.features, _stack(losses), _stack(prepared), returns, frozen)


def _prepare(loss: Loss, cohorts: Cohorts, problem: Problem) -> PyTree:
    discount = problem.discount
    num_states, num_actions = cohorts.true_transitions.shape[2:4]
    loss.compile_ahead(num_states, num_actions, discount.dtype)
    return _prepare_at(float(discount), str(discount.dtype))(loss, cohorts, problem)


@functools.cache
def _prepare_at(discount: float, dtype: str) -> Callable[[Loss, Cohorts, Problem], PyTree]:
    """The compiled preparation of all cohorts at a discount, shared by all calls with the same shapes.

    The discount is a constant of the program, not traced, because a loss may derive its number of steps from it.
    """
    known = jnp.asarray(discount, dtype)

    @eqx.filter_jit
    def of_all(loss: Loss, cohorts: Cohorts, problem: Problem) -> PyTree:
        at_discount = eqx.tree_at(lambda problem: problem.discount, problem, known)

        def of_cohort(cohort: Cohorts) -> PyTree:
            return loss.prepare(CohortTruth.of(cohort, at_discount))

        return jax.vmap(of_cohort)(cohorts)

    return of_all


def cast(tree: PyTree, dtype: jnp.dtype) -> PyTree:
    """The pytree with all its floating-point arrays in one precision."""
    return jax.tree.map(lambda leaf: leaf.astype(dtype) if eqx.is_inexact_array(leaf) else leaf, tree)


def _stack(trees: list[PyTree]) -> PyTree:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def _compiled(function: Callable[_Arguments, State]) -> Callable[_Arguments, State]:
    """The function, compiled with options for many small kernels that take longer to start than to run."""

    @functools.cache
    def compiled() -> Callable[_Arguments, State]:
        jit: Any = eqx.filter_jit  # its type does not say that it accepts compiler options
        return jit(function, compiler_options=_options_for_small_kernels())

    @functools.wraps(function)
    def call(*arguments: _Arguments.args, **options: _Arguments.kwargs) -> State:
        return compiled()(*arguments, **options)

    return call


# On a CPU, XLA orders kernels so that several can run in parallel. But most kernels of a step take less than a
# microsecond, and handing one to another core takes longer. A step of Fast DEC-DFL on 100 arms took 65 µs in parallel
# and 46 µs one kernel after the other.
# On a GPU, a loop such as the search for the price asks the host after every iteration whether to continue. As part of
# a graph of kernels it stays on the GPU: an epoch of 400 runs at the paper's real-world shape took 13 ms, not 35.
_IN_GRAPHS = ("FUSION", "CUBLAS", "CUBLASLT", "CUDNN", "CUSTOM_CALL", "DYNAMIC_SLICE_FUSION", "CONDITIONAL", "WHILE")
_OPTIONS = {
    "cpu": {"xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"},
    "gpu": {"xla_gpu_enable_command_buffer": ",".join(_IN_GRAPHS)},
}


def _options_for_small_kernels() -> dict[str, Any]:
    """The compiler options for this machine; none if this version of XLA lacks them or XLA_FLAGS sets one of them."""
    options: dict[str, Any] = dict(_OPTIONS.get(platform(), {}))
    if any(name in os.environ.get("XLA_FLAGS", "") for name in options):
        return {}
    try:
        jax.jit(jnp.negative, compiler_options=options).lower(1.0).compile()
    except (RuntimeError, ValueError):
        return {}
    return options


@_compiled
def advance_one(
    state: State, run: Run, cohorts: PreparedCohorts, config: TrainConfig, optimizer: Optimizer, last: Array
) -> State:
    """Train one run for a block of epochs, compiled."""
    return run_block(state, run, cohorts, config, optimizer, last)


@_compiled
def advance_many(
    state: State, run: Run, cohorts: PreparedCohorts, config: TrainConfig, optimizer: Optimizer, last: Array
) -> State:
    """Train several runs side by side for a block of epochs, compiled."""
    return jax.vmap(lambda state, run: run_block(state, run, cohorts, config, optimizer, last))(state, run)


# Under `vmap` a stopped run costs as much as an active one. So if runs may stop early, only the active runs advance, in
# groups of this size, always by the same program. A GPU is faster with all runs at once.
_CPU_GROUP = 10


def _advance_for(run: Run, config: TrainConfig) -> Callable[..., State]:
    if not run.learning_rate.ndim:
        return advance_one
    may_stop_early = config.patience is not None and on_cpu()
    return advance_unstopped if may_stop_early else advance_many


def advance_unstopped(
    state: State, run: Run, cohorts: PreparedCohorts, config: TrainConfig, optimizer: Optimizer, last: Array
) -> State:
    """Train the runs that have not stopped for a block of epochs, one group at a time."""
    active, size = np.flatnonzero(~np.asarray(state.stopped)), min(_CPU_GROUP, len(state.stopped))
    for start in range(0, len(active), size):
        rows = active[start : start + size]
        # The last group is filled up with its last run, so that all groups use the same program.
        filled = np.pad(rows, (0, size - len(rows)), mode="edge")
        own_state, own_run = jax.tree.map(lambda leaf: leaf[filled], (state, run))  # noqa: B023 (called at once)
        done = advance_many(own_state, own_run, cohorts, config, optimizer, last)
        state = jax.tree.map(lambda all_runs, new: all_runs.at[rows].set(new[: len(rows)]), state, done)  # noqa: B023
    return state


def run_all(
    state: State,
    run: Run,
    cohorts: PreparedCohorts,
    config: TrainConfig,
    optimizer: Optimizer,
    checkpoints: Checkpoints | None,
    name: str,
    tick: Callable[[int], None],
) -> State:
    """Train one run, or several side by side, to the last epoch, from the last checkpoint of this name if any."""
    advance = _advance_for(run, config)
    # The program does not depend on block size or learning rate, so fix both: then all of them share one program.
    settings = dataclasses.replace(config, block_size=1, learning_rate=1.0)
    if checkpoints is not None:
        state = checkpoints.load(name, state) or state
    finished = int(jnp.max(state.epoch))
    tick(finished)
    block = -(-config.block_size // config.validate_every) * config.validate_every  # ends with a validation
    while finished < config.num_epochs and not bool(jnp.all(state.stopped)):
        last = min(finished + block, config.num_epochs)
        state = advance(state, run, cohorts, settings, optimizer, jnp.asarray(last))
        if checkpoints is not None:
            checkpoints.save(name, state)
        tick(last - finished)
        finished = last
    tick(config.num_epochs - finished)
    return state


@contextmanager
def progress_bar(what: str, total: int, show: bool | None) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr; the yielded function advances it by a number. By default only on a terminal."""
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total)
        yield lambda steps: bar.advance(task, steps)
