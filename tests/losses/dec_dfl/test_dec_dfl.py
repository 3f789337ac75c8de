import itertools
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax.test_util import check_grads
from scipy.optimize import linprog

import armwise as aw
from tests.oracles import random_transitions, solved_returns

OPTIMISTIC = [[[1, 0], [0, 1]], [[0, 1], [0, 1]]]  # Equation 6: one call wins state 1 for good
STUCK = [[[1, 0], [1, 0]], [[1, 0], [1, 0]]]
GOOD = [[[1, 0], [0, 1]], [[1, 0], [1, 0]]]
BAD = [[[1, 0], [0.5, 0.5]], [[1, 0], [1, 0]]]


def linear_programme(objective, spend, discounted_budget):
    """Equation 9 without a regulariser, by SciPy's HiGHS."""
    arms, policies = objective.shape
    rows = np.kron(np.eye(arms), np.ones(policies))
    answer = linprog(
        -objective.ravel(), A_ub=spend.reshape(1, -1), b_ub=[discounted_budget], A_eq=rows, b_eq=np.ones(arms)
    )
    assert answer.success
    return answer.x.reshape(arms, policies)


@pytest.mark.parametrize("constraint", ["true", "predicted"])
@pytest.mark.parametrize("states", [2, 3])
def test_algorithm_1_by_numpy_and_highs(rng, states, constraint):
    true, predicted = random_transitions(rng, "dense", 9, states), random_transitions(rng, "dense", 9, states)
    problem, budget = aw.Problem(rewards=rng.random((9, states)), discount=0.8), 2
    truth = np.asarray(problem.rewards), 0.8, np.asarray(problem.initial), [0, 1], aw.all_policies(states)
    worth, spend = solved_returns(true, *truth)
    looks, looks_to_spend = solved_returns(predicted, *truth)
    mixture = linear_programme(looks, spend if constraint == "true" else looks_to_spend, budget / 0.2)
    loss = aw.DecDFL(aw.LinearMixture(), constraint=constraint)
    prepared = loss.prepare(aw.CohortTruth(true, problem, budget))
    np.testing.assert_allclose(loss(predicted, prepared), -(mixture * worth).sum() / 9, rtol=1e-9)


@pytest.mark.parametrize("mixture", [aw.EntropyMixture(0.3), aw.QuadraticMixture(0.7)], ids=["entropy", "quadratic"])
@pytest.mark.parametrize("constraint", ["true", "predicted"])
@pytest.mark.parametrize("budget", [2, 50])
def test_gradients_equal_finite_differences(rng, backend, mixture, constraint, budget):
    true, logits = random_transitions(rng, "dense", 8, 3), rng.normal(size=(8, 3, 2, 3))
    loss = aw.DecDFL(mixture, constraint=constraint, backend=backend)
    prepared = loss.prepare(aw.CohortTruth(true, aw.Problem(num_states=3), budget))

    def of_logits(logits):
        return loss(jax.nn.softmax(logits, axis=-1), prepared)

    check_grads(of_logits, (jnp.asarray(logits),), order=1, modes="rev", rtol=1e-6, atol=1e-7, eps=1e-6)


def test_theorem_1_the_truth_can_be_beaten_under_the_predicted_constraint():
    """The appendix's counter-example: pretending that calls are cheap buys budget. Under Equation 7 it does not."""
    true, pretended = np.array([GOOD, BAD], float), np.array([OPTIMISTIC, OPTIMISTIC], float)
    problem, budget = aw.Problem(discount=0.9, initial=[1.0, 0.0]), 1 / (1 + 0.9)  # B/(1 − γ) = 1/(1 − γ²)
    gains = {}
    for constraint in ("predicted", "true"):
        loss = aw.DecDFL(aw.LinearMixture(), constraint=constraint)
        prepared = loss.prepare(aw.CohortTruth(true, problem, budget))
        gains[constraint] = float(loss(true, prepared) - loss(pretended, prepared)) * 2
    assert gains["predicted"] == pytest.approx(0.9 / 0.29, rel=1e-9)  # acting in state 0 of the bad arm as well
    assert gains["true"] <= 1e-9


def test_example_4_1_overshoots_under_the_predicted_constraint_only():
    """Spend 10 where 1 is allowed. The paper's hundredfold divides the discounted spend by the budget of one step."""
    true, predicted = np.array([STUCK], float), np.array([OPTIMISTIC], float)
    problem, budget = aw.Problem(discount=0.9, initial=[1.0, 0.0]), 1 - 0.9
    for constraint, expected in (("predicted", 10.0), ("true", 1.0)):
        loss = aw.DecDFL(aw.LinearMixture(), constraint=constraint)
        prepared = loss.prepare(aw.CohortTruth(true, problem, budget))
        spend = float(jnp.sum(loss.solve(predicted, prepared).mixture * prepared.budget_returns))
        assert spend == pytest.approx(expected, rel=1e-9)
        assert spend / budget == pytest.approx(100 if constraint == "predicted" else 10)


@given(
    seed=st.integers(0, 2**32 - 1),
    kinds=st.tuples(*[st.sampled_from(["dense", "sparse", "deterministic"])] * 2),
    budget=st.floats(0.01, 6),
)
def test_theorem_2_no_prediction_beats_the_truth(seed, kinds, budget):
    rng = np.random.default_rng(seed)
    true, predicted = (random_transitions(rng, kind, 5, 2) for kind in kinds)
    loss = aw.DecDFL(aw.LinearMixture())
    prepared = loss.prepare(aw.CohortTruth(true, aw.Problem(), budget))
    assert float(loss(predicted, prepared)) >= float(loss(true, prepared)) - 1e-9


@pytest.mark.parametrize("budget", [0.1, 0.7, 1.3, 2.0])
def test_theorem_3_decomposable_policies_are_enough(rng, budget):
    """Two arms, all 256 joint policies: mixing them does no better than mixing each arm's own four."""
    true, discount = random_transitions(rng, "dense", 2, 2), 0.8
    problem = aw.Problem(discount=discount)
    joint_states = list(itertools.product(range(2), repeat=2))
    actions = list(itertools.product(range(2), repeat=2))
    reward = np.array([sum(state) for state in joint_states], float)
    returns = []
    for policy in itertools.product(actions, repeat=4):
        chain = np.array(
            [
                [true[0, s[0], a[0], t[0]] * true[1, s[1], a[1], t[1]] for t in joint_states]
                for s, a in zip(joint_states, policy, strict=True)
            ]
        )
        system = np.eye(4) - discount * chain
        spend = np.array([sum(a) for a in policy], float)
        returns.append([np.linalg.solve(system, payoff).mean() for payoff in (reward, spend)])
    joint = np.array(returns)
    discounted = budget / (1 - discount)
    best_joint = (linear_programme(joint[None, :, 0], joint[None, :, 1], discounted) * joint[:, 0]).sum()
    loss = aw.DecDFL(aw.LinearMixture())
    best_decomposed = -2 * float(loss(true, loss.prepare(aw.CohortTruth(true, problem, budget))))
    assert best_decomposed == pytest.approx(best_joint, rel=1e-9)


def test_threshold_policies_do_no_better_than_all(rng):
    true = random_transitions(rng, "dense", 20, 4)
    problem = aw.Problem(num_states=4)
    values = []
    for policies in ("all", "threshold"):
        loss = aw.DecDFL(aw.LinearMixture(), policies=policies)
        values.append(float(loss(true, loss.prepare(aw.CohortTruth(true, problem, budget=4)))))
    assert values[0] <= values[1] + 1e-12
    never = -float(aw.passive_returns(true, problem).mean())
    assert values[1] < never


def test_what_is_prepared_is_the_truths(rng):
    true = random_transitions(rng, "dense", 4, 2)
    prepared = aw.DecDFL(aw.EntropyMixture(0.1)).prepare(aw.CohortTruth(true, aw.Problem(), budget=1))
    rewards, spend = solved_returns(true, [0, 1], 0.9, [0.5, 0.5], [0, 1], aw.all_policies(2))
    np.testing.assert_allclose(prepared.reward_returns, rewards, rtol=1e-12)
    np.testing.assert_allclose(prepared.budget_returns, spend, rtol=1e-12)
    assert float(prepared.discounted_budget) == pytest.approx(10)


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        (-1, "budget must be a finite number of at least 0, not -1"),
        (np.nan, "budget must be a finite number of at least 0, not nan"),
        ([1, 2], r"budget must be one number, not an array of shape \[2\]"),
        ("x", "budget must be an array of real numbers"),
    ],
)
def test_wrong_budgets_are_named(budget, message):
    with pytest.raises(aw.InvalidInputError, match=message):
        aw.DecDFL(aw.LinearMixture()).prepare(
            aw.CohortTruth(np.full((3, 2, 2, 2), 0.5), aw.Problem(), np.asarray(budget))
        )


@pytest.mark.parametrize("constraint", ["true", "predicted"])
def test_predictions_for_other_arms_are_refused(constraint):
    true = np.full((3, 2, 2, 2), 0.5)
    loss = aw.DecDFL(aw.LinearMixture(), constraint=constraint)
    with pytest.raises(aw.InvalidInputError, match=r"returns of predicted_transitions has the shape \[1, 4\]"):
        loss(true[:1], loss.prepare(aw.CohortTruth(true, aw.Problem(), budget=1)))


@pytest.mark.parametrize(
    ("reference", "fast"),
    [(aw.CvxpyMixture("entropy", 2.0), aw.EntropyMixture(2.0)), (aw.CvxpyMixture("l2", 2.0), aw.QuadraticMixture(2.0))],
    ids=["entropy", "l2"],
)
def test_fast_dec_dfl_is_dec_dfl(rng, backend, reference, fast):
    """The loss and its gradient with the paper's reference layer, at a temperature it can be trusted at."""
    pytest.importorskip("cvxpylayers", reason="needs the extra 'reference'")
    true, logits = random_transitions(rng, "dense", 10, 2), jnp.asarray(rng.normal(size=(10, 2, 2, 2)))
    values = []
    for mixture in (reference, fast):
        loss = aw.DecDFL(mixture, backend=backend)
        prepared = loss.prepare(aw.CohortTruth(true, aw.Problem(), budget=1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the solvers remark on their own accuracy
            values.append(jax.value_and_grad(lambda x: loss(jax.nn.softmax(x, axis=-1), prepared))(logits))  # noqa: B023
    np.testing.assert_allclose(values[0][0], values[1][0], rtol=1e-5)
    np.testing.assert_allclose(values[0][1], values[1][1], rtol=0, atol=5e-3 * np.abs(values[1][1]).max())


def test_temperatures_can_be_batched(rng, backend):
    true, predicted = random_transitions(rng, "dense", 6, 2), random_transitions(rng, "dense", 6, 2)
    prepared = aw.DecDFL(aw.EntropyMixture(0.1)).prepare(aw.CohortTruth(true, aw.Problem(), budget=1))

    def of_temperature(temperature):
        return aw.DecDFL(aw.EntropyMixture(temperature), backend=backend)(predicted, prepared)

    batched = jax.vmap(of_temperature)(jnp.array([0.05, 0.5]))
    np.testing.assert_allclose(batched, [of_temperature(0.05), of_temperature(0.5)], rtol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"constraint": "both"}, "constraint must be one of 'true', 'predicted', not 'both'"),
        ({"policies": "some"}, "policies must be one of 'all', 'threshold', 'index', 'near-index', not 'some'"),
    ],
)
def test_wrong_options_are_named(arguments, message):
    with pytest.raises(aw.InvalidInputError, match=message):
        aw.DecDFL(aw.LinearMixture(), **arguments)


@pytest.mark.parametrize("mixture", [aw.EntropyMixture, aw.QuadraticMixture])
def test_a_temperature_in_spreads_is_that_many_returns(rng, mixture):
    true, predicted = random_transitions(rng, "dense", 9, 3), random_transitions(rng, "dense", 9, 3)
    problem = aw.Problem(rewards=[0.0, 5.0, 30.0])
    spread = np.std(np.asarray(aw.policy_returns(true, problem, aw.all_policies(3))[0]), axis=1).mean()
    loss, plain = aw.DecDFL(mixture(0.3), unit="spread"), aw.DecDFL(mixture(0.3 * spread))
    solution, expected = (one.solve(predicted, one.prepare(aw.CohortTruth(true, problem, 2))) for one in (loss, plain))
    np.testing.assert_allclose(solution.mixture, expected.mixture, atol=1e-9)
    np.testing.assert_allclose(solution.budget_price, expected.budget_price, rtol=1e-7)
    prices, same = aw.PriceDFL(0.3, unit="spread"), aw.PriceDFL(0.3 * spread)
    values = [float(one(predicted, one.prepare(aw.CohortTruth(true, problem, 2)))) for one in (prices, same)]
    assert values[0] == pytest.approx(values[1], rel=1e-12)


def test_a_share_of_the_budget_is_another_budget(rng):
    true, predicted = random_transitions(rng, "dense", 9, 2), random_transitions(rng, "dense", 9, 2)
    shared, other = aw.DecDFL(aw.EntropyMixture(0.2), budget_multiple=2.0), aw.DecDFL(aw.EntropyMixture(0.2))
    value = shared(predicted, shared.prepare(aw.CohortTruth(true, aw.Problem(), 2)))
    np.testing.assert_allclose(
        value, other(predicted, other.prepare(aw.CohortTruth(true, aw.Problem(), 4))), rtol=1e-12
    )
    for wrong in (0.0, float("inf")):
        with pytest.raises(aw.InvalidInputError, match="budget_multiple must be a finite number above 0"):
            aw.DecDFL(aw.EntropyMixture(0.2), budget_multiple=wrong)


@pytest.mark.parametrize("policies", ["index", "near-index"])
@pytest.mark.parametrize("make", [aw.DecDFL, aw.PriceDFL], ids=["dec", "price"])
def test_gradients_over_each_arms_own_policies(rng, make, policies):
    true, logits = random_transitions(rng, "dense", 6, 4), rng.normal(size=(6, 4, 2, 4))
    loss = make(aw.EntropyMixture(0.3) if make is aw.DecDFL else 0.3, policies=policies)
    prepared = loss.prepare(aw.CohortTruth(true, aw.Problem(num_states=4), 1))

    def of_logits(logits):
        return loss(jax.nn.softmax(logits, axis=-1), prepared)

    check_grads(of_logits, (jnp.asarray(logits),), order=1, modes="rev", rtol=1e-6, atol=1e-7, eps=1e-6)


@pytest.mark.parametrize("policies", ["index", "near-index"])
def test_theorem_2_holds_over_a_few_policies_with_the_same_optimum(rng, policies):
    true, problem = random_transitions(rng, "dense", 10, 5), aw.Problem(num_states=5)
    assert np.all(aw.is_indexable(true, problem))
    few, everything = aw.DecDFL(aw.LinearMixture(), policies=policies), aw.DecDFL(aw.LinearMixture())
    prepared = few.prepare(aw.CohortTruth(true, problem, 2))
    best = float(few(true, prepared))
    assert best == pytest.approx(
        float(everything(true, everything.prepare(aw.CohortTruth(true, problem, 2)))), rel=1e-12
    )
    for _ in range(20):
        assert float(few(random_transitions(rng, "skewed", 10, 5), prepared)) >= best - 1e-12


def test_near_index_policies_of_two_and_three_states_are_all(rng):
    for states in (2, 3):
        true, predicted = (random_transitions(rng, "dense", 7, states) for _ in range(2))
        problem, mixture = aw.Problem(num_states=states), aw.EntropyMixture(0.1)
        values = []
        for policies in ("all", "near-index"):
            loss = aw.DecDFL(mixture, policies=policies)
            values.append(float(loss(predicted, loss.prepare(aw.CohortTruth(true, problem, 2)))))
        assert values[0] == pytest.approx(values[1], rel=1e-9)
