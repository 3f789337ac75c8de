"""A gradient step of every loss, on one cohort at the paper's shapes; run with ``make bench``."""

import jax
import jax.numpy as jnp
import numpy as np

import armwise as aw
from benchmarks.harness import Row, measure, report

COMMAND = "make bench"
SHAPES = {"real-world": (76, 2, 3), "5-state synthetic": (100, 5, 10)}  # arms, states, budget
LOSSES = {
    "MSE": aw.MeanSquaredError(),
    "NLL": aw.NegativeLogLikelihood(),
    "Fast DEC-DFL (entropy)": aw.DecDFL(aw.EntropyMixture(0.1)),
    "Fast DEC-DFL (L2)": aw.DecDFL(aw.QuadraticMixture(0.1)),
    "SIM-DFL (1 trajectory)": aw.SimDFL(1),
    "SIM-DFL (10 trajectories)": aw.SimDFL(10),
    "SIM-DFL (100 trajectories)": aw.SimDFL(100),
    "SIM-DFL (1,000 trajectories)": aw.SimDFL(1000),
}


def shape_rows(name: str, num_arms: int, num_states: int, budget: int) -> list[Row]:
    rng = np.random.default_rng(0)
    shape = (num_arms, num_states, 2)
    true, predicted = (rng.dirichlet(np.ones(num_states), shape).astype(np.float32) for _ in range(2))
    counts = rng.poisson(3 * true).astype(np.float32)
    problem, logits, key = aw.Problem(num_states=num_states), jnp.log(predicted), jax.random.key(0)
    timings = {}
    for label, loss in LOSSES.items():
        prepared = loss.prepare(true, problem, budget, counts=counts)

        def of_logits(
            logits: jax.Array, key: jax.Array, loss: aw.Loss = loss, prepared: object = prepared
        ) -> jax.Array:
            return loss(jax.nn.softmax(logits, axis=-1), prepared, key)

        repeats = 5 if "1,000" in label else 51
        timings[label] = measure(jax.jit(jax.value_and_grad(of_logits)), logits, key, repeats=repeats)
    fast = timings["Fast DEC-DFL (entropy)"].median
    size = f"{name}: {num_arms} arms × {num_states} states"
    return [
        Row(label, size, timing, f"{timing.median / fast:,.2f} × Fast DEC-DFL") for label, timing in timings.items()
    ]


def main() -> None:
    rows = [row for name, shape in SHAPES.items() for row in shape_rows(name, *shape)]
    report("losses", rows, COMMAND)


if __name__ == "__main__":
    main()
