"""Tables that are not of times: stored with the numbers behind them, shown on docs/performance.md by ``pages``."""

import json
from collections.abc import Sequence
from typing import Any

from benchmarks.harness import RESULTS, line, machine

FOLDER = RESULTS / "performance"


def keep(
    name: str, command: str, columns: Sequence[str], rows: Sequence[Sequence[str]], raw: Any, commit: str | None = None
) -> None:
    """Write a table, and the numbers behind it, as JSON."""
    where = machine() if commit is None else machine() | {"commit": commit}
    content = {"machine": where, "command": command, "columns": columns, "rows": rows, "raw": raw}
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def section(name: str) -> str:
    """A table of the page, from its stored results."""
    path = FOLDER / f"{name}.json"
    if not path.exists():
        return "Not measured yet.\n"
    content = json.loads(path.read_text())
    columns = content["columns"]
    lines = [line(tuple(columns)), "|" + "---|" * len(columns), *(line(tuple(cells)) for cells in content["rows"])]
    where = ", ".join(f"{key} {value}" for key, value in content["machine"].items())
    return "\n".join(lines) + f"\n\n`{content['command']}`; {where}.\n"


def raw(name: str) -> Any:
    """The numbers behind a table; None if it was never measured."""
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text())["raw"] if path.exists() else None
