"""What the paper says of its results, asked of ours: one line per claim and domain, with the numbers it rests on."""

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from armwise.experiments.domains import DOMAINS
from armwise.experiments.protocol import LOSSES
from armwise.experiments.results import RunRow, group_by
from armwise.experiments.summary import paired_difference, select
from armwise.experiments.tables import number
from armwise.experiments.times import TimeRow

OURS = ("fast-entropy", "fast-l2")
TWO_STAGE = ("nll", "mse")
SIMULATED = ("sim-1", "sim-10", "sim-100", "sim-1000")
# Differences are called so beyond two standard errors of the splits.
WIDTH = 2.0

Chosen = dict[str, list[RunRow]]


class Verdict(NamedTuple):
    """Whether a claim holds on a domain, and by what."""

    claim: str
    domain: str
    evidence: str
    holds: str  # "yes", "no" or "undecided"


def verdicts(rows: Iterable[RunRow], times: Iterable[TimeRow] = ()) -> list[Verdict]:
    """Every claim that the results at hand can decide."""
    known = [row for row in rows if not row.variant]
    found: list[Verdict] = []
    for (domain,), own in group_by([row for row in known if row.model == "linear"], "domain").items():
        chosen = {loss: select(runs) for (loss,), runs in group_by(own, "loss").items()}
        found += _quality_claims(domain, chosen)
    for (domain, loss), own in group_by(known, "domain", "loss").items():
        found += _capacity_claims(domain, loss, own)
    return found + _speed_claims(list(times))


def as_markdown(verdicts: Sequence[Verdict]) -> str:
    """The claims as a table, sorted by claim."""
    lines = ["| the paper says | domain | here | holds |", "|---|---|---|---|"]
    order = {claim: place for place, claim in enumerate(dict.fromkeys(one.claim for one in verdicts))}
    lines += [
        f"| {one.claim} | {one.domain} | {one.evidence} | {one.holds} |"
        for one in sorted(verdicts, key=lambda one: order[one.claim])
    ]
    return "\n".join(lines) + "\n"


def _quality_claims(domain: str, chosen: Chosen) -> list[Verdict]:
    found = []
    is_real = DOMAINS[domain].column == "real-world" if domain in DOMAINS else False
    ours = _best(chosen, OURS)
    for title, others in (("two-stage", TWO_STAGE), ("SIM-DFL", SIMULATED)):
        theirs = _best(chosen, others)
        if ours and theirs and (is_real or title == "SIM-DFL"):
            claim = f"DEC-DFL does better than {title}"
            found.append(Verdict(claim, domain, *_compare(ours, theirs, chosen)))
    if ours and "mse" in chosen and not is_real:
        mean, error = paired_difference(chosen[ours], chosen["mse"])
        small = abs(mean) <= 0.05
        evidence = f"{LOSSES[ours].label} − MSE = {number(mean)} ± {number(error)}"
        claim = "On synthetic data DEC-DFL is at most slightly better than MSE (within 0.05)"
        found.append(Verdict(claim, domain, evidence, "yes" if small else "no"))
    return found + _mirror_claim(domain, chosen)


def _mirror_claim(domain: str, chosen: Chosen) -> list[Verdict]:
    """Whether both qualities put the losses in the same order, of those that were run on more than one split."""
    chosen = {loss: runs for loss, runs in chosen.items() if len({run.split for run in runs}) > 1}
    if len(chosen) < 3:
        return []
    means = np.array(
        [[np.mean([getattr(run, name) for run in runs]) for runs in chosen.values()] for name in _QUALITIES]
    )
    ranks = means.argsort(axis=1).argsort(axis=1)
    correlation = float(np.asarray(np.corrcoef(ranks))[0, 1])
    swaps = sum(
        (means[0][one] - means[0][other]) * (means[1][one] - means[1][other]) < 0
        for one, other in itertools.combinations(range(len(chosen)), 2)
    )
    evidence = f"rank correlation {number(correlation)} over {len(chosen)} losses, {swaps} pairs the other way round"
    holds = "yes" if correlation >= 0.8 else "no"
    return [Verdict("Decomposed quality puts the losses in the order of joint quality", domain, evidence, holds)]


_QUALITIES = ("joint_quality", "decomposed_quality")


def _capacity_claims(domain: str, loss: str, rows: Sequence[RunRow]) -> list[Verdict]:
    models = {model: select(runs) for (model,), runs in group_by(rows, "model").items()}
    if "linear" not in models or len(models) < 2 or loss not in (*OURS, "mse", "sim-1"):
        return []
    larger = max((name for name in models if name != "linear"), key=lambda name: _mean(models[name]))
    mean, error = paired_difference(models[larger], models["linear"])
    evidence = f"{LOSSES[loss].label}: {larger} − linear = {number(mean)} ± {number(error)}"
    if loss in OURS:
        claim, right = "Capacity does not change DEC-DFL", abs(mean) <= max(0.05, WIDTH * error)
    else:
        claim, right = "Capacity helps MSE and SIM-DFL (1 trajectory)", mean > WIDTH * error
    return [Verdict(claim, domain, evidence, "yes" if right else "no")]


def _speed_claims(times: Sequence[TimeRow]) -> list[Verdict]:
    found = []
    for (domain,), rows in group_by(times, "domain").items():
        by_loss = {row.loss: row.seconds for row in rows}
        if {"fast-entropy", "sim-1000"} <= by_loss.keys():
            ratio = by_loss["sim-1000"] / by_loss["fast-entropy"]
            evidence = f"{ratio:,.0f} × as fast (our SIM-DFL is itself compiled)"
            claim = "An epoch of Fast DEC-DFL is about 500 × as fast as of SIM-DFL (1,000)"
            found.append(Verdict(claim, domain, evidence, "yes" if ratio >= 400 else "no"))
    return found


def _best(chosen: Chosen, names: Sequence[str]) -> str | None:
    present = [name for name in names if name in chosen]
    return max(present, key=lambda name: _mean(chosen[name])) if present else None


def _mean(runs: Sequence[RunRow]) -> float:
    return float(np.mean([run.joint_quality for run in runs]))


def _compare(ours: str, theirs: str, chosen: Chosen) -> tuple[str, str]:
    mean, error = paired_difference(chosen[ours], chosen[theirs])
    evidence = f"{LOSSES[ours].label} − {LOSSES[theirs].label} = {number(mean)} ± {number(error)}"
    if np.isnan(error) or abs(mean) <= WIDTH * error:
        return evidence, "undecided"
    return evidence, "yes" if mean > 0 else "no"
