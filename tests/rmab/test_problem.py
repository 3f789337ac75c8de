import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import armwise as aw
from tests.oracles import random_transitions


def test_defaults_are_the_papers():
    problem = aw.Problem(num_states=5)
    np.testing.assert_allclose(problem.rewards, [0, 0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose(problem.initial, np.full(5, 0.2))
    np.testing.assert_array_equal(problem.costs, [0, 1])
    assert aw.Problem().num_states == 2
    assert aw.Problem(initial=[0.2, 0.3, 0.5]).rewards.tolist() == [0, 0.5, 1]


def test_is_an_immutable_pytree():
    problem = aw.Problem(rewards=[0.0, 2.0], discount=0.8)
    assert len(jax.tree.leaves(problem)) == 4
    with pytest.raises(AttributeError):
        problem.discount = 0.5
    doubled = jax.jit(lambda p: jax.tree.map(lambda leaf: 2 * leaf, p))(problem)
    assert isinstance(doubled, aw.Problem)
    np.testing.assert_allclose(doubled.rewards, [0, 4])


def test_problems_can_be_batched_over_discounts(rng):
    transitions = random_transitions(rng, "dense", 3, 2)
    policies = aw.all_policies(2)
    problems = jax.vmap(lambda discount: aw.Problem(discount=discount))(jnp.array([0.5, 0.9]))
    batched, _ = eqx.filter_vmap(lambda p: aw.policy_returns(transitions, p, policies))(problems)
    for row, discount in zip(batched, (0.5, 0.9), strict=True):
        expected, _ = aw.policy_returns(transitions, aw.Problem(discount=discount), policies)
        np.testing.assert_allclose(row, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"discount": 1.0}, r"discount must be in \[0, 1\), not 1\."),
        ({"discount": -0.1}, r"discount must be in \[0, 1\), not -0\.1\."),
        ({"discount": float("nan")}, r"discount must be in \[0, 1\), not nan\."),
        ({"discount": [0.9, 0.9]}, r"discount must be one number, not an array of shape \[2\]"),
        ({"rewards": [0.0, 1.0, 2.0], "initial": [0.5, 0.5]}, r"initial must have the shape \[3\] or \[arms, 3\]"),
        ({"rewards": [0.0, 1.0], "num_states": 3}, r"rewards must have the shape \[3\] or \[arms, 3\].*not \[2\]"),
        ({"rewards": [[0.0, 1.0], [0.0, np.inf]]}, "rewards must be finite, but arm 1, state 1 has inf"),
        ({"rewards": 3.0}, r"rewards must have the shape \[states\] or \[arms, states\], not \[\]"),
        ({"rewards": ["a", "b"]}, "rewards must be an array of real numbers, not of type <U1"),
        ({"rewards": [[0.0, 1.0], [0.0]]}, "rewards cannot be read as an array of numbers"),
        ({"rewards": [1j, 0]}, "rewards must be an array of real numbers, not of type complex128"),
        ({"initial": [0.5, 0.4]}, r"initial must sum to 1 over the last axis, but it sums to 0\.9"),
        ({"initial": [[0.5, 0.5], [1.5, -0.5]]}, r"initial holds probabilities, but arm 1, state 1 is -0\.5"),
        ({"costs": [0.0, -1.0]}, r"costs must not be negative, but action 1 costs -1\.0"),
        ({"costs": [0.0, np.nan]}, "costs must be finite, but action 1 has nan"),
        ({"costs": []}, r"costs must have the shape \[actions\]"),
        ({"num_states": 0}, "num_states must be at least 1, not 0"),
    ],
)
def test_wrong_input_is_named(arguments, message):
    with pytest.raises(aw.InvalidInputError, match=message):
        aw.Problem(**arguments)
