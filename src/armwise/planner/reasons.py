"""Why a person is called, in words: what past calls did, her weeks, her chances, and how sure the choice is."""

import re
from typing import Any, NamedTuple

import polars as pl

from armwise.evaluation import CallEffect, CallEffects, Estimate
from armwise.evaluation.effects import FEWEST_CALLS
from armwise.planner.rules import CallRules
from armwise.text import counted

HELPED, HURT, BOTH = "past calls helped", "past calls hurt", "past calls helped some people and hurt others"
NOT_SHOWN, TOO_FEW = "past calls not shown to help", "too few past calls to tell"
EVIDENCE = (HELPED, HURT, BOTH, NOT_SHOWN, TOO_FEW)
MINUS = "\N{MINUS SIGN}"
# The columns that a person's sentence needs; ``call_probability`` is used as well if it is known.
OWN_COLUMNS = (
    "own_weeks",
    "engaged_weeks",
    "streak",
    "answered",
    "calls",
    "chance",
    "chance_called",
    "chance_low",
    "chance_high",
    "own_share",
)


class Evidence(NamedTuple):
    """What past calls did.

    Attributes:
        name: the evidence in a few words, one of ``EVIDENCE``.
        sentence: the evidence in a few sentences.
    """

    name: str
    sentence: str

    @classmethod
    def of(cls, effects: CallEffects, step: str, num_states: int) -> "Evidence":
        """Put estimated effects of calls into words."""
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
    """What past calls did, in a few sentences for a programme manager.

    Args:
        effects: the estimated effects of past calls.
        step: the word for a step.
        num_states: how many states there are.

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
    all_calls = _effect_difference(overall.effect, level, num_states)
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
    """Whom calls helped or hurt, if the effect on everyone together does not show it."""
    together = effects.overall.effect
    if (name == HELPED and together.is_above_zero) or (name == HURT and together.is_below_zero):
        return ""
    told = {HELPED: effects.helped_states, HURT: effects.hurt_states}.get(name, ())
    people = " or ".join(people_in(each, num_states) for each in effects.by_state if each.name in told)
    return f" people {people}" if people else ""


def _by_state(effects: CallEffects, level: str, num_states: int) -> list[str]:
    """A sentence for each state in which chance does not explain the effect, if there are several states."""
    told = {*effects.helped_states, *effects.hurt_states}
    if len(effects.by_state) < 2:
        return []
    return [
        f" Of people {people_in(each, num_states)}: {_effect_difference(each.effect, level, num_states)}."
        for each in effects.by_state
        if each.name in told
    ]


def people_in(state: CallEffect, num_states: int) -> str:
    """Words for the people in a state, from the state's name in the effects."""
    numbers = [int(each) for each in re.findall(r"\d+", state.name)]
    if num_states == 2 and len(numbers) == 1:
        return ("not engaged before the call", "engaged before the call")[numbers[0]]
    return f"in {state.name} before the call"


def _effect_difference(effect: Estimate, level: str, num_states: int) -> str:
    """The effect in words, in 100 people, with its interval."""
    who = "people engaged" if num_states == 2 else "points of engagement"
    more = "more" if effect.value >= 0 else "fewer"
    low, high = (_to_a_tenth(100 * each) for each in (effect.low, effect.high))
    return f"{abs(100 * effect.value):.1f} {more} {who} in 100 ({level} {low} to {high})"


def _to_a_tenth(number: float) -> str:
    text = f"{abs(number):.1f}"
    return text if text == "0.0" else f"{'+' if number > 0 else MINUS}{text}"


def reasons(people: pl.DataFrame, rules: CallRules, num_states: int, evidence: Evidence) -> pl.Series:
    """Why each person is called, without a full stop.

    Args:
        people: state, since_observed, gain, gain_low and gain_high; if people's own weeks are known, also the columns
            of ``OWN_COLUMNS``: weeks observed, weeks engaged among them, weeks in a row in the present state, past
            calls, how many of them a higher state or the highest followed, the chances of being engaged next week if
            left alone and if called, the ends of the 90 % interval of their difference, and how much of the first
            chance comes from own weeks (0 to 1). A row with a null chance gets the sentence without own weeks.
        rules: give the word for a step.
        num_states: how many states there are.
        evidence: what past calls did.
    """
    plain = people.select(reason=_reason(rules, num_states, evidence))["reason"].to_list()
    if not set(OWN_COLUMNS) <= set(people.columns):
        return pl.Series("reason", plain, dtype=pl.String)
    told = [
        words if row["chance"] is None else _own_reason(row, rules.step_name, num_states, evidence)
        for words, row in zip(plain, people.iter_rows(named=True), strict=True)
    ]
    return pl.Series("reason", told, dtype=pl.String)


def state_word(state: int | None, num_states: int) -> str:
    """A state in words for people who make calls."""
    if state is None:
        return "never observed"
    if num_states == 2:
        return ("not engaged", "engaged")[state]
    return f"in state {state} of 0 to {num_states - 1}"


def _own_reason(row: dict[str, Any], step: str, num_states: int, evidence: Evidence) -> str:
    parts = [_weeks(row, step, num_states), _chances(row, step, num_states, evidence), how_sure(row)]
    return "; ".join(part for part in parts if part)


def _weeks(row: dict[str, Any], step: str, num_states: int) -> str:
    """Words on her weeks: her state, for how long, and how often she engaged."""
    if row["state"] is None or not row["own_weeks"]:
        return f"new: not observed in any {step} yet"
    state, streak = state_word(row["state"], num_states), row["streak"]
    now = f"{state} for {counted(streak, step)}" if streak > 1 else f"{state} last {step}"
    if row["since_observed"] is not None and row["since_observed"] > 1:
        lasting = f" for {counted(streak, step)}" if streak > 1 else ""
        now = f"not seen for {counted(row['since_observed'] - 1, step)}, {state}{lasting} before"
    return f"{now}, {_how_often(row, step, num_states)}"


def _how_often(row: dict[str, Any], step: str, num_states: int) -> str:
    engaged, weeks = row["engaged_weeks"], row["own_weeks"]
    what = "engaged" if num_states == 2 else "above state 0"
    if weeks == 1:
        return f"the only {step} observed"
    if engaged in (0, weeks):
        return f"as in all {weeks} {step}s observed" if num_states == 2 else f"{_share(engaged, weeks)} {step}s {what}"
    return f"{what} in {engaged} of {weeks} {step}s"


def _share(engaged: int, weeks: int) -> str:
    return f"none of {weeks}" if engaged == 0 else f"all {weeks}"


def _chances(row: dict[str, Any], step: str, num_states: int, evidence: Evidence) -> str:
    alone, called = (f"{100 * row[name]:.0f} %" for name in ("chance", "chance_called"))
    verb = "is above state 0 with" if num_states > 2 else ("comes back with", "stays with")[row["state"] or 0]
    if num_states == 2 and (row["state"] is None or (row["since_observed"] or 1) > 1):
        # Nobody knows where she is now.
        verb = f"is engaged next {step} with"
    whose = "mostly from her own weeks" if row["own_share"] >= 0.5 else "mostly from similar people"
    return (
        f"{verb} {alone} if left alone ({whose}), {called} if called "
        f"({_chance_difference(row, evidence)}, {_answers(row, step, num_states)})"
    )


def _chance_difference(row: dict[str, Any], evidence: Evidence) -> str:
    """How many points a call changes. It says "more" or "fewer" only if that is shown."""
    low, high = (100 * row[name] for name in ("chance_low", "chance_high"))
    if low > 0 and evidence.name in (HELPED, BOTH):
        return f"{low:.0f} to {high:.0f} points more"
    if high < 0 and evidence.name in (HURT, BOTH):
        return f"{-high:.0f} to {-low:.0f} points fewer"
    return f"{_to_a_point(low)} to {_to_a_point(high)} points, not certain for her"


def _to_a_point(number: float) -> str:
    text = f"{abs(number):.0f}"
    return text if text == "0" else f"{'+' if number > 0 else MINUS}{text}"


def _answers(row: dict[str, Any], step: str, num_states: int) -> str:
    """Where the effect of a call is known from: her answers to calls, or similar people if she was never called."""
    if not row["calls"]:
        return "from similar people: never called"
    after = "engaged" if num_states == 2 else "higher"
    return f"{after} the {step} after {row['answered']} of {counted(row['calls'], 'call')}"


def how_sure(row: dict[str, Any]) -> str:
    """Words on how many likely models choose her; empty if that is not known."""
    probability = row.get("call_probability")
    if probability is None:
        return ""
    return "all likely models choose her" if probability == 1 else f"{in_100(probability)} likely models choose her"


def in_100(probability: float) -> str:
    """A probability in words for people who make calls. It says 0 or 100 of 100 only for exactly 0 or 1."""
    number = round(100 * probability)
    if 0 < probability < 1:
        number = min(max(number, 1), 99)
    return f"{number} of 100"


def _reason(rules: CallRules, num_states: int, evidence: Evidence) -> pl.Expr:
    """The reason of a person whose own weeks are not known."""
    words = {state: state_word(state, num_states) for state in range(num_states)}
    seen = pl.col("state").replace_strict(words, default=state_word(None, num_states), return_dtype=pl.String)
    since, step = pl.col("since_observed"), rules.step_name
    ago = pl.when(since == 1).then(pl.format("last {}", pl.lit(step))).otherwise(pl.format(f"{{}} {step}s ago", since))
    when = pl.when(since.is_null()).then(seen).otherwise(pl.format("{} when last observed, {}", seen, ago))
    return pl.format("{}; {}", when, gain_words(step, evidence))


def gain_words(step: str, evidence: Evidence) -> pl.Expr:
    """What calls gain. It claims a gain or harm only if past calls as a whole and the interval both show it."""
    low, high = pl.col("gain_low"), pl.col("gain_high")
    gains = (low > 0) & pl.lit(evidence.name in (HELPED, BOTH))
    harms = (high < 0) & pl.lit(evidence.name in (HURT, BOTH))
    verb = pl.when(gains).then(pl.lit("gained")).when(harms).then(pl.lit("did harm:"))
    numbers = [pl.col(name).cast(pl.Float64).round(2) + 0.0 for name in ("gain", "gain_low", "gain_high")]
    said = pl.format(
        f"past calls to people in such a state {{}} {{}} {step}s on average (95 %: {{}} to {{}})",
        verb.otherwise(pl.lit("are not shown to gain:")),
        *numbers,
    )
    unknown = pl.lit("too few past calls to tell what a call gains")
    return pl.when(pl.col("gain").is_null()).then(unknown).otherwise(said)
