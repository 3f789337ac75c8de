"""What was tried beside the recommended recipe, idea by idea, and what came of it.

An idea is a handful of candidates. On each domain, validation quality chooses among them and their settings, as a
programme would, and what it chose is compared with what the recipe chose, on the same splits.
"""

from collections.abc import Sequence
from pathlib import Path

from reproduction.results import read_rows
from reproduction.runs.protocol import RECIPES
from reproduction.runs.records import RunRow, group_by
from reproduction.studies.choosing.recipe import Comparison, choose_by_quality, compare_runs, recipe_runs, signed


def _with(*parts: str) -> tuple[str, ...]:
    return tuple(name for name in RECIPES if any(part in name for part in parts))


# In plain words, with the candidates that try it.
IDEAS: dict[str, tuple[str, ...]] = {
    "accuracy alone, chosen by calls": ("mse", "nll"),
    "Fast DEC-DFL, chosen by calls": ("fast-entropy",),
    "the L2 mixture, chosen by calls": ("fast-l2",),
    "SIM-DFL, chosen by calls": ("sim-100",),
    "accuracy first, decisions then": _with("-then-"),
    "DEC-DFL and accuracy at once": _with("dec+"),
    "one price, or five": ("price-1", "price-wide"),
    "several budgets at once": ("dec-budgets",),
    "index-like policies only": _with("-threshold"),
    "a temperature that falls": _with("-annealed"),
    "a temperature scaled to the data": _with("-spread"),
    "weight decay": _with("-decay"),
    "calibrated indices": _with("-calibrated"),
}


def compare_ideas(results: Path) -> dict[tuple[str, str], Comparison]:
    """What each idea came to on each domain, against what the recipe chose there."""
    found = {}
    for (domain,), rows in group_by(read_rows(results, "recipe", "runs", RunRow), "domain").items():
        recipe = recipe_runs(rows)
        for idea, names in IDEAS.items():
            own = [run for run in rows if run.loss in names]
            if own and recipe:
                found[idea, domain] = compare_runs(domain, choose_by_quality(own), choose_by_quality(recipe))
    return found


def ideas_table(results: Path) -> str:
    """The difference in joint quality to the recipe, by idea and domain, and a sentence on what it comes to."""
    found = compare_ideas(results)
    domains = sorted({domain for _, domain in found})
    lines = ["| tried | " + " | ".join(domains) + " |", "|---|" + "--:|" * len(domains)]
    for idea in IDEAS:
        cells = [_cell(found.get((idea, domain))) for domain in domains]
        lines.append(f"| {idea} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n\n" + _in_words(found) + "\n"


def _cell(one: Comparison | None) -> str:
    if one is None:
        return "–"
    mark = {"better": "**", "worse": "", "no difference shown": ""}[one.verdict]
    word = " (worse)" if one.verdict == "worse" else ""
    return f"{mark}{signed(one.difference)}{mark}{word}"


def _in_words(found: dict[tuple[str, str], Comparison]) -> str:
    better = _places(found, "better")
    untried = [idea for idea in IDEAS if not any(idea == known for known, _ in found)]
    text = (
        f"Better than the recipe, by a 95 % interval without zero: {better}."
        if better
        else ("None of them is better than the recipe anywhere by a 95 % interval without zero.")
    )
    text += f" Of these {len(found)} comparisons, {0.025 * len(found):.1f} would look so by luck alone."
    return text + (f" Not run yet: {'; '.join(untried)}." if untried else "")


def _places(found: dict[tuple[str, str], Comparison], verdict: str) -> str:
    places: dict[str, list[str]] = {}
    for (idea, domain), one in found.items():
        if one.verdict == verdict:
            places.setdefault(idea, []).append(domain)
    return "; ".join(f"{idea} on {_listed(domains)}" for idea, domains in places.items())


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
