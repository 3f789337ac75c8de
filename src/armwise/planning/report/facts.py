"""Everything the report says, collected before a word of it is written."""

from typing import NamedTuple

from armwise.planning.assessment import Assessment, table_inputs
from armwise.planning.call_list import Plan
from armwise.planning.check import DataQuality
from armwise.planning.findings import Report
from armwise.planning.manifest import Manifest
from armwise.planning.report.equity import Grouping, make_groupings
from armwise.planning.report.forecast import Forecast, make_forecast
from armwise.planning.weekly import Prepared, step_name

SMALLEST_GROUP = 10


class Facts(NamedTuple):
    """What the page is written from.

    Attributes:
        name: the programme's.
        step: what a step is called, in the singular.
        num_states: of engagement.
        plan: the list.
        manifest: what it was made from.
        forecast: of the coming steps.
        groupings: calls by group.
        smallest_group: groups of fewer people are not shown.
        assessment: of the planner, on people held back; none if there was no evaluation.
        is_current: whether the assessment is of the files that the plan was made from.
        quality: of the data.
        findings: of the check of the files.
        num_learned_from: people that the model learned from.
    """

    name: str
    step: str
    num_states: int
    plan: Plan
    manifest: Manifest
    forecast: Forecast
    groupings: tuple[Grouping, ...]
    smallest_group: int
    assessment: Assessment | None
    is_current: bool
    quality: DataQuality
    findings: Report
    num_learned_from: int

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
    called = planned.plan.calls["id"].to_list()
    return Facts(
        name=data.programme.name,
        step=step_name(data.programme.time),
        num_states=data.trajectories.num_states,
        plan=planned.plan,
        manifest=planned.manifest,
        forecast=make_forecast(planner, data),
        groupings=make_groupings(data, called, smallest_group),
        smallest_group=smallest_group,
        assessment=assessment,
        is_current=assessment is not None and dict(assessment.inputs) == table_inputs(data.programme),
        quality=data.quality,
        findings=findings,
        num_learned_from=int(planner.metrics_["num_people"]),
    )
