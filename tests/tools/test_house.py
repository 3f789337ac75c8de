"""The shape of a tree, on one small enough to count by hand, and the files that a task walks through."""

import importlib.util
import threading

import pytest

from tools.house import measure, table
from tools.walks import entered_files

LONG = "\n".join(["def long():", *(f"    x{line} = {line}" for line in range(30))]) + "\n"
DOCUMENTED = 'def short():\n    """First.\n' + "\n" * 40 + '    """\n    return 1\n'
FILES = {
    "src/armwise/__init__.py": "",
    "src/armwise/cli.py": LONG + DOCUMENTED,
    "src/armwise/planning/plan.py": "class Plan:\n    pass\n\n\ndef _own(): ...\n" + "\n" * 300,
    "src/armwise/planning/other.py": "class Plan: ...\n\n\ndef _own(): ...\n\n\nx = jax.default_backend()\n",
    "src/armwise/experiments/jobs.py": "class Plan: ...\n\n\nx = jax.default_backend()\n",
    "reproduction/page.py": "def page(): ...\n",
    "results/runs.csv": "a,b\n",
    "results/more/runs.csv": "12345",
}


@pytest.fixture
def tree(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_a_tree_is_counted(tree):
    assert measure(tree, walks=False) == {
        "lines, product": 31 + 44 + 305 + 7,
        "modules, product": 4,
        "functions over 30 lines, product": 1,
        "files over 300 lines, product": 1,
        "lines, laboratory": 4 + 1,
        "modules, laboratory": 2,
        "functions over 30 lines, laboratory": 0,
        "files over 300 lines, laboratory": 0,
        "names used for two things, product": 1,
        "uses of jax.default_backend()": 2,
        "files of results/": 2,
        "bytes of results/": 9,
        "modules in reproduction/": 1,
        "modules in src/armwise/": 1,
        "modules in src/armwise/experiments/": 1,
        "modules in src/armwise/planning/": 2,
    }


def test_a_file_counts_if_one_of_its_functions_was_entered(tmp_path):
    folder = tmp_path / "src" / "armwise"
    folder.mkdir(parents=True)
    texts = {
        "entered": "def run():\n    return [x for x in range(3)]\n",
        "threaded": "class Task:\n    def run(self): ...\n",
        "imported": "class Body:\n    x = 1\n\n\ndef never(): ...\n",
    }
    modules = {}
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
        spec = importlib.util.spec_from_file_location(f"house_{name}", folder / f"{name}.py")
        modules[name] = spec, importlib.util.module_from_spec(spec)

    def task():
        for spec, module in modules.values():
            spec.loader.exec_module(module)
        modules["entered"][1].run()
        thread = threading.Thread(target=modules["threaded"][1].Task().run)
        thread.start()
        thread.join()

    assert entered_files(task, tmp_path) == ["src/armwise/entered.py", "src/armwise/threaded.py"]
    assert entered_files(task, tmp_path / "elsewhere") == []


def test_checkouts_stand_side_by_side():
    assert table({"old": {"files": 1234, "gone": 1}, "new": {"files": 2}}).splitlines() == [
        "|  | old | new |",
        "| --- | --: | --: |",
        "| files | 1,234 | 2 |",
        "| gone | 1 | – |",
    ]
