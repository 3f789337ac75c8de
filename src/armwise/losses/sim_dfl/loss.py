"""SIM-DFL: decision quality by simulating the Whittle policy in every step (Wang et al. 2023, the paper's baseline).

The predictions give Whittle indices. At each step of a simulation on the true transitions, a soft top-k of the indices
in the arms' current states gives each arm a probability of being called. ``budget`` arms are drawn with those
probabilities. The score function estimates the gradient of the expected return: (call drawn, 0 or 1, minus its
probability) times the later rewards.

This baseline is written to be as fast as possible, so that comparisons of speed are fair:

- The soft top-k needs no Sinkhorn sweeps (``soft_top_k.py``).
- Arms are drawn by systematic sampling: lay the probabilities end to end, p₁ + … + p_N = budget, and take the arms
  under the points u, u + 1, u + 2, … for one uniform u. This gives exactly ``budget`` arms, each with its probability,
  without a sort. (Wang et al. draw one arm after the other in proportion to the probabilities, which distorts them.)
- JAX does not differentiate through the simulation. The derivative of the soft top-k has a closed form, so one pass
  back over the simulated steps estimates the gradient with respect to the indices.
- On an NVIDIA GPU one kernel does all of this (``kernel.py``).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

from armwise._validation import (
    ArrayLike,
    as_float_array,
    check_count,
    check_key,
    check_transitions,
    check_two_actions,
    is_concrete,
)
from armwise.errors import InvalidInputError
from armwise.losses.loss import Loss, check_prepared
from armwise.losses.sim_dfl.estimate import simulated_return
from armwise.losses.truth import CohortTruth, check_same_shape
from armwise.rmab import Problem, whittle_indices
from armwise.rmab.rollout import tabulate
from armwise.rmab.simulate import check_horizon


class PreparedSimulation(eqx.Module):
    """What a simulation needs from the truth."""

    true_transitions: Float[Array, "arms states 2 states"]
    problem: Problem
    budget: Int[Array, ""]
    ids: UInt32[Array, " arms"]
    num_steps: int = eqx.field(static=True)


def _trajectories(count: int) -> int:
    return check_count("num_trajectories", count, minimum=1)


def _steps(horizon: int | None) -> int | None:
    return None if horizon is None else check_count("horizon", horizon, minimum=1)


class SimDFL(Loss):
    """The negative simulated return of the soft Whittle policy, averaged over arms and trajectories.

    Args:
        num_trajectories: simulated runs for each gradient; the paper tries 1, 10, 100 and 1,000.
        temperature: ε of the soft top-k, in units of the Whittle index. The optimal-transport code that Wang et al.
            build on first divides its costs by the largest, so its ε = 0.1 is a temperature of 0.05 times the
            largest squared distance of an index from 0 and 1. We do not know the scale of its indices.
        horizon: steps of each run; by default until ``discount ** horizon < 1e-3``. Wang et al. take 10.
        credit: which later rewards count for a call. "own" (Wang et al.): those of the called arm. This ignores how
            the call changes the other arms' later chances to be called, and has far less variance. "all": those of
            all arms, which is unbiased but noisier.

    The gradient is an estimate with respect to the predicted transitions and to the temperature. The true transitions,
    the first states, the rewards and the discount affect the return through the simulation: their gradient raises an
    error.

    To mix with the likelihood, as deployed code does, write ``0.9 * SimDFL(100) + 0.1 * NegativeLogLikelihood()``. The
    discount is that of the problem (0.9 by default; Wang et al. take 0.99).
    """

    num_trajectories: int = eqx.field(static=True, default=100, converter=_trajectories)
    temperature: ArrayLike = 0.1
    horizon: int | None = eqx.field(static=True, default=None, converter=_steps)
    credit: str = eqx.field(static=True, default="own")

    def __check_init__(self) -> None:
        if self.credit not in ("own", "all"):
            raise InvalidInputError(f"credit must be 'own' or 'all', not {self.credit!r}.")
        temperature = as_float_array("temperature", self.temperature)
        if is_concrete(temperature) and not bool(jnp.all((temperature > 0) & jnp.isfinite(temperature))):
            raise InvalidInputError(f"temperature must be a finite number above 0, not {self.temperature}.")

    def prepare(self, truth: CohortTruth) -> PreparedSimulation:
        """The true transitions and the budget, checked."""
        true = truth.transitions
        check_two_actions("SIM-DFL", true.shape[2])
        count = truth.budget
        if is_concrete(count):
            count = jnp.asarray(min(check_count("budget", np.asarray(count).item(), minimum=0), true.shape[0]))
        return PreparedSimulation(true, truth.problem, count, truth.ids, check_horizon(self.horizon, truth.problem))

    def __call__(
        self, predicted_transitions: ArrayLike, prepared: PreparedSimulation, key: PRNGKeyArray | None = None
    ) -> Float[Array, ""]:
        """The negative mean return per arm; its gradient is the score-function estimate."""
        if key is None:
            raise InvalidInputError("SimDFL draws random numbers: pass key, such as jax.random.key(0).")
        check_key(key)
        check_prepared(prepared, PreparedSimulation, self)
        predicted, true = check_transitions(predicted_transitions), prepared.true_transitions
        check_same_shape("predicted_transitions", predicted.shape, "true_transitions", true.shape)
        indices = whittle_indices(predicted, prepared.problem).astype(true.dtype)
        order = jnp.argsort(prepared.ids)
        run_key, sample_key = jax.random.split(key)
        arms = tabulate(run_key, true, prepared.problem, prepared.ids, order)
        words = jax.random.bits(sample_key, (1, 2), jnp.uint32)
        config = (self.num_trajectories, prepared.num_steps, self.credit)
        temperature = jnp.asarray(self.temperature, indices.dtype)
        return -simulated_return(config, indices[order], temperature, arms, words, prepared.budget)
