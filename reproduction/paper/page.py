"""``docs/reproduction.md``: its tables, claims and pictures, written from the results between markers."""

import math
import os
from collections.abc import Callable
from pathlib import Path

import polars as pl

from reproduction.paper import claims, tables
from reproduction.paper.columns import columns_table
from reproduction.paper.reproduce import FIGURES, run_rows, summaries, times
from reproduction.paper.sensitivity import DOMAINS, variants
from reproduction.results import made_by, read_rows
from reproduction.runs.records import RunRow, group_by
from reproduction.runs.summary import summarise
from reproduction.studies.choosing import ideas, judged, recipe

NOT_RUN = "Not run yet.\n"


def write_report(page: Path, results: Path) -> None:
    """Bring the page up to date with the results."""
    page.write_text(with_results(page.read_text(encoding="utf-8"), page, results), encoding="utf-8")


def with_results(document: str, page: Path, results: Path) -> str:
    """The document with every section between ``<!-- name -->`` and ``<!-- /name -->`` written anew.

    Args:
        document: the page's text.
        page: where it lies, for links to pictures.
        results: a folder of results.
    """
    texts = {name: section(results) for name, section in SECTIONS.items() if f"<!-- {name} -->" in document}
    texts |= {name: _picture(results / FIGURES / f"{name}.svg", words, page) for name, words in PICTURES.items()}
    for name, text in texts.items():
        start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        if start in document:
            before, rest = document.split(start, 1)
            document = before + start + text + end + rest.split(end, 1)[1]
    return document


def _table_1(results: Path) -> str:
    known = summaries(results)
    if not known:
        return NOT_RUN
    return f"Joint:\n\n{tables.table_1(known)}\nDecomposed:\n\n{tables.table_1(known, 'decomposed')}"


def _chosen(results: Path) -> str:
    """The hyperparameters that validation chose, and both standard errors."""
    known = [one for one in summaries(results) if one.model == "linear"]
    if not known:
        return NOT_RUN
    lines = ["| domain | loss | learning rate | temperature | joint | over runs | over splits |"]
    lines.append("|---|---|--:|--:|--:|--:|--:|")
    for one in known:
        temperature = tables.NOTHING if one.temperature is None else f"{one.temperature:g}"
        values = (one.joint, one.joint_error, one.joint_error_of_splits)
        numbers = " | ".join(tables.NOTHING if math.isnan(value) else f"{value:.3f}" for value in values)
        lines.append(f"| {one.domain} | {one.loss} | {one.learning_rate:g} | {temperature} | {numbers} |")
    return "\n".join(lines) + "\n"


def _table_2(results: Path) -> str:
    known = [one for one in summaries(results) if one.model != "linear"]
    return tables.table_2(summaries(results)) if known else NOT_RUN


def _figure_2a(results: Path) -> str:
    known = times(results)
    return tables.figure_2a(known) if known else NOT_RUN


def _claims(results: Path) -> str:
    found = claims.verdicts(run_rows(results), times(results))
    return claims.as_markdown(found) if found else NOT_RUN


def _sensitivity(results: Path) -> str:
    rows = read_rows(results, "sensitivity", "runs", RunRow)
    if not rows:
        return NOT_RUN
    text = []
    for (domain,), own in group_by(rows, "domain").items():
        names = [(variant.what, variant.label) for variant in variants(2 if domain == DOMAINS[0] else 5)]
        known = summarise(own)
        text.append(f"{domain}:\n\n{tables.sensitivity(known, names, domain)}\n{tables.closest(known, names, domain)}")
    first = rows[0]
    grid = f"{first.num_splits} splits × {first.num_initialisations} first weights"
    runs = f"{grid}, {first.num_trajectories:,} trajectories"
    machines = sorted({row.hardware for row in rows})
    return "\n".join(text) + f"\nJoint test quality; {runs}. Run on {'; '.join(machines)}.\n"


def _picture(path: Path, words: str, page: Path) -> str:
    return f"![{words}]({os.path.relpath(path, page.parent)})\n" if path.exists() else NOT_RUN


def _provenance(results: Path) -> str:
    """Each machine and commit that results come from, with the time spent there."""
    known = made_by(results)
    if known.is_empty():
        return NOT_RUN
    spent = known.group_by("machine", "commit", "date").agg(pl.len().alias("parts"), pl.col("wall_seconds").sum())
    lines = ["| machine | commit | date | parts | wall time |", "|---|---|---|--:|--:|"]
    lines += [
        f"| {machine} | {commit} | {date} | {parts} | {seconds / 60:.1f} min |"
        for machine, commit, date, parts, seconds in spent.sort("machine", "commit", "date").iter_rows()
    ]
    return "\n".join(lines) + "\n"


SECTIONS: dict[str, Callable[[Path], str]] = {
    "table1": _table_1,
    "chosen": _chosen,
    "table2": _table_2,
    "figure2a": _figure_2a,
    "columns": columns_table,
    "claims": _claims,
    "sensitivity": _sensitivity,
    "provenance": _provenance,
    "recipe": recipe.comparison_table,
    "unaveraged": recipe.verdict,
    "recommended": judged.recommended_table,
    "verdict": judged.verdict,
    "calls": recipe.calls_table,
    "ideas": ideas.ideas_table,
    "candidates": recipe.candidates_table,
}
PICTURES: dict[str, str] = {
    "figure2b": "Validation quality by epoch, one panel per domain, one line per loss",
    "figure3": "Predicted against true Whittle indices, one panel per loss, top-B region shaded",
}
