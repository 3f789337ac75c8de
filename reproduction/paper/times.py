"""Figure 2a: the time of a training epoch of every loss, on the domains themselves.

An epoch is one pass over the training cohorts of the first split, one gradient step each, one run alone, validation
left out. Compilation is left out too. cvxpylayers cannot be compiled; its epoch is reckoned from a few of its steps.
"""

import dataclasses
import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from armwise.data import Cohorts, Domain
from armwise.losses import CohortTruth, Loss
from armwise.rmab import Problem
from armwise.training import TrainConfig
from armwise.training.engine import advance_one, cast, prepare_cohorts, progress_bar
from armwise.training.optimizer import AdamW
from armwise.training.run import Run, State, first_state
from reproduction.provenance import hardware
from reproduction.runs.protocol import LossFamily, check_loss, model_maker

TEMPERATURE, RATE = 0.1, 1e-2
SOLVER_STEPS = 2
_SLOW_STEP = 20.0  # seconds after which one step of a solver is enough


@dataclasses.dataclass(frozen=True)
class TimeRow:
    """The time of one epoch: the median of some repeats, each of some gradient steps."""

    domain: str
    loss: str
    seconds: float
    fastest: float
    slowest: float
    num_repeats: int
    num_steps: int  # in each repeat
    num_cohorts: int
    num_arms: int
    hardware: str


def epoch_times(
    name: str, domain: Domain, losses: Iterable[str], *, long: float = 1.0, progress: bool | None = None
) -> list[TimeRow]:
    """Time an epoch of each loss on a domain.

    Args:
        name: what to call the domain.
        domain: its training cohorts are those of its first split.
        losses: names of losses.
        long: seconds that one measurement should take, at about; a slow epoch is measured once.
        progress: whether to show a bar; by default on a terminal.
    """
    names = list(losses)
    rows = []
    with progress_bar(f"timing, {name}", len(names), progress) as tick:
        for loss in names:
            rows.append(_row(name, loss, domain, long))
            tick(1)
    return rows


def compiled_epochs(
    loss: Loss, cohorts: Cohorts, model: Any, problem: Problem, *, most: int = 100
) -> Callable[[int], State]:
    """A function that trains by the loss for so many epochs, in ``train``'s own compiled program, and keeps nothing.

    Args:
        loss: to train by.
        cohorts: one gradient step for each in an epoch.
        model: with its first weights, from which every call begins.
        problem: rewards, discount, first states and costs.
        most: epochs that a call may ask for.
    """
    config = TrainConfig(num_epochs=most)
    weights, frozen = eqx.partition(cast(model, config.dtype), eqx.is_inexact_array)
    prepared, optimizer = prepare_cohorts(cohorts, [loss], frozen, problem, config), AdamW(config.weight_decay)
    numbers = jnp.arange(cohorts.num_cohorts)
    run = Run(jax.random.key(1), jnp.float32(RATE), jnp.zeros((), int), numbers, numbers[:0])
    state = first_state(weights, run.learning_rate, config, optimizer)
    return lambda num_epochs: advance_one(state, run, prepared, config, optimizer, jnp.asarray(num_epochs))


def solver_steps(loss: Loss, cohorts: Cohorts, model: Any, problem: Problem) -> Callable[[int], list[Any]]:
    """A function that computes the gradients of so many steps through a solver that cannot be compiled.

    All at the first weights: some of its gradients are NaN, and no problem can be solved at weights that are.
    """
    cohorts, problem, model = cast((cohorts, problem, model), jnp.dtype("float32"))
    gradient = eqx.filter_grad(lambda model, features, prepared: loss(model(features), prepared))
    arguments = [
        (own.features, loss.prepare(CohortTruth.of(own, problem)))
        for own in (cohorts[number] for number in range(min(SOLVER_STEPS, cohorts.num_cohorts)))
    ]
    return lambda num_steps: [gradient(model, *arguments[step % len(arguments)]) for step in range(num_steps)]


def _row(name: str, loss: str, domain: Domain, long: float) -> TimeRow:
    seconds, num_steps = _measure(check_loss(loss), domain, long)
    num_cohorts = domain.sizes[0]
    of_epoch = [value * num_cohorts / num_steps for value in seconds]
    spread = (statistics.median(of_epoch), min(of_epoch), max(of_epoch))
    return TimeRow(name, loss, *spread, len(seconds), num_steps, num_cohorts, domain.cohorts.num_arms, hardware())


def _measure(family: LossFamily, domain: Domain, long: float) -> tuple[list[float], int]:
    """Seconds of each repeat, and the gradient steps in each."""
    cohorts = domain.cohorts[domain.split_numbers(0).train]
    what = (family.make(TEMPERATURE), cohorts, model_maker("linear", domain)(jax.random.key(0)), domain.problem)
    if not family.compiled:
        steps = solver_steps(*what)
        first = _seconds(steps, 1)  # builds the solver's layer
        num_steps = SOLVER_STEPS if first < _SLOW_STEP else 1
        return [_seconds(steps, num_steps) for _ in range(2 if first < _SLOW_STEP else 1)], num_steps
    run = compiled_epochs(*what)
    _seconds(run, 1)  # compiles
    once = _seconds(run, 1)
    num_epochs = max(1, min(100, round(long / once)))
    repeats = 5 if once < 5 * long else 1
    return [_seconds(run, num_epochs) for _ in range(repeats)], num_epochs * cohorts.num_cohorts


def _seconds(run: Callable[[int], Any], number: int) -> float:
    start = time.perf_counter()
    jax.block_until_ready(run(number))
    return time.perf_counter() - start
