"""docs/overview.md's picture: engagement week by week in the made-up programme of ``examples/whom_to_call.py``."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np

import armwise as aw

matplotlib.use("Agg")
import matplotlib.pyplot as plt

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from whom_to_call import CALLS_A_WEEK, NUM_MOTHERS, SEED, made_up_transitions

TARGET = Path(__file__).parents[1] / "docs" / "images" / "engagement.svg"
WEEKS, TRAJECTORIES = 30, 200


def main() -> None:
    transitions, problem = made_up_transitions(np.random.default_rng(SEED)), aw.Problem(initial=[0.4, 0.6])
    indices = aw.whittle_indices(transitions, problem)
    not_engaged_first = jnp.tile(jnp.array([1.0, 0.0]), (NUM_MOTHERS, 1))
    lines = (
        ("25 calls a week, by Whittle index", indices, CALLS_A_WEEK, "#0b6e4f", "-", 0),
        ("25 calls a week, to the disengaged", not_engaged_first, CALLS_A_WEEK, "#c8791d", "--", 4),
        ("no calls", indices, 0, "#6b7280", ":", -6),
    )
    plt.rcParams.update({"font.family": "DejaVu Sans", "svg.hashsalt": "armwise"})
    figure, axes = plt.subplots(figsize=(7.2, 3.2), layout="constrained")
    for label, priorities, budget, colour, style, lift in lines:
        trace = aw.simulate_trace(
            jax.random.key(SEED), transitions, priorities, problem, budget, TRAJECTORIES, WEEKS + 1
        )
        share = 100 * np.asarray(trace.states).mean(axis=(0, 2))
        axes.plot(share, color=colour, linestyle=style, linewidth=2)
        axes.annotate(
            label, (WEEKS, share[-1]), (6, lift), "data", "offset points", color=colour, va="center", fontsize=9
        )
    axes.set(xlim=(0, WEEKS), ylim=(0, 65), xlabel="week", ylabel="mothers engaged, %")
    axes.spines[["top", "right"]].set_visible(False)
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(TARGET, metadata={"Date": None})


if __name__ == "__main__":
    main()
