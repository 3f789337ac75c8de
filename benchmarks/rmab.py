"""The bandit core: exact returns and gradients, Whittle indices against markovianbandit-pkg, simulation.

Run with ``make bench``. About two minutes on two cores.
"""

import contextlib
import io
import time

import jax
import jax.numpy as jnp
import numpy as np

import armwise as aw
from armwise.rmab.draws import arm_words, uniforms
from benchmarks.harness import Row, Timing, measure, report, seconds

COMMAND = "make bench"


def random_transitions(num_arms: int, num_states: int) -> jax.Array:
    draws = jax.random.exponential(jax.random.key(0), (num_arms, num_states, 2, num_states))
    return jax.block_until_ready(draws / draws.sum(axis=-1, keepdims=True))


def returns_rows(num_arms: int, num_states: int) -> list[Row]:
    transitions, problem = random_transitions(num_arms, num_states), aw.Problem(num_states=num_states)
    policies = aw.all_policies(num_states)

    @jax.jit
    def forward(transitions: jax.Array) -> tuple[jax.Array, jax.Array]:
        return aw.policy_returns(transitions, problem, policies)

    @jax.jit
    @jax.grad
    def gradient(transitions: jax.Array) -> jax.Array:
        rewards, spend = aw.policy_returns(transitions, problem, policies)
        return jnp.vdot(rewards, spend)

    size = f"{num_arms:,} arms × {num_states} states, {len(policies)} policies"
    rows = []
    for what, function in (("returns", forward), ("returns and gradient", gradient)):
        timing = measure(function, transitions)
        rows.append(Row(what, size, timing, f"{seconds(timing.median / num_arms / len(policies))} a policy"))
    return rows


def package_seconds_per_arm(num_states: int, num_arms: int = 400) -> Timing:
    """Time of markovianbandit-pkg through its public interface, one arm at a time, after its own compilation."""
    before = np.geterr()  # the package turns floating-point warnings into errors for the whole process
    from markovianbandit import restless_bandit_from_P0P1_R0R1 as bandit

    np.seterr(**before)
    transitions = np.asarray(random_transitions(num_arms + 1, num_states), float)
    transitions /= transitions.sum(axis=-1, keepdims=True)
    rewards, times = np.linspace(0, 1, num_states), []
    with contextlib.redirect_stdout(io.StringIO()):
        for arm in transitions:
            start = time.perf_counter()
            bandit(arm[:, 0], arm[:, 1], rewards, rewards).whittle_indices(discount=0.9)
            times.append(time.perf_counter() - start)
    return Timing(float(np.median(times[1:])), min(times[1:]), max(times[1:]), times[0])


def whittle_rows(num_arms: int, num_states: int) -> list[Row]:
    transitions, problem = random_transitions(num_arms, num_states), aw.Problem(num_states=num_states)
    timing = measure(jax.jit(lambda t: aw.whittle_indices(t, problem)), transitions, repeats=5)
    package = package_seconds_per_arm(num_states)
    ratio = package.median / (timing.median / num_arms)
    return [
        Row(
            "Whittle indices",
            f"{num_arms:,} arms × {num_states} states",
            timing,
            f"{ratio:,.0f} × the package, per arm",
        ),
        Row("markovianbandit-pkg", f"1 arm × {num_states} states", package),
    ]


def simulation_rows(num_states: int, num_cohorts: int = 60, num_arms: int = 100, trajectories: int = 1000) -> list[Row]:
    problem, horizon = aw.Problem(num_states=num_states), aw.default_horizon(0.9)
    cohorts = random_transitions(num_cohorts * num_arms, num_states)
    cohorts = cohorts.reshape(num_cohorts, num_arms, num_states, 2, num_states)
    indices = jax.vmap(lambda t: aw.whittle_indices(t, problem))(cohorts)
    keys = jax.random.split(jax.random.key(1), num_cohorts)

    @jax.jit
    def simulate(keys: jax.Array, cohorts: jax.Array, indices: jax.Array) -> jax.Array:
        def one(cohort: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
            key, transitions, priorities = cohort
            return aw.simulate(key, transitions, priorities, problem, 10, trajectories)

        return jax.lax.map(one, (keys, cohorts, indices))

    @jax.jit
    def draw(keys: jax.Array) -> jax.Array:
        """Only the random numbers of the same simulation."""
        pairs, ids = jnp.arange(trajectories // 2, dtype=jnp.uint32), jnp.arange(num_arms, dtype=jnp.uint32)

        def one(key: jax.Array) -> jax.Array:
            words = arm_words(key, ids)
            draws = jax.lax.map(
                lambda step: uniforms(words, pairs, step, jnp.dtype(jnp.float32)).max(),
                jnp.arange(horizon, dtype=jnp.uint32),
            )
            return draws.max()

        return jax.lax.map(one, keys)

    arm_steps = num_cohorts * num_arms * trajectories * horizon
    timings = measure(simulate, keys, cohorts, indices, repeats=5), measure(draw, keys, repeats=5)
    shape = f"{num_cohorts} cohorts × {num_arms} arms × {trajectories:,} trajectories × {horizon} steps"
    size = f"{shape}, {num_states} states"
    return [
        Row(what, size, timing, f"{arm_steps / timing.median / 1e6:,.0f} million arm-steps a second")
        for what, timing in zip(("simulation", "its random numbers alone"), timings, strict=True)
    ]


def main() -> None:
    rows = [
        *returns_rows(1_000_000, 2),
        *returns_rows(100_000, 5),
        *whittle_rows(1_000_000, 2),
        *whittle_rows(1_000_000, 5),
        *simulation_rows(2),
        *simulation_rows(5)[:1],
    ]
    report("rmab", rows, COMMAND)


if __name__ == "__main__":
    main()
