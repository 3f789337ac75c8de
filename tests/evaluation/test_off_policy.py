"""Off-policy values against sums written out by hand, every possible log, and programmes whose truth is known."""

import itertools

import numpy as np
import polars as pl
import pytest

import armwise as aw
from armwise.evaluation.off_policy_estimators import RIDGE, estimate, person_sums
from armwise.evaluation.off_policy_input import LoggedDecisions, read_decisions
from reproduction.studies.off_policy.coverage import World, draw_programme, step_shares, true_values

ESTIMATORS = ("inverse_probability", "self_normalised", "doubly_robust")


def programme(rng, num_people=30, num_steps=6, call_rate=0.3):
    return draw_programme(rng, World("test", num_people=num_people, num_steps=num_steps, call_rate=call_rate))


def long_table(history, **columns):
    observed = np.asarray(history.observed)
    person, step = np.nonzero(observed)
    table = {"id": person, "step": step, "state": np.asarray(history.states)[observed]}
    table |= {"action": np.asarray(history.actions)[observed]}
    return table | {name: values[observed] for name, values in columns.items()}


def logged(history, call_rate):
    return np.where(np.asarray(history.actions) == 1, call_rate, 1 - call_rate)


def values(found):
    answers = [getattr(found, name) for name in ESTIMATORS]
    return np.array([[one.value, one.low, one.high] for answer in answers for one in (answer.value, answer.difference)])


def test_four_decisions_by_hand():
    history = aw.Trajectories.from_arrays([[0, 1, 0], [1, 1, 1]], [[1, 0, 0], [0, 1, 0]])
    propensities = np.array([[0.25, 0.5, 1.0], [0.8, 0.4, 1.0]])
    policy = np.array([[0.5, 0.0, 0.0], [0.2, 1.0, 0.0]])
    found = aw.off_policy_value(history, policy, propensities=propensities, reference=0.5, num_resamples=100)
    # w: 0.5 / 0.25 = 2, 1 / 0.5 = 2, 0.8 / 0.8 = 1, 1 / 0.4 = 2.5; outcomes 1, 0, 1, 1.
    assert found.inverse_probability.value.value == pytest.approx((2 + 0 + 1 + 2.5) / 4)
    assert found.self_normalised.value.value == pytest.approx(5.5 / 7.5)
    # Reference: 0.5 over each propensity, 2, 1, 0.625, 1.25.
    assert found.inverse_probability.difference.value == pytest.approx((5.5 - (2 + 0.625 + 1.25)) / 4)
    assert found.self_normalised.difference.value == pytest.approx(5.5 / 7.5 - 3.875 / 4.875)
    assert found.effective_sample_size == pytest.approx(7.5**2 / (4 + 4 + 1 + 6.25))
    assert (found.num_people, found.num_decisions, found.num_calls) == (2, 4, 2)
    assert found.num_matching_calls == pytest.approx(1.5)
    assert (found.call_share, found.reference_call_share) == pytest.approx((1.7 / 4, 0.5))


def outcome_model(decisions, people):
    """Ridge regression on the decisions of some people, row by row."""
    rows, targets = [], []
    for i in people:
        for t in np.flatnonzero(decisions.used[i]):
            rows.append(design(decisions, i, t, decisions.actions[i, t]))
            targets.append(decisions.outcomes[i, t])
    penalty = np.sqrt(RIDGE) * np.eye(6)[1:]
    augmented = np.vstack([rows, penalty]), np.concatenate([targets, np.zeros(5)])
    return np.linalg.lstsq(*augmented, rcond=None)[0]


def design(decisions, i, t, action):
    state = decisions.states[i, t]
    return np.array([1, state == 0, state == 1, (state == 0) * action, (state == 1) * action, decisions.past[i, t]])


def test_doubly_robust_equals_its_formula_row_by_row(rng):
    history, policy = programme(rng)
    decisions = read_decisions(history, policy, 0.3, None, None, None, None)
    sums = person_sums(decisions, rng)
    total = 0.0
    for i in range(30):
        coefficients = outcome_model(decisions, np.flatnonzero(sums.folds != sums.folds[i]))
        for t in np.flatnonzero(decisions.used[i]):
            action, call = decisions.actions[i, t], policy[i, t]
            expected = [design(decisions, i, t, each) @ coefficients for each in (0, 1)]
            weight = (call if action else 1 - call) / (0.3 if action else 0.7)
            total += (1 - call) * expected[0] + call * expected[1]
            total += weight * (decisions.outcomes[i, t] - expected[action])
    value = estimate(sums, np.ones((1, 30))).values[0, 4]
    assert value == pytest.approx(total / decisions.used.sum(), rel=1e-7)


def test_the_past_is_only_the_past(rng):
    history, policy = programme(rng)
    states, actions = np.asarray(history.states).copy(), np.asarray(history.actions)
    before = read_decisions(history, policy, 0.3, None, None, None, None)
    states[:, 4:] = 1 - states[:, 4:]
    changed = aw.Trajectories.from_arrays(states, actions, np.asarray(history.observed))
    after = read_decisions(changed, policy, 0.3, None, None, None, None)
    np.testing.assert_array_equal(before.past[:, :5], after.past[:, :5])
    assert (before.past[:, 5] != after.past[:, 5]).any()


def test_over_all_logs_the_estimates_average_to_the_truth():
    """Five people, each called or not with her own probability: 32 logs, each as likely as it is."""
    chances = np.array([0.2, 0.5, 0.7, 0.4, 0.9])
    potential = np.array([[0.0, 1.0], [0.3, 0.1], [1.0, 2.0], [0.5, 0.4], [-1.0, 1.0]])
    policy = np.array([0.1, 0.9, 0.5, 1.0, 0.0])
    states = np.array([0, 1, 0, 1, 1])[:, None]
    average = np.zeros(6)
    for log in itertools.product((0, 1), repeat=5):
        actions = np.array(log)
        propensities = np.where(actions == 1, chances, 1 - chances)[:, None]
        outcomes = potential[np.arange(5), actions][:, None]
        decisions = LoggedDecisions(
            np.ones((5, 1), bool),
            states,
            actions[:, None],
            outcomes,
            propensities,
            policy[:, None],
            np.full((5, 1), 0.5),
            np.zeros((5, 1)),
            2,
        )
        sums = person_sums(decisions, np.random.default_rng(0))
        found = estimate(sums, np.ones((1, 5))).values[0]
        average += propensities.prod() * np.nan_to_num(found)
    true = ((1 - policy) * potential[:, 0] + policy * potential[:, 1]).mean()
    expected = [true, true - potential.mean()]
    np.testing.assert_allclose(average[:2], expected, atol=1e-12)
    np.testing.assert_allclose(average[4:], expected, atol=1e-12)


def test_a_resample_is_people_written_down_repeatedly(rng):
    history, policy = programme(rng, num_people=12)
    decisions = read_decisions(history, policy, 0.3, None, None, None, None)
    sums = person_sums(decisions, rng)
    counts = np.array([2, 0, 1, 3, 0, 1, 1, 0, 2, 1, 0, 1])
    again = np.repeat(np.arange(12), counts)
    repeated = person_sums(LoggedDecisions(*(part[again] for part in decisions[:-1]), 2), rng)
    repeated = repeated._replace(folds=sums.folds[again])
    written, counted = estimate(repeated, np.ones((1, 12))), estimate(sums, counts[None] * 1.0)
    np.testing.assert_allclose(written.values, counted.values, rtol=1e-9)
    np.testing.assert_allclose(written.standard_errors, counted.standard_errors, rtol=1e-9)


def test_the_logs_own_policy_has_the_average_outcome(rng):
    history, _ = programme(rng)
    states, observed = np.asarray(history.states), np.asarray(history.observed)
    average = states[:, 1:][observed[:, :-1] & observed[:, 1:]].mean()
    found = aw.off_policy_value(history, 0.3, propensities=0.3, num_resamples=100)
    assert found.inverse_probability.value.value == pytest.approx(average)
    assert found.self_normalised.value.value == pytest.approx(average)
    assert found.effective_sample_size == pytest.approx(found.num_decisions)
    # The reference is the same policy: no difference, and no doubt about it.
    for name in ESTIMATORS:
        difference = getattr(found, name).difference
        assert (difference.value, difference.low, difference.high) == pytest.approx((0, 0, 0), abs=1e-12)


def test_tables_columns_and_arrays_say_the_same(rng):
    history, policy = programme(rng)
    propensities = logged(history, 0.3)
    options = {"num_resamples": 100}
    expected = values(aw.off_policy_value(history, policy, propensities=0.3, **options))
    table = long_table(history, chance=propensities, wanted=policy)
    order = rng.permutation(len(table["id"]))
    shuffled = pl.DataFrame(table)[order]
    ids = rng.permutation(30)
    cases = [
        aw.off_policy_value(history, policy, propensities=propensities, **options),
        aw.off_policy_value(table, policy, propensities=0.3, **options),
        aw.off_policy_value(shuffled, "wanted", propensities="chance", **options),
        aw.off_policy_value(shuffled.to_pandas(), "wanted", propensities="chance", **options),
    ]
    for found in cases:
        np.testing.assert_allclose(values(found), expected)
    reordered = aw.off_policy_value(shuffled, policy[ids], propensities=propensities[ids], ids=ids, **options)
    np.testing.assert_allclose(values(reordered)[:4, 0], expected[:4, 0])


def test_outcomes_of_ones_own(rng):
    history, policy = programme(rng)
    states, observed = np.asarray(history.states), np.asarray(history.observed)
    following = np.full(states.shape, np.nan)
    following[:, :-1] = np.where(observed[:, 1:], states[:, 1:], np.nan)
    plain, explicit, tenfold = (
        aw.off_policy_value(history, policy, propensities=0.3, num_resamples=100, **options)
        for options in ({}, {"outcomes": following}, {"rewards": [0, 10]})
    )
    np.testing.assert_allclose(values(plain), values(explicit))
    np.testing.assert_allclose(10 * values(plain)[:4], values(tenfold)[:4])
    following[:, -1] = 1.0  # an outcome makes the last step a decision too
    longer = aw.off_policy_value(history, policy, propensities=0.3, outcomes=following, num_resamples=100)
    assert longer.num_decisions == plain.num_decisions + observed[:, -1].sum()


def test_random_choice_at_the_same_budget_is_the_policys_share_of_each_step(rng):
    history, policy = programme(rng)
    shares = np.append(step_shares(history, policy), 0)
    everyone = np.broadcast_to(shares, policy.shape)
    default, explicit = (
        aw.off_policy_value(history, policy, propensities=0.3, reference=reference, num_resamples=100)
        for reference in (None, everyone)
    )
    np.testing.assert_allclose(values(default), values(explicit))
    assert default.reference_call_share == pytest.approx(default.call_share)


def test_where_the_log_had_no_choice_the_policy_must_agree(rng):
    history, policy = programme(rng)
    actions, observed = np.asarray(history.actions), np.asarray(history.observed)
    propensities, agreeing = logged(history, 0.3), policy.copy()
    person, step = (int(each[0]) for each in np.nonzero(observed[:, :-1] & observed[:, 1:]))
    propensities[person, step], agreeing[person, step] = 1.0, actions[person, step]
    found = aw.off_policy_value(history, agreeing, propensities=propensities, num_resamples=100)
    assert np.isfinite(values(found)).all()
    with pytest.raises(aw.InvalidInputError, match=f"policy must do what was logged .* person {person}, step {step}"):
        aw.off_policy_value(history, policy, propensities=propensities)


def no_calls(history):
    return aw.Trajectories.from_arrays(history.states, np.zeros(history.shape, int), history.observed)


def nobody_seen(history):
    observed = np.asarray(history.observed).copy()
    observed[7] = False
    return aw.Trajectories.from_arrays(history.states, history.actions, observed)


def padded(policy):
    return np.hstack([policy, policy])


WRONG = {
    "no propensities": ({"propensities": None}, "propensities are needed: the probability .* propensities=0.05"),
    "propensity 0": ({"propensities": 0.0}, r"propensities must be in \(0, 1\], but person 0, step . has 0.0"),
    "propensity 1.2": ({"propensities": 1.2}, r"propensities must be in \(0, 1\], but .* has 1.2"),
    "negative propensity": ({"propensities": -0.3}, r"propensities must be in \(0, 1\]"),
    "NaN": ({"propensities": np.full((30, 6), np.nan)}, r"propensities must be in \(0, 1\], but .* has nan"),
    "no chance": ({"propensities": 1.0}, "no call was made at random"),
    "policy above 1": ({"policy": 1.5}, "policy must be between 0 and 1, but person 0, step . has 1.5"),
    "policy as text": ({"policy": "always"}, "names a column, but the history is Trajectories"),
    "future policy": ({"policy": padded}, "policy has 12 steps, but the history has 6: .* in the future"),
    "future outcomes": ({"outcomes": np.zeros((30, 7))}, "outcomes has 7 steps, .* in the future"),
    "more people": ({"policy": np.zeros((31, 6))}, "policy has 31 people, .* people without history"),
    "another shape": ({"policy": np.zeros((6, 30))}, r"policy must have the shape \[30, 6\]"),
    "someone unseen": ({"history": nobody_seen}, "1 of 30 people have no history, the first is person 7"),
    "no call": ({"history": no_calls}, "No call among the .* decisions"),
    "one person twice": ({"ids": [*range(29), 3]}, "Rows 3 and 29 are both 3: .* one person for two"),
    "too few ids": ({"ids": [1, 2]}, "ids must name the 30 people"),
    "rewards": ({"rewards": [0, 1, 2]}, r"rewards must have the shape \[2\]"),
    "infinite outcome": ({"outcomes": np.full((30, 6), np.inf)}, "outcomes must be finite, but person 0, step 0"),
    "confidence": ({"confidence": 95}, "confidence must be between 0 and 1, not 95"),
    "certainty": ({"confidence": 1.0}, "confidence must be between 0.5 and 0.999, not 1"),
    "resamples": ({"num_resamples": 10}, "num_resamples"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input_is_refused_with_its_place(name, rng):
    changed, message = WRONG[name]
    history, policy = programme(rng)
    arguments = {"history": history, "policy": policy, "propensities": 0.3, **changed}
    for key, value in (("history", history), ("policy", policy)):
        if callable(arguments[key]):
            arguments[key] = arguments[key](value)
    with pytest.raises(aw.InvalidInputError, match=message):
        aw.off_policy_value(**arguments)


def test_propensities_that_do_not_fit_the_calls_are_refused(rng):
    history, policy = programme(rng, num_people=150, call_rate=0.1)
    for propensities in (np.full((150, 6), 0.1), 0.02, 0.3, 1 - logged(history, 0.1)):
        with pytest.raises(aw.InvalidInputError, match=r"do not fit the history: by them [0-9]+ calls were to be"):
            aw.off_policy_value(history, policy, propensities=propensities)
    # Called or not for good, by one lot at the start: calls vary more than weekly lots would, and are no mistake.
    actions = np.repeat(rng.random((150, 1)) < 0.5, 6, axis=1).astype(int)
    once = aw.Trajectories.from_arrays(history.states, actions, history.observed)
    assert aw.off_policy_value(once, policy, propensities=0.5, num_resamples=100).num_people > 140


def test_wrong_tables_are_refused(rng):
    history, policy = programme(rng)
    table = long_table(history, wanted=policy)
    twice = {name: np.concatenate([column, column[:1]]) for name, column in table.items()}
    with pytest.raises(aw.InvalidInputError, match="both hold column 'id' = 0, column 'step' = 0"):
        aw.off_policy_value(twice, "wanted", propensities=0.3)
    with pytest.raises(aw.InvalidInputError, match="no column 'plan', which policy names"):
        aw.off_policy_value(table, "plan", propensities=0.3)
    with pytest.raises(aw.InvalidInputError, match="each stands once"):
        aw.off_policy_value(table, "wanted", propensities=0.3, ids=[0, *range(30)])
    with pytest.raises(aw.InvalidInputError, match="31 people have no history"):
        aw.off_policy_value(table, "wanted", propensities=0.3, ids=range(31))


def test_the_result_is_a_small_table(rng):
    history, policy = programme(rng)
    found = aw.off_policy_value(history, policy, propensities=0.3, num_resamples=100)
    lines = str(found).splitlines()
    assert lines[0].split() == ["estimator", "value", "difference"]
    assert lines[3].startswith("doubly robust")
    assert str(found.doubly_robust.difference) in lines[3]
    assert f"{found.num_people} people, {found.num_decisions} decisions" in lines[4]
    with pytest.raises(AttributeError):
        found.confidence = 0.5
    again = aw.off_policy_value(history, policy, propensities=0.3, num_resamples=100)
    assert again == found


def test_intervals_hold_the_truth_as_often_as_they_say():
    """A hundred small programmes: the share covered lies within what chance allows (1 in 500) around 95 %."""
    world = World("quick", num_people=60, num_steps=6, call_rate=0.3)
    rng = np.random.default_rng(5)
    truth = true_values(rng, world, population=20_000)
    held = np.zeros(6)
    for seed in range(100):
        history, policy = draw_programme(rng, world)
        found = values(aw.off_policy_value(history, policy, propensities=0.3, num_resamples=200, seed=seed))
        true = np.tile([truth.policy.mean(), truth.difference(step_shares(history, policy))], 3)
        held += (found[:, 1] <= true) & (true <= found[:, 2])
    assert (held >= 88).all(), held
    assert held.mean() <= 99, held
