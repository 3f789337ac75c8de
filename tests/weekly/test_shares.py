"""Wilson's interval against scipy's, and at its edges."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from armwise.weekly.shares import wilson


@given(st.integers(1, 10_000).flatmap(lambda whole: st.tuples(st.integers(0, whole), st.just(whole))))
def test_wilson_is_scipys(numbers):
    part, whole = numbers
    expected = binomtest(part, whole).proportion_ci(0.95, "wilson")
    share = wilson(part, whole)
    assert (share.low, share.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert 0 <= share.low <= share.value == part / whole <= share.high <= 1


def test_of_nothing_there_is_no_share():
    assert all(math.isnan(each) for each in wilson(0, 0))
