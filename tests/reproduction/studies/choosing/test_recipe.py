"""The study of recipes: chosen by validation, compared by split, written into its page."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from reproduction.paper.page import with_results
from reproduction.runs.protocol import RECIPES
from reproduction.runs.records import RunRow
from reproduction.studies.choosing.ideas import IDEAS, ideas_table
from reproduction.studies.choosing.recipe import (
    RECIPE,
    Difference,
    calls_table,
    candidates_table,
    choose_by_quality,
    compare,
    compare_runs,
    comparison_table,
    in_words,
)
from tests.reproduction.small import write_runs

ROOT = Path(__file__).parents[4]


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

    alone = runs("sim-100", (0.95,))  # on one split alone: does not count
    write_runs(tmp_path, "paper", [*runs("mse", (0.5, 0.7)), *runs("nll", (0.4, 0.4)), *alone])
    study = [*runs("price+3mse", (0.6, 0.72), valid=0.5), *runs("price", (0.9, 0.9), valid=0.4)]
    write_runs(tmp_path, "recipe", study)
    (line,) = compare(tmp_path)
    assert (line.best, line.chosen) == ("mse", "price+3mse")
    np.testing.assert_allclose((line.best_quality, line.quality, line.difference), (0.6, 0.66, 0.06))
    np.testing.assert_allclose(line.error, np.std([0.1, 0.02], ddof=1) / 2**0.5)
    np.testing.assert_allclose(line.half_width, 12.706 * line.error, rtol=1e-4)
    assert comparison_table(tmp_path).splitlines()[-1] == (
        "| d | MSE | 0.600 | PriceDFL + 3 MSE, 0 | 0.660 | +0.0600 [-0.4482, +0.5682] | no difference shown |"
    )
    assert candidates_table(tmp_path).splitlines()[-2:] == [
        "| PriceDFL (not in the paper) | 0.900 ± 0.000 |",
        "| PriceDFL + 3 MSE | 0.660 ± 0.060 |",
    ]


def test_both_are_averaged_over_as_many_starts_as_both_have():
    ours = [row(loss="price", split=split, joint_quality=0.6) for split in (0, 1)]
    theirs = [
        row(split=split, initialisation=first, joint_quality=quality)
        for split in (0, 1)
        for first, quality in enumerate((0.5, 0.9))
    ]
    line = compare_runs("d", ours, theirs)
    np.testing.assert_allclose((line.quality, line.best_quality, line.difference), (0.6, 0.5, 0.1))


@pytest.mark.parametrize(("splits", "quantile"), [(2, 12.706), (3, 4.303), (10, 2.262), (31, 2.042)])
def test_intervals_are_students(splits, quantile):  # quantiles from a printed table
    np.testing.assert_allclose(Difference("d", 0.5, 0.1, splits).half_width, 0.1 * quantile, rtol=2e-4)


def test_what_choosing_by_calls_gains(tmp_path):
    def runs(rate, by_loss, by_quality, qualities):
        return [
            row(
                learning_rate=rate,
                split=split,
                validation_loss=by_loss,
                validation_quality=by_quality,
                joint_quality=quality,
            )
            for split, quality in enumerate(qualities)
        ]

    rows = [*runs(0.1, 1.0, 0.5, (0.3, 0.4)), *runs(0.01, 2.0, 0.6, (0.5, 0.7))]
    for study in ("paper", "recipe"):
        write_runs(tmp_path, study, rows)
    assert calls_table(tmp_path).splitlines()[-1] == "| MSE | +0.250 ± 0.050 |"


def test_one_split_has_no_interval():
    one = Difference("d", 0.5, float("nan"), 1)
    assert (one.interval, one.verdict) == ("+0.5000", "no difference shown")


def test_where_it_fails_is_said():
    lines = [Difference("a", -0.2, 0.1, 10), Difference("b", -0.05, 0.1, 10), Difference("c", 0.3, 0.1, 10)]
    assert in_words(lines) == (
        "Worse than the best single loss beyond their difference's standard error on a (by 0.200 ± 0.100); ahead on "
        "1 of 3, with an interval that excludes zero on 1 (c).\n"
    )


def test_the_ideas_are_said_in_words(tmp_path):
    def runs(loss, qualities, valid, domain="ctn0094"):
        return [
            row(domain=domain, loss=loss, split=split, joint_quality=quality, validation_quality=valid)
            for split, quality in enumerate(qualities)
        ]

    write_runs(tmp_path, "paper", runs("mse", (0.5, 0.7, 0.6), 0.0))
    recipe = runs("price+3mse", (0.6, 0.801, 0.7), 0.5)
    better, worse = runs("mse-then-dec", (0.7, 0.9, 0.8), 0.5), runs("mse-then-price", (0.9, 0.9, 0.9), 0.4)
    write_runs(tmp_path, "recipe", [*recipe, *better, *worse, *runs("dec-budgets", (0.5, 0.7, 0.6), 0.5)])
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
    assert Difference("d", difference, 0.1, 31).verdict == word  # the interval is ± 0.204


def test_the_page_shows_what_was_measured():
    page = ROOT / "docs" / "choosing-a-loss.md"
    document = page.read_text()
    assert "PriceDFL + 3 MSE" in document
    assert with_results(document, page, ROOT / "results") == document
