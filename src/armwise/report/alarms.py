"""What a manager must know before she uses the list: every reason to doubt it, the most serious first."""

from collections.abc import Iterator
from typing import NamedTuple

from armwise.evaluation.gain import NUM_STEPS
from armwise.planner.reasons import describe_evidence
from armwise.programme.finding_kinds import Severity
from armwise.report.comparison import Verdict, judge_ways
from armwise.report.effect import hurt_groups, hurt_people
from armwise.report.equity import Group, GroupEffect, Grouping, find_misplaced
from armwise.report.facts import Facts
from armwise.report.numbers import count, percent, signed
from armwise.report.promise import TOO_FEW

# If a lottery would give a group this many calls on average, the group gets none by chance in one of 20 lists.
CALLS_BY_CHANCE = 3.0
# The list is close to a lottery if its people gain less than this many times the average of all who may be called.
LOTTERY = 1.1
# The model is old if the programme has at least this many times the people that it learned from.
GROWN = 1.25
MOST_NAMED, MOST_SAID = 6, 2
NO_PROMISE = "Nothing can be promised of these calls."


class Alarm(NamedTuple):
    """One reason for doubt: the fact in a few words, what it means, and the section that says more."""

    what: str
    meaning: str
    section: str


def find_alarms(facts: Facts) -> list[Alarm]:
    """Find every reason for doubt, the most serious first."""
    kinds = (
        _harm,
        _hurt_groups,
        _effect,
        _misplaced,
        _promise,
        _outages,
        _needs,
        _groups,
        _rule,
        _comparison,
        _lots,
        _without_gain,
        _old_model,
        _warnings,
    )
    return [alarm for find in kinds for alarm in find(facts)]


def _outages(facts: Facts) -> Iterator[Alarm]:
    quality, step = facts.quality, facts.step
    if not quality.outages:
        return
    last = quality.num_steps - 1 in quality.outages
    numbers = ", ".join(str(each + 1) for each in quality.outages)
    meaning = f"Far fewer people than usual were reached in {step} {numbers} of the history. Ask why."
    if last:
        meaning += f" That includes the last {step}: who is engaged now is a guess."
    yield Alarm(f"The call log has {'a gap' if len(quality.outages) == 1 else 'gaps'}.", meaning, "data")


def _needs(facts: Facts) -> Iterator[Alarm]:
    """Groups with far fewer or far more calls than their need."""
    yield from _of_concerns(facts, "groups", "equity")


def _rule(facts: Facts) -> Iterator[Alarm]:
    """Past calls that followed a rule. If too few calls can be compared, another alarm says so."""
    if facts.effects.is_enough:
        yield from _of_concerns(facts, "past calls", "effect")


def _of_concerns(facts: Facts, about: str, section: str) -> Iterator[Alarm]:
    for each in facts.concerns:
        if each.about == about:
            yield Alarm(f"{each.what}.", f"{each.meaning[0].upper()}{each.meaning[1:]}.", section)


def _groups(facts: Facts) -> Iterator[Alarm]:
    """Groups without calls, except groups that already have an alarm."""
    told = {(each.column, name) for each in facts.concerns for name in each.groups}
    groups = [(grouping, group) for grouping in facts.groupings for group in grouping.groups]
    without = [each for each in groups if _is_left_out(each[1]) and (each[0].column, each[1].name) not in told]
    if not without or not facts.plan.summary.num_calls:
        return
    by_chance = [_name(*each) for each in without if not _is_beyond_chance(facts, each[1])]
    beyond = [_name(*each) for each in without if _is_beyond_chance(facts, each[1])]
    if beyond:
        meaning = f"They have people who may be called, and chance does not explain it: {_few(beyond)}."
        yield Alarm(f"{_groups_get(len(beyond))} no calls.", meaning, "equity")
    if by_chance:
        what = f"{_groups_get(len(by_chance))} no calls, which may be chance."
        yield Alarm(what, f"A lottery would give so small a group few calls or none: {_few(by_chance)}.", "equity")


def _is_left_out(group: Group) -> bool:
    return group.num_calls == 0 and group.num_may > 0


def _is_beyond_chance(facts: Facts, group: Group) -> bool:
    summary = facts.plan.summary
    return summary.num_calls * group.num_may / max(1, summary.num_eligible) >= CALLS_BY_CHANCE


def _groups_get(number: int) -> str:
    return "1 group gets" if number == 1 else f"{number} groups get"


def _name(grouping: Grouping, group: Group) -> str:
    return f"{grouping.column}: {group.name} ({count(group.num_people)} people)"


def _few(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _harm(facts: Facts) -> Iterator[Alarm]:
    effects = facts.effects
    if effects.is_harmful:
        whom = "" if effects.overall.effect.is_below_zero else f" people {hurt_people(facts)}"
        yield Alarm(f"Past calls are shown to hurt{whom}.", _evidence(facts), "effect")


def _hurt_groups(facts: Facts) -> Iterator[Alarm]:
    """Groups in which calls hurt. If calls hurt everyone, another alarm says so."""
    hurt = hurt_groups(facts.effects)
    if hurt and not (facts.effects.is_harmful and facts.effects.overall.effect.is_below_zero):
        meaning = (
            f"Chance does not explain it, with so many groups asked: {_few(hurt)}. Find out why before you call them."
        )
        yield Alarm("Past calls are shown to hurt people of some groups.", meaning, "effect")


def _misplaced(facts: Facts) -> Iterator[Alarm]:
    """Calls that go to people whom calls help less than others."""
    what = "engaged people" if facts.num_states == 2 else "points of engagement"
    for column, called, passed_over in find_misplaced(facts.groupings, facts.effects):
        meaning = (
            f"By {column}: 100 past calls brought {_effect_in_100(passed_over)} {what} in the group "
            f"“{passed_over.group.name}” and {_effect_in_100(called)} in “{called.group.name}”. This list calls "
            f"{_call_rate(called)} in “{called.group.name}” and {_call_rate(passed_over)} in "
            f"“{passed_over.group.name}”."
        )
        yield Alarm("The list prefers people whom calls help less.", meaning, "equity")


def _effect_in_100(each: GroupEffect) -> str:
    value, low, high = (signed(100 * edge) for edge in each.effect)
    return f"{value} ({low} to {high})"


def _call_rate(each: GroupEffect) -> str:
    return f"{count(each.group.num_calls)} of {count(each.group.num_people)} people"


def _effect(facts: Facts) -> Iterator[Alarm]:
    effects = facts.effects
    if not effects.is_shown and not effects.is_harmful:
        what = (
            "Past calls are not shown to help." if effects.is_enough else "There are too few past calls to learn from."
        )
        yield Alarm(what, f"{_evidence(facts)} Who gains from a call is a guess.", "effect")


def _evidence(facts: Facts) -> str:
    """What past calls did, without the verdict, because the alarm already has it."""
    described = describe_evidence(facts.effects, facts.step, facts.num_states)
    return described.partition(". ")[2] if facts.effects.is_enough else described


def _promise(facts: Facts) -> Iterator[Alarm]:
    promise, effects = facts.promise, facts.effects
    if promise is None or not promise.num_calls or (promise.listed.is_above_zero and effects.is_shown):
        return
    if not promise.is_known:
        yield Alarm(NO_PROMISE, TOO_FEW, "forecast")
        return
    gain, low, high = (signed(each) for each in promise.listed)
    said = f"Expected engaged {facts.step}s in the next {NUM_STEPS}: {gain} (90 % interval {low} to {high})."
    what = NO_PROMISE
    if promise.listed.is_below_zero:
        what = f"These calls {'are expected to' if effects.is_harmful else 'may'} do harm."
    yield Alarm(what, said, "forecast")


def _comparison(facts: Facts) -> Iterator[Alarm]:
    if facts.assessment is None:
        yield Alarm("Nobody has checked this model.", "No evaluation on past weeks has been made yet.", "better")
        return
    judged = [each for each in judge_ways(facts.assessment.ways) if each.is_simple]
    worse = [each.name for each in judged if each.verdict == Verdict.WORSE]
    unsure = [each.name for each in judged if each.verdict == Verdict.SAME]
    unknown = [each.name for each in judged if each.verdict == Verdict.UNKNOWN]
    if worse:
        yield Alarm(
            "A simpler way did better.", f"On past {facts.step}s, better than armwise: {_few(worse)}.", "better"
        )
    if unsure:
        what = f"armwise is not shown to be better than {'a simpler way' if len(unsure) == 1 else 'simpler ways'}."
        yield Alarm(what, f"No clear difference on past {facts.step}s: {_few(unsure)}.", "better")
    if unknown:
        meaning = f"Too few later calls could have gone otherwise, to compare with: {_few(unknown)}."
        yield Alarm("armwise could not be compared with simpler ways.", meaning, "better")
    if not facts.is_current:
        yield Alarm("The evaluation is old.", "Settings or tables have changed since it was made.", "better")


def _lots(facts: Facts) -> Iterator[Alarm]:
    """Lists that are close to a lottery. If nobody is left out, the order does not matter and there is no alarm."""
    if facts.plan.num_draws > 1:
        yield from _of_concerns(facts, "lots", "calls")
        return
    close, num_calls = facts.closeness, facts.plan.summary.num_calls
    if not close.num_left or not num_calls:
        return
    if close.num_by_lot > 1:
        meaning = "The model cannot tell them from people who are left out."
        yield Alarm(f"{count(close.num_by_lot)} of {count(num_calls)} calls were drawn by lot.", meaning, "calls")
    if close.everyone > 0 and close.listed < LOTTERY * close.everyone:
        more = percent(max(0.0, close.listed / close.everyone - 1))
        meaning = (
            f"By past calls, people like those on it gain only {more} more than the average person who may be called."
        )
        yield Alarm("The list is close to a lottery.", meaning, "calls")
    elif 2 * close.num_close > num_calls:
        calls = f"{count(close.num_close)} of {count(num_calls)} calls"
        meaning = f"For {calls}, someone left out has almost the same index."
        yield Alarm("Much of the list could be exchanged.", meaning, "calls")


def _without_gain(facts: Facts) -> Iterator[Alarm]:
    summary = facts.plan.summary
    if summary.num_without_gain:
        people = "1 person is" if summary.num_without_gain == 1 else f"{count(summary.num_without_gain)} people are"
        meaning = "By what past calls did, a call to them gains nothing, which may be chance. The model put them there."
        yield Alarm(f"{people} listed without an expected gain.", meaning, "calls")
    if summary.num_without_predicted_gain:
        calls = (
            "1 call is"
            if summary.num_without_predicted_gain == 1
            else f"{count(summary.num_without_predicted_gain)} calls are"
        )
        meaning = (
            "By the chains predicted for these people, a call changes nothing or does harm. A smaller budget would do."
        )
        yield Alarm(f"{calls} not expected to help.", meaning, "calls")
    if summary.unseen:
        named = _few([f"{name} ({count(number)} people)" for name, number in summary.unseen.items()])
        yield Alarm("The model has never seen some values.", f"It treats them as average: {named}. Fit again.", "data")


def _old_model(facts: Facts) -> Iterator[Alarm]:
    now, learned = facts.quality.num_people, facts.num_learned_from
    if now >= GROWN * learned:
        meaning = f"It learned from {count(learned)} people, and the programme has {count(now)} now. Fit again."
        yield Alarm("The model is older than the data.", meaning, "checks")


def _warnings(facts: Facts) -> Iterator[Alarm]:
    """Warnings of the check of the files, except outages, which have their own alarm."""
    totals = [each for each in facts.findings.totals if each.severity == Severity.WARNING and each.kind != "outage"]
    number = sum(total.count for total in totals)
    if number:
        said = sorted({f"{total.file}: {total.what}" for total in totals})
        more = f" And {len(said) - MOST_SAID} other kinds." if len(said) > MOST_SAID else ""
        what = f"The check of the files has {count(number)} warning{'s' * (number != 1)}."
        yield Alarm(what, " ".join(said[:MOST_SAID]) + more, "data")
