"""Choosing among millions of people with 64 posterior draws each: time and peak memory, beside those of the model.

python -m benchmarks.lottery [--people 3000000] [--budget 10000] [--groups 0] [--choice lottery]

Indices are made up: standard normal, each known up to half a standard deviation. They are made a part at a time and not
counted in the time; memory is the process's peak, the imports (about 0.2 GB) and the made-up part included. Processor
time is beside the time by the clock, which other work on the machine makes longer.
"""

import argparse
import time
from collections.abc import Iterator

import numpy as np
import polars as pl

from armwise.planner.rules import CallRules
from armwise.planner.shortlist import Selection
from armwise.programme.settings import CHOICES
from benchmarks.harness import gigabytes, peak_memory

NUM_DRAWS, ROWS_AT_A_TIME, UNSURE = 64, 2**16, 0.5


def people_in_parts(number: int, num_groups: int) -> Iterator[tuple[pl.DataFrame, np.ndarray]]:
    rng = np.random.default_rng(0)
    for first in range(0, number, ROWS_AT_A_TIME):
        rows = np.arange(first, min(first + ROWS_AT_A_TIME, number))
        index = rng.standard_normal(len(rows), np.float32)
        draws = index + np.float32(UNSURE) * rng.standard_normal((NUM_DRAWS, len(rows)), np.float32)
        ids = pl.Series("id", rows).cast(pl.String).str.zfill(9)
        group = pl.Series("group", rows % max(1, num_groups)).cast(pl.String)
        columns = dict.fromkeys(("gain", "gain_low", "gain_high"), index)
        yield pl.DataFrame({"id": ids, "group": group, "index": index, **columns}), draws


def clocks() -> np.ndarray:
    return np.array([time.perf_counter(), time.process_time()])


def main() -> None:
    parser = argparse.ArgumentParser(description="Choose among millions of people.")
    parser.add_argument("--people", type=int, default=3_000_000)
    parser.add_argument("--budget", type=int, default=10_000)
    parser.add_argument("--groups", type=int, default=0)
    parser.add_argument("--choice", choices=CHOICES, default=CHOICES[0])
    options = parser.parse_args()
    caps = {str(group): 2 * options.budget // options.groups for group in range(options.groups)}
    selection, spent = Selection(CallRules(options.budget, caps, choice=options.choice), seed=0, step=0), np.zeros(2)
    for people, draws in people_in_parts(options.people, options.groups):
        start = clocks()
        selection.add(people, draws)
        spent += clocks() - start
    start = clocks()
    selected = selection.finish()
    spent += clocks() - start
    chance = selected.probabilities["list_probability"].to_numpy()
    print(f"{options.people:,} people, {options.budget:,} calls, {options.groups} groups, {options.choice}:")
    print(f"  {spent[0]:.1f} s, processor time {spent[1]:.1f} s, peak {gigabytes(peak_memory())}")
    print(f"  {selected.probabilities.height:,} people on some list, {((chance > 0) & (chance < 1)).sum():,} by lot")


if __name__ == "__main__":
    main()
