"""Training on one accelerator: hundreds of runs side by side, and millions of arms in one cohort.

``python -m benchmarks.accelerator`` on a machine with one. The share of the limit compares a step with the time in
which the bytes that it cannot avoid moving would cross the memory bus, at the bandwidth measured in the same run.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp

import armwise as aw
from armwise.models import Linear
from armwise.training import TrainConfig
from armwise.training.engine import advance_many, make_material
from armwise.training.run import Run, first_state
from benchmarks.harness import Row, Timing, machine, measure, report, table
from benchmarks.training import FAST, LOSSES, SHAPES, cohorts, of_one_epoch, prepared_run

COMMAND = "python -m benchmarks.accelerator"
EPOCHS = 20


def bandwidth() -> float:
    """Bytes a second that a copy of a large array reads and writes."""
    array = jnp.zeros(2**29, jnp.float32)
    copy = jax.jit(lambda array: array + 1)
    return 2 * array.nbytes / measure(copy, array, repeats=20).median


def side_by_side(name: str, label: str, num_runs: int) -> Row:
    """An epoch of so many runs at one of the paper's shapes, each with its own weights and learning rate."""
    data, config = cohorts(*SHAPES[name]), TrainConfig(num_epochs=EPOCHS)
    states = data.true_transitions.shape[-1]
    models = eqx.filter_vmap(lambda key: Linear(key, data.features, states))(
        jax.random.split(jax.random.key(0), num_runs)
    )
    frozen = eqx.partition(Linear(jax.random.key(0), data.features, states), eqx.is_inexact_array)[1]
    material = make_material(data, [LOSSES[label][0]], frozen, aw.Problem(num_states=states), config)
    state = jax.vmap(lambda weights: first_state(weights, config))(eqx.filter(models, eqx.is_inexact_array))
    train = jnp.tile(jnp.arange(data.num_cohorts), (num_runs, 1))
    rates = jnp.geomspace(1e-5, 1e-2, num_runs)
    run = Run(jax.random.split(jax.random.key(1), num_runs), rates, jnp.zeros(num_runs, int), train, train[:, :0])
    timing = measure(lambda: advance_many(state, run, material, config, jnp.asarray(EPOCHS)), repeats=5)
    epoch = of_one_epoch(timing, EPOCHS)
    steps = num_runs * data.num_cohorts / epoch.median
    return Row(label, f"{name}: {num_runs} runs side by side", epoch, f"{steps:,.0f} gradient steps a second")


def one_cohort(num_arms: int, label: str, speed: float) -> Row:
    """An epoch, which is one step, over one cohort with 44 features."""
    data = cohorts(1, num_arms, 2, num_arms // 25, 44, 0)
    run, _ = prepared_run(data, LOSSES[label][0], EPOCHS)
    epoch = of_one_epoch(measure(run, repeats=5), EPOCHS)
    # Codes once for the prediction and once for its gradient; what the loss prepared, once each way.
    per_arm = 2 * 44 + 2 * (4 * 8 if label == "MSE" else 2 * 4 * 4)
    share = per_arm * num_arms / speed / epoch.median
    return Row(label, f"one cohort of {num_arms:,} arms, 44 features", epoch, f"{share:.0%} of the bandwidth limit")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="write the results there instead of benchmarks/results")
    parser.add_argument("--runs", type=int, nargs="*", default=(1, 50, 400))
    parser.add_argument("--arms", type=int, nargs="*", default=(3_000_000, 10_000_000))
    given = parser.parse_args()
    speed = bandwidth()
    zero = Timing(2**32 / speed, 2**32 / speed, 2**32 / speed, 0.0)
    rows = [Row("copying memory", "4 GiB read and written in all", zero, f"{speed / 1e9:,.0f} GB a second")]
    for name in SHAPES:
        rows += [side_by_side(name, label, number) for number in given.runs for label in ("MSE", FAST)]
    rows += [one_cohort(number, label, speed) for number in given.arms for label in ("MSE", FAST)]
    if given.out:
        where = machine()
        content = {"machine": where, "command": COMMAND, "rows": [asdict(row) for row in rows]}
        given.out.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
        print(table(rows, where, COMMAND))
    else:
        report("accelerator", rows, COMMAND)


if __name__ == "__main__":
    main()
