"""Printed examples show what a user's own session prints: float32, JAX's defaults, none of the tests' settings."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLE = ROOT / "examples" / "whom_to_call.py"
WITH_EXAMPLES = [page for page in PAGES if ">>>" in page.read_text(encoding="utf-8")]

RUN_PAGE = """
import doctest, sys
flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
result = doctest.testfile(sys.argv[1], module_relative=False, optionflags=flags, encoding="utf-8")
print(f"{result.attempted} examples")
sys.exit(result.failed > 0 or result.attempted == 0)
"""

RUN_DOCSTRINGS = """
import doctest, importlib, pkgutil, sys, armwise
flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
names = [each.name for each in pkgutil.walk_packages(armwise.__path__, "armwise.") if "__main__" not in each.name]
results = [doctest.testmod(importlib.import_module(name), optionflags=flags) for name in names]
sys.exit(any(result.failed for result in results) or not any(result.attempted for result in results))
"""


def run(code, folder, *arguments):
    """Run code as a user would: away from the checkout, without JAX's settings of this session."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_there_are_pages_with_examples():
    assert {page.name for page in WITH_EXAMPLES} >= {"README.md", "planning.md", "data-format.md"}


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.name)
def test_a_page_prints_what_a_plain_session_prints(page, tmp_path):
    result = run(RUN_PAGE, tmp_path, page)
    assert result.returncode == 0, result.stdout + result.stderr


def test_docstrings_print_what_a_plain_session_prints(tmp_path):
    result = run(RUN_DOCSTRINGS, tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_example_without_data_runs_in_a_plain_session(tmp_path):
    result = run("import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')", tmp_path, EXAMPLE)
    assert result.returncode == 0, result.stderr
    assert "calls by Whittle index" in result.stdout
