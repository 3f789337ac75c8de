"""Measurements in processes of their own: their result, or why there is none."""

import pytest

from benchmarks import apart

GROWTH = ("benchmarks.growth", "--kind", "states", "--size", "2", "--label", "MSE")


def test_time_and_memory_come_back():
    result = apart.measure_apart(*GROWTH, time_limit=300)
    assert result["timing"]["median"] > 0
    assert 5e7 < result["peak"] < apart.free_memory()


def test_what_needs_too_much_memory_is_ended(monkeypatch):
    monkeypatch.setattr(apart, "SHARE", 1e-9)
    assert apart.measure_apart(*GROWTH, time_limit=300) == "does not fit in 0 GB"


def test_what_takes_too_long_is_ended():
    assert apart.measure_apart(*GROWTH, time_limit=0) == "not done in 0 s of processor time"


def test_a_failed_allocation_is_said_to_be_one():
    # 10⁷ states: no allocator promises 10¹⁶ numbers, so nothing is ever held.
    assert apart.measure_apart(*GROWTH[:4], str(10**7), *GROWTH[5:], time_limit=300).startswith("does not fit")


def test_other_failures_are_not_taken_for_too_large():
    with pytest.raises(RuntimeError, match="ended with"):
        apart.measure_apart(*GROWTH[:-1], "no such loss", time_limit=300)
