"""The laboratory is no part of the package: nothing in it is imported from there, and the wheel leaves it out."""

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_the_package_imports_nothing_from_the_laboratory():
    names = {name.split(".")[0] for path in (ROOT / "src").rglob("*.py") for name in imported(path)}
    assert "armwise" in names
    assert not names & {"reproduction", "benchmarks", "tests"}


def test_the_wheel_holds_the_package_alone():
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"] == {"packages": ["src/armwise"]}
    assert not (ROOT / "src" / "armwise" / "experiments").exists()
