"""How long a programme's files take to become arrays, and how much memory.

``python -m benchmarks.programme_files``, or with numbers of people after it.
The files are simulated; each size runs in a process of its own, so that the peak of memory is its own.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from armwise.programme import init_programme, load_programme

SIZES = (30_000, 300_000)
WEEKS, ATTEMPTS = 7, 2


def write(folder: Path, num_people: int) -> Path:
    """A programme with two attempts a week for everyone, in the format of the sample."""
    init_programme(folder)
    rng, rows = np.random.default_rng(0), num_people * WEEKS * ATTEMPTS
    ids = pl.Series("id", np.arange(num_people)).cast(pl.String).str.zfill(8)
    sample = pl.read_csv(folder / "beneficiaries.csv", infer_schema=False)
    sample[rng.integers(0, sample.height, num_people)].with_columns(id=ids).write_csv(folder / "beneficiaries.csv")
    connected = rng.random(rows) < 0.6
    week = np.tile(np.repeat(np.arange(WEEKS), ATTEMPTS), num_people)
    days = np.datetime64("2024-01-08") + 7 * week + rng.integers(0, 7, rows)
    attempts = pl.DataFrame(
        {
            "id": ids.gather(np.repeat(np.arange(num_people), WEEKS * ATTEMPTS)),
            "date": days,
            "connected": np.where(connected, "yes", "no"),
            "seconds": pl.Series(rng.integers(0, 120, rows)).set(pl.Series(~connected), None),
        }
    )
    attempts[rng.permutation(rows)].write_csv(folder / "engagement.csv")
    called = rng.integers(0, num_people, num_people // 10)
    visits = {"id": ids.gather(called), "date": days[called], "status": "delivered"}
    pl.DataFrame(visits).write_csv(folder / "interventions.csv")
    return folder / "programme.toml"


def measure(num_people: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "programme", num_people)
        size = sum(file.stat().st_size for file in path.parent.iterdir()) / 1e6
        subprocess.run(
            [sys.executable, "-m", "benchmarks.programme_files", "--read", str(path), f"{size:.0f}"], check=True
        )


def report(path: str, megabytes: str) -> None:
    start = time.perf_counter()
    quality = load_programme(path).quality
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{quality.num_people:,} people, {quality.num_attempts:,} attempts, {megabytes} MB: "
        f"{seconds:.1f} s, at most {peak:.1f} GB of memory"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        report(*sys.argv[2:])
    else:
        for people in [int(each) for each in sys.argv[1:]] or SIZES:
            measure(people)
