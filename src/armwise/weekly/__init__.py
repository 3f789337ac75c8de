"""The weekly job: fit a model, evaluate it, plan calls and verify a list, all from a programme.toml."""

from armwise.weekly.evaluate import assess_programme, losses_to_compare
from armwise.weekly.evaluation_file import ASSESSMENT_FILE, Assessment, read_assessment
from armwise.weekly.evaluation_text import write_text
from armwise.weekly.fit import fit_programme
from armwise.weekly.manifest import Manifest
from armwise.weekly.plan import ProgrammePlan, plan_programme, write_plan
from armwise.weekly.verify import Verification, verify_plan

__all__ = [
    "ASSESSMENT_FILE",
    "Assessment",
    "Manifest",
    "ProgrammePlan",
    "Verification",
    "assess_programme",
    "fit_programme",
    "losses_to_compare",
    "plan_programme",
    "read_assessment",
    "verify_plan",
    "write_plan",
    "write_text",
]
