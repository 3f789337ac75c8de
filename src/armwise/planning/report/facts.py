"""Everything the report says, collected before a word of it is written."""

from typing import NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Float

from armwise.evaluation.effects import CallEffects, call_effects
from armwise.planner.concerns import Concern
from armwise.planning.assessment import Assessment
from armwise.planning.call_list import Plan
from armwise.planning.check import DataQuality, ProgrammeData
from armwise.planning.concerns import find_concerns
from armwise.planning.findings import Report
from armwise.planning.groupings import SMALLEST_GROUP, group_labels, of_large_groups
from armwise.planning.manifest import Manifest
from armwise.planning.planner import OutreachPlanner
from armwise.planning.report.closeness import Closeness, measure_closeness
from armwise.planning.report.equity import Grouping, make_groupings
from armwise.planning.report.forecast import Promise, make_promise
from armwise.planning.weekly import Prepared, rank_everyone, step_name


class Facts(NamedTuple):
    """What the page is written from.

    Attributes:
        name: the programme's.
        step: what a step is called, in the singular.
        num_states: of engagement.
        plan: the list.
        manifest: what it was made from.
        promise: what the list's calls are expected to bring; none if there was no evaluation.
        groupings: calls by group.
        smallest_group: groups of fewer people are not shown.
        assessment: of the planner, on past steps and people not learned from; none if there was no evaluation.
        is_current: whether the assessment is of the files that the plan was made from.
        quality: of the data.
        findings: of the check of the files.
        num_learned_from: people that the model learned from.
        effects: what past calls did.
        closeness: of the list to the people whom it leaves out.
        background: for each person on the list: id, since_observed, num_calls, since_call.
        note: what the settings say a reader must know first.
        concerns: what to doubt about the list, as ``armwise plan`` says it.
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
        """Whether the programme's name says that nobody in it is real, as that of 'armwise init' does."""
        return "simulated" in self.name.lower()


def collect(prepared: Prepared, assessment: Assessment | None, smallest_group: int = SMALLEST_GROUP) -> Facts:
    """The facts about a plan and its programme.

    Args:
        prepared: the plan, and what it was made by.
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
    """As evaluated from the very same files, which saves time; else estimated again."""
    if assessment is not None and dict(assessment.inputs) == data.inputs:
        return of_large_groups(assessment.effects, data, smallest)
    return estimate_effects(data, np.asarray(planner.problem_.rewards), smallest)


def estimate_effects(data: ProgrammeData, rewards: Float[np.ndarray, " states"], smallest: int) -> CallEffects:
    """What past calls did, from everyone's history, those who have finished included.

    Args:
        data: the programme's.
        rewards: of the states.
        smallest: groups of fewer people are not shown.
    """
    effects = call_effects(data.trajectories, group_labels(data, smallest), rewards=rewards)
    return of_large_groups(effects, data, smallest)


def make_background(data: ProgrammeData, calls: pl.DataFrame) -> pl.DataFrame:
    """What is known of those on the list beside what the list says; null where something never happened."""
    everyone = pl.DataFrame(
        {
            "id": data.ids,
            "since_observed": data.steps_since_observed,
            "num_calls": data.num_calls,
            "since_call": data.steps_since_call,
        }
    ).with_columns(pl.col("since_observed", "since_call").replace(-1, None))
    return calls.select("id").join(everyone, on="id", how="left", maintain_order="left")


def _rivals(data: ProgrammeData) -> pl.DataFrame | None:
    """Who competes with whom for calls: people of the same group, where groups have budgets."""
    if data.groups is None or not data.programme.budget.per_group:
        return None
    return pl.DataFrame({"id": data.ids, "group": data.groups})
