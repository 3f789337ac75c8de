"""Figure 2a: the time of a training epoch of every loss, on the domains themselves.

An epoch is one pass over the training cohorts of the first split, one gradient step each, one run alone, validation
left out. Compilation is left out too; cvxpylayers is timed step by step.
"""

import dataclasses
import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from armwise.data import Domain, SplitNumbers
from armwise.experiments.protocol import LossFamily, check_loss, model_maker
from armwise.experiments.provenance import hardware
from armwise.experiments.reference import train_step_by_step
from armwise.training import TrainConfig
from armwise.training.engine import advance_one, cast, make_material, progress_bar
from armwise.training.run import Run, first_state

TEMPERATURE, RATE = 0.1, 1e-2


@dataclasses.dataclass(frozen=True)
class TimeRow:
    """The time of one epoch: the median of some repeats, each of some epochs."""

    domain: str
    loss: str
    seconds: float
    fastest: float
    slowest: float
    num_repeats: int
    num_epochs: int  # in each repeat
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
            seconds, num_epochs = _measure(check_loss(loss), domain, long)
            sizes = (domain.sizes[0], domain.cohorts.num_arms)
            spread = (statistics.median(seconds), min(seconds), max(seconds))
            rows.append(TimeRow(name, loss, *spread, len(seconds), num_epochs, *sizes, hardware()))
            tick(1)
    return rows


def _measure(family: LossFamily, domain: Domain, long: float) -> tuple[list[float], int]:
    """Seconds per epoch of each repeat, and the epochs in each."""
    run = _compiled_epochs(family, domain) if family.compiled else _plain_epochs(family, domain)
    once = _seconds(run, 1)  # compiles, or builds the solver's layer
    once = min(once, _seconds(run, 1)) if once < 60 * long else once
    num_epochs = max(1, min(100, round(long / once)))
    repeats = 5 if once < 5 * long else 1
    return [_seconds(run, num_epochs) / num_epochs for _ in range(repeats)], num_epochs


def _seconds(run: Callable[[int], Any], num_epochs: int) -> float:
    start = time.perf_counter()
    jax.block_until_ready(run(num_epochs))
    return time.perf_counter() - start


def _compiled_epochs(family: LossFamily, domain: Domain) -> Callable[[int], Any]:
    config = TrainConfig(num_epochs=100)
    model = cast(model_maker("linear", domain)(jax.random.key(0)), config.dtype)
    weights, frozen = eqx.partition(model, eqx.is_inexact_array)
    material = make_material(domain.cohorts, [family.make(TEMPERATURE)], frozen, domain.problem, config)
    train = jnp.asarray(domain.split_numbers(0).train)
    run = Run(jax.random.key(1), jnp.float32(RATE), jnp.zeros((), int), train, train[:0])
    state = first_state(weights, config)
    return lambda num_epochs: advance_one(state, run, material, config, jnp.asarray(num_epochs))


def _plain_epochs(family: LossFamily, domain: Domain) -> Callable[[int], Any]:
    numbers = domain.split_numbers(0)
    # One validation cohort, since the plain loop wants something to choose by: one solve more per epoch.
    split = SplitNumbers(numbers.train, numbers.train[:1], numbers.test)

    def run(num_epochs: int) -> Any:
        grid: dict[str, Any] = {"splits": [split], "num_initialisations": 1, "learning_rates": [RATE]}
        what = (jax.random.key(0), domain.cohorts, [family.make(TEMPERATURE)], model_maker("linear", domain))
        return train_step_by_step(*what, num_epochs, problem=domain.problem, **grid).history.train_loss

    return run
