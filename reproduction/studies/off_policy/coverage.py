"""How often the intervals of ``off_policy_value`` hold the truth, over simulated programmes whose truth is known.

People differ persistently, calls are made by lot, their effect differs by state and person and is sometimes negative,
one week in ten is not observed. The truth is exact for each person: her distribution over states, week by week.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import armwise as aw
from armwise.evaluation.off_policy_estimators import ESTIMATES

POPULATION = 200_000  # people whose exact expectations make up the truth: their average errs by about 0.0005
# Not 0 or 1: the outcome model's shrinkage and the form of the interval were chosen on those programmes, so they
# cannot judge them.
SEED = 2


@dataclass(frozen=True)
class World:
    """One kind of programme.

    Attributes:
        name: in the results.
        num_people: who are followed.
        num_steps: weeks, the last one without a decision.
        call_rate: the probability of a call in the log.
        effects: of a call on the log-odds of engagement next week, average by state.
        effect_spread: between people.
        spread: of the people's own log-odds of engagement.
        unobserved: share of weeks not observed.
    """

    name: str
    num_people: int = 200
    num_steps: int = 10
    call_rate: float = 0.1
    effects: tuple[float, float] = (0.6, -0.1)
    effect_spread: float = 0.3
    spread: float = 1.0
    unobserved: float = 0.1


WORLDS = (
    *(World(f"calls {rate:.0%}", call_rate=rate) for rate in (0.05, 0.1, 0.2, 0.3)),
    World("no effect", effects=(0.0, 0.0), effect_spread=0.0),
    World("37 people", num_people=37, num_steps=150, call_rate=0.6, effects=(0.1, 0.1)),
)


class People(NamedTuple):
    """The chance of engagement next week by state and action, ``[people, 2, 2]``; the first week's ``[people]``."""

    engaging: np.ndarray
    first: np.ndarray


def draw_people(rng: np.random.Generator, world: World, num_people: int) -> People:
    """People with habits of their own; the first state is that of someone long left alone."""
    own = rng.normal(-0.9, world.spread, num_people)
    effects = np.array(world.effects) + rng.normal(0, world.effect_spread, (num_people, 2))
    passive = own[:, None] + np.array([0.0, 1.8])
    chances = 1 / (1 + np.exp(-np.stack([passive, passive + effects], axis=-1)))
    leave = 1 - chances[:, 1, 0]
    return People(chances, chances[:, 0, 0] / (chances[:, 0, 0] + leave))


def call_probability(state: np.ndarray, before: np.ndarray) -> np.ndarray:
    """The policy that is valued: often those disengaged for two weeks, sometimes those disengaged for one."""
    return np.where(state == 0, np.where(before == 0, 0.5, 0.2), 0.02)


class Truth(NamedTuple):
    """Per step, averages over the population: the policy's value, no call's value, and what a call adds."""

    policy: np.ndarray
    passive: np.ndarray
    effect: np.ndarray

    def difference(self, shares: np.ndarray) -> float:
        """The policy's value less that of calling everyone with the step's probability."""
        return float(np.mean(self.policy - self.passive - shares * self.effect))


def true_values(rng: np.random.Generator, world: World, population: int = POPULATION) -> Truth:
    """Exact for each person of a large population: her distribution over (last week, this week) follows her chain."""
    people = draw_people(rng, world, population)
    # As in a log: nobody has a week before the first, which counts as engaged.
    habits = np.zeros((population, 2, 2))
    habits[:, 1, 1], habits[:, 1, 0] = people.first, 1 - people.first
    calls = call_probability(np.array([[0, 1]] * 2), np.array([[0, 0], [1, 1]]))
    logged = (1 - world.call_rate) * people.engaging[..., 0] + world.call_rate * people.engaging[..., 1]
    values = []
    for _ in range(world.num_steps - 1):
        gain = people.engaging[..., 1] - people.engaging[..., 0]
        by_policy = people.engaging[:, None, :, 0] + calls * gain[:, None]
        state = habits.sum(axis=1)
        passive, effect = (state * people.engaging[..., 0]).sum(1).mean(), (state * gain).sum(1).mean()
        values.append(((habits * by_policy).sum((1, 2)).mean(), passive, effect))
        habits = np.stack([state * (1 - logged), state * logged], axis=-1)
    return Truth(*np.array(values).T)


def draw_programme(rng: np.random.Generator, world: World) -> tuple[aw.Trajectories, np.ndarray]:
    """What a programme would have on file, and the policy's probabilities of a call."""
    people = draw_people(rng, world, world.num_people)
    shape = (world.num_people, world.num_steps)
    actions = (rng.random(shape) < world.call_rate).astype(int)
    states = np.zeros(shape, dtype=int)
    states[:, 0] = rng.random(world.num_people) < people.first
    rows = np.arange(world.num_people)
    for step in range(world.num_steps - 1):
        chance = people.engaging[rows, states[:, step], actions[:, step]]
        states[:, step + 1] = rng.random(world.num_people) < chance
    before = np.hstack([np.ones((world.num_people, 1), int), states[:, :-1]])
    observed = rng.random(shape) >= world.unobserved
    # The first week is kept, so that nobody is without history.
    observed[:, 0] = True
    return aw.Trajectories.from_arrays(states, actions, observed), call_probability(states, before)


def cover(world: World, num_programmes: int, num_resamples: int = 1000, seed: int = SEED) -> list[dict[str, object]]:
    """One row per estimator and quantity: how often the 95 % interval held the truth, its width, the average error."""
    rng = np.random.default_rng([seed, *world.name.encode()])
    truth = true_values(rng, world)
    errors = np.zeros((num_programmes, 6))
    widths, held = np.zeros_like(errors), np.zeros_like(errors)
    for index in range(num_programmes):
        history, policy = draw_programme(rng, world)
        found = aw.off_policy_value(
            history, policy, propensities=world.call_rate, num_resamples=num_resamples, seed=index
        )
        true = (float(np.mean(truth.policy)), truth.difference(step_shares(history, policy)))
        pairs = [(getattr(found, name), quantity) for name in ESTIMATES for quantity in (0, 1)]
        for column, (answer, quantity) in enumerate(pairs):
            one = (answer.value, answer.difference)[quantity]
            errors[index, column] = one.value - true[quantity]
            widths[index, column] = one.high - one.low
            held[index, column] = one.low <= true[quantity] <= one.high
    labels = [(name, quantity) for name in ESTIMATES for quantity in ("value", "difference")]
    return [
        {
            "world": world.name,
            "people": world.num_people,
            "estimator": name,
            "quantity": quantity,
            "programmes": num_programmes,
            "covered": round(float(held[:, column].mean()), 4),
            "bias": round(float(errors[:, column].mean()), 5),
            "error": round(float(errors[:, column].std()), 5),
            "median_width": round(float(np.median(widths[:, column])), 5),
        }
        for column, (name, quantity) in enumerate(labels)
    ]


def step_shares(history: aw.Trajectories, policy: np.ndarray) -> np.ndarray:
    """The policy's average probability of a call among the decisions of each step with an outcome."""
    observed = np.asarray(history.observed)
    used = observed[:, :-1] & observed[:, 1:]
    return (policy[:, :-1] * used).sum(axis=0) / used.sum(axis=0)
