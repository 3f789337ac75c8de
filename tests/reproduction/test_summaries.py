"""Summaries are what the results give, and what the pages show."""

from pathlib import Path

import polars as pl
import pytest

from reproduction.paper import tables
from reproduction.paper.sensitivity import variants
from reproduction.runs.protocol import check_loss
from reproduction.studies.deciding.page import CONTROLS
from reproduction.summaries import SUMMARIES, join_all, read_summaries, summary_text
from tests.reproduction.small import run_row, write_runs

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"


@pytest.fixture(scope="module")
def pages():
    return {
        name: (ROOT / "docs" / f"{name}.md").read_text() for name in ("reproduction", "choosing-a-loss", "deciding")
    }


@pytest.mark.parametrize("study", SUMMARIES)
def test_the_committed_summary_is_that_of_the_results(study):
    assert (RESULTS / f"{study}.csv").read_text() == summary_text(RESULTS, study), "run python -m reproduction join"


def test_the_tables_of_the_page_are_those_of_the_summary(pages):
    known = read_summaries(RESULTS / "paper.csv")
    for table in (tables.table_1(known), tables.table_1(known, "decomposed"), tables.table_2(known)):
        assert table in pages["reproduction"]


def test_the_study_of_silences_is_that_of_the_summary(pages):
    known = read_summaries(RESULTS / "sensitivity.csv")
    for domain, num_states in (("synthetic-2", 2), ("synthetic-5", 5)):
        names = [(variant.what, variant.label) for variant in variants(num_states)]
        assert tables.sensitivity(known, names, domain) in pages["reproduction"]


def test_the_candidates_are_those_of_the_summary(pages):
    frame = pl.read_csv(RESULTS / "recipe.csv")
    for (loss,), own in frame.group_by("loss"):
        cells = [f"{row['joint']:.3f} ± {row['joint_error']:.3f}" for row in own.iter_rows(named=True)]
        label = check_loss(loss).label
        lines = [line for line in pages["choosing-a-loss"].splitlines() if line.startswith(f"| {label} |")]
        assert any(all(cell in line for cell in cells) for line in lines), loss


def test_the_recommended_recipe_is_that_of_the_summary(pages):
    for row in pl.read_csv(RESULTS / "recommended.csv").iter_rows(named=True):
        averages = " | ".join(f"{row[f'quality_of_{size}']:.3f}" for size in (1, 3, 5))
        assert f"| {row['best_quality']:.3f} | {averages} | {row['difference']:+.4f}" in pages["choosing-a-loss"]


def test_the_ways_to_decide_are_those_of_the_summary(pages):
    frame = pl.read_csv(RESULTS / "deciding.csv").filter(~pl.col("way").is_in(CONTROLS), programmes="study")
    for (judged_by, weeks, way), own in frame.group_by("judged_by", "weeks", "way", maintain_order=True):
        table = pages["deciding"].split(f"### Judged by {judged_by}, {weeks} weeks seen\n")[1].split("###")[0]
        cells = [f"{row['quality']:.2f} ± {row['error']:.2f}" for row in own.iter_rows(named=True)]
        assert f"| {way} | {' | '.join(cells)} |" in table


def test_only_studies_with_parts_are_joined(tmp_path):
    write_runs(tmp_path, "sensitivity", [run_row(joint_quality=0.25), run_row(split=2, joint_quality=0.75)])
    assert join_all(tmp_path) == [tmp_path / "sensitivity.parquet"]
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == {"sensitivity.parquet", "sensitivity.csv"}
    (line,) = read_summaries(tmp_path / "sensitivity.csv")
    assert (line.joint, line.num_runs, line.protocol) == (0.5, 2, (1, 1, 1, 1, 1))
    assert join_all(tmp_path) == []
