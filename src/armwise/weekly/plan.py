"""``armwise plan``: make the call list of a programme's next step, with a record of what it was made from."""

import dataclasses
from pathlib import Path
from typing import NamedTuple

from armwise.data import Encoder
from armwise.data.columns import Numbers
from armwise.errors import InvalidInputError
from armwise.io.reading import PathLike
from armwise.io.writing import make_folder, write_file
from armwise.planner.outreach_planner import OutreachPlanner
from armwise.planner.plan import Plan
from armwise.planner.planner_file import read_content
from armwise.planner.rules import CallRules
from armwise.programme.findings import Report
from armwise.programme.inputs import Input, refuse_inputs
from armwise.programme.last_list import LIST_WITHOUT_OUTCOMES, add_repeats
from armwise.programme.loading import load_with_findings
from armwise.programme.programme_data import ProgrammeData
from armwise.programme.settings import BEST, ProgrammeSettings, Time
from armwise.weekly.concerns import find_concerns
from armwise.weekly.fit import MODEL_FILE, table_of
from armwise.weekly.manifest import Manifest, find_manifest, find_probabilities, make_manifest


class ProgrammePlan(NamedTuple):
    """A plan, the bytes of its list, and the record of what it was made from.

    Attributes:
        plan: who is called.
        content: the list's bytes.
        manifest: the record.
        files: the paths of the files that the plan was made from.
        warnings: what to check before using the list.
    """

    plan: Plan
    content: bytes
    manifest: Manifest
    files: tuple[Path, ...]
    warnings: tuple[str, ...] = ()


class Prepared(NamedTuple):
    """A plan with what made it: the planner, the data, and the findings of the check of the files."""

    planner: OutreachPlanner
    data: ProgrammeData
    findings: Report
    planned: ProgrammePlan


def plan_programme(
    path: PathLike, model: PathLike | None = None, *, suffix: str = ".csv", despite_outage: bool = False
) -> ProgrammePlan:
    """Make the plan for a programme's next step; nothing is written.

    Args:
        path: the path of ``programme.toml``.
        model: a planner's file, from ``armwise fit``; by default ``model.armwise`` in the folder of ``programme.toml``.
        suffix: the ending of the list's file: ".csv", ".xlsx" or ".parquet".
        despite_outage: whether to go on if the last step was hardly observed.
    """
    return prepare_plan(path, model, suffix=suffix, despite_outage=despite_outage).planned


def prepare_plan(
    path: PathLike, model: PathLike | None = None, *, suffix: str = ".csv", despite_outage: bool = False
) -> Prepared:
    """Make the plan of ``plan_programme``, and return it with the planner, the data and the findings."""
    model = Path(path).parent / MODEL_FILE if model is None else Path(model)
    read = read_content(model)
    planner, used = OutreachPlanner.from_bytes(read, model), Input.of(model, read)
    findings, data = load_with_findings(path, despite_outage=despite_outage)
    plan = _plan(planner, data)
    content, files = plan.to_bytes(suffix), (*data.programme.files.values(), model)
    inputs = {**data.inputs, "model": used}
    manifest = make_manifest(inputs, plan, content, planner.random_state, data.quality.planned_step)
    findings = add_repeats(findings, data.without_outcome, plan.calls)
    missing = [str(each) for each in findings.findings if each.kind == LIST_WITHOUT_OUTCOMES]
    doubts = [each.sentence for each in find_concerns(data, plan, planner.call_gains_.effects)]
    planned = ProgrammePlan(plan, content, manifest, files, (*missing, *doubts))
    return Prepared(planner, data, findings, planned)


def write_plan(planned: ProgrammePlan, output: PathLike) -> Path:
    """Write the list with its manifest and its probabilities. The list comes last, so it is never without the others.

    The names of both contain the list's hash, so that later lists do not replace them.

    Args:
        planned: the result of ``plan_programme``.
        output: the list's path; replaced if it exists.

    Returns:
        The path of the manifest.
    """
    target, beside = find_manifest(Path(output), planned.content), find_probabilities(Path(output), planned.content)
    for path in (output, target, beside):
        refuse_inputs(path, planned.files)
    for path, content in ((beside, planned.plan.probabilities_to_bytes()), (target, planned.manifest.to_json())):
        make_folder(path.parent)
        write_file(path, content)
    write_file(output, planned.content)
    return target


def _plan(planner: OutreachPlanner, data: ProgrammeData) -> Plan:
    states = data.trajectories.num_states
    if planner.problem_.num_states != states:
        raise InvalidInputError(
            f"The model was learned with {planner.problem_.num_states} states, and the programme has {states}. Run "
            "'armwise fit' again."
        )
    check_same_features(planner.encoder_, data)
    if not data.taking_part.any():
        raise InvalidInputError(
            f"Nobody takes part in {data.quality.planned_step}: {data.quality.num_finished:,} people have finished, "
            f"{data.quality.num_not_enrolled:,} are not enrolled yet. Check these dates, and the date of the plan."
        )
    # The roster's columns hold what the trajectories lack: calls before the first step and in unobserved steps.
    return planner.plan(
        table_of(data),
        data.trajectories,
        rules=rules_of(data.programme),
        states=data.roster["state"],
        steps_since_observed=data.roster["since_observed"],
        num_calls=data.roster["calls"],
        steps_since_call=data.roster["since_call"],
        groups=data.groups,
        exclusions=data.roster["exclusion"],
        planned_step=data.quality.planned_step,
    )


def rules_of(programme: ProgrammeSettings) -> CallRules:
    """The rules for calls from a programme's settings."""
    rules, budget = programme.rules, programme.budget
    return CallRules(
        budget=budget.total,
        group_budgets=dict(budget.per_group),
        cool_down=rules.cool_down,
        max_calls=rules.max_calls,
        min_observed=rules.min_observed,
        step_name=step_name(programme.time),
        choice=programme.choice,
        lottery_cost=programme.lottery_cost,
    )


def check_same_features(encoder: Encoder, data: ProgrammeData) -> None:
    """Refuse a model that was fitted with other features than those in the programme's settings now."""
    numbers = data.programme.beneficiaries.numbers
    fitted = {column.name: isinstance(column, Numbers) for column in encoder.columns}
    before, now = {*fitted, *encoder.dropped}, set(data.features.columns)
    changes = {
        "no longer in the settings": before - now,
        "new in the settings": now - before,
        "a number then and a category now, or the reverse": {
            name for name in now & set(fitted) if fitted[name] != (name in numbers)
        },
    }
    told = [f"{', '.join(map(repr, sorted(names)))} ({what})" for what, names in changes.items() if names]
    if told:
        raise InvalidInputError(
            f"The model was fitted with other features than programme.toml names: {'; '.join(told)}. Run 'armwise fit' "
            "again, or take the change back."
        )


def rank_everyone(planner: OutreachPlanner, data: ProgrammeData) -> Plan:
    """The plan without budgets: everyone who may be called, the best first."""
    budget = dataclasses.replace(data.programme.budget, total=len(data.ids), per_group=())
    programme = dataclasses.replace(data.programme, budget=budget, choice=BEST)
    return _plan(planner, dataclasses.replace(data, programme=programme))


def step_name(time: Time) -> str:
    """The word for a step of the programme: "week", "day" or "step"."""
    return "week" if time.by_week else {1: "day", 7: "week"}.get(time.step_days, "step")
