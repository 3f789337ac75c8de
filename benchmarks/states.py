"""Fast DEC-DFL by the number of states: where all 2^S policies end, and what fewer of them cost and keep.

``python -m benchmarks.states`` measures time and memory, ``--quality`` what is learned (an hour; it goes on where it
was stopped). Each size is measured in a process of its own, so that its peak memory is its own.
"""

import argparse
import itertools
import json
import statistics
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import armwise as aw
from armwise.experiments.scoring import score
from armwise.losses.dec_dfl import POLICY_SETS
from benchmarks import page
from benchmarks.harness import Row, Timing, machine, measure, report

COMMAND = "python -m benchmarks.states"
NUM_ARMS, BUDGET, TEMPERATURE = 100, 10, 0.1
STATES = {
    "near-index": (2, 5, 10, 12, 20),
    "all": (2, 5, 8, 10, 12, 14, 16),
    "index": (10,),
    "threshold": (2, 5, 10, 12),
}
# More would be slower than a person waits for a step, or fill the memory.
LONGEST_STEP = 5.0
QUALITY_STATES, NUM_DOMAINS, NUM_EPOCHS, LEARNING_RATES = (3, 5, 8, 10), 5, 50, (1e-2, 1e-3)
NUM_TRAJECTORIES = 200


def one_size(policies: str, num_states: int) -> dict[str, Any]:
    """The loss and its gradient on one cohort: time, and the most memory that the process took beyond its start."""
    rng = np.random.default_rng(0)
    shape = (NUM_ARMS, num_states, 2)
    true, predicted = (rng.dirichlet(np.ones(num_states), shape).astype(np.float32) for _ in range(2))
    loss = aw.DecDFL(aw.EntropyMixture(TEMPERATURE), policies=policies)
    jax.block_until_ready(jnp.ones(1) + 1)
    before = _peak_kilobytes()
    prepared = loss.prepare(true, aw.Problem(num_states=num_states), BUDGET)

    def of_logits(logits: jax.Array, prepared: Any) -> jax.Array:
        return loss(jax.nn.softmax(logits, axis=-1), prepared)

    timing = measure(jax.jit(jax.value_and_grad(of_logits)), jnp.log(predicted), prepared, repeats=21)
    kilobytes = _peak_kilobytes() - before
    return {"timing": asdict(timing), "policies": prepared.rewards.shape[0], "kilobytes": kilobytes}


def _peak_kilobytes() -> int:
    """Not by getrusage: on Linux a child's peak begins at its parent's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def in_a_process(policies: str, num_states: int) -> dict[str, Any] | None:
    """The same, measured apart; None if it ran out of memory or of patience."""
    command = [sys.executable, "-m", "benchmarks.states", "--one", policies, str(num_states)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def times() -> None:
    """Write what is measured after each size, so that a run that is stopped leaves what it has."""
    rows: list[Row] = []
    for policies, sizes in STATES.items():
        for num_states in sizes:
            found = in_a_process(policies, num_states)
            if found is None:
                break
            timing = Timing(**found["timing"])
            figure = f"{found['policies']:,} policies, {found['kilobytes'] / 1e3:,.0f} MB beyond start-up"
            rows.append(Row(f'policies="{policies}"', f"{NUM_ARMS} arms × {num_states} states", timing, figure))
            report("states", rows, COMMAND)
            if timing.median > LONGEST_STEP:
                break


def learned_quality(policies: str, num_states: int, seed: int) -> dict[str, Any]:
    """Both qualities, on test cohorts, of a linear model trained on a synthetic domain of its own seed."""
    domain = aw.synthetic(seed, num_states=num_states, width=200)
    numbers = domain.split_numbers(0)
    runs = aw.train_many(
        jax.random.key(seed),
        domain.cohorts,
        aw.DecDFL(aw.EntropyMixture(TEMPERATURE), policies=policies),
        lambda key: aw.Linear(key, domain.cohorts.features, num_states),
        aw.TrainConfig(num_epochs=NUM_EPOCHS),
        splits=[numbers],
        learning_rates=LEARNING_RATES,
        problem=domain.problem,
        progress=False,
    )
    chosen = int(runs.select("loss").ravel()[0])
    models = jax.tree.map(lambda leaf: leaf[None] if isinstance(leaf, jax.Array) else leaf, runs.model(chosen))
    tests = [np.asarray(numbers.test)]
    scores = score(models, np.zeros(1, int), domain, tests, num_trajectories=NUM_TRAJECTORIES, progress=False)
    joint, decomposed = (
        float(np.mean(each.achieved - each.never) / np.mean(each.perfect - each.never)) for each in scores
    )
    quality = {"joint": joint, "decomposed": decomposed}
    return {"states": num_states, "seed": seed, "policies": policies, "commit": machine()["commit"], **quality}


def quality_rows(found: list[dict[str, Any]]) -> list[list[str]]:
    """Mean qualities, and the paired difference to all policies with its standard error over domains."""
    rows = []
    for num_states in QUALITY_STATES:
        of_set = {
            name: {each["seed"]: each for each in found if each["states"] == num_states and each["policies"] == name}
            for name in POLICY_SETS
        }
        for name, own in of_set.items():
            cells = [str(num_states), f'"{name}"', str(len(own))]
            if own:
                rows.append(cells + [_compared(own, of_set["all"], kind) for kind in ("joint", "decomposed")])
    return rows


def _compared(own: dict[int, Any], reference: dict[int, Any], kind: str) -> str:
    mean = f"{statistics.mean(each[kind] for each in own.values()):.3f}"
    differences = [own[seed][kind] - reference[seed][kind] for seed in own if seed in reference]
    if own is reference or len(differences) < 2:
        return mean
    error = statistics.stdev(differences) / len(differences) ** 0.5
    return f"{mean} ({statistics.mean(differences):+.3f} ± {error:.3f})"


def keep_quality(found: list[dict[str, Any]]) -> None:
    """The page names every commit that a result is from: a run that goes on may be of a later one."""
    columns = ["states", "policies", "domains", "joint quality", "decomposed quality"]
    commits = ", ".join(sorted({each["commit"] for each in found}))
    page.keep("states-quality", f"{COMMAND} --quality", columns, quality_rows(found), found, commit=commits)


def quality() -> None:
    """All qualities that are not there yet; the page is written after each."""
    found = page.raw("states-quality") or []
    done = {(each["states"], each["seed"], each["policies"]) for each in found}
    for seed, num_states, policies in itertools.product(range(NUM_DOMAINS), QUALITY_STATES, POLICY_SETS):
        if (num_states, seed, policies) not in done:
            found.append(learned_quality(policies, num_states, seed))
            print(found[-1], flush=True)
            keep_quality(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quality", action="store_true", help="train and compare instead of timing")
    parser.add_argument("--one", nargs=2, metavar=("POLICIES", "STATES"), help="one size, as JSON")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(one_size(arguments.one[0], int(arguments.one[1]))))
    elif arguments.quality:
        quality()
    else:
        times()


if __name__ == "__main__":
    main()
