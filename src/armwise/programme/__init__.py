"""Read a programme's own files and check them. The result is clean tables, or a list of everything that is wrong."""

from armwise.programme.findings import Finding, Report
from armwise.programme.loading import check_programme, examine_programme, load_programme
from armwise.programme.programme_data import DataQuality, ProgrammeData
from armwise.programme.sample import init_programme
from armwise.programme.settings import Budget, NeverCall, ProgrammeSettings, Rules
from armwise.programme.settings_file import read_programme

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
]
