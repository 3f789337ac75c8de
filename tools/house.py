"""The shape of one or several checkouts as a Markdown table, a column each: ``python -m tools.house OLD NEW``.

Lines, modules, long functions and files, names used for two things, results; and how many files each task of
``tools/walks.py`` walks through, run with the checkout's own sources.
"""

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tools import walks as tasks
from tools.walks import PACKAGE, PUBLIC_NAMES, folders_of

# The weekly job's own packages and modules, before and after they were divided by what they do.
WEEKLY = {"planning", "reading", "writing", "programme", "planner", "weekly", "io"}
LONG_FUNCTION, LONG_FILE = 30, 300

Rows = dict[str, object]


class Source(NamedTuple):
    """A file of Python: its path below the checkout, and its text."""

    path: Path
    text: str

    @property
    def num_lines(self) -> int:
        """All lines, those of comments and docstrings too."""
        return len(self.text.splitlines())

    @property
    def is_product(self) -> bool:
        """Whether the file belongs to the product, and not to the paper's laboratory."""
        return self.path.parts[:2] == ("src", PACKAGE) and "experiments" not in self.path.parts


def measure(root: Path, *, walks: bool = True) -> Rows:
    """Everything about a checkout, by name.

    Args:
        root: the checkout's folder.
        walks: whether to run the walks too, which takes a minute.
    """
    sources = [
        Source(path.relative_to(root), path.read_text(encoding="utf-8"))
        for folder in folders_of(root)
        for path in sorted(folder.rglob("*.py"))
    ]
    rows = measure_walks(root) if walks else {}
    product = [source for source in sources if source.is_product]
    laboratory = [source for source in sources if not source.is_product]
    for name, part in (("product", product), ("laboratory", laboratory)):
        rows |= {
            f"lines, {name}": sum(source.num_lines for source in part),
            f"modules, {name}": len(part),
            f"functions over {LONG_FUNCTION} lines, {name}": sum(num_long_functions(source.text) for source in part),
            f"files over {LONG_FILE} lines, {name}": sum(source.num_lines > LONG_FILE for source in part),
        }
    rows["names used for two things, product"] = len(shared_names(product))
    rows["uses of jax.default_backend()"] = sum(source.text.count("jax.default_backend()") for source in sources)
    return rows | measure_results(root) | modules_by_folder(sources)


def num_long_functions(text: str) -> int:
    """Functions and methods of more lines than ``LONG_FUNCTION``; docstrings do not count."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return sum(_length(function) > LONG_FUNCTION for function in functions)


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is not None:
        docstring = function.body[0]
        lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
    return lines


def shared_names(sources: list[Source]) -> list[str]:
    """Public functions and classes whose name is defined in several modules."""
    defined = [
        {
            node.name
            for node in ast.parse(source.text).body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
        }
        for source in sources
    ]
    counts = Counter(name for names in defined for name in names)
    return sorted(name for name, number in counts.items() if number > 1)


def measure_results(root: Path) -> Rows:
    """Files and bytes of ``results/``; in a clone those that git knows."""
    if (root / ".git").exists():
        listed = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "results"], capture_output=True, text=True, check=True
        ).stdout
        paths = [root / name for name in listed.split("\0") if name]
    else:
        paths = [path for path in (root / "results").rglob("*") if path.is_file()]
    return {"files of results/": len(paths), "bytes of results/": sum(path.stat().st_size for path in paths)}


def modules_by_folder(sources: list[Source]) -> Rows:
    """How many modules each folder holds, without those of the folders in it; ``__init__.py`` does not count."""
    folders = Counter(source.path.parent.as_posix() for source in sources if source.path.name != "__init__.py")
    return {f"modules in {folder}/": number for folder, number in sorted(folders.items())}


def measure_walks(root: Path) -> Rows:
    """The number of files that each task walks through, and of public names, each in a process of its own."""
    entered = {name: run_walk(name, root) for name in tasks.WALKS}
    files = Counter({name: len(paths) for name, paths in entered.items()})
    # Below src/armwise, a package or a module.
    weekly = [path for path in entered["a"] if Path(path).parts[2].removesuffix(".py") in WEEKLY]
    return {
        "files of walk a (CSV to call list)": files["a"],
        "files of walk a, the weekly job alone": len(weekly),
        "files of walk b (a training step)": files["b"],
        "files of walk c (a cell of Table 1)": files["c"],
        "public names": run_walk(PUBLIC_NAMES, root),
    }


def run_walk(name: str, root: Path) -> Any:
    """What a walk found with a checkout's own sources."""
    paths = os.pathsep.join([str(root / "src"), str(root)])
    environment = {**os.environ, "PYTHONPATH": paths, "JAX_PLATFORMS": "cpu"}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, tasks.__file__, name, str(root)]
        run = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"Walk {name} of {root} failed:\n{run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def table(columns: Mapping[str, Rows]) -> str:
    """The rows of several checkouts side by side; a dash where one has no such row."""
    names = dict.fromkeys(name for rows in columns.values() for name in rows)
    lines = [("", *columns), ("---", *("--:" for _ in columns))]
    lines += [(name, *(_cell(rows.get(name)) for rows in columns.values())) for name in names]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else "–"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tools.house", description=__doc__.partition("\n\n")[0])
    parser.add_argument("checkouts", nargs="+", type=Path, metavar="CHECKOUT")
    parser.add_argument("--no-walks", action="store_true", help="leave out the walks, which take minutes")
    arguments = parser.parse_args()
    measured = {str(root): measure(root.resolve(), walks=not arguments.no_walks) for root in arguments.checkouts}
    print(table(measured))


if __name__ == "__main__":
    main()
