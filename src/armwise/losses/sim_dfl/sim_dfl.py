"""SIM-DFL: decision quality by simulating the Whittle policy in every step (Wang et al. 2023, the paper's baseline).

The predictions give Whittle indices. At each step of a simulation on the true transitions, the indices of the arms in
their current states go through a soft top-k, which gives each arm a probability of being called, and ``budget`` arms
are drawn with those probabilities. The gradient of the expected return is estimated by the score function: whether a
call was drawn, less how likely it was, times what came of it.

It is written to be as fast as it can be, so that what is faster is really faster:

- The soft top-k needs no Sinkhorn sweeps (``soft_top_k``).
- Arms are drawn by systematic sampling: lay the probabilities end to end, p₁ + … + p_N = budget, and take the arms
  under the points u, u + 1, u + 2, … for one uniform u. Exactly ``budget`` arms, each with its probability, without a
  sort. (Wang et al. draw one arm after the other in proportion to the probabilities, which distorts them.)
- Nothing is differentiated through the simulation: the derivative of the soft top-k has a closed form, so the
  estimate of the gradient with respect to the indices is one pass back over the simulated steps.
- On an NVIDIA GPU all of that is one kernel (``sim_kernel``).
"""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Int32, PRNGKeyArray, UInt32

from armwise._hardware import on_gpu
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
from armwise.losses.sim_dfl.soft_top_k import soft_top_k
from armwise.losses.truth import CohortTruth, check_same_shape
from armwise.rmab import Problem, whittle_indices
from armwise.rmab.choices import look_up
from armwise.rmab.draws import uniforms
from armwise.rmab.rollout import Arms, blocks, first_states, next_states, tabulate
from armwise.rmab.simulate import check_horizon

Lanes = Float[Array, "2 pairs"]
PerArm = Float[Array, "2 arms pairs"]
States = Int32[Array, "2 arms pairs"]


class PreparedSimulation(eqx.Module):
    """What a simulation needs of the truth."""

    true_transitions: Float[Array, "arms states 2 states"]
    problem: Problem
    budget: Int[Array, ""]
    ids: UInt32[Array, " arms"]
    num_steps: int = eqx.field(static=True)


class Steps(NamedTuple):
    """What was seen of every trajectory at one step, or stacked at all of them."""

    states: Int32[Array, "*steps 2 arms pairs"]
    called: Float[Array, "*steps 2 arms pairs"]
    chances: Float[Array, "*steps 2 arms pairs"]  # of being called
    ends: Float[Array, "*steps 2 arms pairs"]  # of the stretches, when the chances are laid end to end, modulo 1
    start: Float[Array, "*steps 2 pairs"]  # the first point of the systematic sample


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
            largest squared distance of an index from 0 and 1; the scale of its indices is not known to us.
        horizon: steps of each run; by default until ``discount ** horizon < 1e-3``. Wang et al. take 10.
        credit: "own" (Wang et al.): a call is credited with the later rewards of the arm called. It leaves out what
            one arm's call does to the others' later chances to be called, and has far less variance. "all": with
            those of all arms: unbiased, noisier.

    The gradient is an estimate with respect to the predicted transitions and to the temperature. Asked for that of the
    true transitions, the first states, the rewards or the discount, which reach the return through the simulation, it
    raises.

    Mix with the likelihood, as deployed code does, by ``0.9 * SimDFL(100) + 0.1 * NegativeLogLikelihood()``. The
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
        return -_simulated_return(config, indices[order], temperature, arms, words, prepared.budget)


Config = tuple[int, int, str]  # trajectories, steps, credit


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _simulated_return(
    config: Config,
    indices: Float[Array, "arms states"],
    temperature: Float[Array, ""],
    arms: Arms,
    words: UInt32[Array, "1 2"],
    budget: Int[Array, ""],
) -> Float[Array, ""]:
    """Mean discounted return per arm of the soft Whittle policy, with an estimated gradient in the first two."""
    return _estimate(config, indices, temperature, arms, words, budget, with_gradient=False)[0]


def _forward(config, *inputs):  # type: ignore[no-untyped-def]
    indices, temperature, arms, words, budget = jax.tree.map(lambda leaf: leaf.value, inputs)
    _refuse_other_gradients(inputs[2])
    value, gradient = _estimate(config, indices, temperature, arms, words, budget, with_gradient=True)
    # Only their quotient matters: indices and temperature in another unit are the same chances, so by Euler's theorem
    # ⟨indices, gradient⟩ + temperature · (gradient in the temperature) = 0, step by step.
    return value, (gradient, -jnp.sum(indices * gradient) / temperature)


def _backward(config, gradients, cotangent):  # type: ignore[no-untyped-def]
    del config
    to_indices, to_temperature = (cotangent * gradient for gradient in gradients)
    return to_indices, to_temperature, None, None, None


_simulated_return.defvjp(_forward, _backward, symbolic_zeros=True)

_WITHOUT_GRADIENT = {
    "next": "the true transitions",
    "first": "the first states",
    "rewards": "the rewards",
    "discount": "the discount",
}


def _refuse_other_gradients(arms: Arms) -> None:
    """Raise if the simulation itself is differentiated, rather than answer with a part of its gradient.

    Costs are no part of the return: they only set the unit of the indices.
    """
    asked = [words for field, words in _WITHOUT_GRADIENT.items() if getattr(arms, field).perturbed]
    if asked:
        raise InvalidInputError(
            f"SimDFL has no gradient with respect to {' and '.join(asked)}: it estimates that of the predicted "
            "transitions and of the temperature only. Use DecDFL, whose gradients are exact, or pass "
            "jax.lax.stop_gradient of what is not to be differentiated."
        )


def _estimate(
    config: Config,
    indices: Float[Array, "arms states"],
    temperature: Float[Array, ""],
    arms: Arms,
    words: UInt32[Array, "1 2"],
    budget: Int[Array, ""],
    with_gradient: bool,
) -> tuple[Float[Array, ""], Float[Array, "arms states"]]:
    """Return and gradient, both averaged over trajectories and divided by the number of arms, block by block."""
    num_trajectories, num_steps, credit = config
    num_arms, num_states = indices.shape

    def step_by_step(pairs):  # type: ignore[no-untyped-def]
        counted = (2 * pairs[None] + jnp.arange(2, dtype=jnp.uint32)[:, None]) < num_trajectories
        steps = _simulate(indices, temperature, arms, words, budget, pairs, num_steps)
        return _look_back(steps, arms, counted, temperature, credit if with_gradient else None)

    def by_kernel(pairs):  # type: ignore[no-untyped-def]
        from armwise.losses.sim_dfl import sim_kernel  # here, so that a CPU never loads Pallas

        if credit != "own" or not (sim_kernel.is_available() and sim_kernel.fits(num_arms, num_states, indices.dtype)):
            return step_by_step(pairs)
        known = (indices, temperature, arms, words, budget, pairs)
        return sim_kernel.simulate(*known, num_trajectories, num_steps, with_gradient=with_gradient)

    def add_block(total, pairs):  # type: ignore[no-untyped-def]
        cuda = by_kernel if on_gpu() else step_by_step
        value, gradient = jax.lax.platform_dependent(pairs, cuda=cuda, default=step_by_step)
        return (total[0] + value, total[1] + gradient), None

    nothing = jnp.zeros((), indices.dtype), jnp.zeros_like(indices)
    # All steps of a block are kept, so a block holds fewer trajectories than one of a plain simulation.
    in_blocks = blocks(num_trajectories, num_arms * (1 + num_steps // 16))
    (value, gradient), _ = jax.lax.scan(add_block, nothing, in_blocks)
    weight = 1 / (num_trajectories * num_arms)
    return value * weight, gradient * weight


def _simulate(
    indices: Float[Array, "arms states"],
    temperature: Float[Array, ""],
    arms: Arms,
    words: UInt32[Array, "1 2"],
    budget: Int[Array, ""],
    pairs: UInt32[Array, " pairs"],
    num_steps: int,
) -> Steps:
    """Trajectories on the true transitions, the arms to call drawn by the soft top-k of their indices."""
    count = jnp.clip(budget, 0, indices.shape[0]).astype(indices.dtype)

    def step(carry, time):  # type: ignore[no-untyped-def]
        states, threshold = carry
        chances, threshold = soft_top_k(look_up(indices, states), count, temperature, threshold)
        start = uniforms(words, pairs, time.astype(jnp.uint32), indices.dtype)[:, 0]
        called, ends = _systematic_sample(chances, start, count)
        following = next_states(arms, pairs, states, called.astype(jnp.int32), time)
        return (following, threshold), Steps(states, called, chances, ends, start)

    middle = jnp.full((2, pairs.size), jnp.mean(indices), indices.dtype)
    return jax.lax.scan(step, (first_states(arms, pairs), middle), jnp.arange(num_steps))[1]


def _systematic_sample(chances: PerArm, start: Lanes, count: Float[Array, ""]) -> tuple[PerArm, PerArm]:
    """1 for each arm whose stretch holds one of the points start, start + 1, start + 2 and so on.

    Also returns where each stretch ends, modulo 1. The last arm makes up the count, whatever rounding did before it.
    A CPU lays one stretch after the other (jnp.cumsum took 4 × as long there); on an accelerator a loop over arms is a
    launch for each, so it adds them all up at once.
    """
    return jax.lax.platform_dependent(chances, start, count, cpu=_lay_in_turn, default=_lay_at_once)


def _lay_in_turn(chances: PerArm, start: Lanes, count: Float[Array, ""]) -> tuple[PerArm, PerArm]:
    """The sample, keeping only the way to the next point, so that no digits are lost however many arms there are."""
    is_last = jnp.arange(chances.shape[1]) == chances.shape[1] - 1

    def lay(carry, arm):  # type: ignore[no-untyped-def]
        passed, called_so_far = carry  # how far beyond the last point the stretch before this one ends
        chance, last = arm
        reached = passed + chance
        open_places = count - called_so_far
        called = jnp.where(last, open_places >= 1, (reached >= 1) & (open_places >= 1)).astype(chances.dtype)
        passed = reached - jnp.floor(reached)
        end = passed + start
        return (passed, called_so_far + called), (called, end - jnp.floor(end))

    arms = (jnp.moveaxis(chances, 1, 0), is_last)
    _, (called, ends) = jax.lax.scan(lay, (_way_to_first(start), jnp.zeros_like(start)), arms)
    return jnp.moveaxis(called, 0, 1), jnp.moveaxis(ends, 0, 1)


def _lay_at_once(chances: PerArm, start: Lanes, count: Float[Array, ""]) -> tuple[PerArm, PerArm]:
    """The sample by running sums: an arm is called where the number of points passed goes up."""
    reached = jnp.cumsum(chances, axis=1) + _way_to_first(start)[:, None]
    passed = jnp.minimum(jnp.floor(reached), count).at[:, -1].set(count)
    called = jnp.diff(passed, axis=1, prepend=0)
    end = reached + start[:, None]
    return called, end - jnp.floor(end)


def _way_to_first(start: Lanes) -> Lanes:
    """How far beyond a point, less one, the first stretch begins."""
    return jnp.where(start > 0, 1 - start, 0)


def _look_back(
    steps: Steps, arms: Arms, counted: Bool[Array, "2 pairs"], temperature: Float[Array, ""], credit: str | None
) -> tuple[Float[Array, ""], Float[Array, "arms states"]]:
    """From the last step to the first: the sum of returns and, given credit, that of their estimated gradients."""
    num_steps, _, num_arms, _ = steps.states.shape
    num_states = arms.next.shape[2]

    def step(carry, seen):  # type: ignore[no-untyped-def]
        later, gradient = carry
        now, weight = seen
        if credit is not None:
            pull = _pull_on_scores(now, later, temperature, credit)
            by_state = [jnp.sum(jnp.where(now.states == s, pull, 0), axis=(0, 2)) for s in range(num_states)]
            gradient = gradient + jnp.stack(by_state, axis=-1)
        reward = jnp.where(counted[:, None], weight * look_up(arms.rewards, now.states), 0)
        return (later + reward, gradient), None

    dtype = arms.next.dtype
    nothing = jnp.zeros(steps.states.shape[1:], dtype), jnp.zeros((num_arms, num_states), dtype)
    weights = arms.discount ** jnp.arange(num_steps, dtype=dtype)
    (earned, gradient), _ = jax.lax.scan(step, nothing, (steps, weights), reverse=True)
    return jnp.sum(earned), gradient


def _pull_on_scores(now: Steps, later: PerArm, temperature: Float[Array, ""], credit: str) -> PerArm:
    """Estimated derivative of the return with respect to each score that entered a step's soft top-k.

    Writing v = p(1 − p), the derivative of the soft top-k is dp = v · (dw − Σ v dw / Σ v) / temperature. It is
    symmetric, so a derivative h with respect to the chances p pulls on the scores w with
    v · (h − Σ v h / Σ v) / temperature.
    """
    spread = now.chances * (1 - now.chances)
    if credit == "own":
        pull = later * (now.called - now.chances)  # v · (called / p − (1 − called) / (1 − p)) · later
    else:
        pull = spread * _sample_score(now) * jnp.sum(later, axis=1, keepdims=True)
    total = jnp.sum(spread, axis=1, keepdims=True)
    share = spread / jnp.where(total > 0, total, 1)
    return (pull - share * jnp.sum(pull, axis=1, keepdims=True)) / temperature


def _sample_score(now: Steps) -> PerArm:
    """Derivative of the log-probability of the whole systematic sample with respect to each chance.

    The sample stays the same while its first point moves between the nearest two ends of stretches, modulo 1; its
    probability is the distance between them.
    """
    start = now.start[:, None]
    place = now.ends.at[:, -1].set(1)  # the last end is fixed at a whole number: the far side of the unit interval
    above = jnp.where(place >= start, place, jnp.inf)
    below = jnp.where(place < start, place, -jnp.inf)
    arm = jnp.arange(place.shape[1])[None, :, None]
    moves_upper = arm <= jnp.argmin(above, axis=1, keepdims=True)
    lower_end = jnp.max(below, axis=1, keepdims=True)
    moves_lower = (arm <= jnp.argmax(below, axis=1, keepdims=True)) & (lower_end > -jnp.inf)
    width = jnp.min(above, axis=1, keepdims=True) - jnp.maximum(lower_end, 0)
    return (moves_upper.astype(width.dtype) - moves_lower.astype(width.dtype)) / width
