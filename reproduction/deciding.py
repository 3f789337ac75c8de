"""Who is called, and what it is worth: rules of thumb and losses on simulated programmes whose truth is known.

A job is one world with a number of weeks. It simulates a programme for each seed, trains every loss on all of them side
by side, and judges every way to choose on the test cohorts of each. All jobs have the same shapes, so a loss compiles
once. Needs jax, equinox, optax and numpy.
"""

import csv
import io
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from armwise.data import (
    Cohorts,
    Features,
    Programme,
    SplitNumbers,
    estimate_transitions,
    partition,
    transition_counts,
)
from armwise.data import simulated_programme as simulate_people
from armwise.errors import InvalidInputError
from armwise.evaluation import fluid_bound, priority_decision_quality, rules_of_thumb
from armwise.io.writing import write_file
from armwise.losses import DecDFL, Loss, MeanSquaredError, NegativeLogLikelihood, PriceDFL, SimDFL
from armwise.mixtures import EntropyMixture, QuadraticMixture
from armwise.models import Linear, average_models
from armwise.models.chains import fit_chains
from armwise.rmab import Problem, passive_returns, whittle_indices
from armwise.rmab.choices import Schedule
from armwise.training import RECOMMENDED_CONFIG, TrainConfig, TrainedRuns, recommended_loss, train_many
from armwise.training.recipe import ACCURACY_WEIGHTS, LEARNING_RATES, choose_cautiously
from reproduction.exact_posterior import exact_chains, sample_population

Transitions = Float[Array, "cohorts arms states actions states"]
Way = Float[Array, "cohorts arms states"] | Schedule

# The knobs of ``simulated_programme`` that differ from its defaults.
WORLDS: dict[str, dict[str, Any]] = {
    "default": {},
    "features tell 2 %": {"explained": 0.02},
    "twice the spread": {"spread": 2.0},
    "small effect": {"call_effect": (0.2, 0.2)},
    "weekly decline": {"weekly_decline": 0.05},
    "10 % unobserved": {"unobserved": 0.1},
}
WEEKS = (8, 16, 30)
TEMPERATURES = (1.0, 0.1)

# Each with its settings to choose among by the loss on validation cohorts. The linear mixture is missing: its gradient
# is zero almost everywhere, so nothing can be learned by it.
LOSSES: dict[str, list[Loss]] = {
    "MSE": [MeanSquaredError()],
    "NLL": [NegativeLogLikelihood()],
    "DEC-DFL (entropy)": [DecDFL(EntropyMixture(temperature)) for temperature in TEMPERATURES],
    "DEC-DFL (quadratic)": [DecDFL(QuadraticMixture(temperature)) for temperature in TEMPERATURES],
    "PriceDFL": [PriceDFL(temperature) for temperature in TEMPERATURES],
}
SIMULATED: dict[str, list[Loss]] = {"SIM-DFL (10 trajectories)": [SimDFL(10)]}
RECOMMENDED = "recommended recipe"
POSTERIOR, NO_FEATURES, PERMUTED = "posterior of own weeks", "posterior, no features", "posterior, features permuted"
EXACT = "exact posterior, population known"
KINDS = ("losses", "sim-dfl", "posterior", "fresh")
# Constants of the model of chains were chosen on programmes with lower seeds.
FIRST_FRESH = 10
TRUE_INDEX, ESTIMATED_INDEX, BOUND = "index of true behaviour", "index of estimated chains", "fluid bound"
RECIPE_SPLITS = 5
CHUNK = 250  # runs side by side on an accelerator, so that 10 seeds of the recipe are two full chunks


@dataclass(frozen=True)
class Size:
    """How much is run. The defaults are the study; ``QUICK`` shows that it works."""

    num_seeds: int = 10
    first_seed: int = 0
    cohorts: tuple[int, int, int] = (60, 20, 20)  # to learn from, to choose by, to judge on
    cohort_size: int = 76
    budget: int = 3
    num_epochs: int = 100
    num_trajectories: int = 400

    @property
    def seeds(self) -> range:
        """One for each programme."""
        return range(self.first_seed, self.first_seed + self.num_seeds)


QUICK = Size(num_seeds=2, cohorts=(6, 2, 2), num_epochs=10, num_trajectories=20)


class Row(NamedTuple):
    """One line of the results: what a way to choose was worth in one simulated programme."""

    world: str
    weeks: int
    seed: int
    way: str
    judged_by: str  # "behaviour" or "estimates"
    quality: float  # 0 is never calling, 1 the Whittle policy of the truth in question
    gain: float  # discounted engaged weeks per 100 people more than without calls


class People(NamedTuple):
    """The simulated programmes of a job, one after the other along the cohorts."""

    cohorts: Cohorts  # with the chains estimated from the weeks seen
    behaviour: Transitions
    problem: Problem
    splits: list[SplitNumbers]  # one per programme


def run_jobs(out: Path, size: Size, worlds: Sequence[str], weeks: Sequence[int], part: str, kind: str) -> None:
    """Compute the jobs of a part that are not in the folder yet, one file each; each of ``KINDS`` has files apart."""
    number, parts = check_part(part)
    jobs = [(world, week) for world in worlds for week in weeks]
    for world, week in jobs[number - 1 :: parts]:
        name = f"{world.replace(' ', '-').replace('%', 'percent')}-{week}{'' if kind == 'losses' else f'-{kind}'}"
        path = out / "parts" / f"{name}.csv"
        if path.exists():
            continue
        start = time.perf_counter()
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, as_csv(run_job(world, week, size, kind)))
        collect(out)
        print(f"{world}, {week} weeks: {time.perf_counter() - start:.0f} s", flush=True)


def check_part(part: str) -> tuple[int, int]:
    """Which part, of how many: "3/16" is the third of sixteen."""
    words = part.split("/")
    if len(words) != 2 or not all(word.isdecimal() for word in words) or not 1 <= int(words[0]) <= int(words[1]):
        raise InvalidInputError(f"--part must be a part and their number, such as 3/16, not {part!r}.")
    return int(words[0]), int(words[1])


def collect(out: Path) -> list[Row]:
    """All rows of all parts, written to one file."""
    rows = [row for path in sorted((out / "parts").glob("*.csv")) for row in read_rows(path)]
    order = list(WORLDS)
    rows.sort(key=lambda row: (order.index(row.world), row.weeks, row.seed))
    write_file(out / "summary.csv", as_csv(rows))
    return rows


def as_csv(rows: Sequence[Row]) -> str:
    """Rows as text; four digits are more than the simulation knows."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Row._fields)
    writer.writerows([*row[:-2], f"{row.quality:.4f}", f"{row.gain:.4f}"] for row in rows)
    return text.getvalue()


def read_rows(path: Path) -> list[Row]:
    """The rows of a file."""
    with path.open(newline="") as lines:
        kinds = Row.__annotations__.values()
        return [
            Row(*(kind(word) for kind, word in zip(kinds, row, strict=True))) for row in list(csv.reader(lines))[1:]
        ]


def run_job(world: str, weeks: int, size: Size, kind: str = "losses") -> list[Row]:
    """Some ways to choose, in every programme of a world, judged by both truths.

    Args:
        world: of ``WORLDS``.
        weeks: that were seen.
        size: how much is run.
        kind: "losses" for everything but SIM-DFL and the posteriors, which are apart: "sim-dfl" and "posterior".
            "fresh" for the posterior and rules of thumb, judged by behaviour alone.
    """
    people = simulate_programmes(WORLDS[world], weeks, size)
    truths = {"behaviour": people.behaviour, "estimates": people.cohorts.true_transitions}
    if kind == "fresh":
        del truths["estimates"]
    rows = []
    for seed, split, ways in zip(
        size.seeds, people.splits, _ways(people, WORLDS[world], weeks, size, kind), strict=True
    ):
        for judged_by, truth in truths.items():
            judged = judge(jax.random.key(seed), ways, truth[split.test], people, split, size)
            rows += [Row(world, weeks, seed, way, judged_by, *worth) for way, worth in judged]
    return rows if kind == "losses" else [row for row in rows if row.way != BOUND]


def _ways(people: People, knobs: dict[str, Any], weeks: int, size: Size, kind: str) -> Iterator[dict[str, Way]]:
    """The ways of a kind, for one programme after the other."""
    if kind == "posterior":
        yield from (posterior_ways(people, seed, knobs, weeks, size) for seed in size.seeds)
        return
    if kind == "fresh":
        yield from fresh_ways(people, knobs, weeks, size)
        return
    models = train_all(people, SIMULATED if kind == "sim-dfl" else LOSSES, size)
    if kind == "losses":
        models[RECOMMENDED] = train_recommended_side_by_side(people, size)
    for seed, split in enumerate(people.splits):
        ways = indices_of(people, split, {name: trained[seed] for name, trained in models.items()})
        yield ways if kind == "sim-dfl" else with_references(people, split, ways, models["NLL"][seed])


def posterior_ways(people: People, seed: int, knobs: dict[str, Any], weeks: int, size: Size) -> dict[str, Way]:
    """The index of each person's posterior chain: what people have in common is learned from the other cohorts.

    In the default world, beside it: the same without features, and with each person's features given to another.
    """
    programme, (taught, judged) = _simulate(seed, knobs, weeks, size), _taught_and_judged(people, seed, size)
    shape = people.cohorts.true_transitions[people.splits[seed - size.first_seed].test].shape
    permuted = programme.features[np.random.default_rng(seed).permutation(len(programme.calls))]
    nothing = _no_features(len(programme.calls))
    known = {POSTERIOR: programme.features}
    if not knobs:
        known |= {NO_FEATURES: nothing, PERMUTED: permuted}
    ways: dict[str, Way] = {}
    for name, features in known.items():
        model = fit_chains(features[taught], programme.trajectories[taught])
        chains = model.posterior(features[judged], programme.trajectories[judged]).transitions()
        ways[name] = _indices(jnp.asarray(chains.reshape(shape)), people.problem)
    return ways


def fresh_ways(people: People, knobs: dict[str, Any], weeks: int, size: Size) -> Iterator[dict[str, Way]]:
    """The posterior beside the rules of thumb, for one programme after the other.

    "Least likely to engage" knows people by their posterior chains, too. In the default world there is also what
    could be known at best from people's weeks.
    """
    population = None if knobs else sample_population()
    for seed, split in zip(size.seeds, people.splits, strict=True):
        programme, (taught, judged) = _simulate(seed, knobs, weeks, size), _taught_and_judged(people, seed, size)
        model = fit_chains(programme.features[taught], programme.trajectories[taught])
        chains = model.posterior(programme.features[judged], programme.trajectories[judged]).transitions()
        predicted = jnp.asarray(chains.reshape(people.cohorts.true_transitions[split.test].shape))
        ways = rules_of_thumb(people.problem, predicted, people.cohorts.counts[split.train])
        ways[POSTERIOR] = _indices(predicted, people.problem)
        if population is not None:
            known = exact_chains(programme.trajectories[judged], population)
            ways[EXACT] = _indices(jnp.asarray(known.reshape(predicted.shape), predicted.dtype), people.problem)
        yield ways


def _no_features(number: int) -> Features:
    return Features(numeric=np.zeros((number, 0)))


def _taught_and_judged(people: People, seed: int, size: Size) -> tuple[np.ndarray, np.ndarray]:
    """The ids of people in a programme's cohorts to learn from and to judge on."""
    ids, split = np.asarray(people.cohorts.ids), people.splits[seed - size.first_seed]
    return ids[np.concatenate(split[:2])].ravel(), ids[split.test].ravel()


def _simulate(seed: int, knobs: dict[str, Any], weeks: int, size: Size) -> Programme:
    return simulate_people(seed, num_people=sum(size.cohorts) * size.cohort_size, num_weeks=weeks, **knobs)


def simulate_programmes(knobs: dict[str, Any], weeks: int, size: Size) -> People:
    """A programme for each seed, in cohorts. In judgement half of the people start engaged, the same in all worlds."""
    number = sum(size.cohorts)
    programmes = [_simulate(seed, knobs, weeks, size) for seed in size.seeds]
    cohorts = [_in_cohorts(seed, programme, size) for seed, programme in zip(size.seeds, programmes, strict=True)]
    behaviour = [programme.transitions[own.ids] for programme, own in zip(programmes, cohorts, strict=True)]
    ends = np.cumsum(size.cohorts)[:-1]
    splits = [SplitNumbers(*np.split(each * number + np.arange(number), ends)) for each in range(size.num_seeds)]
    together = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *cohorts)
    return People(together, jnp.asarray(np.concatenate(behaviour), together.true_transitions.dtype), Problem(), splits)


def _in_cohorts(seed: int, programme: Programme, size: Size) -> Cohorts:
    counts = transition_counts(programme.trajectories)
    estimated = estimate_transitions(counts)
    return partition(seed, programme.features, estimated, counts, size.cohort_size, size.budget).cohorts


def train_all(people: People, losses: dict[str, list[Loss]], size: Size) -> dict[str, list[Any]]:
    """The model of each loss for each programme, learned from chains estimated on its training cohorts."""
    config = TrainConfig(num_epochs=size.num_epochs, block_size=size.num_epochs)
    models = {}
    for name, settings in losses.items():
        runs = _train(people, settings, people.splits, config)
        models[name] = [runs.model(int(run)) for run in runs.select("loss", shared=False)[:, 0]]
    return models


def _train(people: People, losses: list[Loss], splits: list[SplitNumbers], config: TrainConfig) -> TrainedRuns:
    features = people.cohorts.features
    chunk = None if jax.default_backend() == "cpu" else CHUNK
    return train_many(
        jax.random.key(0),
        people.cohorts,
        losses,
        lambda key: Linear(key, features, 2),
        config,
        splits=splits,
        learning_rates=LEARNING_RATES,
        problem=people.problem,
        chunk_size=chunk,
        progress=False,
    )


def train_recommended_side_by_side(people: People, size: Size) -> list[Any]:
    """``train_recommended`` on each programme, all programmes in one grid of runs."""
    splits = [inner for split in people.splits for inner in inner_splits(split)]
    config = RECOMMENDED_CONFIG if size.num_epochs == Size.num_epochs else shorter_recipe(size.num_epochs)
    runs = _train(people, [recommended_loss(weight) for weight in ACCURACY_WEIGHTS], splits, config)
    quality = runs.at_best("quality")
    models = []
    for own in np.arange(len(quality)).reshape(size.num_seeds, RECIPE_SPLITS, -1):
        chosen = own[:, choose_cautiously(quality[own], runs.setting.loss[own[0]])]
        models.append(average_models([runs.model(int(run)) for run in chosen if np.isfinite(quality[run])]))
    return models


def shorter_recipe(num_epochs: int) -> TrainConfig:
    """The recipe's settings in small."""
    return TrainConfig(num_epochs=num_epochs, quality="joint", quality_trajectories=10, select_by="quality")


def inner_splits(split: SplitNumbers) -> list[SplitNumbers]:
    """Training and validation cohorts divided anew, as the default planner does; the first division is the split's."""
    rng, known, size = np.random.default_rng(0), np.concatenate(split[:2]), len(split.train)
    orders = [known, *(rng.permutation(known) for _ in range(RECIPE_SPLITS - 1))]
    return [SplitNumbers(order[:size], order[size:], split.test) for order in orders]


def indices_of(people: People, split: SplitNumbers, models: dict[str, Any]) -> dict[str, Way]:
    """The Whittle indices of the chains that models predict on the test cohorts of a programme."""
    test = people.cohorts[split.test]
    return {name: _indices(_predict(model, test), people.problem) for name, model in models.items()}


def with_references(people: People, split: SplitNumbers, learned: dict[str, Way], risk_model: Any) -> dict[str, Way]:
    """Rules of thumb, what was learned, and the indices of both truths."""
    test = people.cohorts[split.test]
    thumbs = rules_of_thumb(people.problem, _predict(risk_model, test), people.cohorts.counts[split.train])
    known = {
        TRUE_INDEX: _indices(people.behaviour[split.test], people.problem),
        ESTIMATED_INDEX: _indices(test.true_transitions, people.problem),
    }
    return thumbs | learned | known


@eqx.filter_jit
def _predict(model: Any, cohorts: Cohorts) -> Transitions:
    return jax.vmap(model)(cohorts.features)


@eqx.filter_jit
def _indices(transitions: Transitions, problem: Problem) -> Float[Array, "cohorts arms states"]:
    return jax.vmap(lambda cohort: whittle_indices(cohort, problem))(transitions)


def judge(
    key: Array, ways: dict[str, Way], truth: Transitions, people: People, split: SplitNumbers, size: Size
) -> Iterator[tuple[str, tuple[float, float]]]:
    """Quality and gain of every way and of the bound, all on the same luck."""
    problem, per_hundred = people.problem, 100 / size.cohort_size
    options: dict[str, Any] = {"num_trajectories": size.num_trajectories, "ids": people.cohorts.ids[split.test]}
    for name, way in ways.items():
        quality = priority_decision_quality(key, way, truth, problem, size.budget, **options)
        gain = per_hundred * float(jnp.mean(quality.achieved - quality.never))
        yield name, (float(quality.normalised), gain)
    never = jax.vmap(lambda cohort: jnp.sum(passive_returns(cohort, problem)))(truth)
    most = per_hundred * float(jnp.mean(fluid_bound(truth, problem, size.budget) - never))
    perfect = per_hundred * float(jnp.mean(quality.perfect - quality.never))
    yield BOUND, (most / perfect, most)
