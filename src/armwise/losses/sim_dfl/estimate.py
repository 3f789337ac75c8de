"""The simulated return of SIM-DFL and its estimated gradient: one kernel on an NVIDIA GPU, else step by step."""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, UInt32

from armwise._hardware import on_gpu
from armwise.errors import InvalidInputError
from armwise.losses.sim_dfl.simulation import look_back, simulate
from armwise.rmab.rollout import Arms, blocks

Config = tuple[int, int, str]  # trajectories, steps, credit


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def simulated_return(
    config: Config,
    indices: Float[Array, "arms states"],
    temperature: Float[Array, ""],
    arms: Arms,
    words: UInt32[Array, "1 2"],
    budget: Int[Array, ""],
) -> Float[Array, ""]:
    """Mean discounted return per arm of the soft Whittle policy. Indices and temperature get an estimated gradient."""
    return estimate(config, indices, temperature, arms, words, budget, with_gradient=False)[0]


def _forward(config, *inputs):  # type: ignore[no-untyped-def]
    indices, temperature, arms, words, budget = jax.tree.map(lambda leaf: leaf.value, inputs)
    _refuse_other_gradients(inputs[2])
    value, gradient = estimate(config, indices, temperature, arms, words, budget, with_gradient=True)
    # Only indices / temperature matters: scaling both changes no chance. So by Euler's theorem
    # ⟨indices, gradient⟩ + temperature · (gradient in the temperature) = 0, at every step.
    return value, (gradient, -jnp.sum(indices * gradient) / temperature)


def _backward(config, gradients, cotangent):  # type: ignore[no-untyped-def]
    del config
    to_indices, to_temperature = (cotangent * gradient for gradient in gradients)
    return to_indices, to_temperature, None, None, None


simulated_return.defvjp(_forward, _backward, symbolic_zeros=True)

_WITHOUT_GRADIENT = {
    "next": "the true transitions",
    "first": "the first states",
    "rewards": "the rewards",
    "discount": "the discount",
}


def _refuse_other_gradients(arms: Arms) -> None:
    """Raise if the simulation itself is differentiated: the answer would be only a part of its gradient.

    Costs are not checked, because they are not part of the return: they only set the unit of the indices.
    """
    asked = [words for field, words in _WITHOUT_GRADIENT.items() if getattr(arms, field).perturbed]
    if asked:
        raise InvalidInputError(
            f"SimDFL has no gradient with respect to {' and '.join(asked)}: it estimates that of the predicted "
            "transitions and of the temperature only. Use DecDFL, whose gradients are exact, or pass "
            "jax.lax.stop_gradient of what is not to be differentiated."
        )


def estimate(
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
        steps = simulate(indices, temperature, arms, words, budget, pairs, num_steps)
        return look_back(steps, arms, counted, temperature, credit if with_gradient else None)

    def by_kernel(pairs):  # type: ignore[no-untyped-def]
        from armwise.losses.sim_dfl import kernel  # here, so that a CPU never loads Pallas

        given = (indices, temperature, arms, words, budget, pairs)
        return kernel.simulate(*given, num_trajectories, num_steps, with_gradient=with_gradient)

    def add_block(total, pairs):  # type: ignore[no-untyped-def]
        cuda = by_kernel if kernel_serves(credit, num_arms, num_states, indices.dtype) else step_by_step
        value, gradient = jax.lax.platform_dependent(pairs, cuda=cuda, default=step_by_step)
        return (total[0] + value, total[1] + gradient), None

    nothing = jnp.zeros((), indices.dtype), jnp.zeros_like(indices)
    # A block keeps all its steps in memory, so it holds fewer trajectories than a block of a plain simulation.
    in_blocks = blocks(num_trajectories, num_arms * (1 + num_steps // 16))
    (value, gradient), _ = jax.lax.scan(add_block, nothing, in_blocks)
    weight = 1 / (num_trajectories * num_arms)
    return value * weight, gradient * weight


def kernel_serves(credit: str, num_arms: int, num_states: int, dtype: jnp.dtype) -> bool:
    """Whether this machine's GPU can run the kernel for a cohort of this size and this credit."""
    if not on_gpu():
        return False
    from armwise.losses.sim_dfl import kernel  # here, so that a CPU never loads Pallas

    return credit == "own" and kernel.is_available() and kernel.fits(num_arms, num_states, dtype)
