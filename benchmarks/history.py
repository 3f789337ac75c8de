"""The steps that made Fast DEC-DFL fast, each measured again with its own sources, one after the other in one run.

Run with ``make bench``: a temporary worktree of each commit, the same small probe (``history_probe.py``) in each.
docs/performance.md shows the table. ``--full`` goes over them three times. New steps are added to ``STEPS``, with what
was expected of them before.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.harness import Row, Timing, arguments, report, seconds

ROOT = Path(__file__).parents[1]
PROBE = Path(__file__).with_name("history_probe.py")


class Step(NamedTuple):
    """A commit, what it changed, and what that was expected to bring."""

    commit: str  # empty for the sources as they are now
    what: str
    expected: str
    in_turn: bool = True  # whether training asked for kernels in turn by then


STEPS = (
    Step("afa8988", "before", "", False),
    Step(
        "b2f4cd8",
        "sums over many policies by XLA's reductions; the search's ten scalars as one vector; plain sums first, a "
        "careful step last; whole-cohort sums one reduction",
        "340 kernel calls to 150; no recomputation that grows as the square of the policies",
        False,
    ),
    Step("fbdac06", "net returns without cancellation in a third of the operations", "5 µs less", False),
    Step("998bae6", "returns of all policies along the tree of policies", "188 to 60 µs of returns at 5 states", False),
    Step("cf1e1ab", "sums over arms kept apart from sums over policies", "2 µs less for each sum", False),
    Step(
        "f9e2733", "kernels in turn, not side by side (`training/engine.py`)", "on one core a step took 46 µs, not 65"
    ),
    Step(
        "0963a11",
        "what the true spend says, computed once by `prepare`; the search in a branch of its own, handed over once a "
        "single careful step is left",
        "16 kernels of 78; 5 µs less in two; one evaluation of six",
    ),
    Step("43c2d61", "one native kernel (`src/armwise/native`)", "4 µs and 25 µs of a step for the kernel"),
    Step(
        "",
        "now: rows over the arms into and out of the kernel, as the models make them (this probe's predictions are no "
        "rows: XLA transposes them); double precision only where it matters",
        "1 µs less, 8 at five states",
    ),
)


def probe(sources: Path, in_turn: bool) -> dict[str, dict[str, list[float]]]:
    """Step times with these sources, in a process of their own."""
    command = [sys.executable, str(PROBE), *(["in turn"] if in_turn else [])]
    environment = os.environ | {"PYTHONPATH": str(sources)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if not Path(result["sources"]).is_relative_to(sources):
        raise RuntimeError(f"The probe measured {result['sources']}, not {sources}.")
    times: dict[str, dict[str, list[float]]] = result["times"]
    return times


def probe_commit(step: Step) -> dict[str, dict[str, list[float]]]:
    """Step times at a commit."""
    print(f"history: {name(step)}", file=sys.stderr, flush=True)
    if not step.commit:
        return probe(ROOT / "src", step.in_turn)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / step.commit
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), step.commit], check=True)
        try:
            return probe(tree / "src", step.in_turn)
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def all_rows(steps: tuple[Step, ...], rounds: int) -> Iterator[Row]:
    """More than one round goes over all the commits again, so that a busy minute does not meet one of them alone."""
    probes = [(step, probe_commit(step)) for _ in range(rounds) for step in steps]
    for step in steps:
        mine = [times for other, times in probes if other == step]
        for size in mine[0]:
            fast, mse = (Timing.of([one for times in mine for one in times[size][loss]]) for loss in ("fast", "mse"))
            numbers = {"mse": mse.median, "to_mse": fast.median / mse.median}
            figure = f"{numbers['to_mse']:.2f} × MSE, which takes {seconds(mse.median)}"
            yield Row(name(step), size, fast, figure, False, numbers)


def name(step: Step) -> str:
    """How a step is called in the results."""
    return f"{step.commit}: {step.what}" if step.commit else step.what


def main() -> None:
    given = arguments(__doc__, steps={"nargs": "*", "help": "only these commits, by their short names"})
    chosen = tuple(step for step in STEPS if given.steps is None or step.commit in given.steps)
    report("history", all_rows(chosen, rounds=3 if given.full else 1))


if __name__ == "__main__":
    main()
