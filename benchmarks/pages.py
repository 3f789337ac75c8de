"""Puts the results into the README and the docs: every figure there comes from stored results.

``python -m benchmarks.pages`` rewrites what stands between the markers ``<!-- name -->`` and ``<!-- /name -->``, the
Markdown beside the results, and the plot. A test holds the pages to it.
"""

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks import goals, headlines, history, stored
from benchmarks.harness import RESULTS, cells, line, load, origin, paper_cell, rows_of, seconds, table

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "performance.md")
TITLES = {
    "training": "Training epochs, model and Adam included",
    "growth": "Growth, and runs side by side",
    "rmab": "The bandit core",
    "mixtures": "Decision layers, forward and backward",
    "losses": "A gradient step of each loss",
    "chains": "Each person's chain",
    "plan": "A week's plan by features alone, Parquet file to written list",
    "startup": "Start-up",
    "accelerator": "On one accelerator",
}


def figures() -> str:
    """docs/performance.md's table of the headlines of every benchmark, each with its page of all rows."""
    columns = ("what", "size", "median", "range", "paper", "")
    lines = [line(columns), "|" + "---|" * len(columns)]
    for name, title in TITLES.items():
        link = f"**{title}** ([all rows](../benchmarks/results/{name}.md))"
        rows = rows_of(load(name)) if (RESULTS / f"{name}.json").exists() else []
        chosen = [row for row in rows if row.headline]
        if chosen:
            lines.append(line((link, "", "", "", "", "")))
        for row in chosen:
            what, size, median, spread, _ = cells(row)
            paper = "".join(paper_cell(row, [row]))
            lines.append(line((what, size, median, spread, paper, row.figure)))
    return "\n".join(lines) + "\n\n" + origins()


def origins() -> str:
    """Where each benchmark was run, those of one run together."""
    by_place: dict[str, list[str]] = {}
    for name in TITLES:
        if (RESULTS / f"{name}.json").exists():
            by_place.setdefault(origin(load(name)), []).append(name)
    return "\n".join(f"- {', '.join(names)}: {place}" for place, names in by_place.items()) + "\n"


def steps() -> str:
    """docs/performance.md's table of steps, each measured again with its own sources."""
    content = load("history")
    rows = {(row.what, row.size): row for row in rows_of(content)}
    sizes = list(dict.fromkeys(row.size for row in rows_of(content)))
    titles = ("step", "commit", "expected", *(f"{size}: step, × MSE" for size in sizes))
    lines = [line(titles), "|" + "---|" * len(titles)]
    for step in history.STEPS:
        measured = [rows.get((history.name(step), size)) for size in sizes]
        shown = (
            f"{seconds(row.timing.median)}, {row.numbers['to_mse']:.2f} ×" if row and row.timing else "not measured"
            for row in measured
        )
        lines.append(line((step.what, step.commit, step.expected, *shown)))
    return "\n".join([*lines, "", origin(content)]) + "\n"


def tried() -> str:
    """docs/performance.md's record of what was tried and left out, as measured at the time."""
    return records("tried", ("what", "expected", "measured"))


def native() -> str:
    """docs/performance.md's record of the native kernel's making; its epochs are in the training benchmark."""
    return records("native", ("what", "expected", "measured"))


def accelerator() -> str:
    """docs/performance.md's record of the steps on an accelerator; the figures are in the accelerator benchmark."""
    return records("accelerator", ("what", "expected", "measured"))


def profiles() -> str:
    """docs/performance.md's record of profiles."""
    return records("profile", ("what", "measured"))


def records(kind: str, titles: tuple[str, ...]) -> str:
    """Measurements that were made once, each with its commit and date."""
    entries = json.loads((RESULTS / "tried.json").read_text())["entries"]
    lines = [line((*titles, "commit, date")), "|" + "---|" * (len(titles) + 1)]
    lines += [
        line((*(entry[title] for title in titles), f"{entry['commit']}, {entry['date']}"))
        for entry in entries
        if entry["kind"] == kind
    ]
    return "\n".join(lines) + "\n"


SECTIONS: dict[str, Callable[[], str]] = {
    "headlines": headlines.table,
    "goals": goals.table,
    "figures": figures,
    "steps": steps,
    "native": native,
    "accelerator": accelerator,
    "profiles": profiles,
    "tried": tried,
    "states-quality": partial(stored.section, "states-quality"),
    "joint-evaluation": partial(stored.section, "joint-evaluation"),
}


def sections_of(document: str) -> list[str]:
    """The names of the generated sections of a page."""
    return re.findall(r"^<!-- ([\w-]+) -->$", document, flags=re.MULTILINE)


def with_section(document: str, name: str, text: str) -> str:
    """The document with the text between the section's markers."""
    start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    before, rest = document.split(start, 1)
    return before + start + text + end + rest.split(end, 1)[1]


def renewed(document: str) -> str:
    """The document with every section as the results give it."""
    for name in sections_of(document):
        document = with_section(document, name, SECTIONS[name]())
    return document


def main() -> None:
    for path in RESULTS.glob("*.json"):
        content = json.loads(path.read_text())
        if "rows" in content:
            path.with_suffix(".md").write_text(table(content))
    for path in PAGES:
        path.write_text(renewed(path.read_text()))
    from benchmarks import epoch_plot

    epoch_plot.main()


if __name__ == "__main__":
    main()
