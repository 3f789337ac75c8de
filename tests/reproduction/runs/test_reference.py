"""The plain loop is ``train_many``, step by step; and cvxpylayers ends where the fast mixtures end."""

import jax
import numpy as np
import pytest

from armwise.data import synthetic
from armwise.training import train_many
from reproduction.runs.protocol import LOSSES, Protocol, model_maker
from reproduction.runs.reference import train_step_by_step, weight_distance
from tests.reproduction.small import PROTOCOL, small_domain

# cvxpylayers hands back float64 wherever JAX allows it.
pytestmark = pytest.mark.usefixtures("user_precision")


# Not L2 at a low temperature: its gradients can be zero up to rounding, of which Adam makes full steps.
@pytest.mark.parametrize("loss", ["mse", "fast-entropy"])
def test_the_plain_loop_is_the_compiled_one(loss):
    domain = small_domain()
    grid = {
        "splits": [domain.split_numbers(seed) for seed in range(2)],
        "num_initialisations": 2,
        "learning_rates": (1e-2, 1e-3),
        "problem": domain.problem,
    }
    what = (jax.random.key(0), domain.cohorts, PROTOCOL.losses(LOSSES[loss])[0], model_maker("linear", domain))
    compiled = train_many(*what, PROTOCOL.config(), **grid)
    plain = train_step_by_step(*what, PROTOCOL.num_epochs, **grid)
    for name in ("train_loss", "validation_loss"):
        ours, theirs = getattr(compiled.history, name), getattr(plain.history, name)
        np.testing.assert_allclose(ours, theirs, rtol=1e-3)
    for one, other in zip(compiled.setting, plain.setting, strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(jax.tree.leaves(compiled.models), jax.tree.leaves(plain.models), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-3)


@pytest.mark.parametrize(("slow", "fast"), [("dec-l2-cvxpy", "fast-l2"), ("dec-entropy-cvxpy", "fast-entropy")])
@pytest.mark.filterwarnings("ignore")  # of the solver's own
def test_cvxpylayers_ends_in_the_same_weights(slow, fast):
    domain = synthetic(0, num_cohorts=4, num_arms=10, budget=2, width=20)._replace(sizes=(2, 1, 1))
    protocol = Protocol(1, 1, (1e-2,), (1.0,), num_epochs=2)
    assert weight_distance(slow, fast, domain, protocol) < 0.01
