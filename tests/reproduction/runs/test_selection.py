"""The one rule of selection, by hand."""

import math

from reproduction.runs.selection import choose
from tests.reproduction.small import run_row


def rates(rows):
    return [row.learning_rate for row in rows]


def test_the_lowest_mean_loss_and_the_highest_mean_quality():
    values = {0.1: (1.0, 3.0), 0.2: (0.5, 4.0), 0.3: (2.1, 2.1)}  # means 2, 2.25 and 2.1
    rows = [
        run_row(learning_rate=rate, split=split, validation_loss=value, validation_quality=value)
        for rate, pair in values.items()
        for split, value in enumerate(pair)
    ]
    assert rates(choose(rows)) == [0.1, 0.1]
    assert rates(choose(rows, "validation_quality")) == [0.2, 0.2]
    assert rates(choose(rows, "validation_loss", ["learning_rate", "split"])) == [0.2]


def test_a_run_that_diverged_is_worse_than_any_other():
    rows = [
        run_row(learning_rate=rate, split=split, validation_loss=value, validation_quality=-value)
        for rate, pair in {0.1: (math.nan, 0.0), 0.2: (9.0, 9.0), 0.3: (math.inf, 0.0)}.items()
        for split, value in enumerate(pair)
    ]
    assert rates(choose(rows)) == rates(choose(rows, "validation_quality")) == [0.2, 0.2]


def test_of_equals_the_first():
    rows = [run_row(learning_rate=rate) for rate in (0.2, 0.1, 0.3)]
    assert rates(choose(rows)) == rates(choose(rows, "joint_quality")) == [0.2]


def test_losses_are_chosen_among_too():
    rows = [run_row(loss=loss, joint_quality=quality) for loss, quality in (("mse", 0.5), ("nll", 0.6))]
    assert [row.loss for row in choose(rows, "joint_quality", ["loss"])] == ["nll"]


def test_of_nothing_nothing_is_chosen():
    assert choose([]) == []
