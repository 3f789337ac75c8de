"""Imports point one way: each package uses only those above it in the layout of docs/design.md."""

import ast
import os
import re
import subprocess
import sys
import textwrap
from importlib.metadata import version
from pathlib import Path

import pytest

import armwise

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "armwise"
LAYOUT = re.search(r"```layout\n(.*?)```", (ROOT / "docs" / "design.md").read_text(), re.DOTALL)
ORDER = [line.split()[0].strip("/").removesuffix(".py") for line in LAYOUT[1].splitlines()] if LAYOUT else []


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_packages(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add(node.module or "")
    return {name.split(".")[1] for name in names if name.startswith("armwise.")}


def test_the_layout_names_every_package():
    packages = {package_of(path) for path in SOURCE.rglob("*.py")} - {"__init__", "__main__"}
    assert packages <= set(ORDER)


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_package_imports_only_from_itself_and_from_above(path):
    package = package_of(path)
    if package in ("__init__", "__main__"):
        return
    allowed = set(ORDER[: ORDER.index(package) + 1])
    assert imported_packages(path) <= allowed


def test_type_checkers_see_the_public_names():
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    names = [alias.name for node in checked.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(names) == sorted(armwise.__all__)


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'whitle_indices'"):
        _ = armwise.whitle_indices


def test_the_version_is_that_of_the_installed_package():
    assert armwise.__version__ == version("armwise")


def test_public_names_are_sorted_and_exist():
    assert armwise.__all__ == sorted(armwise.__all__, key=lambda name: (not name[0].isupper(), name))
    assert all(hasattr(armwise, name) for name in armwise.__all__)


@pytest.mark.parametrize("package", ["data", "evaluation", "losses", "mixtures", "rmab"])
def test_what_a_package_offers_is_offered_by_armwise(package):
    assert set(getattr(armwise, package).__all__) <= set(armwise.__all__)


def test_importing_starts_no_device_work():
    """JAX looks for its devices at the first use, and there are none of this kind."""
    environment = {**os.environ, "JAX_PLATFORMS": "no_such_device"}
    for code, fails in (("import armwise", False), ("import armwise; armwise.Problem()", True)):
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
        assert bool(run.returncode) == fails, run.stderr.decode()


def test_the_library_needs_no_polars():
    """Only what reads tables needs it: a machine that trains models can do without."""
    code = """
        import sys

        sys.modules["polars"] = None  # importing it is an error
        import jax
        import armwise as aw
        from armwise import data, evaluation, losses, mixtures, models, rmab, training

        domain = aw.synthetic(0, num_cohorts=10, num_arms=5, budget=1)
        model = aw.Linear(jax.random.key(0), domain.cohorts.features, num_states=2)
        loss, config = aw.MeanSquaredError(), aw.TrainConfig(num_epochs=1)
        aw.train(jax.random.key(1), domain.split(0), loss, model, config, problem=domain.problem)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()
