"""The weekly job: from a programme's own files to a call list."""

from armwise.planning.assessment import ASSESSMENT_FILE, Assessment, read_assessment
from armwise.planning.assessment_text import write_text
from armwise.planning.backtesting import assess_programme, losses_to_compare
from armwise.planning.call_list import Explanation, Plan, PlanSummary
from armwise.planning.check import DataQuality, ProgrammeData, check_programme, examine_programme, load_programme
from armwise.planning.demo import Demo, run_demo
from armwise.planning.files import safe_text, spreadsheet_safe
from armwise.planning.findings import Finding, Report
from armwise.planning.judging import Evaluation, PolicyQuality
from armwise.planning.manifest import Manifest, Verification
from armwise.planning.planner import OutreachPlanner
from armwise.planning.programme import Budget, NeverCall, ProgrammeSettings, Rules
from armwise.planning.programme_file import read_programme
from armwise.planning.report import REPORT_FILE, ProgrammeReport, report_programme
from armwise.planning.rules import CallRules
from armwise.planning.sample import init_programme
from armwise.planning.weekly import (
    ProgrammePlan,
    fit_programme,
    plan_programme,
    verify_plan,
    write_plan,
)

__all__ = [
    "ASSESSMENT_FILE",
    "REPORT_FILE",
    "Assessment",
    "Budget",
    "CallRules",
    "DataQuality",
    "Demo",
    "Evaluation",
    "Explanation",
    "Finding",
    "Manifest",
    "NeverCall",
    "OutreachPlanner",
    "Plan",
    "PlanSummary",
    "PolicyQuality",
    "ProgrammeData",
    "ProgrammePlan",
    "ProgrammeReport",
    "ProgrammeSettings",
    "Report",
    "Rules",
    "Verification",
    "assess_programme",
    "check_programme",
    "examine_programme",
    "fit_programme",
    "init_programme",
    "load_programme",
    "losses_to_compare",
    "plan_programme",
    "read_assessment",
    "read_programme",
    "report_programme",
    "run_demo",
    "safe_text",
    "spreadsheet_safe",
    "verify_plan",
    "write_plan",
    "write_text",
]
