"""Properties that hold for every mixture and every problem."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from armwise.mixtures import EntropyMixture, LinearMixture, QuadraticMixture
from armwise.mixtures.entropy import softmax
from armwise.mixtures.quadratic import project_to_simplex
from tests.mixtures import direct

MIXTURES = {"entropy": EntropyMixture(0.3), "l2": QuadraticMixture(0.3), "linear": LinearMixture()}
SHAPE = (6, 4)

# On a grid, so that ties, equal returns and dominated policies come up often.
returns = arrays(float, SHAPE, elements=st.integers(0, 20).map(lambda tenths: tenths / 10))
shares_of_budget = st.sampled_from([1e-6, 0.01, 0.3, 0.9, 1.0, 5.0])


def budget_between(spend, share):
    least, most = spend.min(axis=1).sum(), spend.max(axis=1).sum()
    # Nothing between least and most: any budget at least as large is slack.
    return least + share * max(most - least, 0.1)


@pytest.mark.parametrize("name", MIXTURES)
@given(rewards=returns, spend=returns, share=shares_of_budget)
def test_solutions_are_feasible_and_optimal(name, rewards, spend, share):
    budget = budget_between(spend, share)
    solution = MIXTURES[name](rewards, spend, budget)
    mixture = np.asarray(solution.mixture)
    assert np.all(mixture >= 0)
    np.testing.assert_allclose(mixture.sum(axis=1), 1, rtol=0, atol=1e-14)
    assert np.sum(mixture * spend) <= budget * (1 + 1e-14)
    assert float(solution.budget_price) >= 0
    assert abs(float(solution.gap)) <= 1e-9


@pytest.mark.parametrize("choose", [jax.jit(softmax), jax.jit(project_to_simplex)], ids=["softmax", "projection"])
@given(rewards=returns, spend=returns, prices=st.tuples(st.floats(0, 50), st.floats(0, 50)))
def test_spend_falls_as_the_price_rises(choose, rewards, spend, prices):
    """The appendix's proposition, and its counterpart for the projection."""

    def spend_at(price):
        net = (rewards - price * spend).T
        return float(np.sum(np.asarray(choose(jnp.asarray(net - net.max(axis=0)))) * spend.T))

    low, high = sorted(prices)
    assert spend_at(high) <= spend_at(low) + 1e-12


@pytest.mark.parametrize("name", ["entropy", "l2"])
@given(rewards=returns, spend=returns, share=shares_of_budget, seed=st.integers(0, 100))
def test_permuting_arms_permutes_the_answer(name, rewards, spend, share, seed):
    order = np.random.default_rng(seed).permutation(len(rewards))
    budget = budget_between(spend, share)
    plain = MIXTURES[name](rewards, spend, budget)
    shuffled = MIXTURES[name](rewards[order], spend[order], budget)
    np.testing.assert_allclose(shuffled.mixture, plain.mixture[order], rtol=0, atol=1e-10)


@given(rewards=returns, spend=returns, share=shares_of_budget, seed=st.integers(0, 100))
def test_permuting_arms_does_not_change_the_linear_value(rewards, spend, share, seed):
    order = np.random.default_rng(seed).permutation(len(rewards))
    budget = budget_between(spend, share)
    plain = LinearMixture()(rewards, spend, budget).mixture
    shuffled = LinearMixture()(rewards[order], spend[order], budget).mixture
    np.testing.assert_allclose(np.sum(plain * rewards), np.sum(shuffled * rewards[order]), rtol=1e-12)


@pytest.mark.parametrize("name", MIXTURES)
def test_vmap_equals_loop_and_jit_equals_eager(name, rng):
    cohorts = [direct.random_instance(rng, SHAPE, 0.3, share, 1.0) for share in direct.BUDGET_SHARES]
    stacked = [jnp.stack([jnp.asarray(cohort[part]) for cohort in cohorts]) for part in range(3)]
    together = jax.jit(jax.vmap(MIXTURES[name]))(*stacked)
    for index, cohort in enumerate(cohorts):
        eager, jitted = MIXTURES[name](*cohort[:3]), jax.jit(MIXTURES[name])(*cohort[:3])
        for field in ("mixture", "budget_price", "budget_used"):
            np.testing.assert_allclose(getattr(jitted, field), getattr(eager, field), rtol=0, atol=1e-13)
            np.testing.assert_allclose(getattr(together, field)[index], getattr(eager, field), rtol=0, atol=1e-13)
        assert together.converged[index]


@pytest.mark.parametrize("mixture", [EntropyMixture, QuadraticMixture])
def test_vmap_over_temperatures_and_its_gradient(mixture, rng):
    instance = direct.random_instance(rng, SHAPE, 0.3, 0.2, 1.0)
    temperatures = jnp.asarray([0.05, 0.5, 5.0])

    def loss(temperature):
        return jnp.sum(mixture(temperature)(*instance[:3]).mixture * instance.rewards)

    together = jax.vmap(jax.grad(loss))(temperatures)
    np.testing.assert_allclose(together, [jax.grad(loss)(t) for t in temperatures], rtol=1e-9)
    # A weaker regulariser leaves more of the reward.
    assert np.all(together < 0)


@pytest.mark.parametrize("mixture", [EntropyMixture(0.1), QuadraticMixture(0.1)])
def test_warm_start_changes_the_steps_and_not_the_answer(mixture, rng):
    instance = direct.random_instance(rng, (50, 4), 0.1, 0.05, 10.0)
    cold = mixture(*instance[:3])
    for price in (cold.budget_price, 0.9 * cold.budget_price, 1e3, 1e-6):
        warm = mixture(*instance[:3], initial_price=price)
        np.testing.assert_allclose(warm.mixture, cold.mixture, rtol=0, atol=1e-10)
    assert mixture(*instance[:3], initial_price=cold.budget_price).num_steps < cold.num_steps
    slack = mixture(*instance[:2], 1e6, initial_price=cold.budget_price)
    assert float(slack.budget_price) == 0
