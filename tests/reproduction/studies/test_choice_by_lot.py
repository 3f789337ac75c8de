"""The study of lots: what a call gains, against the chain gone through week by week."""

import numpy as np
import polars as pl
import pytest

from reproduction.studies import choice_by_lot
from reproduction.studies.choice_by_lot import Row, summarise


@pytest.mark.parametrize("num_weeks", [1, 2, 13])
def test_what_a_call_adds_is_the_difference_of_two_futures(monkeypatch, num_weeks):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(choice_by_lot, "PEOPLE", np.arange(6))
    engage, states = rng.uniform(0.05, 0.95, (6, 2, 2)), rng.integers(0, 2, 6)

    def engaged_weeks(action):
        engaged, total = engage[np.arange(6), states, action], 0.0
        for _ in range(num_weeks):
            total = total + engaged
            engaged = (1 - engaged) * engage[:, 0, 0] + engaged * engage[:, 1, 0]
        return total

    found = choice_by_lot._gains(engage, states, num_weeks)
    np.testing.assert_allclose(found, engaged_weeks(1) - engaged_weeks(0))


def test_what_a_way_keeps_is_relative_to_the_best_of_the_same_programme():
    rows = [
        Row(8, seed, way, 0.3, gain, 0.2, 0.0, 0.0, 0.1, 0.1)
        for seed, (best, lots) in enumerate([(100.0, 99.0), (200.0, 202.0)])
        for way, gain in (("best", best), ("lottery, cost 1 %", lots))
    ]
    told = summarise(rows)
    assert "1.000 ┆ 0.010" in told  # 0.99 and 1.01: on average 1.00 ± 0.01
    assert pl.Config.state()["POLARS_FMT_MAX_ROWS"] is None
