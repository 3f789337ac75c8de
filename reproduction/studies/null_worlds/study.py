"""Nothing from nothing: worlds in which calls do nothing, hurt, or help, and what the judgement says of them.

Every figure that armwise shows with an interval is recorded beside its truth, which only a simulation knows. Then the
summary tells how often intervals cover the truth, and how often a figure is claimed to differ from 0.
"""

import csv
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.studies.null_worlds import women_and_men
from reproduction.studies.null_worlds.beside_truth import Figure, value_and_error

NUM_PEOPLE, NUM_WEEKS, SHARE, LEVELS = 1000, 10, 0.042, (4, 3, 4, 2, 5)
NUM_RESAMPLES, NUM_ORIGINS = 200, 2
NULL: dict[str, Any] = {"call_effect": 0.0, "call_effect_spread": 0.0, "explained": 0.0}
WORLDS: dict[str, dict[str, Any]] = {
    "no effect": NULL,
    "no effect, features explain engagement": {**NULL, "explained": 0.3},
    "no effect, longest disengaged were called first": {**NULL, "past_calls": "longest first"},
    "calls hurt": {"call_effect": -0.5},
    "calls help a little": {},
}
# Worlds before this one have been looked at while intervals were chosen.
FIRST_SEED = 1200
# Effects in log-odds when disengaged, and numbers of people, of the worlds that show how much it takes.
POWER_EFFECTS, POWER_PEOPLE, POWER_WORLDS = (0.25, 0.5, 1.0), (300, 1000, 3000), 100


def judge_world(world: str, seed: int) -> list[Figure]:
    """Everything that armwise would say of one programme."""
    from armwise.data import simulated_programme

    simulated = simulated_programme(
        seed,
        num_people=NUM_PEOPLE,
        num_weeks=NUM_WEEKS,
        levels=LEVELS,
        calls_per_week=round(SHARE * NUM_PEOPLE),
        **WORLDS[world],
    )
    return [Figure(world, seed, *each) for each in _figures(simulated, seed, world.startswith("no effect"))]


def _figures(simulated: Any, seed: int, is_null: bool) -> Iterator[tuple[str, float, float, float]]:
    import polars as pl

    import armwise as aw
    from armwise.planner import estimate_call_gains, promise_gain

    codes, history = np.asarray(simulated.features.codes), simulated.trajectories
    people = pl.DataFrame({f"feature {column}": codes[:, column].astype(str) for column in range(codes.shape[1])})
    planner = aw.OutreachPlanner(budget_share=SHARE, random_state=seed, config=aw.TrainConfig(patience=20))
    planner.set_params(loss=aw.recommended_loss())
    result = planner.backtest(
        people,
        history,
        groups={"group": people["feature 0"].to_numpy()},
        num_origins=NUM_ORIGINS,
        num_resamples=NUM_RESAMPLES,
    )
    # A claim is more than two errors away from 0.
    yield "sentence", float(result.effects.is_shown) - float(result.effects.is_harmful), 0.1, 0.0
    truth = _true_effects(simulated)
    for name, effect, true in (
        ("effect of calls: everyone", result.effects.overall, truth.mean()),
        *(
            (f"effect of calls: {each.name}", each, truth[int(each.name.removeprefix("state "))])
            for each in result.effects.by_state
        ),
        *((f"effect of calls: group {each.name}", each, 0.0) for each in result.effects.by_group["group"]),
    ):
        known = true if is_null or name.startswith("effect of calls: state") else float("nan")
        yield name, *value_and_error(effect.effect), known
    for way in result.ways:
        if way.name != "never":
            yield f"gain: {way.name}", *value_and_error(way.gain), 0.0 if is_null else float("nan")
        if way.name not in ("never", "armwise"):
            yield f"lead over: {way.name}", *value_and_error(way.lead), 0.0 if is_null else float("nan")
    one_call = estimate_call_gains(history, np.linspace(0, 1, history.num_states), seed)
    for state, (gain, variance) in enumerate(zip(one_call.gains, np.diag(one_call.covariance), strict=True)):
        yield f"gain of one call: state {state}", gain, float(np.sqrt(variance)), 0.0 if is_null else float("nan")
    fitted = planner.fit(people, history)
    belief = np.eye(history.num_states)[np.asarray(history.states)[:, -1]]
    calls = np.zeros(NUM_PEOPLE)
    first = np.argsort(-np.sum(belief * np.asarray(fitted.whittle_indices(people)), axis=1), kind="stable")
    calls[first[: round(SHARE * NUM_PEOPLE)]] = 1
    promise = promise_gain(result.ways[0].gain, int(calls.sum())).at_level(0.95, present=0.9)
    yield "promise of the list", *value_and_error(promise), true_gain(simulated, belief, calls)


def _true_effects(simulated: Any) -> np.ndarray:
    """The average change that a call makes in the chance to be engaged, over past decisions in each state."""
    states, observed = np.asarray(simulated.trajectories.states), np.asarray(simulated.trajectories.observed)
    change = np.diff(np.asarray(simulated.transitions)[..., 1], axis=2)[..., 0]
    decided = observed[:, :-1] & observed[:, 1:]
    return np.array(
        [
            np.average(change[:, state], weights=np.sum((states[:, :-1] == state) & decided, axis=1))
            for state in range(change.shape[1])
        ]
    )


def true_gain(simulated: Any, belief: np.ndarray, calls: np.ndarray, num_steps: int = 12) -> float:
    """Engaged weeks that calls gain in the weeks after them, by the true chains."""
    chains = np.asarray(simulated.transitions)
    rewards = np.arange(chains.shape[-1]) / (chains.shape[-1] - 1)
    gained = np.zeros(len(chains))
    with_call, without = (np.einsum("is,isx->ix", belief, chains[:, :, action]) for action in (1, 0))
    for _ in range(num_steps):
        gained += (with_call - without) @ rewards
        with_call, without = (np.einsum("is,isx->ix", each, chains[:, :, 0]) for each in (with_call, without))
    return float(calls @ gained)


def judge_power(effect: float, num_people: int, seed: int) -> list[Figure]:
    """Whether an effect of this size is shown with so many people, 42 calls a week for 1,000 of them, in 10 weeks."""
    from armwise.data import simulated_programme
    from armwise.evaluation import call_effects

    simulated = simulated_programme(
        seed,
        num_people=num_people,
        num_weeks=NUM_WEEKS,
        levels=LEVELS,
        calls_per_week=round(SHARE * num_people),
        call_effect=effect,
    )
    found = call_effects(simulated.trajectories, seed=seed)
    truth = _true_effects(simulated).mean()
    return [Figure(f"power {effect:g} {num_people}", seed, "shown", float(found.is_shown), 0.0, truth)]


def _work(job: tuple[Any, ...]) -> list[Figure]:
    if len(job) == 1:
        return women_and_men.judge(*job)
    return judge_world(*job) if len(job) == 2 else judge_power(*job)


def run_jobs(out: Path, num_worlds: int, num_processes: int, first: int = FIRST_SEED) -> None:
    """Judge all worlds in several processes, and write one row per figure as they come."""
    women, powered = (
        range(first, first + min(number, num_worlds)) for number in (women_and_men.NUM_WORLDS, POWER_WORLDS)
    )
    jobs: list[tuple[Any, ...]] = [(seed,) for seed in women]
    jobs += [(effect, people, seed) for effect in POWER_EFFECTS for people in POWER_PEOPLE for seed in powered]
    jobs += [(world, seed) for seed in range(first, first + num_worlds) for world in WORLDS]
    out.mkdir(parents=True, exist_ok=True)
    with (
        open(out / f"figures-{first}.csv", "w", newline="", encoding="utf-8") as file,
        ProcessPoolExecutor(num_processes, mp_context=get_context("spawn")) as pool,
    ):
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(Figure._fields)
        for figures in pool.map(_work, jobs):
            rows.writerows(figures)
            file.flush()
