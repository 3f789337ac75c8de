"""A sudden drop is an outage; noise and a lasting change are not."""

import numpy as np
import pytest

from armwise.programme.loading import find_outages
from armwise.programme.settings import Outage


@pytest.mark.parametrize(
    ("shares", "steps"),
    [
        ([0.8, 0.7, 0.8, 0.75, 0.8], ()),
        ([0.8, 0.8, 0.39], (2,)),
        ([0.8, 0.8, 0.4], ()),  # half is not below half
        ([0.8, 0.1], ()),  # nothing is usual after one step
        ([0.8, 0.8, 0.0, 0.0, 0.8], (2, 3)),
        ([0.8, 0.8, 0.8, 0.8, 0.2, 0.2, 0.2, 0.2, 0.2], (4, 5, 6)),  # then the new usual
        ([0.9, 0.8, 0.65, 0.5, 0.4], ()),  # people drift away slowly
        ([0.0, 0.0, 0.0], ()),
    ],
)
def test_the_rule_by_hand(shares, steps):
    assert find_outages(np.array(shares), 100, Outage(0.5, 4)) == steps


def test_few_people_are_never_an_outage():
    assert find_outages(np.array([0.8, 0.8, 0.0]), 19, Outage(0.5, 4)) == ()


def test_the_window_counts():
    shares = np.array([0.9, 0.9, 0.9, 0.3, 0.3, 0.3, 0.1])
    assert 6 in find_outages(shares, 100, Outage(0.5, 2))
    assert find_outages(np.array([0.2, 0.2, 0.2, 0.9, 0.9, 0.3]), 100, Outage(0.5, 5)) == ()
    assert find_outages(np.array([0.2, 0.2, 0.2, 0.9, 0.9, 0.3]), 100, Outage(0.5, 2)) == (5,)
