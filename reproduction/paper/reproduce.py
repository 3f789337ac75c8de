"""One function per table and figure: run what is missing, then draw it from the results."""

import dataclasses
import math
import os
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TypeVar

from armwise.data import Domain
from armwise.errors import InvalidInputError
from reproduction.paper import figures, tables
from reproduction.paper.origins import origins
from reproduction.paper.times import TimeRow, epoch_times
from reproduction.parts import find_part, write_part
from reproduction.provenance import provenance
from reproduction.results import has_parts, read_rows
from reproduction.runs.domains import available_domains, make_domain
from reproduction.runs.jobs import EXTRAS, run_job
from reproduction.runs.protocol import LOSSES, MODELS, PAPER_PROTOCOL, QUICK_PROTOCOL, Protocol
from reproduction.runs.records import HistoryRow, IndexRow, RunRow
from reproduction.runs.rows import Job
from reproduction.runs.summary import Summary, summarise

FIGURES = "figures"
PAPER, CURVES = (
    "paper",
    "curves",
)  # the second: fewer runs, at the chosen hyperparameters, of losses too slow to look at after every epoch of all
DECOMPOSED_TITLE = "Normalised decomposed test quality:\n\n"
FigureRow = TypeVar("FigureRow", HistoryRow, IndexRow)

# What the full protocol would take days for is run with less of it; the rows say so.
REDUCED: dict[str, Protocol] = {
    "sim-1000": dataclasses.replace(
        PAPER_PROTOCOL, num_splits=5, num_initialisations=1, learning_rates=(1e-2, 1e-3), num_epochs=30
    ),
    **{
        name: Protocol(1, 1, (1e-2,), (1.0, 0.1), num_epochs=5)
        for name, family in LOSSES.items()
        if not family.compiled
    },
}
# Five states make cvxpylayers' problem eight times as large; the paper's epoch takes 290 s.
REDUCED_FIVE_STATES: dict[str, Protocol] = {
    name: dataclasses.replace(protocol, temperatures=(1.0,), num_epochs=1)
    for name, protocol in REDUCED.items()
    if name != "sim-1000"
}
QUICK_REDUCED: dict[str, Protocol] = {
    "sim-100": dataclasses.replace(QUICK_PROTOCOL, learning_rates=(1e-2,), num_epochs=2)
}
QUICK_MODELS = ("linear", "2x64")
QUICK_SIZES = (10, 5, 5)  # cohorts to train, validate and test on, at most
# One of each kind: a program takes longer to compile than its few epochs to run.
QUICK_LOSSES = ("nll", "mse", "sim-100", "fast-entropy", "fast-l2")


@dataclasses.dataclass(frozen=True)
class Setup:
    """What to run and where to keep it.

    Attributes:
        folder: where results go.
        domains: how to make each domain.
        protocol: how much to run.
        reduced: another protocol for some losses.
        losses: the rows of the tables.
        models: the columns of Table 2.
        progress: whether to show bars; by default on a terminal.
        say: told of each job as it begins.
        is_quick: whether to measure what figures need only when a figure is asked for.
        only_shows: whether to run nothing and show what the folder has, whatever its protocol.
    """

    folder: Path
    domains: Mapping[str, Callable[[], Domain]]
    protocol: Protocol = PAPER_PROTOCOL
    reduced: Mapping[str, Protocol] = dataclasses.field(default_factory=lambda: REDUCED)
    losses: tuple[str, ...] = tuple(LOSSES)
    models: tuple[str, ...] = tuple(MODELS)
    progress: bool | None = None
    say: Callable[[str], None] = lambda _: None
    is_quick: bool = False
    only_shows: bool = False

    def protocol_for(self, job: Job, domain: Domain, needs: Collection[str] = EXTRAS) -> Protocol:
        """The protocol of a job, with the extras that are needed, where they are cheap."""
        own = self.reduced.get(job.loss, self.protocol)
        if self.reduced is REDUCED and domain.problem.num_states > 2:
            own = REDUCED_FIVE_STATES.get(job.loss, own)
        if domain.problem.num_states > 2 or not LOSSES[job.loss].compiled or job.model != "linear":
            return own
        quality = "joint" if "quality" in needs else None
        return dataclasses.replace(own, quality=quality, keep_indices="keep_indices" in needs)

    def real_world(self) -> list[str]:
        """The domains that stand for the paper's private data."""
        return [name for name in self.domains if name not in tables.SYNTHETIC]


def make_setup(
    folder: str | os.PathLike[str],
    data: str | os.PathLike[str] | None = None,
    *,
    quick: bool = False,
    only_shows: bool = False,
    progress: bool | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Setup:
    """The paper's protocol, or a few minutes of it, on every domain that can be made here.

    Args:
        folder: where results go.
        data: the folder that holds the public data, ``oulad`` and ``ctn0094``; without it these are left out.
        quick: 2 splits, 1 initialisation, 2 learning rates, 10 epochs and at most 10, 5 and 5 cohorts of each domain,
            with one loss of each kind.
        only_shows: run nothing: show what the folder has.
        progress: whether to show bars; by default on a terminal.
        say: told of each job as it begins.
    """
    domains = {name: _maker(name, data, quick) for name in available_domains(data)}
    if not quick:
        return Setup(Path(folder), domains, progress=progress, say=say, only_shows=only_shows)
    return Setup(Path(folder), domains, QUICK_PROTOCOL, QUICK_REDUCED, QUICK_LOSSES, QUICK_MODELS, progress, say, True)


def table1(setup: Setup) -> str:
    """Table 1: run what is missing, and both its halves as Markdown."""
    _run(setup, list(setup.domains), ("linear",), setup.losses)
    known = summaries(setup.folder)
    both = tables.table_1(known) + "\n" + DECOMPOSED_TITLE + tables.table_1(known, "decomposed")
    return both + "\n" + origins(setup.folder, ("linear",))


def table2(setup: Setup) -> str:
    """Table 2: run what is missing, and the table as Markdown. cvxpylayers is left out: it is the fast mixtures'."""
    losses = tuple(loss for loss in setup.losses if LOSSES[loss].compiled and loss != "sim-1000")
    _run(setup, setup.real_world(), setup.models, losses)
    return tables.table_2(summaries(setup.folder)) + "\n" + origins(setup.folder, setup.models)


def figure2a(setup: Setup) -> str:
    """Figure 2a: time an epoch of every loss on every domain, and the table as Markdown."""
    start = time.perf_counter()
    known = times(setup.folder)
    for name, make in {} if setup.only_shows else setup.domains.items():
        missing = [loss for loss in setup.losses if (name, loss) not in {(row.domain, row.loss) for row in known}]
        if missing:
            setup.say(f"timing {name}")
            known += epoch_times(name, make(), missing, progress=setup.progress)
            page = provenance(time.perf_counter() - start) | {"asked": {}}
            write_part(setup.folder, "times", "epochs", page, {"times": known})
    return tables.figure_2a(known)


def figure2b(setup: Setup) -> str:
    """Figure 2b: run what is missing, and draw it."""
    if drawn := _drawn(setup, "figure2b"):
        return drawn
    losses = tuple(loss for loss in setup.losses if LOSSES[loss].compiled)
    _run(setup, setup.real_world(), ("linear",), losses, ("quality",))
    of_runs, alone = (read_rows(setup.folder, study, "validation", HistoryRow) for study in (PAPER, CURVES))
    history = _fill_in([row for row in of_runs if not math.isnan(row.validation_quality)], alone)
    paths = figures.figure_2b(history, summaries(setup.folder), setup.folder / FIGURES, setup.real_world())
    return "\n".join(map(str, paths)) + "\n"


def figure3(setup: Setup) -> str:
    """Figure 3: run what is missing, and draw it for the domain in the shape of the paper's."""
    if drawn := _drawn(setup, "figure3"):
        return drawn
    domain = setup.real_world()[0]
    losses = tuple(loss for loss in setup.losses if loss in figures.PANELS)
    _run(setup, [domain], ("linear",), losses, ("keep_indices",))
    rows = _fill_in(*(read_rows(setup.folder, study, "indices", IndexRow) for study in (PAPER, CURVES)))
    return "\n".join(map(str, figures.figure_3(rows, setup.folder / FIGURES, domain))) + "\n"


ARTEFACTS: dict[str, Callable[[Setup], str]] = {
    "table1": table1,
    "table2": table2,
    "figure2a": figure2a,
    "figure2b": figure2b,
    "figure3": figure3,
}


def reproduce(what: str, setup: Setup) -> str:
    """A table or figure by name, or all of them; Markdown for tables, paths for figures.

    Args:
        what: one of ``ARTEFACTS``, or "all".
        setup: what to run and where to keep it.
    """
    if what not in (*ARTEFACTS, "all"):
        raise InvalidInputError(f"There is no {what!r} to reproduce; there are {', '.join(ARTEFACTS)} and all.")
    chosen = ARTEFACTS if what == "all" else {what: ARTEFACTS[what]}
    return "\n".join(f"{name}\n\n{make(setup)}" for name, make in chosen.items())


def run_rows(folder: Path) -> list[RunRow]:
    """All runs in a folder of results."""
    return read_rows(folder, PAPER, "runs", RunRow)


def summaries(folder: Path) -> list[Summary]:
    """All runs in a folder of results, as the lines of tables."""
    return summarise(run_rows(folder))


def times(folder: Path) -> list[TimeRow]:
    """All times in a folder of results."""
    return read_rows(folder, "times", "times", TimeRow)


def has_results(folder: Path) -> bool:
    """Whether the folder has finished parts, such as those that a clone comes with."""
    return has_parts(folder, PAPER)


def _fill_in(kept: list[FigureRow], alone: list[FigureRow]) -> list[FigureRow]:
    """What the runs kept for a figure; where they kept nothing of a domain and loss, what was run for that alone."""
    known = {(row.domain, row.model, row.loss) for row in kept}
    return kept + [row for row in alone if (row.domain, row.model, row.loss) not in known]


def _drawn(setup: Setup, name: str) -> str:
    """The files of a figure that is there already, where nothing is to be run."""
    paths = [setup.folder / FIGURES / f"{name}.{kind}" for kind in ("svg", "png")]
    return "".join(f"{path}\n" for path in paths) if setup.only_shows and all(path.exists() for path in paths) else ""


def _run(
    setup: Setup, domains: list[str], models: tuple[str, ...], losses: tuple[str, ...], needs: tuple[str, ...] = ()
) -> None:
    """Run the jobs that are missing."""
    if setup.only_shows:
        return
    jobs = [Job(name, loss, model) for name in domains for model in models for loss in losses]
    domains_made: dict[str, Domain] = {}
    for number, job in enumerate(jobs):
        # What is run with less anyway may have been run with another share of it: its rows say with how much.
        if job.loss in setup.reduced and not needs and find_part(setup.folder, PAPER, job.name):
            continue
        if job.domain not in domains_made:
            domains_made = {job.domain: setup.domains[job.domain]()}
        domain = domains_made[job.domain]
        setup.say(f"{number + 1}/{len(jobs)} {job.name}")
        protocol = setup.protocol_for(job, domain, needs if setup.is_quick else EXTRAS)
        run_job(job, domain, protocol, setup.folder, needs=needs, progress=setup.progress)


def _maker(name: str, data: str | os.PathLike[str] | None, quick: bool) -> Callable[[], Domain]:
    def make() -> Domain:
        domain = make_domain(name, data)
        if not quick:
            return domain
        sizes = tuple(min(own, most) for own, most in zip(domain.sizes, QUICK_SIZES, strict=True))
        return domain._replace(sizes=(sizes[0], sizes[1], sizes[2]))

    return make
