"""The tables of docs/performance.md: each between two markers, written from results, never by hand."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS, machine, with_section

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
FOLDER = RESULTS / "performance"


def keep(
    name: str, command: str, columns: Sequence[str], rows: Sequence[Sequence[str]], raw: Any, commit: str | None = None
) -> None:
    """Write a table, and the numbers behind it, as JSON, and put it into its section of the page."""
    where = machine() if commit is None else machine() | {"commit": commit}
    content = {"machine": where, "command": command, "columns": columns, "rows": rows, "raw": raw}
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    PAGE.write_text(with_section(PAGE.read_text(), name, section(name)))


def section(name: str) -> str:
    """A table of the page, from its stored results."""
    content = json.loads((FOLDER / f"{name}.json").read_text())
    lines = [content["columns"], ["---"] * len(content["columns"]), *content["rows"]]
    where = ", ".join(f"{key} {value}" for key, value in content["machine"].items())
    text = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    return f"{text}\n\n`{content['command']}`; {where}.\n"


def raw(name: str) -> Any:
    """The numbers behind a table; None if it was never measured."""
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text())["raw"] if path.exists() else None
