"""Why a person is called, in one sentence of her own: her weeks, what is expected of her, from what, and how sure.

Without people's own weeks the sentence says what it can: the state last observed, and what past calls to people in
such a state gained. No sentence claims a gain that past calls as a whole and its own interval do not both show.
"""

from typing import Any

import polars as pl

from armwise.planning.evidence import BOTH, HELPED, HURT, MINUS, Evidence
from armwise.planning.rules import CallRules
from armwise.text import counted

# What the sentence of a person is made of; ``call_probability`` is added where it is known.
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


def reasons(people: pl.DataFrame, rules: CallRules, num_states: int, evidence: Evidence) -> pl.Series:
    """Why each person is called, without a full stop.

    Args:
        people: state, since_observed, gain, gain_low and gain_high; and where people's own weeks are known the columns
            of ``OWN_COLUMNS``: weeks observed, weeks engaged among them, weeks in a row in the present state, past
            calls and how many of them a higher state, or the highest, followed; the chances of being engaged next week
            if left alone and if called, the ends of the 90 % interval of their difference, and how much of the
            first chance comes from own weeks (0 to 1). A row with a null chance is told as if they were not known.
        rules: how a step is called.
        num_states: of engagement.
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
    """A state for people who make calls."""
    if state is None:
        return "never observed"
    if num_states == 2:
        return ("not engaged", "engaged")[state]
    return f"in state {state} of 0 to {num_states - 1}"


def _own_reason(row: dict[str, Any], step: str, num_states: int, evidence: Evidence) -> str:
    parts = [_weeks(row, step, num_states), _chances(row, step, num_states, evidence), how_sure(row)]
    return "; ".join(part for part in parts if part)


def _weeks(row: dict[str, Any], step: str, num_states: int) -> str:
    """What she did: now, for how long, and how often before."""
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
        f"({_difference(row, evidence)}, {_answers(row, step, num_states)})"
    )


def _difference(row: dict[str, Any], evidence: Evidence) -> str:
    """How much a call changes; more or fewer only where it is shown."""
    low, high = (100 * row[name] for name in ("chance_low", "chance_high"))
    if low > 0 and evidence.name in (HELPED, BOTH):
        return f"{low:.0f} to {high:.0f} points more"
    if high < 0 and evidence.name in (HURT, BOTH):
        return f"{-high:.0f} to {-low:.0f} points fewer"
    return f"{_signed(low)} to {_signed(high)} points, not certain for her"


def _signed(number: float) -> str:
    text = f"{abs(number):.0f}"
    return text if text == "0" else f"{'+' if number > 0 else MINUS}{text}"


def _answers(row: dict[str, Any], step: str, num_states: int) -> str:
    """What the effect of a call is known from: her answers to calls, or other people's if she was never called."""
    if not row["calls"]:
        return "from similar people: never called"
    after = "engaged" if num_states == 2 else "higher"
    return f"{after} the {step} after {row['answered']} of {counted(row['calls'], 'call')}"


def how_sure(row: dict[str, Any]) -> str:
    """How often she belongs on the list; nothing where that is not known."""
    probability = row.get("call_probability")
    if probability is None:
        return ""
    return "all likely models choose her" if probability == 1 else f"{in_100(probability)} likely models choose her"


def in_100(probability: float) -> str:
    """A probability for people who make calls; a small one is not 0, and a large one not 1."""
    number = round(100 * probability)
    if 0 < probability < 1:
        number = min(max(number, 1), 99)
    return f"{number} of 100"


def _reason(rules: CallRules, num_states: int, evidence: Evidence) -> pl.Expr:
    """The sentence without own weeks."""
    words = {state: state_word(state, num_states) for state in range(num_states)}
    seen = pl.col("state").replace_strict(words, default=state_word(None, num_states), return_dtype=pl.String)
    since, step = pl.col("since_observed"), rules.step_name
    ago = pl.when(since == 1).then(pl.format("last {}", pl.lit(step))).otherwise(pl.format(f"{{}} {step}s ago", since))
    when = pl.when(since.is_null()).then(seen).otherwise(pl.format("{} when last observed, {}", seen, ago))
    return pl.format("{}; {}", when, gain_words(step, evidence))


def gain_words(step: str, evidence: Evidence) -> pl.Expr:
    """What calls gain, no more than is shown: past calls as a whole must show it, and so must the interval."""
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
