"""DEC-DFL against NumPy and SciPy over costs, discounts, budgets and sizes, at and around the edge of what is feasible.

The oracle shares no code with armwise: returns by LAPACK, one arm and policy at a time, and the price by Brent's search
in extended precision (``tests/mixtures/direct.py``).
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import armwise as aw
from armwise import native
from armwise.losses.dec_dfl import fused
from tests.mixtures import direct
from tests.oracles import random_transitions, solved_returns

SHAPES = [(1, 1), (1, 2), (7, 3), (100, 2), (20, 5), (3, 6)]  # arms, states
EDGES = (0.0, 1e-7, 1e-4, 0.03, 0.3, 0.9, 1.0, 2.0)  # budget: from the cheapest (0) to the dearest policies of all (1)
SEEDS = range(12)


def random_case(seed, num_arms, num_states, dtype):
    rng = np.random.default_rng([seed, num_arms, num_states])
    kinds = ("dense", "skewed", "sparse")
    true, predicted = (random_transitions(rng, rng.choice(kinds), num_arms, num_states) for _ in range(2))
    discounts = (0.0, 0.3, 0.9, 0.99, 0.999) + ((0.99999,) if dtype == np.float64 else ())
    discount = float(np.asarray(rng.choice(discounts), dtype))
    unit = 10 ** rng.uniform(-8, 8)
    costs = unit * np.array([(0.0, 1.0), (1.0, 1.0), (1.0, 2.0), (2.0, 0.5), (0.3, 0.31)][rng.integers(5)])
    costs = costs.astype(dtype).astype(float)
    if dtype == np.float64 and discount > 0.9999:
        true, predicted = (rows / rows.sum(axis=-1, keepdims=True) for rows in (true, predicted))
    problem = aw.Problem(rewards=rng.random(num_states).astype(dtype), discount=discount, costs=costs)
    edge = rng.choice(EDGES)
    budget = num_arms * (costs.min() + edge * np.ptp(costs))
    temperature = 10 ** rng.uniform(-1, 2) / (1 - discount) * 0.1
    return true.astype(dtype), predicted.astype(dtype), problem, edge, budget, temperature


def expected(true, predicted, problem, edge, budget, temperature):
    """The loss of Algorithm 1; at the edge, that of the limit of an infinite price."""
    known = (np.asarray(problem.rewards, float), float(problem.discount), np.asarray(problem.initial, float))
    costs, policies = np.asarray(problem.costs, float), aw.all_policies(true.shape[1])

    def normalised(rows):
        return rows.astype(float) / rows.astype(float).sum(axis=-1, keepdims=True)

    rewards, spend = solved_returns(normalised(true), *known, costs - costs.min(), policies)
    choice, _ = solved_returns(normalised(predicted), *known, costs, policies)
    left = (budget - len(true) * costs.min()) / (1 - known[1])
    if np.ptp(costs) == 0:
        left, spend = np.inf, np.zeros_like(spend)
    if edge == 0 and np.ptp(costs) > 0:
        net = np.where(spend <= 0, choice, -np.inf)
        weights = np.exp((net - net.max(axis=1, keepdims=True)) / temperature)
        mixture = weights / weights.sum(axis=1, keepdims=True)
    else:
        mixture, _ = direct.solve("entropy", direct.Instance(choice, spend, np.asarray(left), np.asarray(temperature)))
    return -float(np.mean(np.sum(np.asarray(mixture, float) * rewards, axis=1)))


def backends(num_states, dtype):
    policies = 2**num_states
    found = ["reference"]
    if policies <= fused.MOST_POLICIES:
        found.append("fused")
    kernel = np.dtype(dtype), num_states, policies
    if native.covers(*kernel, num_actions=2) and native.compile_kernel(*kernel):
        found.append("native")

    def of_temperature(backend):
        return jax.jit(lambda temperature, *given: aw.DecDFL(aw.EntropyMixture(temperature), backend=backend)(*given))

    return {backend: of_temperature(backend) for backend in found}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("num_arms", "num_states"), SHAPES)
def test_every_backend_gives_the_loss_of_the_oracle(num_arms, num_states, dtype):
    functions = backends(num_states, dtype)
    for seed in SEEDS:
        case = true, predicted, problem, _, budget, temperature = random_case(seed, num_arms, num_states, dtype)
        prepared = aw.DecDFL(aw.EntropyMixture(temperature)).prepare(aw.CohortTruth(true, problem, budget))
        answer = expected(*case)
        # A share moves by the rounding of the returns over the temperature; temperatures here grow as returns do.
        epsilon = float(np.finfo(dtype).eps) * (1 + 1 / (1 - float(problem.discount)))
        for name, function in functions.items():
            value = function(np.asarray(temperature, dtype), jnp.asarray(predicted), prepared)
            np.testing.assert_allclose(value, answer, rtol=300 * epsilon, err_msg=f"{name}, seed {seed}: {case[2:]}")
