"""What ``benchmarks.history`` runs with each commit's own sources: a gradient step of Fast DEC-DFL and of the MSE.

Stands alone and keeps to names that every commit has. Prints JSON: for each shape and loss, seconds per step, as many
as there are repeats. With the argument "in turn" it compiles as training does since it asks for kernels in turn.
"""

import json
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

import armwise as aw

SHAPES = {"76 arms × 2 states": (76, 2, 3), "100 arms × 5 states": (100, 5, 10)}
NUM_COHORTS, REPEATS, DTYPE = 20, 61, jnp.float32
IN_TURN = {"xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"}


def step_times(loss, num_arms, num_states, budget, options):
    """Gradient steps on the logits of one cohort's arms, in a scan over cohorts of which each has its own truth."""
    rng = np.random.default_rng(0)
    problem, shape = aw.Problem(num_states=num_states), (num_arms, num_states, 2)
    truths = [rng.dirichlet(np.ones(num_states), shape).astype(np.float32) for _ in range(NUM_COHORTS)]
    prepared = [loss.prepare(aw.CohortTruth(true, problem, budget)) for true in truths]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *prepared)
    logits = jnp.log(jnp.asarray(rng.dirichlet(np.ones(num_states), shape), DTYPE))

    def step(logits, prepared):
        value, gradient = jax.value_and_grad(lambda logits: loss(jax.nn.softmax(logits, axis=-1), prepared))(logits)
        return logits - 0.1 * gradient, value

    run = jax.jit(lambda logits, stacked: jax.lax.scan(step, logits, stacked), compiler_options=options)
    times = []
    for _ in range(REPEATS + 1):
        start = time.perf_counter()
        jax.block_until_ready(run(logits, stacked))
        times.append((time.perf_counter() - start) / NUM_COHORTS)
    return times[1:]


if __name__ == "__main__":
    options = IN_TURN if sys.argv[1:] == ["in turn"] else {}
    losses = {"fast": aw.DecDFL(aw.EntropyMixture(0.1)), "mse": aw.MeanSquaredError()}
    results = {
        size: {name: step_times(loss, *shape, options) for name, loss in losses.items()}
        for size, shape in SHAPES.items()
    }
    print(json.dumps({"sources": aw.__file__, "times": results}))
