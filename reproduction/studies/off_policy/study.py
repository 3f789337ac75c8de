"""The study of off-policy values: coverage by simulation, and choices on HeartSteps and CTN-0094; and its page."""

from pathlib import Path

from reproduction.markdown import Row, write_rows
from reproduction.studies.off_policy import ctn0094, heartsteps
from reproduction.studies.off_policy.coverage import WORLDS, cover
from reproduction.studies.off_policy.page import write_page

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "results" / "off-policy"
PAGE = ROOT / "docs" / "off-policy.md"


def run(parts: list[str], data: Path, num_programmes: int = 1000) -> None:
    """Compute these parts of the results anew, then write the page from all of them.

    Args:
        parts: of "coverage" (about 10 minutes on one core), "heartsteps", "divisions" and "ctn0094" (a few
            minutes each), "page".
        data: the folder that holds the data sets' folders.
        num_programmes: of each kind in the coverage study.
    """
    if "coverage" in parts:
        rows: list[Row] = []
        for world in WORLDS:
            rows += cover(world, num_programmes)
            print(f"{world.name}: done")
        write_rows(RESULTS / "coverage.csv", rows)
    if "heartsteps" in parts:
        write_rows(RESULTS / "heartsteps.csv", heartsteps.value_choices(data / "heartsteps"))
    if "divisions" in parts:
        write_rows(RESULTS / "heartsteps-divisions.csv", heartsteps.value_divisions(data / "heartsteps"))
    if "ctn0094" in parts:
        write_rows(RESULTS / "ctn0094.csv", ctn0094.value_choices(data / "ctn0094"))
    write_page(RESULTS, PAGE)
