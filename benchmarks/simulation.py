"""The joint simulation by the number of states: its parts in turn, against the cost of its random numbers alone.

``python -m benchmarks.simulation``. Processor time, because that is what other work on the machine changes least.
"""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import armwise as aw
from armwise.rmab import choices, rollout
from benchmarks import stored
from benchmarks.draws import draws_alone

COMMAND = "python -m benchmarks.simulation"
STATES, NUM_COHORTS, NUM_ARMS, NUM_TRAJECTORIES, HORIZON, BUDGET = (2, 3, 5, 10), 2, 100, 1000, 66, 10
ARM_STEPS = NUM_COHORTS * NUM_ARMS * NUM_TRAJECTORIES * HORIZON
# The most states whose ranks are walked down, and the fewest whose next state is searched for.
WAYS = {"bisected cut, compared": (0, 99), "walked": (99, 99), "searched": (0, 0), "as chosen": (3, 7)}


def nanoseconds(function: Callable[..., Any], *arguments: Any, repeats: int = 4) -> float:
    """Processor time for each arm and step, the least of some repeats after the first call."""
    times = []
    for _ in range(repeats + 1):
        start = time.process_time()
        jax.block_until_ready(function(*arguments))
        times.append(time.process_time() - start)
    return min(times[1:]) / ARM_STEPS * 1e9


def simulation(num_states: int) -> dict[str, float]:
    """Each way to do the same, in one process; the results are checked to be the same bits."""
    problem = aw.Problem(num_states=num_states)
    shape = (NUM_COHORTS, NUM_ARMS, num_states, 2)
    cohorts = jnp.asarray(np.random.default_rng(0).dirichlet(np.ones(num_states), shape), jnp.float32)
    indices = jax.vmap(lambda cohort: aw.whittle_indices(cohort, problem))(cohorts)
    keys = jax.random.split(jax.random.key(1), NUM_COHORTS)
    found, expected = {}, None
    for way, (walked, searched) in WAYS.items():
        choices.MOST_STATES_WALKED, rollout.FEWEST_STATES_SEARCHED = walked, searched
        jax.clear_caches()

        @jax.jit
        def simulate(keys: jax.Array, cohorts: jax.Array, indices: jax.Array) -> jax.Array:
            def one(cohort: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
                key, transitions, priorities = cohort
                return aw.simulate(key, transitions, priorities, problem, BUDGET, NUM_TRAJECTORIES, HORIZON)

            return jax.lax.map(one, (keys, cohorts, indices))

        returns = np.asarray(simulate(keys, cohorts, indices))
        expected = returns if expected is None else expected
        np.testing.assert_array_equal(returns, expected)
        found[way] = nanoseconds(simulate, keys, cohorts, indices)
    return found


def main() -> None:
    raw = {str(num_states): simulation(num_states) for num_states in STATES}
    keys = jax.random.split(jax.random.key(1), NUM_COHORTS)
    raw["random numbers alone"] = {"as chosen": nanoseconds(draws_alone(NUM_ARMS, NUM_TRAJECTORIES, HORIZON), keys)}
    rows = [[what, *(f"{found[way]:.1f}" if way in found else "" for way in WAYS)] for what, found in raw.items()]
    stored.keep("joint-evaluation", COMMAND, ["states", *WAYS], rows, raw)
    print(stored.section("joint-evaluation"))


if __name__ == "__main__":
    main()
