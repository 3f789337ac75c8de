"""Convert days to steps: find the first step and the planned one, and the rows that lie outside."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import NamedTuple

import numpy as np
import polars as pl

from armwise.programme.findings import Findings
from armwise.programme.people import People
from armwise.programme.records import Records
from armwise.programme.settings import Time

MOST_STEPS = 1000
EPOCH = date(1970, 1, 1)
# A few rows up to three steps away from the others are taken for an outage, not for mistyped dates. With steps of a
# day, a break of a week is usual, so the gap must also be at least 14 days.
LEAST_STEPS, LEAST_DAYS = 4, 14
# Rows beyond a gap that are more than this share of a usual step's rows are no mistake: the programme had a break.
MOST_LONE = 0.2


@dataclass(frozen=True)
class Calendar:
    """Steps counted from 0.

    Attributes:
        origin: the first day of step 0, in days since 1970; or the programme's own number of step 0.
        step_days: length of a step in days; 1 if the programme numbers its steps.
        plan: the day of the plan, or the programme's own number of its step.
        num_steps: steps before the planned one.
        by_week: whether the tables hold week numbers; otherwise they hold dates.
    """

    origin: int
    step_days: int
    plan: int
    num_steps: int
    by_week: bool

    def steps(self, when: pl.Series) -> pl.Series:
        """The step of each day; negative before the first."""
        return (when - self.origin) // self.step_days

    def label(self, step: int) -> str:
        """A step in the programme's own words."""
        first = self.origin + step * self.step_days
        return f"week {first}" if self.by_week else f"the step from {EPOCH + timedelta(days=first)}"


def make_calendar(time: Time, engagement: Records, findings: Findings) -> Calendar | None:
    """The calendar from the settings and the engagement table; none if there is no date, no step or too many steps."""
    possible = ~note_future(engagement, time, findings)
    when = engagement.rows["when"].filter(possible).drop_nulls()
    start, plan = _number(time.start), _number(time.plan)
    if when.is_empty() and (start is None or plan is None):
        return None
    first, last = _bounds(when)
    origin = _origin(first, time) if start is None else start
    if plan is None:
        plan = origin + ((last - origin) // time.step_days + 1) * time.step_days
    note_lone(engagement, time, origin, plan, possible, findings)
    num_steps = (plan - origin) // time.step_days
    calendar = Calendar(origin, time.step_days, plan, num_steps, time.by_week)
    if num_steps > MOST_STEPS:
        value = " to ".join(calendar.label(step).removeprefix("the step from ") for step in (0, num_steps - 1))
        what = f"There are {num_steps:,} steps from the first to the last, more than {MOST_STEPS:,}."
        findings.add("time-span", engagement.table.file, column=engagement.when_column, value=value, what=what)
        return None
    if num_steps < 1:
        _note_later(engagement, calendar, time, findings)
        if time.ignore_later:
            findings.add("nothing-observed", engagement.table.file, what="No row lies before the plan.")
        return None
    return calendar


def _bounds(when: pl.Series) -> tuple[int, int]:
    return (0, 0) if when.is_empty() else (int(when.min()), int(when.max()))  # type: ignore[arg-type]


def _origin(first: int, time: Time) -> int:
    """Where step 0 begins: at the first date, or at the Monday before it if a step is a number of whole weeks.

    With the Monday, a new first row in the same week does not move the other rows.
    """
    monday_first = not time.by_week and time.step_days % 7 == 0
    return first - (first + 3) % 7 if monday_first else first  # 1970-01-01 was a Thursday


def _number(day: date | int | None) -> int | None:
    return (day - EPOCH).days if isinstance(day, date) else day


def rows_of_attempts(
    engagement: Records, calendar: Calendar, time: Time, people: People, findings: Findings
) -> tuple[pl.DataFrame, int]:
    """The attempts in the time in which the person took part, with their ``step``; and how many others there are."""
    rows = engagement.rows.with_columns(step=calendar.steps(engagement.rows["when"]))
    if time.plan is not None:  # otherwise only rows in the future are later, and they are already refused
        _note_later(engagement, calendar, time, findings)
    early, unfinished = rows["step"] < 0, (rows["step"] == calendar.num_steps) & (rows["when"] < calendar.plan)
    before = _before_enrolment(rows, calendar, people) & (rows["step"] >= 0)
    after = _after_exit(rows, people) & (rows["when"] < calendar.plan)
    for kind, bad in (
        ("row-before-start", early),
        ("row-unfinished-step", unfinished),
        ("row-before-enrolment", before),
        ("row-after-exit", after),
    ):
        _note_left_out(kind, engagement, bad, findings)
    inside = rows["step"].is_between(0, calendar.num_steps - 1) & ~before & ~after
    kept = rows.filter(inside.fill_null(False) & rows["person"].is_not_null())
    return kept, rows.height - kept.height


def rows_of_calls(
    interventions: Records, calendar: Calendar, time: Time, people: People, findings: Findings
) -> pl.DataFrame:
    """The calls made before the plan, each once, with their ``step``; it is negative before the first step."""
    rows = interventions.rows.with_columns(step=calendar.steps(interventions.rows["when"]))
    # A planned call may lie in the future, so only calls that were made are checked.
    _note_later(interventions, calendar, time, findings, rows["counts"])
    before, after = _before_enrolment(rows, calendar, people), _after_exit(rows, people)
    file, column = interventions.table.file, interventions.when_column
    # Note each row: a call left out because of a mistyped date would not count for cool_down and max_calls.
    for kind, outside in (("row-before-enrolment", before), ("row-after-exit", after)):
        findings.rows(kind, interventions.table, column, outside & rows["counts"])
    made = (rows["counts"] & (rows["when"] < calendar.plan) & ~before & ~after).fill_null(False)
    _note_lone_calls(interventions, rows["step"], made, calendar, time, findings)
    kept = rows.filter(made)
    kept = kept.drop_nulls("person")
    calls = kept.unique(["person", "when"], maintain_order=True)
    if calls.height < kept.height:
        what = f"{kept.height - calls.height:,} rows repeat a call of the same person and date; each call counts once."
        findings.add("intervention-repeated", file, what=what)
    return calls


def _note_lone_calls(
    interventions: Records, steps: pl.Series, made: pl.Series, calendar: Calendar, time: Time, findings: Findings
) -> None:
    """Note a few calls long before all others: if their year is mistyped, the rules forget a recent call."""
    every_step = pl.Series(range(calendar.num_steps), dtype=steps.dtype)
    bulk = find_bulk(steps.filter(made).append(every_step), least_gap(time))
    findings.rows("call-far-before", interventions.table, interventions.when_column, made & (steps < bulk.first))


def _note_later(
    records: Records, calendar: Calendar, time: Time, findings: Findings, among: pl.Series | None = None
) -> None:
    later = records.rows["when"] >= calendar.plan
    if not time.ignore_later:
        findings.rows("row-after-plan", records.table, records.when_column, later if among is None else later & among)


def _before_enrolment(rows: pl.DataFrame, calendar: Calendar, people: People) -> pl.Series:
    """Which rows lie in a step before the one in which the person was enrolled."""
    if people.enrolled is None:
        return rows["step"].is_null() & False
    enrolled = calendar.steps(people.enrolled).gather(rows["person"])
    return (rows["step"] < enrolled).fill_null(False)


def _after_exit(rows: pl.DataFrame, people: People) -> pl.Series:
    """Which rows lie on or after the day on which the person left."""
    if people.left is None:
        return rows["step"].is_null() & False
    return (rows["when"] >= people.left.gather(rows["person"])).fill_null(False)


def _note_left_out(kind: str, records: Records, bad: pl.Series, findings: Findings) -> None:
    """Note all such rows as one finding. It names the first row, whose person may have mistyped dates."""
    number, table = int(bad.sum()), records.table
    if number:
        first = int(bad.arg_true()[0])
        words = {
            "row-before-start": ("lies before the first step", "lie before the first step"),
            "row-before-enrolment": ("is from before the person was enrolled", "are from before people were enrolled"),
            "row-after-exit": ("is from after the person left", "are from after people left"),
            "row-unfinished-step": (
                "lies in the unfinished step of the plan",
                "lie in the unfinished step of the plan",
            ),
        }
        what = f"{number:,} {'rows' if number > 1 else 'row'} {words[kind][number > 1]}; left out."
        place = {"row": table.rows[first], "column": records.when_column, "person": table[table.id_column][first]}
        findings.add(kind, table.file, what=what, **place)


class Bulk(NamedTuple):
    """The first and the last step after the lone rows at both ends are dropped (``find_bulk``)."""

    first: int
    last: int


def today() -> date:
    """The date of this machine's clock. Only refusals depend on it; a plan never does."""
    return date.today()


def find_bulk(steps: pl.Series, least_gap: int) -> Bulk:
    """The first and last step without the lone rows at both ends.

    Rows at an end are lone if they are few and far away. Few: at most ``MOST_LONE`` of the rows of a usual step. Far
    away: at least ``least_gap`` steps from the other rows, and at least twice the usual gap.

    Example:
        >>> find_bulk(pl.Series([0] * 50 + [1] * 50 + [2] * 50 + [54]), least_gap=4)
        Bulk(first=0, last=2)
    """
    distinct, rows = np.unique(steps.drop_nulls().to_numpy(), return_counts=True)
    usual = rows.mean()
    wide = np.diff(distinct) >= max(least_gap, 2 * _usual_gap(distinct[~_few(rows, usual)]))
    rows_before, rows_after = rows.cumsum()[:-1], rows[::-1].cumsum()[::-1][1:]
    before = np.flatnonzero(wide & _few(rows_before, usual))
    after = np.flatnonzero(wide & _few(rows_after, usual))
    first = distinct[before[-1] + 1] if len(before) else distinct[0]
    last = distinct[after[0]] if len(after) else distinct[-1]
    return Bulk(int(first), int(last))


def _usual_gap(steps: np.ndarray) -> float:
    return float(np.quantile(np.diff(steps), 0.75, method="lower")) if len(steps) > 1 else 1.0


def _few(rows: np.ndarray, usual: float) -> np.ndarray:
    return (rows <= max(1, MOST_LONE * usual)) & (rows < usual)


def least_gap(time: Time) -> int:
    """The smallest gap, in steps, between lone rows and the others."""
    return LEAST_STEPS if time.by_week else max(LEAST_STEPS, -(-LEAST_DAYS // time.step_days))


def note_future(records: Records, time: Time, findings: Findings) -> pl.Series:
    """Mark and refuse rows in the future. No row is marked if the tables hold weeks or the settings give the plan."""
    future = pl.Series([False]).new_from_index(0, records.rows.height)
    if time.by_week or time.plan is not None:
        return future
    # A log from another time zone may be a day ahead.
    now = today()
    future = (records.rows["when"] > (now - EPOCH).days + 1).fill_null(False)
    remedy = f"Correct the date; by this machine's clock, today is {now}."
    findings.rows("row-in-future", records.table, records.when_column, future, remedy=remedy)
    return future


def note_lone(records: Records, time: Time, origin: int, plan: int, among: pl.Series, findings: Findings) -> None:
    """Refuse lone rows that would decide the first step or the plan. What the settings give is not checked.

    Args:
        records: the rows of the engagement table.
        time: the settings.
        origin: the first day, or step, from the settings or else from the rows.
        plan: the day, or step, of the plan, from the settings or else from the rows.
        among: which rows to check.
        findings: where lone rows are noted.
    """
    when = records.rows["when"]
    inside = (among & (when >= origin) & (when < plan)).fill_null(False)
    if not inside.any():
        return
    steps = (when - origin) // time.step_days
    bulk = find_bulk(steps.filter(inside), least_gap(time))
    if time.start is None:
        remedy = f"Correct it. If it is right, set {_setting(time, 'first', origin)} under [time]."
        lone = inside & (steps < bulk.first)
        findings.rows("row-far-before", records.table, records.when_column, lone, remedy=remedy)
    if time.plan is None:
        remedy = f"Correct it. If it is right, set {_setting(time, 'plan', plan)} under [time]."
        lone = inside & (steps > bulk.last)
        findings.rows("row-far-after", records.table, records.when_column, lone, remedy=remedy)


def _setting(time: Time, which: str, value: int) -> str:
    if time.by_week:
        return f"{which}_week = {value}"
    return f"{'first_day' if which == 'first' else 'plan_date'} = {EPOCH + timedelta(days=value)}"
