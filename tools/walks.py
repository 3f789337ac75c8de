"""The files that a reader meets who follows a task from function to function; measured, not guessed.

The task runs with a checkout's own sources, and a file counts if one of its functions was entered, in any thread.
Everything is imported before, so that code of modules and classes does not count, nor a function that runs at import.
Run as a file, with the name of a task and a checkout whose sources Python finds first; ``tools/house.py`` does.
"""

import importlib
import inspect
import json
import os
import pkgutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

PACKAGE, LABORATORY = "armwise", "reproduction"
PUBLIC_NAMES = "public names"
# Where the paper's jobs were, and where they are.
JOBS = ("armwise.experiments", "reproduction.runs")
JOB_MODULES = ("jobs", "rows", "protocol")


def folders_of(root: Path) -> tuple[Path, Path]:
    """Where a checkout's own code is: the package's, and the laboratory's beside it."""
    return root / "src" / PACKAGE, root / LABORATORY


def entered_files(task: Callable[[], object], root: Path) -> list[str]:
    """The files of a checkout's own code in which a function was entered while a task ran, in any thread."""
    codes = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        # Bodies of modules and classes are run too, but not optimised as a function is.
        if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            codes.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        task()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    files = {Path(code.co_filename) for code in codes}
    own = [path for path in files if any(path.is_relative_to(folder) for folder in folders_of(root))]
    return sorted(path.relative_to(root).as_posix() for path in own)


def import_everything() -> None:
    """Every module of the package and of the laboratory, but those that are commands or lack an extra."""
    for package in (PACKAGE, LABORATORY):
        with suppress(ImportError):
            found = importlib.import_module(package)
            for module in pkgutil.walk_packages(found.__path__, f"{package}."):
                if not module.name.endswith("__main__"):
                    with suppress(ImportError):
                        importlib.import_module(module.name)


def prepare_call_list() -> Callable[[], object]:
    """Walk a: ``armwise check`` and ``armwise plan`` on the sample; it is fitted before, in processes of their own."""
    from armwise.cli import app

    def plan() -> None:
        for command in ("check", "plan"):
            if code := app([command], standalone_mode=False):
                raise SystemExit(f"armwise {command} ended with exit code {code}.")

    subprocess.run([sys.executable, "-m", PACKAGE, "init", "sample"], check=True, capture_output=True)
    os.chdir("sample")
    subprocess.run([sys.executable, "-m", PACKAGE, "fit"], check=True, capture_output=True)
    return plan


def prepare_training() -> Callable[[], object]:
    """Walk b: one epoch of ``train`` with DEC-DFL on a tiny domain."""
    import jax

    import armwise as aw

    domain = tiny_domain()
    model = aw.Linear(jax.random.key(0), domain.cohorts.features, domain.problem.num_states)
    settings = {"problem": domain.problem, "config": aw.TrainConfig(num_epochs=1), "progress": False}
    loss = aw.DecDFL(aw.EntropyMixture(1.0))
    return lambda: aw.train(jax.random.key(1), domain.cohorts, loss=loss, model=model, **settings)


def prepare_cell() -> Callable[[], object]:
    """Walk c: one job of Table 1, DEC-DFL on a tiny synthetic domain, with the least protocol."""
    for package in JOBS:
        with suppress(ModuleNotFoundError):
            jobs, rows, protocol = (importlib.import_module(f"{package}.{part}") for part in JOB_MODULES)
    least = protocol.Protocol(1, 1, (1e-2,), (1.0,), num_epochs=1, num_trajectories=2, horizon=3)
    job, domain = rows.Job("synthetic-2", "fast-entropy"), tiny_domain()
    return lambda: jobs.run_job(job, domain, least, Path("runs"), progress=False)


def tiny_domain() -> Any:
    """Eight cohorts of six people; three cohorts to train, two to validate and three to test on."""
    import armwise as aw

    domain = aw.synthetic(num_cohorts=8, num_arms=6, budget=2, width=10, num_layers=3, num_features=3)
    return domain._replace(sizes=(3, 2, 3))


WALKS: Mapping[str, Callable[[], Callable[[], object]]] = {
    "a": prepare_call_list,
    "b": prepare_training,
    "c": prepare_cell,
}


def main(name: str, root: Path) -> None:
    """Print the files of a task, or the number of public names, as JSON."""
    if name == PUBLIC_NAMES:
        found: object = len(importlib.import_module(PACKAGE).__all__)
    else:
        task = WALKS[name]()
        import_everything()
        found = entered_files(task, root)
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
