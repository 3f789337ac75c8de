"""Cohorts have the programme's own share of calls, whatever its size."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import armwise as aw
from armwise.planner import correction
from armwise.planner.cohort_shape import FEWEST_COHORTS, cohort_shape
from armwise.planner.correction import prepare_cohorts
from armwise.planner.learning_data import read_examples

populations = st.one_of(st.integers(1, 300), st.integers(1, 5_000_000))


@given(data=st.data(), people=populations, size=st.integers(1, 500), most=st.integers(1, 2000))
def test_the_share_of_calls_is_the_programmes_up_to_half_a_call(data, people, size, most):
    calls = data.draw(st.one_of(st.integers(1, people), st.integers(1, min(people, 50))))
    shape = cohort_shape(people, calls / people, size, most)
    # Exact arithmetic, from the programme's whole numbers.
    expected = Fraction(calls, people) * shape.size
    assert abs(shape.budget - expected) <= Fraction(calls, people) / 2 + Fraction(1, 10**6)
    assert abs(shape.budget - expected) <= Fraction(1, 2) + Fraction(1, 10**6)
    assert 1 <= shape.budget <= shape.size <= people
    assert 1 <= shape.number <= min(most, people // shape.size)
    # In all as many people as asked for at most, or five cohorts.
    assert shape.number * shape.size <= max(most * size, FEWEST_COHORTS * shape.size)


@given(data=st.data(), people=populations, size=st.integers(1, 500))
def test_fewer_than_five_cohorts_only_where_one_call_takes_more_people(data, people, size):
    share = data.draw(st.integers(1, people)) / people
    shape = cohort_shape(people, share, size, 1000)
    if people // shape.size < FEWEST_COHORTS and people >= FEWEST_COHORTS:
        assert shape.budget == 1
        assert round(1 / share) > people // FEWEST_COHORTS


@given(people=st.integers(1, 10**6), share=st.floats(0, 1, exclude_min=True))
def test_every_share_has_cohorts(people, share):
    shape = cohort_shape(people, share, 100, 1000)
    assert 1 <= shape.budget <= shape.size <= people
    # Less than one call for everyone together: the one that there must be.
    if share * people < 0.5:
        assert shape == (people, 1, 1)


@pytest.mark.parametrize(
    ("people", "share", "expected"),
    [
        # As they have always been.
        (10_000, 0.05, (100, 5, 100)),
        (10_000, 0.01, (100, 1, 100)),
        (120, 0.05, (20, 1, 6)),
        (1_000_000, 0.05, (100, 5, 1000)),
        # Thirty times too many calls in cohorts of 100.
        (3_000_000, 1000 / 3_000_000, (3000, 1, 33)),
        # 4 in 100 were 5 % too few.
        (10_000, 0.042, (95, 4, 105)),
        # Three calls rounded up from 2.5 take 72 people, of whom 300 make four cohorts; two take 48, which make six.
        (300, 12.5 / 300, (48, 2, 6)),
        (300, 3 / 300, (100, 1, 3)),
        (300, 1 / 300, (300, 1, 1)),
        # One in 30,000: five cohorts, although they are more than 100,000 people.
        (3_000_000, 100 / 3_000_000, (30_000, 1, 5)),
        # As many calls as people.
        (300, 1.0, (60, 60, 5)),
        (3, 1.0, (1, 1, 3)),
        (1, 1.0, (1, 1, 1)),
    ],
)
def test_cohorts_of_well_known_programmes(people, share, expected):
    assert cohort_shape(people, share, 100, 1000) == expected


def test_no_calls_leave_nothing_to_learn():
    with pytest.raises(aw.InvalidInputError, match="budget_share must be above 0 and at most 1, not 0"):
        cohort_shape(300, 0.0, 100, 1000)


@pytest.fixture
def people(rng):
    """Three hundred people whose calls help where the first feature is 1."""
    codes = rng.integers(0, 2, (300, 2))
    states, actions = np.zeros((300, 10), int), rng.integers(0, 2, (300, 10))
    for week in range(1, 10):
        engaged = 0.2 + 0.6 * actions[:, week - 1] * codes[:, 0]
        states[:, week] = rng.random(300) < engaged
    return codes, aw.Trajectories.from_arrays(states, actions)


@pytest.mark.parametrize(("calls", "expected"), [(15, (5, 60, 3)), (3, (3, 100, 1)), (1, (1, 300, 1))])
def test_cohorts_learned_from_have_the_share(people, calls, expected):
    examples = read_examples(*people, None, "id")
    features = aw.Encoder.fit(examples.frame).transform(examples.frame).features
    cohorts = prepare_cohorts(examples, features, 0.9, 5.0, 100, calls / 300, 1000, 0).cohorts
    assert (*cohorts.true_transitions.shape[:2], int(cohorts.budget[0])) == expected


def test_a_single_cohort_is_learned_from(people):
    """Nobody is left to hold back, and settings that would measure a quality on them train all the same."""
    codes, history = people
    config = aw.TrainConfig(num_epochs=200, quality="joint", quality_trajectories=2, select_by="quality")
    planner = aw.OutreachPlanner(aw.MeanSquaredError(), config=config, budget_share=1 / 300).fit(codes, history)
    assert (planner.config_.quality, planner.config_.select_by) == (None, "loss")
    # The truth of both groups that the first feature tells apart: 0.2, and with a call 0.8 in one of them.
    engaged = planner.predict_transitions(codes)[..., 1]
    for group, called in ((0, 0.2), (1, 0.8)):
        np.testing.assert_allclose(engaged[codes[:, 0] == group].mean(axis=0), [[0.2, called]] * 2, atol=0.05)


def test_few_cohorts_are_passed_over_more_often():
    """As many steps as five cohorts have, so that fewer are not learned from less."""
    steps = [
        (number, correction._long_enough(aw.TrainConfig(num_epochs=100, patience=20), number)) for number in (1, 3, 5)
    ]
    assert [(number, config.num_epochs, config.patience) for number, config in steps] == [
        (1, 500, 100),
        (3, 200, 40),
        (5, 100, 20),
    ]
    assert correction._long_enough(aw.TrainConfig(), 2).patience is None
