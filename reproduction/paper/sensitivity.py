"""How much the paper's silences matter: the synthetic domains with one unsaid choice changed at a time."""

import dataclasses
from pathlib import Path
from typing import Any

from armwise.errors import InvalidInputError
from reproduction.runs.domains import make_domain
from reproduction.runs.jobs import run_job
from reproduction.runs.protocol import PAPER_PROTOCOL, QUICK_PROTOCOL, Protocol
from reproduction.runs.rows import Job

DOMAINS = ("synthetic-2", "synthetic-5")
LOSSES = ("nll", "mse", "fast-entropy")
# Fewer runs than Table 1, since there are many variants; the default is run with as many, to be compared with.
STUDY_PROTOCOL = dataclasses.replace(PAPER_PROTOCOL, num_splits=5, num_initialisations=2)
QUICK_STUDY_PROTOCOL = dataclasses.replace(QUICK_PROTOCOL, learning_rates=(1e-2,), temperatures=(1.0,), num_epochs=10)


@dataclasses.dataclass(frozen=True)
class Variant:
    """One choice that the paper leaves open, made differently."""

    what: str  # the choice
    label: str  # what it is here; empty for the defaults
    knobs: dict[str, Any] = dataclasses.field(default_factory=dict)  # of the domain
    changes: dict[str, Any] = dataclasses.field(default_factory=dict)  # of the protocol


def variants(num_states: int) -> list[Variant]:
    """Every variant of a synthetic domain, the defaults first."""
    lowest, highest = ([float(state == kept) for state in range(num_states)] for kept in (0, num_states - 1))
    changed_domain: list[tuple[str, str, list[tuple[str, Any]]]] = [
        ("discount", "discount", [("0.8", 0.8), ("0.95", 0.95), ("0.99", 0.99)]),
        ("first state", "initial", [("lowest", lowest), ("highest", highest)]),
        ("feature dimension", "num_features", [(str(number), number) for number in (4, 8, 32, 64)]),
        ("standardisation", "standardise", [("no", False)]),
        ("noise", "noise", [("0.1", 0.1), ("0.5", 0.5), ("1", 1.0)]),
        ("past calls", "calls_per_step", [("half", 50)]),
        ("trajectory", "num_steps", [("11", 11)]),
    ]
    changed_protocol: list[tuple[str, str, list[int]]] = [
        ("horizon", "horizon", [10, 20]),
        ("epochs", "num_epochs", [10, 50, 200]),
    ]
    as_wang = Variant("all at once", "Wang-et-al", {"discount": 0.99, "noise": 0.1}, {"horizon": 10, "num_epochs": 50})
    return [
        Variant("default", ""),
        *(
            Variant(what, f"{knob}={label}", {knob: value})
            for what, knob, values in changed_domain
            for label, value in values
        ),
        *(
            Variant(what, f"{name}={value}", changes={name: value})
            for what, name, values in changed_protocol
            for value in values
        ),
        as_wang,
    ]


def run_sensitivity(
    name: str,
    protocol: Protocol,
    results: Path,
    *,
    losses: tuple[str, ...] = LOSSES,
    labels: tuple[str, ...] | None = None,
    progress: bool | None = None,
    **knobs: Any,
) -> list[Path]:
    """Run the variants of one synthetic domain; what is in the folder already is not run again.

    Args:
        name: "synthetic-2" or "synthetic-5".
        protocol: how much to run of each.
        results: the folder of all results.
        losses: which losses.
        labels: only these variants; all by default.
        progress: whether to show bars; by default on a terminal.
        knobs: of the domain in every variant, such as a smaller ``num_cohorts``.
    """
    known = variants(2 if name == "synthetic-2" else 5)
    chosen = [variant for variant in known if labels is None or variant.label in labels]
    if name not in DOMAINS or not chosen:
        raise InvalidInputError(
            f"There is no variant {labels} of {name!r}. Domains: {', '.join(DOMAINS)}; variants: "
            f"{', '.join(variant.label or repr('') for variant in known)}."
        )
    parts = []
    for variant in chosen:
        domain = make_domain(name, **(knobs | variant.knobs))
        own = dataclasses.replace(protocol, **variant.changes)
        jobs = [Job(name, loss, variant=variant.label) for loss in losses]
        parts += [run_job(job, domain, own, results, "sensitivity", progress=progress) for job in jobs]
    return parts
