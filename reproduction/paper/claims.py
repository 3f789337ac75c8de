"""What the paper says of its results, asked of ours: one line per claim and domain, with the numbers it rests on."""

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from reproduction.paper.tables import is_reduced, number, reductions
from reproduction.paper.times import TimeRow
from reproduction.runs.domains import DOMAINS
from reproduction.runs.protocol import LOSSES
from reproduction.runs.records import RunRow, group_by
from reproduction.runs.selection import choose
from reproduction.runs.summary import Summary, paired_difference, select, summarise

OURS = ("fast-entropy", "fast-l2")
TWO_STAGE = ("nll", "mse")
SIMULATED = ("sim-1", "sim-10", "sim-100", "sim-1000")
# Differences are called so beyond two standard errors of the splits.
WIDTH = 2.0
# A difference below this is slight.
SLIGHT = 0.05

Chosen = dict[str, list[RunRow]]


class Verdict(NamedTuple):
    """Whether a claim holds on a domain, and by what."""

    claim: str
    domain: str
    evidence: str
    holds: str  # "yes", "no" or "undecided"
    runs: tuple[Summary, ...] = ()  # that were compared


def verdicts(rows: Iterable[RunRow], times: Iterable[TimeRow] = ()) -> list[Verdict]:
    """Every claim that the results at hand can decide."""
    known = [row for row in rows if not row.variant]
    found: list[Verdict] = []
    for (domain,), own in group_by([row for row in known if row.model == "linear"], "domain").items():
        chosen = {loss: select(runs) for (loss,), runs in group_by(own, "loss").items()}
        found += _quality_claims(domain, chosen)
    for (_, loss), own in group_by(known, "domain", "loss").items():
        found += _capacity_claims(loss, own)
    return found + _speed_claims(list(times))


def as_markdown(verdicts: Sequence[Verdict]) -> str:
    """The claims as a table, sorted by claim."""
    lines = ["| the paper says | domain | here | holds |", "|---|---|---|---|"]
    order = {claim: place for place, claim in enumerate(dict.fromkeys(one.claim for one in verdicts))}
    lines += [
        f"| {one.claim} | {one.domain} | {one.evidence}{_star(one)} | {one.holds} |"
        for one in sorted(verdicts, key=lambda one: order[one.claim])
    ]
    notes = reductions(run for one in verdicts for run in one.runs)
    return "\n".join(lines) + "\n" + "".join(f"\n{note}\n" for note in notes)


def _star(one: Verdict) -> str:
    return "\\*" if any(is_reduced(run) for run in one.runs) else ""


def _quality_claims(domain: str, chosen: Chosen) -> list[Verdict]:
    found = []
    is_real = DOMAINS[domain].column == "real-world" if domain in DOMAINS else False
    ours = _best(chosen, OURS)
    for title, others in (("two-stage", TWO_STAGE), ("SIM-DFL", SIMULATED)):
        theirs = _best(chosen, others)
        if ours and theirs and (is_real or title == "SIM-DFL"):
            claim = f"DEC-DFL does better than {title}"
            found.append(_better(claim, chosen[ours], chosen[theirs]))
    if ours and "mse" in chosen and not is_real:
        claim = f"On synthetic data DEC-DFL is about as good as MSE (within {SLIGHT})"
        found.append(_alike(claim, chosen[ours], chosen["mse"]))
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
    claim = "Decomposed quality puts the losses in the order of joint quality"
    return [Verdict(claim, domain, evidence, holds, tuple(one for runs in chosen.values() for one in summarise(runs)))]


_QUALITIES = ("joint_quality", "decomposed_quality")


def _capacity_claims(loss: str, rows: Sequence[RunRow]) -> list[Verdict]:
    models = {model: select(runs) for (model,), runs in group_by(rows, "model").items()}
    if "linear" not in models or len(models) < 2 or loss not in (*OURS, "mse", "sim-1"):
        return []
    pairs = [(runs, models["linear"]) for model, runs in models.items() if model != "linear"]
    if loss in OURS:
        return [_alike(f"Capacity does not change DEC-DFL (within {SLIGHT})", *pair) for pair in pairs]
    return [_better("Capacity helps MSE and SIM-DFL (1 trajectory)", *pair) for pair in pairs]


def _speed_claims(times: Sequence[TimeRow]) -> list[Verdict]:
    found = []
    for (domain,), rows in group_by(times, "domain").items():
        by_loss = {row.loss: row.seconds for row in rows}
        if {"fast-entropy", "sim-1000"} <= by_loss.keys():
            ratio = by_loss["sim-1000"] / by_loss["fast-entropy"]
            evidence = f"{ratio:,.0f} × as fast (our SIM-DFL is itself compiled)"
            claim = "An epoch of Fast DEC-DFL is 500 × as fast as of SIM-DFL (1,000), or more"
            found.append(Verdict(claim, domain, evidence, "yes" if ratio >= 500 else "no"))
    return found


def _best(chosen: Chosen, names: Sequence[str]) -> str | None:
    """The loss of the highest test quality, of those that were run."""
    best = choose([run for name in names for run in chosen.get(name, [])], "joint_quality", ["loss"])
    return best[0].loss if best else None


def _better(claim: str, one: Sequence[RunRow], other: Sequence[RunRow]) -> Verdict:
    """Whether the first is better."""
    mean, error = paired_difference(one, other)
    return _verdict(claim, one, other, (mean, error), mean > WIDTH * error, mean < -WIDTH * error)


def _alike(claim: str, one: Sequence[RunRow], other: Sequence[RunRow]) -> Verdict:
    """Whether the difference is slight at most: its interval lies within the bounds, or outside them."""
    mean, error = paired_difference(one, other)
    is_within, is_outside = abs(mean) + WIDTH * error <= SLIGHT, abs(mean) - WIDTH * error > SLIGHT
    return _verdict(claim, one, other, (mean, error), is_within, is_outside)


def _verdict(
    claim: str,
    one: Sequence[RunRow],
    other: Sequence[RunRow],
    difference: tuple[float, float],
    right: bool,
    wrong: bool,
) -> Verdict:
    ours, theirs = (LOSSES[runs[0].loss].label for runs in (one, other))
    what = f"{ours} − {theirs}" if ours != theirs else f"{ours}: {one[0].model} − {other[0].model}"
    evidence = f"{what} = {number(difference[0])} ± {number(difference[1])}"
    holds = "yes" if right else "no" if wrong else "undecided"
    return Verdict(claim, one[0].domain, evidence, holds, (*summarise(one), *summarise(other)))
