"""The weekly job: from a programme's own files to clean arrays."""

from armwise.planning.check import DataQuality, ProgrammeData, check_programme, examine_programme, load_programme
from armwise.planning.files import safe_text, spreadsheet_safe
from armwise.planning.findings import Finding, Report
from armwise.planning.programme import Budget, NeverCall, ProgrammeSettings, Rules
from armwise.planning.programme_file import read_programme
from armwise.planning.sample import init_programme

__all__ = [
    "Budget",
    "DataQuality",
    "Finding",
    "NeverCall",
    "ProgrammeData",
    "ProgrammeSettings",
    "Report",
    "Rules",
    "check_programme",
    "examine_programme",
    "init_programme",
    "load_programme",
    "read_programme",
    "safe_text",
    "spreadsheet_safe",
]
