"""The section on the effect of past calls: whether they helped, and what that means for the list."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from scipy.special import ndtri

from armwise.evaluation.effects import CallEffect, CallEffects
from armwise.planner.reasons import describe_evidence, people_in
from armwise.report.charts import Point, Row, row_chart
from armwise.report.facts import Facts
from armwise.report.numbers import count, signed
from armwise.report.tables import ChartWithTable, PageTable

# With more groups than this, the reader must unfold their effects.
MOST_OPEN = 6
A_GUESS = "this list is a guess about whom a call might help."


class EffectSection(NamedTuple):
    """The contents of the section "Did past calls help?".

    Attributes:
        verdict: the answer in a sentence.
        numbers: the numbers behind it; empty if there are none.
        states: the effects for everyone and by state.
        groups: the effects by group, if there are groups.
        by_chance: a warning about chance if there are many groups, whose effects are then folded; otherwise none.
        step: the word for a step, in the singular.
    """

    verdict: str
    numbers: str
    states: ChartWithTable
    groups: ChartWithTable | None
    by_chance: str | None
    step: str


def effect_section(facts: Facts) -> EffectSection:
    """Make the section: the answer in words, then every effect with its interval."""
    described = describe_evidence(facts.effects, facts.step, facts.num_states)
    verdict, stop, numbers = described.partition(". ")
    groups = list(_groups(facts.effects))
    return EffectSection(
        verdict=verdict + stop.strip(),
        numbers=numbers,
        states=_effects("effect-states", _what(facts), _states(facts)),
        groups=_effects("effect-groups", f"{_what(facts)}, by group", groups) if groups else None,
        by_chance=_by_chance(groups) if len(groups) > MOST_OPEN else None,
        step=facts.step,
    )


def _what(facts: Facts) -> str:
    what = "people engaged" if facts.num_states == 2 else "points of engagement"
    return f"What past calls changed: {what} in the next {facts.step}, in 100"


def _states(facts: Facts) -> list[tuple[str, CallEffect]]:
    effects = facts.effects
    everyone = [("everyone", effects.overall)]
    if len(effects.by_state) == 1:
        return everyone
    return everyone + [(people_in(each, facts.num_states), each) for each in effects.by_state]


def _groups(effects: CallEffects) -> Iterator[tuple[str, CallEffect]]:
    for column, groups in effects.by_group.items():
        yield from ((f"{column}: {each.name}", each) for each in groups)


def _effects(name: str, title: str, effects: Sequence[tuple[str, CallEffect]]) -> ChartWithTable:
    known = [each for each in effects if not math.isnan(each[1].effect.value)]
    rows = [Row(label, (Point(*(100 * edge for edge in each.effect)),)) for label, each in known]
    numbers = [
        (label, count(each.num_calls), _numbers(each) if not math.isnan(each.effect.value) else "too few calls")
        for label, each in effects
    ]
    chart = row_chart(name, title, rows, ("effect",), "{:+.3g}", ends=("← calls hurt", "calls help →"))
    table = PageTable(title, ("Who", "Calls", "Effect, 95 % interval"), numbers)
    return ChartWithTable(chart if rows else None, table)


def hurt_groups(effects: CallEffects) -> list[str]:
    """The groups in which calls hurt. The intervals are wider because several groups are tested (Bonferroni)."""
    groups, outside = list(_groups(effects)), (1 - effects.level) / 2
    if not groups or not effects.is_enough:
        return []
    wider = float(ndtri(1 - outside / len(groups)) / ndtri(1 - outside))
    return [name for name, each in groups if each.effect.value + wider * (each.effect.high - each.effect.value) < 0]


def _numbers(each: CallEffect) -> str:
    value, low, high = (signed(100 * edge) for edge in each.effect)
    return f"{value} ({low} to {high})"


def _by_chance(groups: Sequence[tuple[str, CallEffect]]) -> str:
    number = sum(not math.isnan(each.effect.value) for _, each in groups)
    return (
        f"Of these {number} estimates, about {max(1, round(number / 20))} would differ from 0 by chance even if "
        "calls did nothing."
    )


def list_warning(facts: Facts) -> str | None:
    """A warning about the list if past calls are not shown to help, or are shown to hurt; otherwise none."""
    effects = facts.effects
    if effects.is_enough and effects.overall.effect.is_below_zero:
        return "Past calls are shown to hurt. Do not use this list before you know why."
    if effects.is_enough and effects.hurt_states:
        return f"Past calls are shown to hurt people {hurt_people(facts)}. Do not call them before you know why."
    if not effects.is_enough:
        return f"There are too few past calls to tell whether calls help; {A_GUESS}"
    if not effects.is_shown:
        return f"Past calls are not shown to help; {A_GUESS}"
    return None


def hurt_people(facts: Facts) -> str:
    """The states in which calls are shown to hurt, in words."""
    hurt = [each for each in facts.effects.by_state if each.name in facts.effects.hurt_states]
    return " or ".join(people_in(each, facts.num_states) for each in hurt)
