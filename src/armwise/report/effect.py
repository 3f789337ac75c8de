"""The first section: did past calls help? And what the answer means for the list."""

import math
from collections.abc import Iterator, Sequence

from scipy.special import ndtri

from armwise.evaluation.effects import CallEffect, CallEffects
from armwise.planner.reasons import describe_evidence, people_in
from armwise.report.charts import Point, Row, row_chart
from armwise.report.facts import Facts
from armwise.report.markup import Markup, count, fold, join, signed, table, tag

# With more groups than this, their effects are folded away.
MOST_OPEN = 6
A_GUESS = "this list is a guess about whom a call might help."


def effect_section(facts: Facts) -> Markup:
    """The answer in words, then every effect with its interval."""
    effects = facts.effects
    described = describe_evidence(effects, facts.step, facts.num_states)
    verdict, stop, numbers = described.partition(". ")
    verdict += stop.strip()
    groups = list(_groups(effects))
    by_group = None
    if groups:
        by_group = _effects("effect-groups", f"{_what(facts)}, by group", groups)
        by_group = by_group if len(groups) <= MOST_OPEN else fold("By group", by_group, tag("p", _by_chance(groups)))
    return join(
        tag("p", verdict, class_="answer"),
        tag("p", numbers) if numbers else None,
        tag(
            "div",
            _effects("effect-states", _what(facts), _states(facts)),
            tag("div", by_group, _how(facts)),
            class_="pair",
        ),
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


def _effects(name: str, title: str, effects: Sequence[tuple[str, CallEffect]]) -> Markup:
    known = [each for each in effects if not math.isnan(each[1].effect.value)]
    rows = [Row(label, (Point(*(100 * edge for edge in each.effect)),)) for label, each in known]
    numbers = [
        (label, count(each.num_calls), _numbers(each) if not math.isnan(each.effect.value) else "too few calls")
        for label, each in effects
    ]
    chart = row_chart(name, title, rows, ("effect",), "{:+.3g}", ends=("← calls hurt", "calls help →"))
    return tag(
        "div",
        chart if rows else None,
        fold("These effects in numbers", table(title, ("Who", "Calls", "Effect, 95 % interval"), numbers)),
    )


def hurt_groups(effects: CallEffects) -> list[str]:
    """The groups in which calls hurt, by intervals that are wider because several groups are asked (Bonferroni)."""
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


def _how(facts: Facts) -> Markup:
    """What was compared, in small print."""
    return tag(
        "p",
        "Each call is compared with people who were not called and were alike before: the same state for about as "
        f"long, the same part of the history, a similar past, similar earlier calls. Lines are 95 % intervals over "
        f"people. This is what calls caused, provided that nobody was called for a reason that the tables do not hold; "
        f"only calls by lot make sure of that. An effect on later {facts.step}s is not counted here.",
        class_="note",
    )


def list_warning(facts: Facts) -> Markup | None:
    """What the list is worth, where past calls do not speak for it."""
    effects = facts.effects
    if effects.is_enough and effects.overall.effect.is_below_zero:
        said = "Past calls are shown to hurt. Do not use this list before you know why."
    elif effects.is_enough and effects.hurt_states:
        said = f"Past calls are shown to hurt people {hurt_people(facts)}. Do not call them before you know why."
    elif not effects.is_enough:
        said = f"There are too few past calls to tell whether calls help; {A_GUESS}"
    elif not effects.is_shown:
        said = f"Past calls are not shown to help; {A_GUESS}"
    else:
        return None
    return tag("p", said, class_="banner")


def hurt_people(facts: Facts) -> str:
    """The states in which calls are shown to hurt, in words."""
    hurt = [each for each in facts.effects.by_state if each.name in facts.effects.hurt_states]
    return " or ".join(people_in(each, facts.num_states) for each in hurt)
