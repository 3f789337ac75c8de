"""A simulated programme in the shape of the paper's private data. No number in it comes from a real person."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from armwise.data.checks import check_not_negative, check_share, generator
from armwise.data.cohorts import partition
from armwise.data.counts import estimate_transitions, transition_counts
from armwise.data.domains.domain import Domain, left_over_note, split_sizes
from armwise.data.domains.history import follow, random_calls
from armwise.data.domains.traits import correlated_codes, trait
from armwise.data.features import Features
from armwise.data.trajectories import Trajectories, first_state_shares
from armwise.rmab import Problem
from armwise.rmab.checks import check_count

# 44 categories: mostly yes or no and short scales, a few long lists such as occupations.
INTAKE_LEVELS = (2,) * 16 + (3,) * 9 + (4,) * 6 + (5,) * 5 + (6, 7, 8, 8, 10, 12, 15, 20)


class Programme(NamedTuple):
    """A simulated programme with what only a simulation knows.

    Attributes:
        features: of each person, at intake.
        behaviour: the probability of engaging next week, ``[weeks - 1, people, states, actions]``.
        trajectories: what the programme saw.
    """

    features: Features
    behaviour: Float[np.ndarray, "weeks people states actions"]
    trajectories: Trajectories


def mmitra_like(
    seed: Any = 0, *, size: int = 76, budget: int = 3, prior_strength: float = 5.0, discount: float = 0.9, **knobs: Any
) -> Domain:
    """A SIMULATED programme in the shape of the paragraph "Real-World Dataset", whose data are private.

    The shape is the paper's: 7,668 people, 44 categorical features, 7 weeks, two states, cohorts of 76 with a budget
    of 3, split 60/20/20. The behaviour is assumed; ``simulated_programme`` lists the assumptions, each one a knob.
    The "true" transitions are estimates from the 7 weeks with the pooled prior, exactly as in the paper: since a
    person is called about once in 25 weeks, most rows for a call are the pool's.

    Args:
        seed: a whole number or a JAX key.
        size: people in a cohort.
        budget: calls per cohort and week.
        prior_strength: how many observations the pool is worth.
        discount: weight of next week's reward.
        knobs: passed on to ``simulated_programme``.
    """
    rng = generator(seed)
    programme = simulated_programme(rng, **knobs)
    counts = transition_counts(programme.trajectories)
    transitions = estimate_transitions(counts, prior_strength)
    people = partition(int(rng.integers(2**32)), programme.features, transitions, counts, size, budget)
    problem = Problem(discount=discount, initial=first_state_shares(programme.trajectories))
    note = (
        "Simulated: shaped like the paper's private data, with assumed behaviour; no real person. True transitions "
        f"are estimates with a prior of strength {prior_strength:g}. {left_over_note(people.left_over, size)}"
    )
    sizes = split_sizes(people.cohorts.num_cohorts)
    return Domain(people.cohorts, problem, sizes, "mMitra-like (simulated)", note)


def simulated_programme(
    seed: Any = 0,
    *,
    num_people: int = 7668,
    num_weeks: int = 7,
    levels: tuple[int, ...] = INTAKE_LEVELS,
    num_factors: int = 4,
    feature_correlation: float = 0.3,
    explained: float = 0.1,
    first_engaged: float = 0.7,
    come_back: float = 0.2,
    stay: float = 0.8,
    spread: float = 1.0,
    trait_correlation: float = 0.5,
    weekly_decline: float = 0.05,
    call_effect: float = 0.5,
    call_effect_spread: float = 0.6,
    unaffected: float = 0.3,
    calls_per_week: int | None = None,
    unobserved: float = 0.0,
) -> Programme:
    """The simulated people behind ``mmitra_like``: how they behave and what was seen of them.

    A person in state s engages next week with probability σ(base(s) + spread × trait − decline × week), and, when
    called, with the person's own call effect added inside σ, the same in both states. Assumptions, all of them:

    Args:
        seed: a whole number, a JAX key, or a generator.
        num_people: how many people.
        num_weeks: weeks seen; one transition fewer.
        levels: how many levels each intake category has.
        num_factors: unseen factors that make the categories correlate.
        feature_correlation: share of a category's score that they make up.
        explained: share of each trait's variance (engagement, response to calls) that a linear function of the
            features explains.
        first_engaged: share of people engaged in the first week, independent of their traits. Above the long-run
            share, so that engagement declines.
        come_back: probability that the median person, disengaged and not called, engages next week.
        stay: the same for an engaged person.
        spread: standard deviation between people, in log-odds, of coming back and of staying.
        trait_correlation: how much the two have in common.
        weekly_decline: log-odds lost each week by everyone: interest wears off.
        call_effect: mean effect of a call in log-odds on those whom calls affect.
        call_effect_spread: its standard deviation; with these defaults, calls put off a fifth of those affected.
        unaffected: share of people to whom a call makes no difference.
        calls_per_week: people called each week, drawn at random without replacement, whatever their state; by
            default 3 in 76, the paper's budget.
        unobserved: share of weeks, at random, in which a person's engagement was not recorded.
    """
    rng = seed if isinstance(seed, np.random.Generator) else generator(seed)
    people, weeks = check_count("num_people", num_people, minimum=1), check_count("num_weeks", num_weeks, minimum=2)
    share, factors = check_share("explained", explained), check_count("num_factors", num_factors, minimum=1)
    correlation = check_share("feature_correlation", feature_correlation)
    features = Features(codes=correlated_codes(rng, people, tuple(levels), factors, correlation), levels=levels)
    traits = _two_traits(rng, features, share, check_share("trait_correlation", trait_correlation))
    base = np.array([_log_odds("come_back", come_back), _log_odds("stay", stay)])
    passive = base + check_not_negative("spread", spread) * traits
    effect = _call_effects(rng, features, share, call_effect, call_effect_spread, unaffected)
    odds = np.stack([passive, passive + effect[:, None]], axis=-1)
    behaviour = _sigmoid(odds - weekly_decline * np.arange(weeks - 1)[:, None, None, None])
    calls = round(people * 3 / 76) if calls_per_week is None else calls_per_week
    return Programme(features, behaviour, _history(rng, behaviour, calls, first_engaged, unobserved))


def _history(
    rng: np.random.Generator, behaviour: np.ndarray, calls: int, first_engaged: float, unobserved: float
) -> Trajectories:
    """What the programme saw of people who behave so."""
    people, weeks = behaviour.shape[1], behaviour.shape[0] + 1
    actions = random_calls(rng, 1, people, check_count("calls_per_week", calls, minimum=0), weeks)
    observed = rng.random((people, weeks)) >= check_share("unobserved", unobserved)
    engaged = check_share("first_engaged", first_engaged)
    chains = np.stack([1 - behaviour, behaviour], axis=-1)
    return follow(rng, chains, actions, np.array([1 - engaged, engaged]), observed)


def _call_effects(
    rng: np.random.Generator, features: Features, explained: float, mean: float, spread: float, unaffected: float
) -> Float[np.ndarray, " people"]:
    """What a call adds to each person's log-odds; nothing for some."""
    own = mean + check_not_negative("call_effect_spread", spread) * trait(rng, features, explained)
    return np.where(rng.random(len(own)) < check_share("unaffected", unaffected), 0.0, own)


def _two_traits(
    rng: np.random.Generator, features: Features, explained: float, correlation: float
) -> Float[np.ndarray, "people 2"]:
    """How readily each person comes back and stays: one trait in common, one each."""
    common, *own = (trait(rng, features, explained) for _ in range(3))
    return np.stack([np.sqrt(correlation) * common + np.sqrt(1 - correlation) * each for each in own], axis=1)


def _log_odds(name: str, probability: float) -> float:
    inside = np.clip(check_share(name, probability), 1e-9, 1 - 1e-9)
    return float(np.log(inside / (1 - inside)))


def _sigmoid(odds: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    return 1 / (1 + np.exp(-odds))
