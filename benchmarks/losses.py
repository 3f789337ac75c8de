"""A gradient step of every loss, on one cohort at the paper's shapes; run with ``make bench``."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

import armwise as aw
from benchmarks.epochs import FULL_ONLY, LOSSES, MSE
from benchmarks.harness import Row, arguments, measure, report

SHAPES = {"real-world": (76, 2, 3), "5-state synthetic": (100, 5, 10)}  # arms, states, budget


def shape_rows(name: str, num_arms: int, num_states: int, budget: int, full: bool) -> Iterator[Row]:
    rng = np.random.default_rng(0)
    shape = (num_arms, num_states, 2)
    true, predicted = (rng.dirichlet(np.ones(num_states), shape).astype(np.float32) for _ in range(2))
    counts = rng.poisson(3 * true).astype(np.float32)
    problem, logits, key = aw.Problem(num_states=num_states), jnp.log(predicted), jax.random.key(0)
    medians: dict[str, float] = {}
    size = f"{name}: {num_arms} arms × {num_states} states"
    for label, loss in ((label, LOSSES[label]) for label in LOSSES if full or label not in FULL_ONLY):
        prepared = loss.prepare(aw.CohortTruth(true, problem, budget, counts=counts))

        def of_logits(
            logits: jax.Array, key: jax.Array, loss: aw.Loss = loss, prepared: object = prepared
        ) -> jax.Array:
            return loss(jax.nn.softmax(logits, axis=-1), prepared, key)

        repeats = 5 if "1,000" in label else 51
        timing = measure(jax.jit(jax.value_and_grad(of_logits)), logits, key, repeats=repeats)
        medians[label] = timing.median
        yield Row(label, size, timing, f"{timing.median / medians[MSE]:,.2f} × MSE")


def main() -> None:
    full = arguments(__doc__).full
    report("losses", (row for name, shape in SHAPES.items() for row in shape_rows(name, *shape, full)))


if __name__ == "__main__":
    main()
