"""The bandit core: exact returns and gradients, Whittle indices against what others do, simulation.

Run with ``make bench``. About two minutes on two cores.
"""

from collections.abc import Iterator

import jax
import jax.numpy as jnp

import armwise as aw
from benchmarks.draws import draws_alone
from benchmarks.harness import Row, arguments, measure, report, seconds
from benchmarks.whittle import random_transitions, whittle_rows


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
        figure = f"{seconds(timing.median / num_arms / len(policies))} a policy"
        rows.append(Row(what, size, timing, figure))
    return rows


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

    arm_steps = num_cohorts * num_arms * trajectories * horizon
    timings = (
        measure(simulate, keys, cohorts, indices, repeats=5),
        measure(draws_alone(num_arms, trajectories, horizon), keys, repeats=5),
    )
    shape = f"{num_cohorts} cohorts × {num_arms} arms × {trajectories:,} trajectories × {horizon} steps"
    size = f"{shape}, {num_states} states"
    rows = []
    for what, timing in zip(("simulation", "its random numbers alone"), timings, strict=True):
        speed = arm_steps / timing.median
        figure, numbers = f"{speed / 1e6:,.0f} million arm-steps a second", {"arm_steps_a_second": speed}
        rows.append(Row(what, size, timing, figure, what == "simulation" and num_states == 2, numbers))
    return rows


def all_rows(num_arms: int, trajectories: int) -> Iterator[Row]:
    for num_states, arms in ((2, num_arms), (5, max(1, num_arms // 10))):
        yield from returns_rows(arms, num_states)
    for num_states in (2, 5):
        yield from whittle_rows(num_arms, num_states)
    for num_states in (2, 5):
        yield from simulation_rows(num_states, trajectories=trajectories)


def main() -> None:
    sizes = {"arms": {"type": int, "default": 1_000_000}, "trajectories": {"type": int, "default": 1000}}
    given = arguments(__doc__, **sizes)
    report("rmab", all_rows(given.arms, given.trajectories), packages=("markovianbandit-pkg", "numpy"))


if __name__ == "__main__":
    main()
