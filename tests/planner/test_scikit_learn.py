"""scikit-learn's habits: its own checks that apply, its splits, and what its tools ask of an estimator."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing, estimator_checks, get_tags
from sklearn.utils.validation import _num_samples, check_consistent_length, check_is_fitted

import armwise as aw
from tests.planner.outreach import columns, small

# Every other check of scikit-learn fits an array of random numbers to a vector of targets, or calls transform or
# predict. A planner learns from a history of states and actions, refuses a vector (test_inputs.py), and its verbs are
# plan and predict_transitions; so they do not apply. These are the ones about parameters, copies and tags.
CHECKS = [
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
]


@pytest.mark.parametrize("name", CHECKS)
def test_scikit_learns_own_checks_hold(name):
    getattr(estimator_checks, name)("OutreachPlanner", aw.OutreachPlanner())


def test_a_fitted_planner_is_fitted():
    check_is_fitted(small().planner)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        check_is_fitted(aw.OutreachPlanner())


@pytest.mark.parametrize(
    "use",
    [
        lambda planner: planner.plan(small().people, small().weeks, 3),
        lambda planner: planner.predict_transitions(small().people),
        lambda planner: planner.sample_transitions(small().people, small().weeks),
        lambda planner: planner.whittle_indices(small().people),
        lambda planner: planner.evaluate(small().people, small().weeks),
        lambda planner: planner.score(small().people, small().weeks),
        lambda planner: planner.save("model.armwise"),
    ],
)
@pytest.mark.parametrize("kind", [aw.NotFittedError, aw.ArmwiseError, ValueError, AttributeError])
def test_a_planner_that_has_learned_nothing_is_not_fitted(use, kind):
    with pytest.raises(kind, match="learned nothing yet"):
        use(aw.OutreachPlanner())


def test_tags_say_what_a_planner_takes():
    tags = get_tags(aw.OutreachPlanner())
    assert tags.estimator_type is None
    assert tags.target_tags.required
    assert (tags.input_tags.string, tags.input_tags.categorical, tags.input_tags.allow_nan) == (True, True, True)


def test_score_is_the_quality_that_evaluate_gives(monkeypatch):
    policies = (
        aw.planner.PolicyQuality("random", 0.1, 0.0, 0.0, 1.0),
        aw.planner.PolicyQuality("armwise", 0.4, *[0.0] * 3),
    )
    asked = {}

    def evaluate(self, *arguments, **options):
        asked.update(options)
        return aw.Evaluation(policies, 1, 1, 1, 1)

    monkeypatch.setattr(aw.OutreachPlanner, "evaluate", evaluate)
    assert small().planner.score(small().people, small().weeks, num_trajectories=7) == 0.4
    assert asked == {"ids": None, "num_trajectories": 7}


def test_trajectories_are_split_by_rows():
    people, history = small().people, aw.Trajectories.from_table(small().weeks.to_dict(), ids=small().people["id"])[0]
    assert _num_samples(history) == len(history) == people.height
    check_consistent_length(people, history)
    rows = np.array([5, 2, 119])
    for key in (rows, rows.tolist(), np.isin(np.arange(120), rows)):
        some, expected = _safe_indexing(history, key), np.asarray(history.states)[np.asarray(key)]
        np.testing.assert_array_equal(some.states, expected)
        assert (some.num_states, some.num_actions) == (history.num_states, history.num_actions)
    assert history[:7].shape == (7, history.num_steps)


@pytest.mark.parametrize("key", [[0, 120], 3, "a", np.zeros((2, 2), int)], ids=str)
def test_rows_that_are_not_there_are_refused(key):
    """JAX itself would take the last row for one beyond the end."""
    history = aw.Trajectories.from_table(small().weeks.to_dict())[0]
    with pytest.raises(aw.InvalidInputError):
        history[key]


def test_trajectories_of_given_people_are_in_their_order():
    table = {"id": ["b", "a", "a"], "step": [0, 0, 1], "state": [1, 0, 1], "action": [0, 1, 0]}
    history, ids = aw.Trajectories.from_table(table, ids=["c", "b", "a"])
    assert ids.tolist() == ["c", "b", "a"]
    assert history.states.tolist() == [[0, 0], [1, 0], [0, 1]]
    assert history.observed.tolist() == [[False, False], [True, False], [True, True]]
    for wrong, message in ((["a", "c"], "rows of id 'b'"), (["a", "b", "a"], "each stands once"), ([], "rows of id")):
        with pytest.raises(aw.InvalidInputError, match=message):
            aw.Trajectories.from_table(table, ids=wrong)


def test_a_copy_by_pickle_plans_the_same():
    case = small()
    again = pickle.loads(pickle.dumps(case.planner))
    expected = case.planner.plan(case.people, budget=9, **columns()).to_bytes()
    assert again.plan(case.people, budget=9, **columns()).to_bytes() == expected
