"""SIM-DFL's simulation step by step, and the backward pass that estimates its gradient."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Int32, UInt32

from armwise.losses.sim_dfl.soft_top_k import soft_top_k
from armwise.rmab.choices import look_up
from armwise.rmab.draws import uniforms
from armwise.rmab.rollout import Arms, first_states, next_states

Lanes = Float[Array, "2 pairs"]
PerArm = Float[Array, "2 arms pairs"]


class Steps(NamedTuple):
    """The record of every trajectory at one step, or stacked over all steps."""

    states: Int32[Array, "*steps 2 arms pairs"]
    called: Float[Array, "*steps 2 arms pairs"]
    chances: Float[Array, "*steps 2 arms pairs"]  # of being called
    ends: Float[Array, "*steps 2 arms pairs"]  # where each arm's stretch ends (chances laid end to end), modulo 1
    start: Float[Array, "*steps 2 pairs"]  # the first point of the systematic sample


def simulate(
    indices: Float[Array, "arms states"],
    temperature: Float[Array, ""],
    arms: Arms,
    words: UInt32[Array, "1 2"],
    budget: Int[Array, ""],
    pairs: UInt32[Array, " pairs"],
    num_steps: int,
) -> Steps:
    """Simulate trajectories on the true transitions. The soft top-k of the indices draws the arms to call."""
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
    """The systematic sample: 1 for each arm whose stretch holds one of the points start, start + 1, start + 2, ….

    Also returns where each stretch ends, modulo 1. The last arm corrects the count for rounding errors.
    A CPU lays one stretch after the other, because jnp.cumsum took 4 × as long there. On an accelerator a loop over
    arms would launch a kernel for each arm, so it computes all running sums at once.
    """
    return jax.lax.platform_dependent(chances, start, count, cpu=lay_in_turn, default=lay_at_once)


def lay_in_turn(chances: PerArm, start: Lanes, count: Float[Array, ""]) -> tuple[PerArm, PerArm]:
    """The sample, arm by arm. It keeps only the distance from the last point, so many arms do not cost accuracy."""
    is_last = jnp.arange(chances.shape[1]) == chances.shape[1] - 1

    def lay(carry, arm):  # type: ignore[no-untyped-def]
        passed, called_so_far = carry  # passed: how far beyond the last point the previous stretch ends
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


def lay_at_once(chances: PerArm, start: Lanes, count: Float[Array, ""]) -> tuple[PerArm, PerArm]:
    """The sample by running sums: an arm is called if the number of points passed rises at its stretch."""
    reached = jnp.cumsum(chances, axis=1) + _way_to_first(start)[:, None]
    passed = jnp.minimum(jnp.floor(reached), count).at[:, -1].set(count)
    called = jnp.diff(passed, axis=1, prepend=0)
    end = reached + start[:, None]
    return called, end - jnp.floor(end)


def _way_to_first(start: Lanes) -> Lanes:
    """The distance of 0, where the first stretch begins, from the point before it: start − 1, or 0 if start is 0."""
    return jnp.where(start > 0, 1 - start, 0)


def look_back(
    steps: Steps, arms: Arms, counted: Bool[Array, "2 pairs"], temperature: Float[Array, ""], credit: str | None
) -> tuple[Float[Array, ""], Float[Array, "arms states"]]:
    """Go from the last step to the first: sum the returns and, if credit is given, their estimated gradients."""
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

    With v = p(1 − p), the derivative of the soft top-k is dp = v · (dw − Σ v dw / Σ v) / temperature. It is
    symmetric, so a derivative h with respect to the chances p gives a derivative with respect to the scores w of
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

    The sample stays the same while its first point moves between the two nearest ends of stretches, modulo 1. The
    distance between these ends is the probability of the sample.
    """
    start = now.start[:, None]
    place = now.ends.at[:, -1].set(1)  # the last end is a whole number; here it is the upper end of [0, 1]
    above = jnp.where(place >= start, place, jnp.inf)
    below = jnp.where(place < start, place, -jnp.inf)
    arm = jnp.arange(place.shape[1])[None, :, None]
    moves_upper = arm <= jnp.argmin(above, axis=1, keepdims=True)
    lower_end = jnp.max(below, axis=1, keepdims=True)
    moves_lower = (arm <= jnp.argmax(below, axis=1, keepdims=True)) & (lower_end > -jnp.inf)
    width = jnp.min(above, axis=1, keepdims=True) - jnp.maximum(lower_end, 0)
    return (moves_upper.astype(width.dtype) - moves_lower.astype(width.dtype)) / width
