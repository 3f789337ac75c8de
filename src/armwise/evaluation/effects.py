"""Estimate the effect of past calls: did they help?

For a decision in state s, with x what was known before it, a ∈ {0, 1} the call and y what followed,

    y = x·β + a · b(s)·θ + error.

So θ compares people who were called with people who were not called and who have the same x. If calls were drawn at
random, θ is the average effect of a call. If a rule chose them, θ is the average over the decisions that could have
gone either way (Robinson 1988; Li, Morgan and Zaslavsky 2018), provided that x contains every reason for a call.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import ndtri

from armwise._validation import check_count, to_numpy
from armwise.data import Trajectories
from armwise.errors import InvalidInputError
from armwise.evaluation.decisions import Decisions, find_decisions, one_hot, refuse_no_table, state_rewards
from armwise.evaluation.effect_regression import EffectRegression
from armwise.evaluation.resampling import LEVEL, NUM_RESAMPLES, Estimate, Resampled, check_level

# A call is comparable if similar people were not called. With fewer comparable calls, nothing can be said.
FEWEST_CALLS = 20
# A state or group needs at least this many calls, and at least this many comparable calls, for an effect of its own.
FEWEST_IN_LEVEL, FEWEST_COMPARABLE = 10, 5
NOTHING = Estimate(float("nan"), float("nan"), float("nan"))


class CallEffect(NamedTuple):
    """The average effect of a call on the next step's reward (with two states: on the share engaged).

    Attributes:
        name: of the state or group; "everyone" for all.
        num_calls: the number of calls in it.
        effect: with its interval. It is NaN if there are fewer than ``FEWEST_IN_LEVEL`` calls, or fewer than
            ``FEWEST_COMPARABLE`` comparable calls (``FEWEST_CALLS`` among everyone), or if all outcomes are the same.
    """

    name: str
    num_calls: int
    effect: Estimate


@dataclass(frozen=True)
class CallEffects:
    """The estimated effects of past calls.

    Attributes:
        overall: for everyone.
        by_state: for people in each state before the call; states with too few calls are left out.
        by_group: for each group of each grouping.
        comparable: the number of comparable calls. A call counts 0 if all similar people were called, and almost 1 if
            no other similar person was called.
        level: of the intervals.
    """

    overall: CallEffect
    by_state: tuple[CallEffect, ...]
    by_group: Mapping[str, tuple[CallEffect, ...]]
    comparable: float
    level: float

    @property
    def is_enough(self) -> bool:
        """Whether there were enough comparable calls to say anything."""
        return self.comparable >= FEWEST_CALLS

    @property
    def is_shown(self) -> bool:
        """Whether calls helped by more than chance explains: everyone together, or the people in some state."""
        return self.is_enough and (self.overall.effect.is_above_zero or bool(self.helped_states))

    @property
    def is_harmful(self) -> bool:
        """Whether calls did harm by more than chance explains: to everyone together, or to the people in some state."""
        return self.is_enough and (self.overall.effect.is_below_zero or bool(self.hurt_states))

    @property
    def helped_states(self) -> tuple[str, ...]:
        """States in which calls helped. Their intervals are wider, because several states are tested."""
        return tuple(each.name for each in self.by_state if each.effect.value > self._widened(each.effect))

    @property
    def hurt_states(self) -> tuple[str, ...]:
        """States in which calls did harm, by the same wider intervals."""
        return tuple(each.name for each in self.by_state if -each.effect.value > self._widened(each.effect))

    def _widened(self, effect: Estimate) -> float:
        """Half the width of a state's interval, made wider because several states are tested (Bonferroni).

        If calls do nothing, some state is outside its interval at most half as often as the overall effect. So a
        statement about everyone and each state together is wrong a little more often than the level says.
        """
        outside = (1 - self.level) / 2
        wider = ndtri(1 - outside / (2 * len(self.by_state))) / ndtri(1 - outside)
        return float((effect.high - effect.value) * wider)


def call_effects(
    history: Any,
    groups: Any = None,
    *,
    ids: Any = None,
    rewards: Any = None,
    level: Any = LEVEL,
    num_resamples: Any = NUM_RESAMPLES,
    seed: Any = 0,
) -> CallEffects:
    """Estimate the effects of past calls: overall, by state and by group.

    Args:
        history: ``Trajectories``; or a long table (a mapping, or a data frame) with the columns id, step, state,
            action, one row for each person and step observed.
        groups: a mapping from each grouping (language, district, …) to the label of each person, in the order of the
            history.
        ids: with a table, the order of the people; by default sorted.
        rewards: of the states; by default evenly from 0 to 1.
        level: of the intervals.
        num_resamples: of people.
        seed: of the resamples.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> states, calls = rng.integers(0, 2, (500, 9)), rng.random((500, 9)) < 0.2
        >>> states[:, 1:] |= calls[:, :-1] & (rng.random((500, 8)) < 0.4)  # calls bring back 40 %
        >>> effects = call_effects(Trajectories.from_arrays(states, calls))
        >>> effects.is_shown, round(effects.overall.effect.value, 1)
        (True, 0.2)
    """
    history = _read_history(history, ids)
    values = state_rewards(rewards, history.num_states)
    decisions = find_decisions(history, values)
    confidence, resamples = check_level("level", level), check_count("num_resamples", num_resamples, minimum=2)
    seed = check_count("seed", seed, minimum=0)
    regression = EffectRegression(decisions, None, resamples, seed)
    levels = state_levels(regression, decisions)
    by_group = {
        name: _by_group(decisions, name, labels, values, confidence, resamples, seed)
        for name, labels in check_groups(groups).items()
    }
    return replace(effects_by_state(regression, decisions, levels, values, confidence), by_group=by_group)


def effects_by_state(
    regression: EffectRegression,
    decisions: Decisions,
    levels: Int[np.ndarray, " states"],
    rewards: Float[np.ndarray, " states"],
    level: float,
) -> CallEffects:
    """The effects of calls overall and by state, without groups.

    Args:
        regression: on the decisions.
        decisions: of all people.
        levels: the level of effects of each state (``state_levels``).
        rewards: of the states.
        level: of the intervals.
    """
    names = [f"state {state}" for state in _states_with_calls(regression, decisions)]
    everyone = np.zeros(decisions.states.shape, int)
    return CallEffects(
        _effects(regression, decisions, everyone, ["everyone"], rewards, level)[0],
        _effects(regression, decisions, levels[decisions.states], names, rewards, level),
        {},
        regression.comparable_calls(),
        level,
    )


def state_levels(
    regression: EffectRegression, decisions: Decisions, is_judged: Bool[np.ndarray, "1 steps"] | None = None
) -> Int[np.ndarray, " states"]:
    """The level of effects of each state: states with too few calls join the nearest state that has enough.

    Args:
        regression: on the decisions.
        decisions: of all people.
        is_judged: the steps whose calls count; by default all. If given, a level needs ``FEWEST_CALLS`` calls, because
            each half of the people then has its own effects.
    """
    enough = _states_with_calls(regression, decisions, is_judged)
    distance = np.abs(np.arange(decisions.num_states)[:, None] - enough)
    return distance.argmin(axis=1)


def _states_with_calls(
    regression: EffectRegression, decisions: Decisions, is_judged: Bool[np.ndarray, "1 steps"] | None = None
) -> Int[np.ndarray, " levels"]:
    """The states with enough calls for their own effect; if there are none, the state with the most calls."""
    states = one_hot(decisions.states, decisions.num_states)
    if is_judged is None:
        comparable = regression.comparable_calls_in(states)
        calls, fewest = _calls_in(decisions.states, decisions, decisions.num_states), FEWEST_IN_LEVEL
    else:
        judged = decisions._replace(valid=decisions.valid & is_judged)
        earlier = states * ~is_judged[..., None] * decisions.called[..., None]
        comparable = regression.comparable_calls_in(states * is_judged[..., None], earlier)
        calls, fewest = _calls_in(decisions.states, judged, decisions.num_states), FEWEST_CALLS
    enough = np.flatnonzero((calls >= fewest) & (comparable >= FEWEST_COMPARABLE))
    return enough if len(enough) else np.array([calls.argmax()])


def _effects(
    regression: EffectRegression,
    decisions: Decisions,
    levels: Int[np.ndarray, "people steps"],
    names: Sequence[str],
    rewards: Float[np.ndarray, " states"],
    level: float,
) -> tuple[CallEffect, ...]:
    """The effect of calls in each level."""
    calls, terms = _calls_in(levels, decisions, len(names)), one_hot(levels, len(names))
    surface, comparable = regression.surface(terms), regression.comparable_calls_in(terms)
    can_tell = (regression.comparable_calls() >= FEWEST_CALLS) & (comparable >= FEWEST_COMPARABLE)
    followed = rewards[decisions.next_states]
    results = []
    for number, name in enumerate(names):
        num_calls, effect = int(calls[number]), NOTHING
        differ = len(np.unique(followed[decisions.valid & (levels == number)])) > 1
        if differ and can_tell[number] and num_calls >= FEWEST_IN_LEVEL:
            found = Resampled(surface.value[number] @ rewards, surface.draws[:, number] @ rewards)
            functional = np.eye(len(names))[number][:, None] * rewards
            without_effect = regression.error_without_effect(regression.row_weights(terms, functional))
            effect = found.interval(level, min(num_calls, float(comparable[number])), without_effect)
        results.append(CallEffect(name, num_calls, effect))
    return tuple(results)


def _by_group(
    decisions: Decisions,
    name: str,
    labels: Any,
    rewards: Float[np.ndarray, " states"],
    level: float,
    num_resamples: int,
    seed: int,
) -> tuple[CallEffect, ...]:
    """Effects by group. Groups may behave differently without calls, so the regression also controls for the group."""
    names, codes = np.unique(check_labels(name, labels, len(decisions.states)), return_inverse=True)
    regression = EffectRegression(decisions, one_hot(codes, len(names)), num_resamples, seed)
    levels = np.broadcast_to(codes[:, None], decisions.states.shape)
    return _effects(regression, decisions, levels, names.tolist(), rewards, level)


def check_labels(name: str, labels: Any, num_people: int) -> np.ndarray:
    """Each person's label as text. Every person must have one.

    Args:
        name: of the grouping, for errors.
        labels: of the people.
        num_people: how many there are.
    """
    column = to_numpy(f"groups[{name!r}]", labels)
    if column.shape != (num_people,):
        raise InvalidInputError(
            f"groups[{name!r}] must have one label for each of the {num_people} people, not the shape "
            f"{list(column.shape)}."
        )
    missing = [number for number, each in enumerate(column.tolist()) if _is_missing(each)]
    if missing:
        raise InvalidInputError(
            f"groups[{name!r}] has no label for {len(missing)} of {num_people} people, the first in row {missing[0]}. "
            "Give people without one a label of their own, such as 'not known'."
        )
    return column.astype(str)


def check_groups(groups: Any) -> Mapping[str, Any]:
    """The labels by grouping; None becomes an empty mapping."""
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        raise InvalidInputError(
            "groups must be a mapping from names to labels, such as {'district': [...]}, not "
            f"{type(groups).__name__}."
        )
    return groups


def _is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, or pandas' NA, which cannot be compared even with itself."""
    return label is None or type(label).__name__ == "NAType" or (isinstance(label, float) and math.isnan(label))


def _read_history(history: Any, ids: Any) -> Trajectories:
    if isinstance(history, Trajectories):
        if ids is not None:
            raise InvalidInputError("ids says whose rows of a table are whose; Trajectories have their own order.")
        read = history
    else:
        refuse_no_table(history)
        read, _ = Trajectories.from_table(history, ids=ids)
    if read.num_steps < 2:
        raise InvalidInputError("The history has one step. What follows a call is seen in the step after: it takes 2.")
    return read


def _calls_in(levels: Int[np.ndarray, "people steps"], decisions: Decisions, number: int) -> Int[np.ndarray, " levels"]:
    return np.bincount(levels[decisions.valid & (decisions.called > 0)], minlength=number)
