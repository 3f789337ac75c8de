"""Where the numbers of a folder of results come from: the protocol, machine and commit behind each column."""

import json
from pathlib import Path
from typing import Any

from reproduction.results import parts_of
from reproduction.runs.domains import DOMAINS
from reproduction.runs.protocol import Protocol, check_loss


def origins(results: Path, models: tuple[str, ...]) -> str:
    """A line per domain and protocol: which losses were run so, on what, from which commit.

    Args:
        results: the folder of all results.
        models: only parts of these.
    """
    known: dict[tuple[str, str], list[str]] = {}
    for part in parts_of(results, "paper").iter_rows(named=True):
        page = json.loads(part["asked"]) | {name: part[name] for name in ("machine", "commit")}
        if page["job"]["model"] in models:
            name = page["job"]["loss"] + ("" if models == ("linear",) else f" ({page['job']['model']})")
            known.setdefault((page["job"]["domain"], _made_by(page)), []).append(name)
    lines = [
        f"{domain}: {', '.join(names)}: {made_by}"
        for (domain, made_by), names in sorted(known.items(), key=lambda item: (_place(item[0][0]), item[0][1]))
    ]
    return "Where each column comes from:\n" + "".join(f"- {line}\n" for line in lines)


def _place(domain: str) -> int:
    """As in the tables; other domains last."""
    return list(DOMAINS).index(domain) if domain in DOMAINS else len(DOMAINS)


def _made_by(page: dict[str, Any]) -> str:
    protocol = page["protocol"]
    grid = [protocol["num_splits"], protocol["num_initialisations"], len(protocol["learning_rates"])]
    names = ["splits", "first weights", "learning rates"]
    if check_loss(page["job"]["loss"]).tunes_temperature:
        grid.append(len(protocol["temperatures"]))
        names.append("temperatures")
    parts = [f"{number} {name if number != 1 else name[:-1]}" for number, name in zip(grid, names, strict=True)]
    looks = protocol.get("validate_every", Protocol().validate_every)
    seldom = "" if looks == 1 else f", validated every {looks}"
    return f"{' × '.join(parts)}, {protocol['num_epochs']} epochs{seldom}, on {page['machine']} from {page['commit']}"
