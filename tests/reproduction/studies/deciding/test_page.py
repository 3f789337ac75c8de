"""The page about ways to decide: from made-up results whose sentences are known, and from the real ones."""

from pathlib import Path

import numpy as np
import pytest

from armwise.evaluation.simple_rules import RULES_OF_THUMB
from reproduction.__main__ import main
from reproduction.studies import commands
from reproduction.studies.deciding import cells as deciding_cells
from reproduction.studies.deciding import page as deciding_page
from reproduction.studies.deciding import study as deciding
from tests.reproduction.small import write

ROOT = Path(__file__).parents[4]
WAYS = [*RULES_OF_THUMB, *deciding.LOSSES, deciding.RECOMMENDED, *deciding_page.KNOWN]


def results(recommended, worlds=("default", "small effect"), extra=()):
    """Every way has 0.1 and a little noise but the recipe, and the last world's recipe has what is given."""
    rng = np.random.default_rng(0)
    return [
        deciding.Row(world, 8, seed, way, judged_by, level + 0.001 * rng.standard_normal(), 1.0)
        for world in worlds
        for seed in range(10)
        for judged_by in ("behaviour", "estimates")
        for way in (*WAYS, *extra)
        for level in [recommended if (way, world) == (deciding.RECOMMENDED, worlds[-1]) else 0.1]
    ]


@pytest.mark.parametrize(("recommended", "above", "below"), [(0.5, 1, 0), (0.0, 0, 1)])
def test_sentences_follow_the_numbers(recommended, above, below):
    page = deciding_page.page_text(results(recommended, ["default"])).replace("\n  ", " ")
    assert f"\n| recommended recipe | {' | '.join([f'{above}, {below}'] * 4)} |\n" in page
    assert ("best of all ways is recommended recipe in 1 of 1." in page) == bool(above)
    assert f"no way that a programme could use reaches more than {max(recommended, 0.1):.2f}." in page
    assert "The index of estimated chains is 1 by its own estimates and 0.10 to 0.10 by behaviour." in page


def test_the_best_ways_are_counted():
    rows = [
        row._replace(quality=row.quality + 0.2 * ((row.way, row.world) in best))
        for best in [{("round robin", "default"), ("random", "small effect"), ("MSE", "small effect")}]
        for row in results(0.1)
    ]
    rows = [row._replace(quality=row.quality + 0.1 * (row.way == "MSE")) for row in rows]
    page = deciding_page.page_text(rows).replace("\n  ", " ")
    sentence = "the best rule of thumb is random in 1 of 2, round robin in 1 of 2; the best of all ways is "
    assert f"Judged by behaviour, {sentence}round robin in 1 of 2, MSE in 1 of 2." in page
    assert "\n| MSE | 2, 0 | 1, 1 | 2, 0 | 1, 1 |\n" in page


def test_a_cell_is_a_mean_and_a_standard_error():
    cell = deciding_cells.Cell(np.array([0.1, 0.2, 0.6]))
    assert str(cell) == f"0.30 ± {np.sqrt((0.04 + 0.01 + 0.09) / 2 / 3):.2f}"


def test_every_world_and_way_is_described_and_shown():
    page = deciding_page.page_text(results(0.1, tuple(deciding.WORLDS)))
    assert list(deciding_page.WORLDS_IN_WORDS) == list(deciding.WORLDS)
    for way in WAYS:
        assert page.count(f"\n| {way} | 0.") == 2
    for world in deciding.WORLDS:
        assert f"\n| {world} | " in page
    assert "SIM-DFL was not run" in page
    assert "SIM-DFL simulates 10" in deciding_page.page_text(results(0.1, extra=deciding.SIMULATED))


def test_the_page_is_what_the_results_give():
    rows, fresh = deciding_page.read_results(ROOT / "results")
    for some, seeds in ((rows, range(10)), (fresh, range(deciding.FIRST_FRESH, deciding.FIRST_FRESH + 10))):
        assert {(row.world, row.weeks, row.seed) for row in some} == {
            (world, weeks, seed) for world in deciding.WORLDS for weeks in deciding.WEEKS for seed in seeds
        }
    assert (ROOT / "docs" / "deciding.md").read_text() == deciding_page.page_text(rows, fresh)


def test_fresh_programmes_are_told_apart():
    ways = {**dict.fromkeys(RULES_OF_THUMB, 0.1), deciding.POSTERIOR: 0.25, deciding.EXACT: 0.28}
    fresh = [
        deciding.Row(world, weeks, seed, way, "behaviour", level + 0.01 * (-1) ** seed, 1.0)
        for world in deciding.WORLDS
        for weeks in deciding.WEEKS
        for seed in range(10, 20)
        for way, level in ways.items()
        if way != deciding.EXACT or world == "default"
    ]
    page = deciding_page.page_text(results(0.1), fresh).replace("\n  ", " ")
    assert "## Fresh programmes" in page
    assert "10 programmes of each world with other seeds" in page
    assert "reaches 0.25, 0.25, 0.25 by behaviour" in page
    assert "it is 150% above disengaged first on average (150% to 150%)" in page
    assert "would reach 0.28, 0.28, 0.28 (+0.030 ± 0.000, +0.030 ± 0.000, +0.030 ± 0.000 beside the model's)" in page
    assert "\n| disengaged first | " + " | ".join(["0.10, 0.10, 0.10"] * 6) in page
    assert "## Fresh programmes" not in deciding_page.page_text(results(0.1))


def test_the_command_writes_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    rows = results(0.3)
    for world in {row.world for row in rows}:
        own = [row for row in rows if row.world == world]
        page = {"world": world, "weeks": 8, "kind": "losses"}
        write(tmp_path / "results", "deciding", world, page, {"ways": own})
    main(["deciding", "--page"])
    assert (tmp_path / "docs" / "deciding.md").read_text() == deciding_page.page_text(rows)
