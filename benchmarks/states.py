"""What Fast DEC-DFL learns by the number of states and the policies that it mixes; ``growth`` has time and memory.

``python -m benchmarks.states`` takes an hour, and goes on where it was stopped.
"""

import argparse
import itertools
import statistics
from typing import Any

import jax
import numpy as np

import armwise as aw
from armwise.losses.policy_sets import POLICY_SETS
from benchmarks import stored
from benchmarks.harness import machine
from reproduction.runs.scoring import score

COMMAND = "python -m benchmarks.states"
NUM_ARMS, BUDGET, TEMPERATURE = 100, 10, 0.1
QUALITY_STATES, NUM_DOMAINS, NUM_EPOCHS, LEARNING_RATES = (3, 5, 8, 10), 5, 50, (1e-2, 1e-3)
NUM_TRAJECTORIES = 200


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
    stored.keep("states-quality", COMMAND, columns, quality_rows(found), found, commit=commits)


def quality() -> None:
    """All qualities that are not there yet; kept after each."""
    found = stored.raw("states-quality") or []
    done = {(each["states"], each["seed"], each["policies"]) for each in found}
    for seed, num_states, policies in itertools.product(range(NUM_DOMAINS), QUALITY_STATES, POLICY_SETS):
        if (num_states, seed, policies) not in done:
            found.append(learned_quality(policies, num_states, seed))
            print(found[-1], flush=True)
            keep_quality(found)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    quality()


if __name__ == "__main__":
    main()
