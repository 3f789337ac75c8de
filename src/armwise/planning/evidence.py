"""What past calls did, in words: a short text for every row of a list, and the sentence above it."""

import re
from typing import NamedTuple

from armwise.evaluation import CallEffect, CallEffects, Estimate
from armwise.evaluation.effects import FEWEST_CALLS
from armwise.text import counted

HELPED, HURT, BOTH = "past calls helped", "past calls hurt", "past calls helped some people and hurt others"
NOT_SHOWN, TOO_FEW = "past calls not shown to help", "too few past calls to tell"
EVIDENCE = (HELPED, HURT, BOTH, NOT_SHOWN, TOO_FEW)
MINUS = "\N{MINUS SIGN}"


class Evidence(NamedTuple):
    """What past calls did.

    Attributes:
        name: in a few words, one of ``EVIDENCE``.
        sentence: in one or two sentences.
    """

    name: str
    sentence: str

    @classmethod
    def of(cls, effects: CallEffects, step: str, num_states: int) -> "Evidence":
        """The evidence that effects give."""
        return cls(name_evidence(effects), describe_evidence(effects, step, num_states))


NOTHING_KNOWN = Evidence(TOO_FEW, "Nothing is known of past calls.")


def name_evidence(effects: CallEffects) -> str:
    """What past calls did, in a few words: one of ``EVIDENCE``."""
    if not effects.is_enough:
        return TOO_FEW
    if effects.is_shown and effects.is_harmful:
        return BOTH
    if effects.is_harmful:
        return HURT
    return HELPED if effects.is_shown else NOT_SHOWN


def describe_evidence(effects: CallEffects, step: str = "week", num_states: int = 2) -> str:
    """What past calls did, in one or two sentences for a programme manager.

    Args:
        effects: of past calls.
        step: what a step is called.
        num_states: of the programme.

    Example:
        >>> nobody = CallEffect("everyone", 3, Estimate(0.0, 0.0, 0.0))
        >>> describe_evidence(CallEffects(nobody, (), {}, 2.5, 0.95))
        'There are too few past calls to tell whether calls help: 3 calls, of which 2 could be compared; it takes 20.'
    """
    name, overall = name_evidence(effects), effects.overall
    if name == TOO_FEW:
        compared = f"{counted(overall.num_calls, 'call')}, of which {int(effects.comparable)} could be compared"
        return f"There are too few past calls to tell whether calls help: {compared}; it takes {FEWEST_CALLS}."
    level = f"{100 * effects.level:.0f} % interval"
    all_calls = _difference(overall.effect, level, num_states)
    what = (
        f"After {counted(overall.num_calls, 'call')} there were {all_calls} in the next {step} than without a call, "
        "among people alike before."
    )
    by_state = [*_by_state(effects, level, num_states)]
    advice = {
        HELPED: "",
        HURT: " Find out why before you make more calls.",
        BOTH: " Find out why before you make more calls to those whom they hurt.",
        NOT_SHOWN: " That is within what chance explains. No gain can be promised, and any order may be as good.",
    }[name]
    return f"{name[0].upper()}{name[1:]}{_whom(effects, name, num_states)}. {what}{''.join(by_state)}{advice}"


def _whom(effects: CallEffects, name: str, num_states: int) -> str:
    """Whom calls helped or hurt, where everyone together does not show it."""
    together = effects.overall.effect
    if (name == HELPED and together.is_above_zero) or (name == HURT and together.is_below_zero):
        return ""
    told = {HELPED: effects.helped_states, HURT: effects.hurt_states}.get(name, ())
    people = " or ".join(people_in(each, num_states) for each in effects.by_state if each.name in told)
    return f" people {people}" if people else ""


def _by_state(effects: CallEffects, level: str, num_states: int) -> list[str]:
    """The states in which chance does not explain the effect, where everyone together does not say it already."""
    told = {*effects.helped_states, *effects.hurt_states}
    if len(effects.by_state) < 2:
        return []
    return [
        f" Of people {people_in(each, num_states)}: {_difference(each.effect, level, num_states)}."
        for each in effects.by_state
        if each.name in told
    ]


def people_in(state: CallEffect, num_states: int) -> str:
    """The people in a state, from the name that it has among effects."""
    numbers = [int(each) for each in re.findall(r"\d+", state.name)]
    if num_states == 2 and len(numbers) == 1:
        return ("not engaged before the call", "engaged before the call")[numbers[0]]
    return f"in {state.name} before the call"


def _difference(effect: Estimate, level: str, num_states: int) -> str:
    """In 100 people, with the interval."""
    who = "people engaged" if num_states == 2 else "points of engagement"
    more = "more" if effect.value >= 0 else "fewer"
    low, high = (_signed(100 * each) for each in (effect.low, effect.high))
    return f"{abs(100 * effect.value):.1f} {more} {who} in 100 ({level} {low} to {high})"


def _signed(number: float) -> str:
    text = f"{abs(number):.1f}"
    return text if text == "0.0" else f"{'+' if number > 0 else MINUS}{text}"
