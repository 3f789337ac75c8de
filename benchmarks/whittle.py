"""Whittle indices by armwise and by others, with the largest error of each against the exact index.

Others: markovianbandit-pkg, one arm at a time and in bulk over all cores; and bisection on the subsidy with value
iteration inside, as deployed code does it, vectorised over arms and states. "Exact" is our index in float64, which the
tests hold to markovianbandit-pkg's and to 40-digit arithmetic; ``benchmarks.rmab`` puts the rows into its table.
"""

import contextlib
import io
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import jax
import numpy as np

import armwise as aw
from benchmarks.harness import Row, Timing, measure, seconds

DISCOUNT = 0.9
PACKAGE_ARMS, BULK_ARMS = 400, 4_000
BISECTION_ARMS = {2: 4_000, 5: 500}
TOLERANCES = (1e-2, 1e-6)  # of the subsidy and of the values: what is common in deployed code, and six digits


def random_transitions(num_arms: int, num_states: int) -> jax.Array:
    draws = jax.random.exponential(jax.random.key(0), (num_arms, num_states, 2, num_states))
    return jax.block_until_ready(draws / draws.sum(axis=-1, keepdims=True))


def float64_arms(num_arms: int, num_states: int) -> np.ndarray:
    arms = np.asarray(random_transitions(num_arms, num_states), float)
    return arms / arms.sum(axis=-1, keepdims=True)


def exact_indices(arms: np.ndarray) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(aw.whittle_indices(arms, aw.Problem(num_states=arms.shape[1])))


def package_indices(arms: np.ndarray) -> tuple[np.ndarray, list[float]]:
    """Of markovianbandit-pkg through its public interface, one arm after the other, and the time of each."""
    before = np.geterr()  # the package turns floating-point warnings into errors for the whole process
    from markovianbandit import restless_bandit_from_P0P1_R0R1 as bandit

    np.seterr(**before)
    rewards, times, indices = np.linspace(0, 1, arms.shape[1]), [], []
    with contextlib.redirect_stdout(io.StringIO()):
        for arm in arms:
            start = time.perf_counter()
            indices.append(bandit(arm[:, 0], arm[:, 1], rewards, rewards).whittle_indices(discount=DISCOUNT))
            times.append(time.perf_counter() - start)
    return np.array(indices), times


def workers(number: int) -> ProcessPoolExecutor:
    """New processes, each with one thread for linear algebra: on matrices this small, more only wait for another."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    return ProcessPoolExecutor(number, get_context("spawn"))


def _bulk(arms: np.ndarray) -> np.ndarray:
    return package_indices(arms)[0]


def package_in_bulk(arms: np.ndarray) -> tuple[np.ndarray, Timing]:
    """The same on all cores, a part of the arms for each; its processes are started and warm before the clock is."""
    cores = os.cpu_count() or 1
    parts = np.array_split(arms, cores)
    with workers(cores) as pool:
        list(pool.map(_bulk, [part[:5] for part in parts]))
        times = []
        for _ in range(3):
            start = time.perf_counter()
            indices = list(pool.map(_bulk, parts))
            times.append(time.perf_counter() - start)
    return np.concatenate(indices), Timing.of(times)


def bisected_indices(arms: np.ndarray, tolerance: float) -> np.ndarray:
    """For each state a bisection on the subsidy for not acting, value iteration inside; all arms and states at once.

    Each search goes on from the values of the one before. What remains of value iteration's error is up to
    tolerance · γ / (1 − γ), which bounds how well the two actions can be told apart.
    """
    num_arms, num_states = arms.shape[:2]
    rewards, act = np.linspace(0, 1, num_states), np.array([0.0, 1.0])
    matrices = DISCOUNT * arms.reshape(num_arms, num_states * 2, num_states)
    lower = np.full((num_arms, num_states), -1 / (1 - DISCOUNT))
    upper, values = -lower, np.zeros((num_arms, num_states, num_states))  # [arms, state in question, state]
    diagonal = np.arange(num_states)
    while np.max(upper - lower) > tolerance:
        subsidy = (lower + upper) / 2
        now = rewards[None, None, :, None] + subsidy[:, :, None, None] * (1 - act)
        while True:
            ahead = np.matmul(values, matrices.transpose(0, 2, 1))
            worth = now + ahead.reshape(num_arms, num_states, num_states, 2)
            new = worth.max(axis=-1)
            change, values = np.max(np.abs(new - values)), new
            if change <= tolerance:
                break
        passive = worth[:, diagonal, diagonal, 0] >= worth[:, diagonal, diagonal, 1]
        lower, upper = np.where(passive, lower, subsidy), np.where(passive, subsidy, upper)
    return (lower + upper) / 2


def whittle_rows(num_arms: int, num_states: int) -> Iterator[Row]:
    """Ours on many arms, on as many as the package in bulk, and on one; then the others."""
    problem = aw.Problem(num_states=num_states)
    many = random_transitions(num_arms, num_states)
    indices = jax.jit(lambda t: aw.whittle_indices(t, problem))
    ours = measure(indices, many, repeats=5)
    per_arm = ours.median / num_arms
    arms = float64_arms(min(num_arms, BULK_ARMS), num_states)
    exact = exact_indices(arms)

    def row(what: str, found: np.ndarray, timing: Timing, number: int, headline: bool) -> Row:
        error, ratio = float(np.max(np.abs(found - exact[: len(found)]))), timing.median / number / per_arm
        compared = "" if timing is ours else f"{ratio:,.0f} × ours, "
        figure = f"{seconds(timing.median / number)} an arm, {compared}error {error:.0e}"
        size = f"{number:,} arm{'s' * (number > 1)} × {num_states} states"
        return Row(what, size, timing, figure, headline, {"to_ours": ratio, "error": error})

    narrow = np.asarray(indices(np.asarray(arms, np.float32)))
    yield row("Whittle indices", narrow, ours, num_arms, True)
    yield row("Whittle indices", narrow[:1], measure(indices, many[:1], repeats=21), 1, False)
    with workers(1) as pool:
        found, times = pool.submit(package_indices, arms[: PACKAGE_ARMS + 1]).result()
    yield row("markovianbandit-pkg, per arm", found, Timing.of(times[1:], times[0]), 1, True)
    found, timing = package_in_bulk(arms)
    yield row(f"markovianbandit-pkg, in bulk on {os.cpu_count()} cores", found, timing, len(arms), False)
    some = arms[: BISECTION_ARMS[num_states]]
    for tolerance in TOLERANCES:
        timing = measure(bisected_indices, some, tolerance, repeats=1)
        what = f"bisection with value iteration, to {tolerance:g}"
        yield row(what, bisected_indices(some, tolerance), timing, len(some), tolerance == TOLERANCES[-1])
