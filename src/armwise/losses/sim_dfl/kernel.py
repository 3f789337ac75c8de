"""SIM-DFL's simulation as one GPU kernel: a pair of trajectories from its first step to its gradient.

XLA would compile every step of the simulation to several kernels that pass data through memory. For 66 steps on 100
arms, launches and memory take longer than the arithmetic. Here a program holds two trajectories of all arms in
registers, goes through all steps and back again, and writes the gradient. For the way back it stores two bytes for each
arm and step (the states and calls of both trajectories) and the thresholds of the soft top-k. The chances are computed
again.

The result is that of ``simulation.py``, from the same draws. One thing differs: the systematic sample is laid out in
whole numbers here, about millionths of a call. Their running sums are exact in any order, so each arm's stretch begins
exactly where the previous one ended. This rounds each chance by up to 1e-6, up or down in turn, so that the last arm
has little to correct.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jaxtyping import Array, Float, Int, UInt32

from armwise._hardware import nvidia_capability
from armwise.losses.sim_dfl.soft_top_k import MAX_STEPS, narrow, outer_thresholds
from armwise.rmab.draws import as_uniform, threefry_2x32, uniforms
from armwise.rmab.rollout import Arms

MOST_ARMS = 128  # one warp with four arms per thread; several warps per program have not been compared on a GPU
MOST_STATES = 8  # two states and two calls fit in a byte
FIRST_CAPABILITY = 8.0  # the first NVIDIA GPUs that Triton compiles for (Ampere)
_CALL = 2**20  # one call in whole-number units of chance: 128 calls fit in 32 bits
_GOLDEN = 0.618034  # any number of its multiples, modulo 1, is spread evenly

Ref = Any


class _Shape(NamedTuple):
    """What a compiled kernel is made for."""

    arms: int
    states: int
    trajectories: int
    steps: int
    interpreted: bool


def fits(num_arms: int, num_states: int, dtype: jnp.dtype) -> bool:
    """Whether the kernel can simulate such a cohort."""
    return num_arms <= MOST_ARMS and 2 <= num_states <= MOST_STATES and dtype == jnp.float32


def is_available() -> bool:
    """Whether this machine's accelerator can run the kernel."""
    capability = nvidia_capability()
    return capability is not None and capability >= FIRST_CAPABILITY


def simulate(
    indices: Float[Array, "arms states"],
    temperature: Float[Array, ""],
    arms: Arms,
    words: UInt32[Array, "1 2"],
    budget: Int[Array, ""],
    pairs: UInt32[Array, " pairs"],
    num_trajectories: int,
    num_steps: int,
    *,
    with_gradient: bool,
    interpret: bool = False,
) -> tuple[Float[Array, ""], Float[Array, "arms states"]]:
    """The sum of the trajectories' returns and that of their estimated gradients with respect to the indices.

    A call is credited with the later rewards of the arm called, as by ``SimDFL(credit="own")``.

    Args:
        indices: Whittle indices of the predictions, the arms in the order of ``arms``.
        temperature: of the soft top-k.
        arms: the tables of true data that the steps look up.
        words: random words of the systematic sample.
        budget: how many arms are called at each step.
        pairs: which pairs of trajectories to simulate.
        num_trajectories: how many there are in all; trajectories with a higher number are not counted.
        num_steps: of each trajectory.
        with_gradient: whether to compute the gradient; if not, it is zero.
        interpret: run the kernel as plain JAX, on any machine.
    """
    num_arms, num_states = indices.shape
    shape = _Shape(num_arms, num_states, num_trajectories, num_steps, interpret)
    size = pl.next_power_of_2(num_arms)

    def row(values: Array) -> Array:
        """``[arms, …]`` as ``[…, arms]``, filled up to a power of two."""
        values = jnp.broadcast_to(values, (num_arms, *values.shape[1:]))
        return jnp.moveaxis(jnp.pad(values, [(0, size - num_arms)] + [(0, 0)] * (values.ndim - 1)), 0, -1)

    starts = jax.vmap(lambda step: uniforms(words, pairs, step, indices.dtype)[:, 0])
    count = jnp.clip(budget, 0, num_arms).astype(indices.dtype)
    low, high = outer_thresholds(indices.ravel(), temperature, 0)
    tables = (
        row(indices),
        row(arms.words),
        row(arms.first),
        row(arms.next),
        row(arms.rewards),
        arms.discount ** jnp.arange(num_steps, dtype=indices.dtype),
        jnp.stack([temperature, count, low, high, jnp.mean(indices)]),
    )
    of_pair = (pairs, jnp.moveaxis(starts(jnp.arange(num_steps, dtype=jnp.uint32)), 2, 0))
    out = [jax.ShapeDtypeStruct((pairs.size, size), indices.dtype)]
    if with_gradient:
        out += [
            jax.ShapeDtypeStruct((pairs.size, num_states, size), indices.dtype),
            # One byte would be enough. But Pallas indexes arrays of up to 2³² bytes with signed 32 bits: too few.
            jax.ShapeDtypeStruct((pairs.size, num_steps, size), jnp.uint16),
            jax.ShapeDtypeStruct((pairs.size, num_steps, 2), indices.dtype),
        ]
    earned, *rest = pl.pallas_call(
        partial(_simulate_pair, shape),
        out_shape=out,
        grid=(pairs.size,),
        in_specs=[pl.BlockSpec(table.shape, partial(_whole, table.ndim)) for table in tables]
        + [_of_program(array) for array in of_pair],
        out_specs=[_of_program(array) for array in out],
        compiler_params=triton.CompilerParams(num_warps=1, num_stages=1),
        interpret=interpret,
    )(*tables, *of_pair)
    gradient = jnp.sum(rest[0], axis=0)[:, :num_arms].T if with_gradient else jnp.zeros_like(indices)
    return jnp.sum(earned), gradient


def _whole(rank: int, program: Array) -> tuple[int, ...]:
    del program
    return (0,) * rank


def _of_program(array: Any) -> pl.BlockSpec:
    """A block specification that gives each program its own row."""
    return pl.BlockSpec((None, *array.shape[1:]), lambda program: (program,) + (0,) * (array.ndim - 1))


def _simulate_pair(shape: _Shape, *refs: Ref) -> None:
    """The program of one pair of trajectories: forward and, if there is an output for the gradient, back again."""
    indices, words, first, following, rewards, weights, numbers, pair, starts, earned, *rest = refs
    size = indices.shape[1]
    arm = jax.lax.iota(jnp.int32, size)
    is_real, is_last = arm < shape.arms, arm == shape.arms - 1
    temperature, count, low, high, middle = (numbers[place] for place in range(5))
    pair = pair[...]
    counted = [(2 * pair + np.uint32(lane) < shape.trajectories).astype(temperature.dtype) for lane in range(2)]

    def draw(step: Array, boundary: Any) -> list[Array]:
        """Draw each arm's state in both trajectories. ``boundary`` says where each state's stretch of draws ends."""
        drawn = threefry_2x32(words[0, :], words[1, :], pair, step.astype(jnp.uint32))
        chosen = []
        for lane, number in enumerate(drawn):
            uniform = as_uniform(number, temperature.dtype)
            ends = [boundary(lane, state) for state in range(shape.states - 1)]
            chosen.append(sum((uniform >= end).astype(jnp.int32) for end in ends))
        return chosen

    def chances_of(states: Array, threshold: Array) -> Array:
        share = jax.nn.sigmoid((indices[states, arm] - threshold) / temperature)
        share = jnp.where(count <= 0, 0.0, jnp.where(count >= shape.arms, 1.0, share))
        return jnp.where(is_real, share, 0.0)

    def search(states: list[Array], start: list[Array]) -> list[Array]:
        """The thresholds of the soft top-k of both trajectories (``soft_top_k``)."""
        scores = [jnp.where(is_real, indices[own, arm], -jnp.inf) for own in states]
        wanted = jnp.minimum(jnp.maximum(count, 0.5), shape.arms - 0.5)

        def step(state: Any) -> Any:
            places, _, tried = state
            (one, one_settled), (other, other_settled) = (
                narrow(own, place, 0, wanted, temperature) for own, place in zip(scores, places, strict=True)
            )
            return [one, other], one_settled & other_settled, tried + 1

        def is_open(state: Any) -> Array:
            _, settled, tried = state
            return ~settled & (tried < MAX_STEPS)

        first_guess = [(low, high, jnp.minimum(jnp.maximum(guess, low), high)) for guess in start]
        places, _, _ = jax.lax.while_loop(is_open, step, (first_guess, jnp.zeros((), bool), jnp.int32(0)))
        return [threshold for _, _, threshold in places]

    def forward(step: Array, carry: Any) -> Any:
        states, thresholds, total = carry
        thresholds = search(states, thresholds)
        chances = [chances_of(states[lane], thresholds[lane]) for lane in range(2)]
        called = [_systematic_sample(chances[lane], starts[step, lane], count, arm, is_last) for lane in range(2)]
        for lane in range(2):
            total = total + counted[lane] * weights[step] * rewards[states[lane], arm]
        if rest:
            _, seen, cuts = rest
            seen[step, :] = _pack(states, called).astype(jnp.uint16)
            for lane in range(2):
                cuts[step, lane] = thresholds[lane]
        situation = [2 * states[lane] + called[lane] for lane in range(2)]
        states = draw(step + 1, lambda lane, state: following[situation[lane], state, arm])
        return states, thresholds, total

    begin = draw(jnp.int32(0), lambda _, state: first[state, :])
    total = jnp.zeros(size, temperature.dtype)
    _, _, total = jax.lax.fori_loop(0, shape.steps, forward, (begin, [middle, middle], total))
    earned[...] = jnp.where(is_real, total, 0.0)
    if not rest:
        return
    gradient, seen, cuts = rest
    if not shape.interpreted:
        triton.debug_barrier()  # other threads read what the steps have stored

    def back(turn: Array, carry: Any) -> Any:
        later, pulls = carry
        step = shape.steps - 1 - turn
        packed = seen[step, :].astype(jnp.int32)
        for lane in range(2):
            states, called = _unpack(packed, lane)
            pull = _pull(chances_of(states, cuts[step, lane]), called, later[lane], temperature)
            pulls = [old + jnp.where(states == state, pull, 0.0) for state, old in enumerate(pulls)]
            reward = jnp.where(is_real, counted[lane] * weights[step] * rewards[states, arm], 0.0)
            later[lane] = later[lane] + reward
        return later, pulls

    nothing = jnp.zeros(size, temperature.dtype)
    _, pulls = jax.lax.fori_loop(0, shape.steps, back, ([nothing] * 2, [nothing] * shape.states))
    for state, pull in enumerate(pulls):
        gradient[state, :] = pull


def _systematic_sample(chances: Array, start: Array, count: Array, arm: Array, is_last: Array) -> Array:
    """The systematic sample: 1 for each arm whose stretch holds one of the points start, start + 1, ….

    It is as in ``simulation.py``. The last arm corrects the count for rounding errors.
    """
    turn = arm.astype(chances.dtype) * _GOLDEN
    stretch = jnp.floor(chances * _CALL + (turn - jnp.floor(turn))).astype(jnp.int32)
    begin = jnp.where(start > 0, (1 - start) * _CALL, 0.0).astype(jnp.int32)
    reached = jnp.cumsum(stretch) + begin
    passed, before = reached // _CALL, (reached - stretch) // _CALL
    return ((before < count.astype(jnp.int32)) & (is_last | (passed > before))).astype(jnp.int32)


def _pack(states: list[Array], called: list[Array]) -> Array:
    """The states and calls of two trajectories as one number, four bits for each trajectory."""
    one, other = (2 * own + call for own, call in zip(states, called, strict=True))
    return one + 16 * other


def _unpack(packed: Array, lane: int) -> tuple[Array, Array]:
    own = (packed >> (4 * lane)) & 15
    return own >> 1, own & 1


def _pull(chances: Array, called: Array, later: Array, temperature: Array) -> Array:
    """``_pull_on_scores`` of one step and trajectory, credit "own"."""
    spread = chances * (1 - chances)
    pull = later * (called.astype(chances.dtype) - chances)
    total = jnp.sum(spread)
    share = spread / jnp.where(total > 0, total, 1.0)
    return (pull - share * jnp.sum(pull)) / temperature
