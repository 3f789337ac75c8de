"""PriceDFL against a plain loop, against the entropy mixture's own choice, and what it promises."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import armwise as aw
from tests.oracles import random_transitions

PROBLEM = aw.Problem(rewards=[0.0, 0.3, 1.0], discount=0.8, initial=[0.5, 0.3, 0.2])
BUDGET, ARMS = 3, 10


@pytest.fixture
def cohort(rng):
    return tuple(random_transitions(rng, "dense", ARMS, 3) for _ in range(2))


def returns(chain, policy):
    """Reward and spend of one policy on one arm, by NumPy's solver."""
    moves = np.array([chain[state, action] for state, action in enumerate(policy)])
    visits = np.linalg.solve(np.eye(3) - 0.8 * moves.T, [0.5, 0.3, 0.2])
    return visits @ [0.0, 0.3, 1.0], visits @ np.array(policy)


def plain_loss(predicted, true, prices, temperature):
    total = 0.0
    for price, arm in itertools.product(prices, range(ARMS)):
        policies = list(itertools.product((0, 1), repeat=3))
        looks, real = ([np.dot([1, -price], returns(t[arm], policy)) for policy in policies] for t in (predicted, true))
        weights = np.exp((np.array(looks) - max(looks)) / temperature)
        total += weights @ np.array(real) / weights.sum()
    return -total / ARMS / len(prices)


@pytest.mark.parametrize("temperature", [1.0, 0.1])
def test_equals_a_plain_loop(cohort, temperature):
    predicted, true = cohort
    loss = aw.PriceDFL(temperature)
    prepared = loss.prepare(aw.CohortTruth(true, PROBLEM, BUDGET))
    expected = plain_loss(predicted, true, np.asarray(prepared.prices), temperature)
    np.testing.assert_allclose(loss(predicted, prepared), expected, rtol=1e-9)


def test_prices_are_those_at_which_the_budgets_bind(cohort):
    """Just above the price the arms' best policies spend less than the budget, just below more."""
    true = cohort[1]
    shares = (0.25, 0.5, 1.0, 2.0)
    prepared = aw.PriceDFL(0.1, budget_multiples=shares).prepare(aw.CohortTruth(true, PROBLEM, BUDGET))
    assert (np.diff(prepared.prices) < 0).all()
    arms = [[returns(true[arm], policy) for policy in itertools.product((0, 1), repeat=3)] for arm in range(ARMS)]
    for share, price in zip(shares, np.asarray(prepared.prices), strict=True):
        above, below = (
            sum(max(arm, key=lambda pair: pair[0] - (price + nudge) * pair[1])[1] for arm in arms)
            for nudge in (1e-6, -1e-6)
        )
        assert above <= share * BUDGET / (1 - 0.8)
        assert share * BUDGET / (1 - 0.8) <= below or price == 0
    assert prepared.prices[-1] == 0 < prepared.prices[-2], "one budget is more than anyone needs"


def test_chooses_as_the_entropy_mixture_does_at_its_price(cohort):
    """At the price that an entropy mixture finds on predicted returns, both choose the same mixture."""
    predicted, true = cohort
    reward_returns, budget_returns = aw.policy_returns(predicted, PROBLEM, aw.all_policies(3))
    solution = aw.EntropyMixture(0.3)(reward_returns, budget_returns, BUDGET / (1 - 0.8))
    loss = aw.PriceDFL(0.3)
    prepared = loss.prepare(aw.CohortTruth(true, PROBLEM, BUDGET))._replace(prices=solution.budget_price[None])
    real = prepared.reward_returns - solution.budget_price * prepared.budget_returns
    np.testing.assert_allclose(loss(predicted, prepared), -jnp.sum(solution.mixture * real) / ARMS, rtol=1e-9)


def test_gradient_equals_finite_differences(cohort):
    predicted, true = cohort
    loss = aw.PriceDFL(0.5)
    prepared = loss.prepare(aw.CohortTruth(true, PROBLEM, BUDGET))
    check_grads(lambda logits: loss(jax.nn.softmax(logits), prepared), (jnp.log(predicted),), order=1, modes=["rev"])


def test_the_truth_minimises_it_as_the_temperature_falls(rng):
    true = random_transitions(rng, "dense", ARMS, 3)
    loss = aw.PriceDFL(1e-4)
    prepared = loss.prepare(aw.CohortTruth(true, PROBLEM, BUDGET))
    best = loss(true, prepared)
    others = [loss(random_transitions(rng, "dense", ARMS, 3), prepared) for _ in range(20)]
    assert best < min(others)
    dual = prepared.reward_returns[None] - prepared.prices[:, None, None] * prepared.budget_returns[None]
    np.testing.assert_allclose(best, -jnp.mean(jnp.max(dual, axis=-1)), atol=1e-3)


def test_no_prediction_can_buy_budget():
    """Theorem 1's trick, policies that pretend to be cheap, gains nothing here: Example 4.1's prediction is worse."""
    moves_once = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]])  # one call lasts for ever
    relapses = np.array([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])  # the truth: a call lasts one step
    true, predicted = (np.stack([chain] * 4) for chain in (relapses, moves_once))
    problem = aw.Problem(initial=[1.0, 0.0])
    loss = aw.PriceDFL(0.01, budget_multiples=(1.0,))
    prepared = loss.prepare(aw.CohortTruth(true, problem, 1))._replace(prices=jnp.array([2.0]))
    assert loss(true, prepared) < loss(predicted, prepared)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"temperature": 0.0}, "temperature"),
        ({"budget_multiples": ()}, "budget_multiples"),
        ({"budget_multiples": (1.0, -1.0)}, "budget_multiples"),
        ({"policies": "some"}, "policies must be one of"),
    ],
)
def test_arguments_that_cannot_be_are_refused(arguments, message):
    with pytest.raises(aw.InvalidInputError, match=message):
        aw.PriceDFL(**arguments)
