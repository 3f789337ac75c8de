"""What the demonstration's lists are truly worth: many programmes like the demo's, whose people's chains are known.

The demo's own evaluation sees a few hundred calls, too few to tell ways to choose apart. Here each way makes one list
for the week after the history, and the true chains say what its calls gain in the 12 weeks after them.
"""

import csv
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.studies.null_worlds.study import true_gain

NUM_PROGRAMMES, FIRST_SEED = 40, 100
COLUMNS = ("seed", "way", "gain per 100 calls")


def run(out: Path, num_programmes: int = NUM_PROGRAMMES) -> None:
    """Judge lists on programmes of new seeds and write the results."""
    rows = []
    for seed in range(FIRST_SEED, FIRST_SEED + num_programmes):
        rows += [(seed, way, f"{gain:.3f}") for way, gain in judge(seed).items()]
        print(f"{seed - FIRST_SEED + 1} of {num_programmes}", flush=True)
    out.mkdir(parents=True, exist_ok=True)
    with (out / "summary.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])


def judge(seed: int) -> dict[str, float]:
    """Engaged weeks gained by 100 calls of each way's list, by the true chains of one programme."""
    from armwise.demo import CALLS_PER_GROUP, NUM_PEOPLE
    from armwise.programme.sample import DISTRICTS, sample_programme

    calls = CALLS_PER_GROUP * len(DISTRICTS)
    simulated = sample_programme(seed, NUM_PEOPLE, calls_per_group=CALLS_PER_GROUP).simulated
    belief, scores = score_people(simulated, seed)
    return {way: 100 * true_gain(simulated, belief, _listed(own, calls)) / calls for way, own in scores.items()}


def score_people(simulated: Any, seed: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """How likely each person is in each state now, and who comes first by each way.

    A person who was not observed in the last week is believed to be as her true chain, left alone, makes her.
    """
    import polars as pl

    import armwise as aw

    history = simulated.trajectories
    codes = np.asarray(simulated.features.codes).astype(str)
    people = pl.DataFrame({f"feature {column}": codes[:, column] for column in range(codes.shape[1])})
    planner = aw.OutreachPlanner(random_state=seed).fit(people, history)
    chains = planner.predict_transitions(people, history)
    last, gap, run, since_call = _standing(history)
    pooled = np.asarray(aw.estimate_transitions(aw.transition_counts(history).sum(axis=0, keepdims=True) + 0.5))
    population = np.asarray(aw.whittle_indices(pooled, planner.problem_))[0]
    rows, seen = np.arange(len(last)), _believe(chains, last, gap)
    return _believe(np.asarray(simulated.transitions), last, gap), {
        "armwise": np.sum(seen * planner.whittle_indices(people, history), axis=1),
        "random": np.zeros(len(rows)),
        "round robin": since_call,
        "disengaged first": (last == 0) * (1 + run / 1000),
        "population index": population[last],
        "least likely to engage": -np.einsum("ns,ns->n", seen, chains[:, :, 0, 1]),
    }


def _standing(history: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Last observed state, weeks since, observed weeks in a row in it, and weeks since the last call."""
    states, observed, calls = (np.asarray(part) for part in (history.states, history.observed, history.actions))
    people, weeks = np.arange(len(states)), states.shape[1]
    gap = observed[:, ::-1].argmax(axis=1)
    last = states[people, weeks - 1 - gap]
    left = np.cumsum((observed & (states != last[:, None]))[:, ::-1], axis=1)[:, ::-1] > 0
    called = (calls > 0)[:, ::-1]
    since = np.where(called.any(axis=1), called.argmax(axis=1) + 1, weeks + 1).astype(float)
    return last, gap, (observed & ~left).sum(axis=1), since


def _believe(chains: np.ndarray, last: np.ndarray, gap: np.ndarray) -> np.ndarray:
    belief = np.eye(chains.shape[1])[last]
    for week in range(int(gap.max())):
        moved = np.einsum("ns,nst->nt", belief, chains[:, :, 0])
        belief = np.where((week < gap)[:, None], moved, belief)
    return belief


def _listed(scores: np.ndarray, calls: int) -> np.ndarray:
    """Each person's share of a call: the highest scores, equals by lot."""
    from armwise.evaluation.lists import list_best

    return list_best(scores[:, None], np.ones((len(scores), 1), bool), calls / len(scores))[:, 0]


def read_gains(summary: Path) -> dict[str, np.ndarray]:
    """What 100 calls of each way's list gained, programme by programme."""
    with summary.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    gains: dict[str, list[float]] = {}
    for _, way, gain in rows:
        gains.setdefault(way, []).append(float(gain))
    return {way: np.array(values) for way, values in gains.items()}


def table(summary: Path) -> list[str]:
    """The lines of a table: the mean gain of each way, and how much more armwise gains, with standard errors."""
    gains = read_gains(summary)
    lines = ["| whom to call | engaged weeks by 100 calls | armwise gains more by |", "|---|--:|--:|"]
    for way, values in gains.items():
        lead = gains["armwise"] - values
        more = "" if way == "armwise" else mean_with_error(lead)
        lines.append(f"| {way} | {mean_with_error(values)} | {more} |")
    return lines


def mean_with_error(values: np.ndarray) -> str:
    """The mean and its standard error over programmes."""
    return f"{values.mean():.1f} ± {values.std(ddof=1) / len(values) ** 0.5:.1f}"
