"""The study of recipes: chosen by validation, compared by split, written into its page."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from armwise.experiments.ideas import IDEAS, ideas_table
from armwise.experiments.protocol import RECIPES
from armwise.experiments.recipe import RECIPE, Difference, choose_by_quality, compare
from armwise.experiments.report import with_results
from armwise.experiments.results import RunRow, write_rows

ROOT = Path(__file__).parents[2]


def row(**changes):
    values = {field.name: 0 if field.type is int else 0.0 for field in dataclasses.fields(RunRow)}
    values |= {"domain": "d", "variant": "", "model": "linear", "loss": "mse", "temperature": 0.1, "hardware": ""}
    values |= {"split": 0, "initialisation": 0, "best_epoch": 1, "num_splits": 2}
    return RunRow(**values | changes)


def test_the_setting_of_the_highest_mean_validation_quality_is_chosen():
    rows = [
        row(learning_rate=rate, split=split, validation_quality=quality)
        for rate, qualities in ((0.1, (0.9, 0.1)), (0.01, (0.6, 0.6)), (0.001, (float("nan"), 0.99)))
        for split, quality in enumerate(qualities)
    ]
    assert {run.learning_rate for run in choose_by_quality(rows)} == {0.01}


def test_the_recipe_is_compared_with_the_best_single_loss_by_split(tmp_path):
    def runs(loss, qualities, losses=0.0, valid=0.0):
        return [
            row(loss=loss, split=split, joint_quality=quality, validation_loss=losses, validation_quality=valid)
            for split, quality in enumerate(qualities)
        ]

    write_rows(tmp_path / "runs" / "a.csv", runs("mse", (0.5, 0.7)))
    write_rows(tmp_path / "runs" / "b.csv", runs("nll", (0.4, 0.4)))
    write_rows(tmp_path / "runs" / "c.csv", runs("sim-100", (0.95,)))  # on one split alone: does not count
    write_rows(tmp_path / "recipe" / "a.csv", runs("price+3mse", (0.6, 0.72), valid=0.5))
    write_rows(tmp_path / "recipe" / "b.csv", runs("price", (0.9, 0.9), valid=0.4))
    (line,) = compare(tmp_path)
    assert (line.best, line.chosen) == ("mse", "price+3mse")
    np.testing.assert_allclose((line.best_quality, line.quality, line.difference), (0.6, 0.66, 0.06))
    np.testing.assert_allclose(line.error, np.std([0.1, 0.02], ddof=1) / 2**0.5)
    np.testing.assert_allclose(line.half_width, 12.706 * line.error)


def test_the_ideas_are_said_in_words(tmp_path):
    def runs(loss, qualities, valid, domain="ctn0094"):
        return [
            row(domain=domain, loss=loss, split=split, joint_quality=quality, validation_quality=valid)
            for split, quality in enumerate(qualities)
        ]

    write_rows(tmp_path / "runs" / "a.csv", runs("mse", (0.5, 0.7, 0.6), 0.0))
    recipe = runs("price+3mse", (0.6, 0.801, 0.7), 0.5)
    better, worse = runs("mse-then-dec", (0.7, 0.9, 0.8), 0.5), runs("mse-then-price", (0.9, 0.9, 0.9), 0.4)
    write_rows(tmp_path / "recipe" / "a.csv", [*recipe, *better, *worse, *runs("dec-budgets", (0.5, 0.7, 0.6), 0.5)])
    text = ideas_table(tmp_path)
    assert "| accuracy first, decisions then | **+0.100** |" in text
    assert "| several budgets at once | −0.100 (worse) |" in text
    assert "| weight decay | – |" in text
    assert "without zero: accuracy first, decisions then on ctn0094. Of these 2 comparisons, 0.1 would" in text


def test_every_candidate_belongs_to_an_idea_or_to_the_recipe():
    known = {name for names in IDEAS.values() for name in names} | set(RECIPE)
    assert set(RECIPES) <= known


@pytest.mark.parametrize(("difference", "word"), [(0.3, "better"), (-0.3, "worse"), (0.1, "no difference shown")])
def test_a_verdict_needs_an_interval_without_zero(difference, word):
    assert Difference("d", difference, 0.1, 0.2).verdict == word


def test_the_page_shows_what_was_measured():
    page = ROOT / "docs" / "choosing-a-loss.md"
    document = page.read_text()
    assert "PriceDFL + 3 MSE" in document
    assert with_results(document, page, ROOT / "results") == document
