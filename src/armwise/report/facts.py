"""All facts of the report, collected before any text is written."""

import math
from typing import NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Float

from armwise.evaluation.effects import CallEffects, call_effects
from armwise.evaluation.resampling import Estimate
from armwise.planner import promise_gain
from armwise.planner.outreach_planner import OutreachPlanner
from armwise.planner.past_lists import ARMWISE
from armwise.planner.plan import Plan
from armwise.programme.findings import Report
from armwise.programme.programme_data import DataQuality, ProgrammeData
from armwise.report.equity import Grouping, make_groupings
from armwise.weekly.concerns import Concern, find_concerns
from armwise.weekly.evaluation_file import Assessment
from armwise.weekly.groups import SMALLEST_GROUP, group_labels, of_large_groups
from armwise.weekly.manifest import Manifest
from armwise.weekly.plan import Prepared, rank_everyone, step_name

# Two indices count as almost equal if they differ by less than this share of the list's median index.
CLOSE = 0.05


class Promise(NamedTuple):
    """Engaged steps gained over no calls in the steps after one list's calls, with 90 % intervals.

    Attributes:
        num_calls: calls on the list.
        listed: the gain of the list.
        lots: the gain of as many calls drawn by lot.
        lead: how much more the list gains than lots.
    """

    num_calls: int
    listed: Estimate
    lots: Estimate
    lead: Estimate

    @property
    def is_known(self) -> bool:
        """Whether there were enough past calls to estimate the gain."""
        return not math.isnan(self.listed.value)


def make_promise(kept: Assessment, num_calls: int) -> Promise:
    """What a list with this many calls is expected to gain, according to an evaluation."""
    ways = {way.name: way for way in kept.ways}
    gains = ways[ARMWISE].gain, ways["random"].gain, ways["random"].lead
    return Promise(num_calls, *(promise_gain(each, num_calls) for each in gains))


class Closeness(NamedTuple):
    """How people on the list compare with people who may be called but are not on it.

    Attributes:
        num_left: people who may be called and are not on the list.
        num_by_lot: people on the list by lot: the best person left out has exactly the same index.
        num_close: people on the list although someone left out has almost the same index, or a higher one.
        listed: the average expected gain on the list; NaN if the list is empty, or if gains are unknown.
        everyone: the average expected gain of all who may be called.
    """

    num_left: int
    num_by_lot: int
    num_close: int
    listed: float
    everyone: float


def measure_closeness(calls: pl.DataFrame, everyone: pl.DataFrame, groups: pl.DataFrame | None) -> Closeness:
    """Measure how close the people on a list are to those whom it leaves out.

    Args:
        calls: the list, with id, index and expected_gain.
        everyone: all who may be called, with the same columns.
        groups: id and group of each person if groups have their own budgets, because people then compete within their
            group; none if everyone competes with everyone.
    """
    columns = ["id", "index", "expected_gain"]
    people = everyone.select(columns).with_columns(listed=pl.col("id").is_in(calls["id"].implode()))
    people = people.with_columns(group=pl.lit("")) if groups is None else people.join(groups, on="id", how="left")
    best_left = pl.col("index").filter(~pl.col("listed")).max().over("group")
    margin = CLOSE * pl.col("index").filter(pl.col("listed")).median().abs()
    people = people.with_columns(ahead=pl.col("index") - best_left, margin=margin)
    mine = people.filter("listed")
    return Closeness(
        num_left=people.height - mine.height,
        num_by_lot=int((mine["ahead"] == 0).sum()),
        num_close=int((mine["ahead"] <= mine["margin"]).sum()),
        listed=_mean(mine["expected_gain"]),
        everyone=_mean(people["expected_gain"]),
    )


def _mean(gains: pl.Series) -> float:
    known = gains.drop_nulls().to_numpy()
    return float(known.mean()) if len(known) else float("nan")


class Facts(NamedTuple):
    """The facts from which the page is written.

    Attributes:
        name: the programme's name.
        step: the word for a step, in the singular.
        num_states: the number of states of engagement.
        plan: the list.
        manifest: the record of what the list was made from.
        promise: what the list's calls are expected to bring; none if there was no evaluation.
        groupings: calls by group.
        smallest_group: groups of fewer people are not shown.
        assessment: the evaluation of the planner on past steps and people not learned from; none if there is none.
        is_current: whether the evaluation used the same files as the plan.
        quality: what the data hold, in numbers.
        findings: the findings of the check of the files.
        num_learned_from: people that the model learned from.
        effects: what past calls did.
        closeness: how close the list is to the people whom it leaves out.
        background: for each person on the list: id, since_observed, num_calls, since_call.
        note: what the reader must know first, from the settings.
        concerns: reasons to doubt the list, as ``armwise plan`` prints them.
    """

    name: str
    step: str
    num_states: int
    plan: Plan
    manifest: Manifest
    promise: Promise | None
    groupings: tuple[Grouping, ...]
    smallest_group: int
    assessment: Assessment | None
    is_current: bool
    quality: DataQuality
    findings: Report
    num_learned_from: int
    effects: CallEffects
    closeness: Closeness
    background: pl.DataFrame
    note: str | None = None
    concerns: tuple[Concern, ...] = ()

    @property
    def planned_step(self) -> str:
        """The planned step in words, as in "the week from 2024-02-26"."""
        return self.quality.planned_step.replace("the step", f"the {self.step}", 1)

    @property
    def is_simulated(self) -> bool:
        """Whether the programme's name says that it is simulated, as in the files of 'armwise init'."""
        return "simulated" in self.name.lower()


def collect(prepared: Prepared, assessment: Assessment | None, smallest_group: int = SMALLEST_GROUP) -> Facts:
    """Collect the facts about a plan and its programme.

    Args:
        prepared: the plan, and what made it.
        assessment: from ``armwise evaluate --for-report``, if there is one.
        smallest_group: groups of fewer people are not shown.
    """
    planner, data, findings, planned = prepared
    here = data.of_those_taking_part()
    calls, everyone = planned.plan.calls, rank_everyone(planner, data).calls
    effects = _effects(planner, data, assessment, smallest_group)
    return Facts(
        name=data.programme.name,
        step=step_name(data.programme.time),
        num_states=data.trajectories.num_states,
        plan=planned.plan,
        manifest=planned.manifest,
        promise=None if assessment is None else make_promise(assessment, len(calls)),
        groupings=make_groupings(here, calls["id"], smallest_group, everyone["id"]),
        smallest_group=smallest_group,
        assessment=assessment,
        is_current=assessment is not None and dict(assessment.inputs) == data.inputs,
        quality=data.quality,
        findings=findings,
        num_learned_from=int(planner.metrics_["num_people"]),
        effects=effects,
        closeness=measure_closeness(calls, everyone, _rivals(data)),
        background=make_background(data, calls),
        note=data.programme.note,
        concerns=tuple(find_concerns(data, planned.plan, effects, smallest_group)),
    )


def _effects(
    planner: OutreachPlanner, data: ProgrammeData, assessment: Assessment | None, smallest: int
) -> CallEffects:
    """The effects from the evaluation if it used the same files, which saves time; otherwise estimated again."""
    if assessment is not None and dict(assessment.inputs) == data.inputs:
        return of_large_groups(assessment.effects, data, smallest)
    return estimate_effects(data, np.asarray(planner.problem_.rewards), smallest)


def estimate_effects(data: ProgrammeData, rewards: Float[np.ndarray, " states"], smallest: int) -> CallEffects:
    """Estimate what past calls did, from everyone's history, including people who have finished.

    Args:
        data: the programme's data.
        rewards: the reward of each state.
        smallest: groups of fewer people are not shown.
    """
    effects = call_effects(data.trajectories, group_labels(data, smallest), rewards=rewards)
    return of_large_groups(effects, data, smallest)


def make_background(data: ProgrammeData, calls: pl.DataFrame) -> pl.DataFrame:
    """What is known about the people on the list but is not on the list. Null if something never happened."""
    everyone = data.roster.select("id", "since_observed", "since_call", num_calls="calls")
    return calls.select("id").join(everyone, on="id", how="left", maintain_order="left")


def _rivals(data: ProgrammeData) -> pl.DataFrame | None:
    """Each person's group if people compete for calls within groups, because groups have budgets; otherwise none."""
    if data.groups is None or not data.programme.budget.per_group:
        return None
    return pl.DataFrame({"id": data.ids, "group": data.groups})
