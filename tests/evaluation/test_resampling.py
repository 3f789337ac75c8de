"""Regressions on resampled people, against least squares on the resampled rows themselves."""

import numpy as np
import pytest
from scipy.stats import t as student

from armwise.evaluation.resampling import Blocks, Estimate, Regression, Resampled, draw_weights


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    shared, terms = rng.normal(size=(50, 6, 4)), rng.normal(size=(50, 6, 2))
    outcomes = shared @ rng.normal(size=(4, 3)) + terms @ rng.normal(size=(2, 3)) + rng.normal(size=(50, 6, 3))
    return shared, terms, outcomes


def in_blocks(array, size):
    return [array[start : start + size] for start in range(0, len(array), size)]


def least_squares(shared, terms, outcomes, weights):
    """The coefficients of the terms, from rows repeated as often as their person was drawn."""
    people = np.repeat(np.arange(len(shared)), weights)
    columns = np.concatenate([shared, terms], axis=-1)[people].reshape(-1, shared.shape[-1] + terms.shape[-1])
    fitted = np.linalg.lstsq(columns, outcomes[people].reshape(len(columns), -1), rcond=None)[0]
    return fitted[shared.shape[-1] :]


def test_each_resample_is_a_regression_on_the_people_drawn(rows):
    shared, terms, outcomes = rows
    fitted = Regression(Blocks([shared], [outcomes]), num_resamples=5, seed=3).fit([terms])
    weights = draw_weights(50, 5, 3, 0)
    assert weights[0].tolist() == [1] * 50
    assert fitted.value == pytest.approx(least_squares(*rows, weights[0]), abs=1e-6)
    for draw, drawn in zip(fitted.draws, weights[1:], strict=True):
        assert draw == pytest.approx(least_squares(*rows, drawn), abs=1e-6)


def test_blocks_change_who_is_drawn_but_not_the_estimate(rows):
    shared, terms, outcomes = rows
    whole = Regression(Blocks([shared], [outcomes]), 3).fit([terms])
    parts = Regression(Blocks(in_blocks(shared, 20), in_blocks(outcomes, 20)), 3).fit(in_blocks(terms, 20))
    assert parts.value == pytest.approx(whole.value)


def test_a_column_that_repeats_others_has_no_coefficient(rows):
    shared, terms, outcomes = rows
    twice = np.concatenate([shared[..., :1], terms], axis=-1)
    fitted = Regression(Blocks([shared], [outcomes]), 2).fit([twice])
    assert fitted.value[1:] == pytest.approx(least_squares(*rows, np.ones(50, int)), abs=1e-4)


def test_the_spread_of_resamples_is_the_standard_error():
    outcomes, ones = np.random.default_rng(1).normal(size=400), np.ones((400, 1, 1))
    fitted = Regression(Blocks([ones[..., :0]], [outcomes[:, None, None]]), 2000).fit([ones])
    assert fitted.draws.std() == pytest.approx(outcomes.std(ddof=1) / 20, rel=0.05)


def test_a_figure_is_the_sum_of_what_each_row_counts_in_it(rows):
    shared, terms, outcomes = rows
    functional = np.random.default_rng(2).normal(size=(2, 3))
    regression = Regression(Blocks(in_blocks(shared, 20), in_blocks(outcomes, 20)), 2)
    weights = np.concatenate(regression.row_weights(in_blocks(terms, 20), functional))
    figure = np.sum(functional * least_squares(*rows, np.ones(50, int)))
    assert np.sum(weights * outcomes) == pytest.approx(figure, abs=1e-6)


def test_an_interval_is_students_with_half_as_many_degrees_of_freedom_as_calls():
    draws = np.random.default_rng(0).normal(size=1000)
    error = draws.std(ddof=1)
    many, few = Resampled(2.0, draws).interval(), Resampled(2.0, draws).interval(num_calls=10)
    assert many.high - 2.0 == pytest.approx(1.96 * error, rel=2e-3)
    assert few.high - 2.0 == pytest.approx(2.571 * error, rel=5e-3)
    # Five degrees of freedom of the resamples and five of the calls are 2.5 together.
    scarce = Resampled(2.0, draws[:6]).interval(num_calls=10)
    assert scarce.high - 2.0 == pytest.approx(student.ppf(0.975, 2.5) * draws[:6].std(ddof=1))


def test_resamples_that_do_not_differ_are_no_certainty():
    alike = Resampled(2.0, np.full(1000, 2.0)).interval(error_without_effect=0.5)
    assert alike.high - alike.value == pytest.approx(0.85 * 0.98, rel=2e-3)


def test_an_estimate_says_on_which_side_of_0_it_is():
    assert Estimate(1.0, 0.1, 2.0).is_above_zero
    assert Estimate(-1.0, -2.0, -0.1).is_below_zero
    assert not Estimate(1.0, -0.1, 2.0).is_above_zero
