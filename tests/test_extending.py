"""docs/extending.md, followed step by step on a copy of the tree: its patches apply, its code prints what it says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
LOSS_FILE = "src/armwise/losses/effect_error.py"
NEEDED = ("src/armwise", "tests/losses", "tests/__init__.py", "tests/conftest.py", "tests/oracles.py", "tests/tiers.py")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


LOSS, *CODE = blocks("python")


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """A copy of the tree after every step of the page."""
    tree = tmp_path_factory.mktemp("extended")
    for name in NEEDED:
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, target)
    shutil.copy(ROOT / "pyproject.toml", tree)
    assert LOSS_FILE in PAGE
    (tree / LOSS_FILE).write_text(LOSS, encoding="utf-8")
    # A folder for temporary files may lie inside a clone; the copy is no part of it.
    alone = os.environ | {"GIT_CEILING_DIRECTORIES": str(tree.parent)}
    for patch in blocks("diff"):
        done = subprocess.run(
            ["git", "apply", "-"], cwd=tree, env=alone, input=patch, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{done.stderr}\nThis patch of docs/extending.md no longer applies:\n{patch}"
    return tree


def python(tree, *arguments):
    """What Python prints, with the tree's own armwise."""
    environment = os.environ | {"PYTHONPATH": str(tree / "src")}
    command = [sys.executable, "-W", "error", *arguments]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_patch_is_of_a_file_that_exists_and_every_code_has_its_output():
    files = [name for patch in blocks("diff") for name in re.findall(r"^--- a/(.*)$", patch, flags=re.MULTILINE)]
    assert len(files) > 7
    assert [name for name in files if not (ROOT / name).is_file()] == []
    assert len(CODE) == len(blocks("text")) == 2


@pytest.mark.parametrize(("code", "printed"), list(zip(CODE, blocks("text"), strict=True)), ids=["loss", "rule"])
def test_the_code_of_the_page_prints_what_the_page_says(extended, code, printed):
    assert python(extended, "-c", code) == printed


def test_the_battery_finds_the_new_loss(extended):
    chosen = ("-k", "faces_the_battery or EffectError", "tests/losses/test_every_loss.py")
    told = python(extended, "-m", "pytest", "-q", "-p", "no:xdist", *chosen)
    assert re.search(r"^[78] passed", told, flags=re.MULTILINE), told
