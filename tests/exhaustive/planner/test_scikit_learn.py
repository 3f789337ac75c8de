"""scikit-learn searches a planner's parameters and cross-validates it, on a small programme."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.utils.validation import check_is_fitted

import armwise as aw
from tests.planner.outreach import small


@pytest.fixture(scope="module")
def case():
    planner = aw.OutreachPlanner(aw.MeanSquaredError(), config=aw.TrainConfig(num_epochs=5), cohort_size=12)
    people = small().people.select("id", "phone", "language", "age")
    history, _ = aw.Trajectories.from_table(small().weeks.to_dict(), ids=people["id"])
    return planner, people, history


def test_a_grid_search_chooses_by_score(case):
    planner, people, history = case
    folds = KFold(2, shuffle=True, random_state=0)
    search = GridSearchCV(planner, {"prior_strength": [0.5, 50]}, cv=folds, error_score="raise").fit(people, history)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert search.best_params_ == search.cv_results_["params"][int(np.argmax(scores))]
    check_is_fitted(search.best_estimator_)
    assert len(search.best_estimator_.plan(people, states=[0] * people.height, budget=4)) == 4
    train, test = next(folds.split(people))
    by_hand = planner.set_params(prior_strength=0.5).fit(people[train], history[train])
    assert by_hand.score(people[test], history[test]) == search.cv_results_["split0_test_score"][0]


def test_every_make_of_table_is_cross_validated_alike(case):
    planner, people, history = case
    expected = cross_val_score(planner, people, history, cv=2, error_score="raise")
    for table in (people.to_pandas(), people.to_pandas().set_index("id"), people.to_arrow()):
        np.testing.assert_array_equal(cross_val_score(planner, table, history, cv=2, error_score="raise"), expected)
