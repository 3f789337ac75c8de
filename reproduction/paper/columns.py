"""How long Table 1's Fast DEC-DFL columns take: every run of the paper's protocol, trained and selected, on the clock.

10 splits × 5 first weights × 4 learning rates × 2 temperatures are 400 runs of 100 epochs for each domain. The paper's
own time is reckoned from its seconds per epoch; it says of no run side by side.
"""

import dataclasses
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import jax.monitoring

from armwise.data import Domain
from armwise.training import train_many
from reproduction.paper import printed as paper
from reproduction.parts import write_part
from reproduction.provenance import provenance
from reproduction.runs.domains import DOMAINS
from reproduction.runs.protocol import LOSSES, Protocol, model_maker

LOSS = "fast-entropy"
COLUMNS = ("mmitra_like", "synthetic-2", "synthetic-5")


@dataclasses.dataclass(frozen=True)
class ColumnTime:
    """The time of all runs of one domain, from data in memory to the selected runs."""

    domain: str
    num_runs: int
    num_epochs: int
    compile_seconds: float
    run_seconds: float


def time_columns(
    domains: Mapping[str, Domain], protocol: Protocol, results: Path, *, progress: bool | None = None
) -> list[ColumnTime]:
    """Train and select every run of Fast DEC-DFL on each domain, and write how long that took.

    Args:
        domains: by name.
        protocol: which runs.
        results: the folder of all results; the times are a part of this machine.
        progress: whether to show bars; by default on a terminal.
    """
    start = time.perf_counter()
    rows = [_time_column(name, domain, protocol, progress) for name, domain in domains.items()]
    page = provenance(time.perf_counter() - start) | {"asked": {}}
    write_part(results, "columns", page["machine"].replace("/", "-"), page, {"columns": rows})
    return rows


def _time_column(name: str, domain: Domain, protocol: Protocol, progress: bool | None) -> ColumnTime:
    start = time.perf_counter()
    with _compilation() as compiled:
        trained = train_many(
            jax.random.key(protocol.seed),
            domain.cohorts,
            protocol.losses(LOSSES[LOSS])[0],
            model_maker("linear", domain),
            protocol.config(),
            splits=[domain.split_numbers(seed) for seed in range(protocol.num_splits)],
            num_initialisations=protocol.num_initialisations,
            learning_rates=protocol.learning_rates,
            problem=domain.problem,
            progress=progress,
        )
        trained.select()
    seconds, compiling = time.perf_counter() - start, sum(compiled)
    sizes = (len(trained.best_epoch), protocol.num_epochs)
    return ColumnTime(name, *sizes, round(compiling, 2), round(seconds - compiling, 2))


@contextmanager
def _compilation() -> Iterator[list[float]]:
    """The seconds that JAX spends on tracing and compiling, one number for each program."""
    spent: list[float] = []

    def listen(event: str, duration_secs: float, **kwargs: str | int) -> None:
        del kwargs
        if event.startswith("/jax/core/compile/"):
            spent.append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield spent
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


def columns_table(results: Path) -> str:
    """Every machine's times as Markdown, under the paper's."""
    from reproduction.results import parts_of  # here: times are also taken on machines without Polars

    pages = parts_of(results, "columns").iter_rows(named=True)
    header = ["machine", *COLUMNS, "together", "of which compiling"]
    lines = [header, ["---"] + ["--:"] * (len(header) - 1), _paper_line()]
    lines += [_line(page) for page in pages]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _paper_line() -> list[str]:
    times = [paper.FIGURE_2A[LOSS][paper.COLUMNS.index(DOMAINS[name].column)] for name in COLUMNS]
    seconds = [0.0 if entry is None else 400 * 100 * entry[0] for entry in times]
    return ["the paper's epochs, 400 × 100 of them", *map(duration, seconds), duration(sum(seconds)), "–"]


def _line(page: dict[str, Any]) -> list[str]:
    rows = {row["domain"]: ColumnTime(**row) for row in page["columns"]}
    totals = {name: row.compile_seconds + row.run_seconds for name, row in rows.items()}
    cells = [duration(totals[name]) if name in totals else "–" for name in COLUMNS]
    runs = sorted({f"{row.num_runs} runs × {row.num_epochs} epochs" for row in rows.values()})
    compiling = sum(row.compile_seconds for row in rows.values())
    return [f"{page['machine']} ({', '.join(runs)})", *cells, duration(sum(totals.values())), duration(compiling)]


def duration(seconds: float) -> str:
    """In the unit that suits it."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
