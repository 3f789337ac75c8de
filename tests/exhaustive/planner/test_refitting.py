"""The refit of a fitted planner on all its splits is the planner."""

import numpy as np

import armwise as aw
from armwise.planner import correction
from armwise.planner.refitting import refit_cheaply
from tests.planner.outreach import small


def test_on_the_same_people_and_splits_it_is_what_the_recipe_came_to(monkeypatch):
    case = small()
    monkeypatch.setattr(correction, "RECIPE_SPLITS", 2)
    people = case.people.select("id", "phone", "language", "age")
    config = aw.TrainConfig(num_epochs=4, quality="joint", quality_trajectories=2, select_by="quality", patience=3)
    monkeypatch.setattr(correction, "helps", lambda *_: True)
    planner = aw.OutreachPlanner(model="linear", config=config, cohort_size=20).fit(people, case.weeks)
    again = refit_cheaply(planner, people, case.weeks, num_splits=2)
    expected = planner.predict_transitions(people)
    np.testing.assert_allclose(again.predict_transitions(people), expected, rtol=1e-4)
    # One run is another model.
    once = refit_cheaply(planner, people, case.weeks)
    assert np.abs(once.predict_transitions(people) - expected).max() > 1e-3
