"""A simulated programme with known true behaviour. The behaviour is assumed; no number comes from a real person."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from armwise._validation import check_count, check_finite_number, check_not_negative, check_share, generator
from armwise.data.domains.history import Past, follow_rule
from armwise.data.domains.past_calls import choose_calls
from armwise.data.domains.traits import correlated_codes, trait
from armwise.data.features import Features
from armwise.data.trajectories import Trajectories
from armwise.errors import InvalidInputError

# 44 categories: mostly yes or no and short scales, a few long lists such as occupations.
INTAKE_LEVELS = (2,) * 16 + (3,) * 9 + (4,) * 6 + (5,) * 5 + (6, 7, 8, 8, 10, 12, 15, 20)

# 0 is accepted like 0.0, also where types are checked at run time.
Number = int | float


class Programme(NamedTuple):
    """A simulated programme, together with the truth that only a simulation knows.

    Attributes:
        features: the features of each person at intake.
        behaviour: the probability of engaging next week, ``[weeks - 1, people, states, actions]``.
        trajectories: what the programme observed. They do not keep calls in unobserved weeks.
        calls: every call that was made, ``[people, weeks]``, also in unobserved weeks.
        call_probabilities: the probability, before lots were drawn, that a person was called in a week,
            ``[people, weeks]``; None if past calls followed a rule other than "random".
    """

    features: Features
    behaviour: Float[np.ndarray, "transitions people states actions"]
    trajectories: Trajectories
    calls: Bool[np.ndarray, "people weeks"]
    call_probabilities: Float[np.ndarray, "people weeks"] | None

    @property
    def transitions(self) -> Float[np.ndarray, "people states actions states"]:
        """The true chains, ``[people, states, actions, states]``: those of the last simulated transition.

        Without a weekly decline they hold in every week. With a decline they are the chains of the last week, so later
        weeks are judged as if the decline had stopped.
        """
        return _chains(self.behaviour[-1])


def simulated_programme(
    seed: Any = 0,
    *,
    num_people: int = 7668,
    num_weeks: int = 7,
    levels: tuple[int, ...] = INTAKE_LEVELS,
    num_factors: int = 4,
    feature_correlation: Number = 0.3,
    explained: Number = 0.1,
    first_engaged: Number | None = None,
    come_back: Number = 0.2,
    stay: Number = 0.8,
    spread: Number = 1.0,
    trait_correlation: Number = 0.5,
    weekly_decline: Number = 0.0,
    call_effect: Number | tuple[Number, ...] = (0.5, 0.2),
    call_effect_spread: Number = 0.6,
    call_effect_correlation: Number = 0.5,
    unaffected: Number = 0.3,
    calls_per_week: int | None = None,
    past_calls: str = "random",
    unobserved: Number = 0.0,
) -> Programme:
    """Simulate a programme: how its people behave, whom it called, and what it observed.

    A person in state s engages next week with probability σ(base(s) + spread × trait(s) − decline × week). A call adds
    the person's own call effect in s inside σ. If ``call_effect`` and ``call_effect_spread`` are 0, calls do nothing.
    ``explained=0`` makes features meaningless. A negative ``call_effect`` makes calls hurt. The arguments are all the
    assumptions:

    Args:
        seed: a whole number, a JAX key, or a generator.
        num_people: how many people there are.
        num_weeks: how many weeks there are; there is one transition fewer.
        levels: how many levels each intake category has.
        num_factors: how many hidden factors make the categories correlate.
        feature_correlation: share of the variance of a category's score that the factors explain.
        explained: share of each trait's variance (engagement, response to calls) that a linear function of the
            features explains.
        first_engaged: share of people engaged in the first week, independent of their traits. By default each
            person's first state comes from the stationary distribution of that person's own chain without calls.
        come_back: probability that the median person, disengaged and not called, engages next week.
        stay: the same for an engaged person.
        spread: standard deviation between people, in log-odds, of coming back and of staying.
        trait_correlation: correlation between a person's two traits, coming back and staying.
        weekly_decline: log-odds that everyone loses each week, as interest declines.
        call_effect: mean effect of a call, in log-odds, on the affected people: when disengaged, and when engaged. If
            it is one number, each person has the same effect in both states, and this is its mean.
        call_effect_spread: standard deviation of the effect between people. With these defaults, calls have a negative
            effect on a fifth of the affected people when disengaged, and on more than a third when engaged.
        call_effect_correlation: correlation between a person's effects in the two states; not used if
            ``call_effect`` is one number.
        unaffected: share of people for whom a call makes no difference, in either state.
        calls_per_week: people called each week; by default 3 in 76, the paper's budget.
        past_calls: the rule that chose whom to call. "random": by lot each week, independent of state. "disengaged
            first": the lowest state first. "longest first": the longest current run of disengaged weeks first. "lowest
            share": the lowest share of engaged weeks so far first. "once": in turn, each person at most once. Lots
            break ties. A rule sees only observed weeks, up to the week of the call. In an unobserved week it uses the
            last observed state. A person not observed so far comes last.
        unobserved: share of weeks, at random, in which a person's engagement is not recorded.
    """
    rng = seed if isinstance(seed, np.random.Generator) else generator(seed)
    people, weeks = check_count("num_people", num_people, minimum=1), check_count("num_weeks", num_weeks, minimum=2)
    share, factors = check_share("explained", explained), check_count("num_factors", num_factors, minimum=1)
    correlation = check_share("feature_correlation", feature_correlation)
    features = Features(codes=correlated_codes(rng, people, tuple(levels), factors, correlation), levels=levels)
    traits = _two_traits(rng, features, share, check_share("trait_correlation", trait_correlation))
    base = np.array([_log_odds("come_back", come_back), _log_odds("stay", stay)])
    passive = base + check_not_negative("spread", spread) * traits
    effect = _call_effects(rng, features, share, call_effect, call_effect_spread, call_effect_correlation, unaffected)
    odds = np.stack([passive, passive + effect], axis=-1)
    decline = check_finite_number("weekly_decline", weekly_decline)
    behaviour = _sigmoid(odds - decline * np.arange(weeks - 1)[:, None, None, None])
    paper_calls = round(people * 3 / 76)
    calls = check_count("calls_per_week", paper_calls if calls_per_week is None else calls_per_week, minimum=0)
    past = _history(rng, behaviour, calls, past_calls, first_engaged, unobserved)
    chance = np.full((people, weeks), min(calls, people) / people) if past_calls == "random" else None
    return Programme(features, behaviour, past.trajectories, past.actions == 1, chance)


def stationary_engaged(
    passive: Float[np.ndarray, "people states"],
) -> Float[np.ndarray, " people"]:
    """The long-run share of engaged weeks of a person who is never called.

    Args:
        passive: the probability of engaging next week, from the disengaged and from the engaged state.

    Example:
        >>> stationary_engaged(np.array([[0.25, 0.75]])).tolist()
        [0.5]
    """
    come_back, leave = passive[:, 0], 1 - passive[:, 1]
    return come_back / (come_back + leave)


def _history(
    rng: np.random.Generator,
    behaviour: Float[np.ndarray, "transitions people states actions"],
    calls: int,
    rule: str,
    first_engaged: Number | None,
    unobserved: Number,
) -> Past:
    """The programme's past, given the people's behaviour. The order of the draws is part of the published domain."""
    people, weeks = behaviour.shape[1], behaviour.shape[0] + 1
    choose = choose_calls(rule, rng.random((people, weeks)), calls)
    observed = rng.random((people, weeks)) >= check_share("unobserved", unobserved)
    if first_engaged is None:
        engaged = stationary_engaged(behaviour[0, :, :, 0])
    else:
        engaged = np.full(people, check_share("first_engaged", first_engaged))
    return follow_rule(rng, _chains(behaviour), choose, _chains(engaged), observed)


def _call_effects(
    rng: np.random.Generator,
    features: Features,
    explained: float,
    mean: Number | tuple[Number, ...],
    spread: Number,
    correlation: Number,
    unaffected: Number,
) -> Float[np.ndarray, "people states"]:
    """What a call adds to each person's log-odds in each state; 0 for unaffected people."""
    means, common = _check_call_effect(mean), check_share("call_effect_correlation", correlation)
    if len(means) == 1:
        traits = trait(rng, features, explained)[:, None]
    else:
        traits = _two_traits(rng, features, explained, common)
    own = means + check_not_negative("call_effect_spread", spread) * traits
    affected = rng.random(len(own)) >= check_share("unaffected", unaffected)
    return np.broadcast_to(np.where(affected[:, None], own, 0.0), (len(own), 2))


def _check_call_effect(mean: Any) -> Float[np.ndarray, " means"]:
    """One mean, or one for each state."""
    means = mean if isinstance(mean, tuple | list) else (mean,)
    if len(means) > 2 or not means:
        raise InvalidInputError(
            f"call_effect must be one number, or two: when disengaged and when engaged; not {mean!r}."
        )
    return np.array([check_finite_number("call_effect", each) for each in means])


def _two_traits(
    rng: np.random.Generator, features: Features, explained: float, correlation: float
) -> Float[np.ndarray, "people 2"]:
    """Two correlated traits of each person, such as coming back and staying: a common part and a separate part each."""
    common, *own = (trait(rng, features, explained) for _ in range(3))
    return np.stack([np.sqrt(correlation) * common + np.sqrt(1 - correlation) * each for each in own], axis=1)


def _chains(engaging: Float[np.ndarray, "..."]) -> Float[np.ndarray, "... states"]:
    """Probabilities of engaging, turned into distributions over the two states."""
    return np.stack([1 - engaging, engaging], axis=-1)


def _log_odds(name: str, probability: Number) -> float:
    inside = np.clip(check_share(name, probability), 1e-9, 1 - 1e-9)
    return float(np.log(inside / (1 - inside)))


def _sigmoid(odds: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    return 1 / (1 + np.exp(-odds))
