"""Rows dated in the future or far from all others: one mistyped date would move the first step, or the plan."""

from datetime import date, timedelta
from typing import NamedTuple

import numpy as np
import polars as pl

from armwise.planning.findings import Findings
from armwise.planning.programme import Time
from armwise.planning.records import Records

EPOCH = date(1970, 1, 1)
# Up to three steps apart, rows that few are taken for an outage; with steps of a day, a break of a week is usual.
LEAST_STEPS, LEAST_DAYS = 4, 14
# More rows than this share of a usual step's are a programme that goes on after a break.
MOST_LONE = 0.2


class Bulk(NamedTuple):
    """The first and the last step that hold more than a few rows far from all others."""

    first: int
    last: int


def today() -> date:
    """The day on this machine's clock. Only refusals depend on it, never a plan."""
    return date.today()


def find_bulk(steps: pl.Series, least_gap: int) -> Bulk:
    """The steps without the lone ones at both ends.

    Rows at an end are lone if they are at most ``MOST_LONE`` of the rows of a usual step, and if they are at least
    ``least_gap`` steps away from the others, and twice as far as is usual.

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
    """How many steps from the others rows must be to be lone."""
    return LEAST_STEPS if time.by_week else max(LEAST_STEPS, -(-LEAST_DAYS // time.step_days))


def note_future(records: Records, time: Time, findings: Findings) -> pl.Series:
    """Which rows lie in the future. They are refused where the plan's date depends on them."""
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
    """Refuse lone rows that decide the first step or the plan, unless the settings say the first day or the plan.

    Args:
        records: of the engagement.
        time: the settings.
        origin: the first day, or step, that the rows make or the settings say.
        plan: the day, or step, of the plan that the rows make or the settings say.
        among: which rows to look at.
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
