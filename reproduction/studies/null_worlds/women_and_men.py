"""Calls that help women and not men, who engage less: what is estimated, what the planner predicts, whom it lists."""

from typing import Any

import numpy as np

from reproduction.studies.null_worlds.beside_truth import Figure, value_and_error

WORLD = "calls help women, not men"
NUM_PEOPLE, NUM_WEEKS, SHARE, EFFECT, LISTED = 2000, 12, 0.05, 0.30, 60
# How much less men engage, in log-odds.
MEN_LESS = 0.7
NUM_WORLDS, NUM_USELESS = 20, 6


def simulate(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Who is a woman, and states and calls ``[people, weeks]``; calls by lot, an effect on disengaged women alone."""
    rng = np.random.default_rng(seed)
    women = rng.random(NUM_PEOPLE) < 0.5
    trait = rng.normal(0, 0.5, NUM_PEOPLE) - MEN_LESS * ~women
    calls = rng.random((NUM_PEOPLE, NUM_WEEKS)) < SHARE
    states = np.empty((NUM_PEOPLE, NUM_WEEKS), int)
    states[:, 0] = rng.random(NUM_PEOPLE) < 0.5
    for week in range(NUM_WEEKS - 1):
        now = states[:, week]
        chance = 1 / (1 + np.exp(-np.where(now == 1, 1.2, -1.2) - trait))
        chance = np.clip(chance + EFFECT * calls[:, week] * women * (now == 0), 0, 1)
        states[:, week + 1] = rng.random(NUM_PEOPLE) < chance
    return women, states, calls


def judge(seed: int) -> list[Figure]:
    """Estimated and predicted effects on the disengaged, the lead over lots, and how many of the list are men."""
    import polars as pl

    import armwise as aw
    from armwise.evaluation.decisions import find_decisions, one_hot
    from armwise.evaluation.effect_regression import EffectRegression
    from armwise.evaluation.resampling import Resampled

    women, states, calls = simulate(seed)
    history = aw.Trajectories.from_arrays(states, calls)
    sex = one_hot(women.astype(int), 2)
    decisions = find_decisions(history, np.array([0.0, 1.0]))
    disengaged = decisions._replace(valid=decisions.valid & (decisions.states == 0))
    surface = EffectRegression(disengaged, sex, 200, seed).surface(np.repeat(sex[:, None], NUM_WEEKS - 1, axis=1))
    rng = np.random.default_rng([seed, 1])
    people = pl.DataFrame({"sex": np.where(women, "woman", "man")}).with_columns(
        pl.Series(f"useless {column}", rng.integers(0, 4, NUM_PEOPLE).astype(str)) for column in range(NUM_USELESS)
    )
    planner = aw.OutreachPlanner(budget_share=LISTED / NUM_PEOPLE, random_state=seed)
    backtest = planner.backtest(people, history, num_resamples=200)
    fitted = planner.fit(people, history)
    predicted = np.diff(fitted.predict_transitions(people, history)[:, 0, :, 1], axis=1)[:, 0]
    plan = fitted.plan(people, history, budget=LISTED)
    rows: list[tuple[Any, ...]] = []
    for number, who in enumerate(("men", "women")):
        effect = Resampled(surface.value[number, 1], surface.draws[:, number, 1]).interval()
        rows.append((f"estimated effect: {who}", *value_and_error(effect), EFFECT * number))
        rows.append((f"planner's prediction: {who}", predicted[women == number].mean(), 0.0, EFFECT * number))
    lead = next(way.lead for way in backtest.ways if way.name == "random")
    men = float(np.sum(~women[plan.calls["id"].cast(pl.Int64).to_numpy()]))
    rows += [("lead over: random", *value_and_error(lead), np.nan), ("men on the list", men, 0.0, 0.0)]
    return [Figure(WORLD, seed, *row) for row in rows]
