"""The linear mixture against SciPy's HiGHS."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linprog

from armwise.errors import ConvergenceError
from armwise.mixtures import LinearMixture
from tests.mixtures import direct


def highs(instance):
    arms, policies = instance.rewards.shape
    rows = np.kron(np.eye(arms), np.ones((1, policies)))
    return linprog(
        -instance.rewards.ravel(),
        A_ub=instance.spend.reshape(1, -1),
        b_ub=[float(instance.budget)],
        A_eq=rows,
        b_eq=np.ones(arms),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-6)])
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (12, 2), (30, 9)])
def test_value_and_price_match_highs(shape, dtype, tolerance, rng):
    mixture = LinearMixture()
    for budget_share in (1e-6, 1e-3, 0.03, 0.1, 0.2, 0.3, 0.5, 0.8, 10.0):
        for scale in direct.SCALES:
            instance = direct.rounded(direct.random_instance(rng, shape, 1.0, budget_share, scale), dtype)
            solution = mixture(*(jnp.asarray(value, dtype) for value in instance[:3]))
            reference = highs(instance)
            value = np.sum(np.asarray(solution.mixture, float) * instance.rewards)
            np.testing.assert_allclose(value, -reference.fun, rtol=tolerance)
            if shape[1] > 1:
                np.testing.assert_allclose(solution.budget_price, -reference.ineqlin.marginals[0], rtol=10 * tolerance)
            spend = np.sum(np.asarray(solution.mixture, float) * instance.spend)
            assert spend <= instance.budget * (1 + 16 * np.finfo(dtype).eps)
            assert abs(float(solution.gap)) <= 100 * tolerance * abs(reference.fun)


def test_at_most_one_arm_is_fractional(rng):
    for budget_share in (0.01, 0.1, 0.3, 0.5):
        instance = direct.random_instance(rng, (200, 8), 1.0, budget_share, 10.0)
        mixture = np.asarray(LinearMixture()(*instance[:3]).mixture)
        assert np.sum(np.any((mixture > 0) & (mixture < 1), axis=1)) <= 1


def test_policies_that_lose_reward_are_never_bought():
    solution = LinearMixture()([[1.0, 0.5, 0.9]], [[0.0, 1.0, 2.0]], 100.0)
    assert solution.mixture.tolist() == [[1.0, 0.0, 0.0]]
    assert float(solution.budget_price) == 0


def test_equally_cheap_policies_the_better_one_wins():
    assert LinearMixture()([[1.0, 3.0, 2.0]], [[1.0, 1.0, 1.0]], 1.0).mixture.tolist() == [[0.0, 1.0, 0.0]]


def test_budget_below_the_cheapest_policies_raises():
    with pytest.raises(ConvergenceError, match="cheapest policy together spend 2"):
        LinearMixture()(jnp.ones((2, 3)), jnp.ones((2, 3)), 1.0)


def test_gradient_is_zero(rng):
    instance = direct.random_instance(rng, (5, 4), 1.0, 0.3, 1.0)
    gradient = jax.grad(lambda rewards: jnp.sum(LinearMixture()(rewards, *instance[1:3]).mixture * instance.rewards))
    assert not np.any(gradient(jnp.asarray(instance.rewards)))


def test_smooth_mixtures_approach_it_as_the_temperature_falls(rng):
    from armwise.mixtures import EntropyMixture, QuadraticMixture

    instance = direct.random_instance(rng, (40, 4), 1.0, 0.3, 1.0)
    best = np.sum(LinearMixture()(*instance[:3]).mixture * instance.rewards)
    for mixture in (EntropyMixture(1e-4), QuadraticMixture(1e-4)):
        value = np.sum(mixture(*instance[:3]).mixture * instance.rewards)
        assert best - 40 * 1e-4 * np.log(4) <= value <= best + 1e-12
