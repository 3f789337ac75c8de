"""The paper's tables, ours beside its own numbers, as Markdown."""

import math
from collections.abc import Callable, Iterable, Sequence

from reproduction.paper import printed as paper
from reproduction.paper.times import TimeRow
from reproduction.runs.domains import DOMAINS
from reproduction.runs.protocol import LOSSES, MODELS, PAPER_PROTOCOL
from reproduction.runs.summary import Summary

REAL_WORLD = tuple(name for name, entry in DOMAINS.items() if entry.column == "real-world")
SYNTHETIC = ("synthetic-2", "synthetic-5")
NOTHING = "–"


def table_1(summaries: Iterable[Summary], kind: str = "joint") -> str:
    """Table 1, its left half ("joint") or its right half ("decomposed")."""
    cells = {(one.domain, one.loss): one for one in summaries if one.model == "linear" and not one.variant}
    theirs = paper.TABLE_1_JOINT if kind == "joint" else paper.TABLE_1_DECOMPOSED
    header = ["loss", *REAL_WORLD, "paper: real-world"]
    header += [title for name in SYNTHETIC for title in (name, f"paper: {name}")]

    def row(loss: str) -> list[str]:
        real, *synthetic = theirs.get(loss, (None, None, None))
        ours = [cell(cells.get((name, loss)), kind) for name in (*REAL_WORLD, *SYNTHETIC)]
        return _side_by_side(ours, [printed(entry, loss in theirs) for entry in (real, *synthetic)])

    return _by_loss(header, row) + _notes(cells.values())


def table_2(summaries: Iterable[Summary], domains: Sequence[str] = REAL_WORLD) -> str:
    """Table 2: the joint quality of models of three sizes."""
    cells = {(one.domain, one.model, one.loss): one for one in summaries if not one.variant}
    present = [name for name in domains if any(place[0] == name and place[1] != "linear" for place in cells)]
    header = ["loss", *(f"{name}: {model}" for name in present for model in MODELS)]
    header += [f"paper: {model}" for model in paper.MODELS]

    def row(loss: str) -> list[str]:
        ours = [cell(cells.get((name, model, loss)), "joint") for name in present for model in MODELS]
        beside = [printed(entry, loss in paper.TABLE_2) for entry in paper.TABLE_2.get(loss, (None,) * 3)]
        return [*ours, *beside]

    return _by_loss(header, row) + _notes(one for place, one in cells.items() if place[0] in present)


def figure_2a(rows: Iterable[TimeRow]) -> str:
    """The table of Figure 2: seconds per epoch."""
    cells = {(row.domain, row.loss): row for row in rows}
    header = ["loss", *REAL_WORLD, "paper: real-world"]
    header += [title for name in SYNTHETIC for title in (name, f"paper: {name}")]

    def row(loss: str) -> list[str]:
        ours = [seconds(cells.get((name, loss))) for name in (*REAL_WORLD, *SYNTHETIC)]
        beside = [printed(entry, loss in paper.FIGURE_2A) for entry in paper.FIGURE_2A.get(loss, (None,) * 3)]
        return _side_by_side(ours, beside)

    machines = sorted({row.hardware for row in cells.values()})
    return _by_loss(header, row) + (f"\nSeconds per epoch. Measured on {'; '.join(machines)}.\n" if machines else "")


def sensitivity(summaries: Sequence[Summary], names: Sequence[tuple[str, str]], domain: str) -> str:
    """The joint quality of each variant of a synthetic domain beside the paper's.

    Args:
        summaries: of the study.
        names: what each variant changes and its label, in the order of the table.
        domain: "synthetic-2" or "synthetic-5".
    """
    losses = [loss for loss in LOSSES if any(one.loss == loss and one.domain == domain for one in summaries)]
    cells = {(one.variant, one.loss): one for one in summaries if one.domain == domain}
    target = _column(domain)
    lines = [["choice", "value", *(LOSSES[loss].label for loss in losses), "mean distance to the paper"]]
    lines.append(["the paper", "", *(printed(target.get(loss), loss in target) for loss in losses), ""])
    for what, label in names:
        present = [cells.get((label, loss)) for loss in losses]
        if any(present):
            texts = [cell(one, "joint", star=False) for one in present]
            lines.append([what, label.split("=")[-1] or NOTHING, *texts, _distance(present, target)])
        if not label:
            own = [None if one is None else number(one.by_cohort) for one in present]
            lines.append(["normalisation", "each cohort alone", *(text or NOTHING for text in own), NOTHING])
    return _markdown(lines)


def closest(summaries: Sequence[Summary], names: Sequence[tuple[str, str]], domain: str) -> str:
    """Which choice comes closest to the paper's column, by the mean distance over its losses, in words."""
    target = _column(domain)
    gaps = {
        label: _gap([one for one in summaries if (one.domain, one.variant) == (domain, label)], target)
        for _, label in names
    }
    known = {label: gap for label, gap in gaps.items() if gap is not None}
    if not known:
        return ""
    best = min(known, key=lambda label: known[label])
    choice = next(what for what, label in names if label == best)
    value = best.split("=")[-1]
    words = f"{choice} {value}" if value else "the defaults"
    here = f"; the defaults are {number(known[''])} away" if best and "" in known else ""
    return f"Closest to the paper's {domain} column: {words}, {number(known[best])} away on average{here}.\n"


def cell(summary: Summary | None, kind: str, *, star: bool = True) -> str:
    """Mean ± standard error; a star where less was run than the paper's protocol."""
    if summary is None:
        return NOTHING
    mean, error = getattr(summary, kind), getattr(summary, f"{kind}_error")
    text = number(mean) if math.isnan(error) else f"{number(mean)} ± {number(error)}"
    return text + ("\\*" if star and is_reduced(summary) else "")


def is_reduced(summary: Summary) -> bool:
    """Whether fewer splits, initialisations, hyperparameters or epochs were run than in the paper."""
    full = PAPER_PROTOCOL
    temperatures = len(full.temperatures) if LOSSES[summary.loss].tunes_temperature else 1
    wanted = (full.num_splits, full.num_initialisations, len(full.learning_rates), temperatures, full.num_epochs)
    return any(own < whole for own, whole in zip(summary.protocol, wanted, strict=True))


def number(value: float) -> str:
    """Two decimals, and never −0.00."""
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")


def seconds(row: TimeRow | None) -> str:
    """A time in seconds, to three digits."""
    return NOTHING if row is None else f"{row.seconds:.3g}"


def printed(entry: paper.Entry, known: bool) -> str:
    """A number of the paper; its one gap is a timeout, and what it does not have is left empty."""
    if entry is None:
        return "timeout" if known else NOTHING
    return f"{number(entry[0])} ± {number(entry[1])}"


def _column(domain: str) -> dict[str, paper.Entry]:
    """The paper's joint qualities in the column of a domain, by loss."""
    place = paper.COLUMNS.index(domain)
    return {loss: entry[place] for loss, entry in paper.TABLE_1_JOINT.items()}


def _gap(present: Iterable[Summary | None], target: dict[str, paper.Entry]) -> float | None:
    """The mean distance to the paper's numbers, of those that it has."""
    gaps = []
    for one in present:
        entry = None if one is None else target.get(one.loss)
        if one is not None and entry is not None:
            gaps.append(abs(one.joint - entry[0]))
    return sum(gaps) / len(gaps) if gaps else None


def _distance(present: Sequence[Summary | None], target: dict[str, paper.Entry]) -> str:
    gap = _gap(present, target)
    return NOTHING if gap is None else number(gap)


def _side_by_side(ours: list[str], theirs: list[str]) -> list[str]:
    """Our real-world domains, the paper's; then each synthetic domain, ours and the paper's."""
    real, synthetic = ours[: len(REAL_WORLD)], ours[len(REAL_WORLD) :]
    return [*real, theirs[0], *(text for pair in zip(synthetic, theirs[1:], strict=True) for text in pair)]


def _by_loss(header: list[str], row: Callable[[str], list[str]]) -> str:
    """A line per loss that has any number, in the paper's order."""
    lines = [[LOSSES[loss].label, *row(loss)] for loss in LOSSES]
    return _markdown([header, *(line for line in lines if set(line[1:]) != {NOTHING})])


def _markdown(lines: list[list[str]]) -> str:
    rule = ["---"] + ["--:"] * (len(lines[0]) - 1)
    return "\n".join("| " + " | ".join(line) + " |" for line in [lines[0], rule, *lines[1:]]) + "\n"


def _notes(summaries: Iterable[Summary]) -> str:
    """What was run with less than the paper's protocol, and on what."""
    known = list(summaries)
    lines = reductions(known)
    machines = sorted({one.hardware for one in known})
    if machines:
        lines.append(f"Mean ± standard error over the runs (splits × first weights). Run on {'; '.join(machines)}.")
    return "".join(f"\n{line}\n" for line in lines)


def reductions(summaries: Iterable[Summary]) -> list[str]:
    """What was run with less than the paper's protocol, a footnote for each protocol."""
    reduced: dict[tuple[int, ...], set[str]] = {}
    for one in summaries:
        if is_reduced(one):
            reduced.setdefault(one.protocol, set()).add(
                f"{one.loss} on {one.domain}" + ("" if one.model == "linear" else f" ({one.model})")
            )
    return [
        "\\* Less than the paper's protocol: splits × first weights × learning rates × temperatures = "
        f"{' × '.join(map(str, grid))}, {epochs} epochs for {', '.join(sorted(where))}."
        for (*grid, epochs), where in sorted(reduced.items())
    ]
