"""What lots cost, and what they make possible: the same programme planned for eight weeks in several ways.

python -m reproduction choice-by-lot [--weeks 8 16 30] [--seeds 5] [--out results/choice-by-lot]

For each simulated programme (``simulated_programme``, default knobs, 7,600 people, 300 calls a week), the model of
each person's chain is fitted once to the weeks seen. Then the programme goes on for eight weeks, in which a way to
choose makes each week's list from everything seen until then. All ways meet the same luck: a person in the same state
with the same action moves on by the same random number.

Judged by true behaviour: engaged weeks in these eight weeks and in twelve weeks without calls after them, more than
without any calls. The sum of what each call adds by itself, if nobody is called after it, has the same expectation
(the performance difference lemma of Kakade and Langford 2002) and much less noise than the engaged weeks counted.
"""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import polars as pl
from jaxtyping import Float, Int

from armwise.data import Programme, Trajectories, simulated_programme
from armwise.models.chains import ChainModel, fit_chains
from armwise.planner.lottery import UNIT, draw_list
from armwise.planner.posterior_draws import draw_indices
from armwise.planner.rules import CallRules
from armwise.planner.shortlist import Selected, Selection, random_number, tie_breaks
from armwise.programme.settings import BEST, LOTTERY
from armwise.rmab import Problem, whittle_indices

NUM_PEOPLE, BUDGET, NUM_STEPS, AFTER, NUM_DRAWS = 7600, 300, 8, 12, 64
PROBLEM = Problem()
PEOPLE = np.arange(NUM_PEOPLE)
IDS = [f"{number:05d}" for number in PEOPLE]

TRUE_INDEX, DISENGAGED = "index of true behaviour", "disengaged first"
# People are called with their call probabilities, whatever their expected index.
AS_OFTEN = "as often as they belong"
# The other lists that the model of chains makes.
LISTS = {
    "best": CallRules(BUDGET, choice=BEST),
    "lottery, cost 1 %": CallRules(BUDGET, choice=LOTTERY, lottery_cost=0.01),
    "lottery, cost 5 %": CallRules(BUDGET, choice=LOTTERY, lottery_cost=0.05),
}
WAYS = (TRUE_INDEX, DISENGAGED, *LISTS, AS_OFTEN)


class Row(NamedTuple):
    """What a way to choose was worth in one programme.

    Attributes:
        quality: of its engaged weeks; 0 is never calling, 1 the index of true behaviour.
        gain: engaged weeks more than without calls.
        reached: share of people called at least once.
        unsure: people a week whose chance of being put on the list was neither 0 nor 1.
        information: the sum of p (1 − p) over these chances p, a week: as much as so many ÷ 4 people called by coin.
        again: the share of a list that is on the lists of the posterior draws.
        truly: the share of a list that is on the list by true behaviour.
    """

    weeks: int
    seed: int
    way: str
    quality: float
    gain: float
    reached: float
    unsure: float
    information: float
    again: float
    truly: float


class Run(NamedTuple):
    """One programme gone on with: what its calls gained, who was ever called, and each list's figures."""

    gain: float
    reached: float
    figures: Float[np.ndarray, "steps 4"]


def run(weeks: int, seed: int) -> list[Row]:
    """All ways in one programme."""
    programme = simulated_programme(seed, num_people=NUM_PEOPLE, num_weeks=weeks)
    model = fit_chains(programme.features, programme.trajectories)
    runs = {way: go_on(programme, model, way, seed) for way in WAYS}
    perfect = runs[TRUE_INDEX].gain
    return [
        Row(weeks, seed, way, each.gain / perfect, each.gain, each.reached, *each.figures.mean(axis=0))
        for way, each in runs.items()
    ]


def go_on(programme: Programme, model: ChainModel, way: str, seed: int) -> Run:
    """The programme's next weeks with the lists of one way."""
    engage, luck = programme.transitions[..., 1], np.random.default_rng([seed, 1]).random((NUM_STEPS, NUM_PEOPLE))
    past = programme.trajectories
    states, actions = np.asarray(past.states), np.asarray(past.actions)
    gain, ever, figures = 0.0, np.zeros(NUM_PEOPLE, bool), np.zeros((NUM_STEPS, 4))
    for step in range(NUM_STEPS):
        called = np.zeros(NUM_PEOPLE, int)
        selected = choose(programme, model, way, seed, step, states, actions)
        called[selected.chosen["id"].cast(pl.Int64).to_numpy()] = 1
        figures[step] = *_figures(selected), called[true_list(programme, states[:, -1])].mean()
        gain += float(called @ _gains(engage, states[:, -1], NUM_STEPS + AFTER - step))
        following = (luck[step] < engage[PEOPLE, states[:, -1], called]).astype(int)
        actions = np.column_stack([actions[:, :-1], called, np.zeros(NUM_PEOPLE, int)])
        states = np.column_stack([states, following])
        ever |= called == 1
    return Run(gain, float(ever.mean()), figures)


def true_list(programme: Programme, states: Int[np.ndarray, " people"]) -> Int[np.ndarray, " calls"]:
    """Whom the indices of true behaviour put on the list."""
    index = np.asarray(whittle_indices(jnp.asarray(programme.transitions), PROBLEM))[PEOPLE, states]
    return np.argsort(-index, kind="stable")[:BUDGET]


def choose(
    programme: Programme,
    model: ChainModel,
    way: str,
    seed: int,
    step: int,
    states: Int[np.ndarray, "people steps"],
    actions: Int[np.ndarray, "people steps"],
) -> Selected:
    """The list of one week."""
    now, draws = states[:, -1], None
    if way == TRUE_INDEX:
        index = np.asarray(whittle_indices(jnp.asarray(programme.transitions), PROBLEM))[PEOPLE, now]
    elif way == DISENGAGED:
        index = 1.0 - now
    else:
        history = Trajectories.from_arrays(states, actions, num_states=2)
        posterior = model.posterior(programme.features, history)
        index = np.asarray(whittle_indices(jnp.asarray(posterior.transitions()), PROBLEM))[PEOPLE, now]
        belief = np.eye(2, dtype=np.float32)[now]
        draws = np.asarray(draw_indices(posterior, PROBLEM, belief, tie_breaks(IDS, seed, step), NUM_DRAWS))
    selection = Selection(LISTS.get(way, LISTS["best"]), seed, step)
    nobody = pl.Series("group", [None], dtype=pl.String).new_from_index(0, NUM_PEOPLE)
    selection.add(pl.DataFrame({"id": IDS, "index": index.astype(float), "group": nobody}), draws)
    selected = selection.finish()
    return _as_often_as_they_belong(selected, seed, step) if way == AS_OFTEN else selected


def _as_often_as_they_belong(selected: Selected, seed: int, step: int) -> Selected:
    """Another list from the same probabilities: everyone with her call probability, in the order of lots."""
    known = selected.probabilities.with_columns(list_probability=pl.col("call_probability"))
    known = known.with_columns(pl.Series("tie", tie_breaks(known["id"], seed, step))).sort("tie")
    chance, groups = known["call_probability"].to_numpy(), np.zeros(known.height, int)
    drawn = draw_list(chance, groups, random_number(seed, step, UNIT))
    return Selected(known.filter(drawn), known, selected.num_draws)


def _figures(selected: Selected) -> tuple[float, float, float]:
    chance = selected.probabilities["list_probability"].to_numpy()
    again = float(selected.chosen["call_probability"].to_numpy().mean())
    return float(((chance > 0) & (chance < 1)).sum()), float((chance * (1 - chance)).sum()), again


def _gains(
    engage: Float[np.ndarray, "people states actions"], states: Int[np.ndarray, " people"], num_weeks: int
) -> Float[np.ndarray, " people"]:
    """Engaged weeks that a call to each person adds in the weeks after it, if nobody is called any more."""
    at_once = engage[PEOPLE, states, 1] - engage[PEOPLE, states, 0]
    lasts = engage[:, 1, 0] - engage[:, 0, 0]
    return at_once * (1 - lasts**num_weeks) / (1 - lasts)


def summarise(rows: list[Row]) -> str:
    """The averages by weeks and way, and what each list keeps of the gain of "best", with its standard error."""
    frame = pl.DataFrame(rows, schema=Row._fields, orient="row")
    best = frame.filter(way="best").select("weeks", "seed", best="gain")
    kept = frame.join(best, on=["weeks", "seed"]).with_columns(kept=pl.col("gain") / pl.col("best"))
    means = kept.group_by("weeks", "way", maintain_order=True).agg(
        pl.col("quality", "gain", "reached", "unsure", "information", "again", "truly", "kept").mean(),
        error=pl.col("kept").std() / pl.len().sqrt(),
    )
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=160, float_precision=3):
        return str(means)


def run_all(weeks: Sequence[int], num_seeds: int, out: Path) -> str:
    """Every programme; the rows so far are written after each, and the averages are told at the end."""
    rows: list[Row] = []
    out.mkdir(parents=True, exist_ok=True)
    for seen in weeks:
        for seed in range(num_seeds):
            rows += run(seen, seed)
            with (out / "summary.csv").open("w", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(Row._fields)
                writer.writerows([*row[:3], *(f"{value:.4f}" for value in row[3:])] for row in rows)
    return summarise(rows)
