"""The report for a programme manager: one HTML file about a plan, its people, its predictions and its data."""

from pathlib import Path
from typing import NamedTuple

from armwise._validation import check_count
from armwise.io.reading import PathLike
from armwise.report.facts import Facts, collect
from armwise.report.page import write_page
from armwise.weekly.evaluation_file import ASSESSMENT_FILE, read_assessment
from armwise.weekly.groups import SMALLEST_GROUP
from armwise.weekly.plan import prepare_plan

REPORT_FILE = "report.html"


class ProgrammeReport(NamedTuple):
    """The page as HTML, and the facts that it was written from."""

    html: str
    facts: Facts


def report_programme(
    path: PathLike,
    model: PathLike | None = None,
    *,
    evaluation: PathLike | None = None,
    smallest_group: int = SMALLEST_GROUP,
    despite_outage: bool = False,
) -> ProgrammeReport:
    """Make the report on a programme's next step; nothing is written.

    Args:
        path: the path of ``programme.toml``.
        model: a planner's file; by default ``model.armwise`` in the folder of ``programme.toml``.
        evaluation: the file that ``armwise evaluate --for-report`` wrote; by default ``evaluation.json`` in the folder
            of ``programme.toml``, if it exists.
        smallest_group: groups of fewer people are not shown.
        despite_outage: whether to go on if the last step was hardly observed.
    """
    smallest = check_count("smallest_group", smallest_group, minimum=1)
    kept = read_assessment(Path(path).parent / ASSESSMENT_FILE if evaluation is None else Path(evaluation))
    facts = collect(prepare_plan(path, model, despite_outage=despite_outage), kept, smallest)
    return ProgrammeReport(write_page(facts), facts)


__all__ = ["REPORT_FILE", "SMALLEST_GROUP", "Facts", "ProgrammeReport", "report_programme"]
