"""Commands are killed at random times: every output is whole, the next run gives the same, and nothing is left."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.weekly.quick import quick_programme

# The seconds a command needs at most are measured first; kills are spread over them.
COMMANDS = {
    "plan": (["plan"], "call-list.csv", 12),
    "report": (["report"], "report.html", 6),
    "fit": (["fit"], "model.armwise", 3),
    "evaluate": (["evaluate", "--for-report"], "evaluation.json", 2),
}


def start(arguments: list[str], programme: Path, temporary: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "armwise", arguments[0], str(programme), *arguments[1:]]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def run_whole(arguments: list[str], programme: Path, temporary: Path) -> None:
    process = start(arguments, programme, temporary)
    message = process.communicate()[1]
    assert process.returncode == 0, message.decode()


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize("command", COMMANDS)
def test_killed_at_random_times(tmp_path, command):
    arguments, file, num_kills = COMMANDS[command]
    folder, temporary = tmp_path / "programme", tmp_path / "tmp"
    folder.mkdir()
    temporary.mkdir()
    programme, began = quick_programme(folder), time.monotonic()
    run_whole(arguments, programme, temporary)
    needed, whole, expected = time.monotonic() - began, (folder / file).read_bytes(), names(folder)
    chance = random.Random(f"{command} 7")
    for _ in range(num_kills):
        (folder / file).write_bytes(b"the old result")
        process = start(arguments, programme, temporary)
        # Most of the danger is at the end, where results are written.
        time.sleep(needed * chance.choice([chance.random(), chance.uniform(0.8, 1.05)]))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert (folder / file).read_bytes() in (b"the old result", whole)
    run_whole(arguments, programme, temporary)
    assert (folder / file).read_bytes() == whole
    assert names(folder) == expected
    assert names(temporary) == set()


def test_killed_while_it_writes(tmp_path):
    """A process that does nothing but write, killed 100 times: the moment that a whole run rarely meets."""
    code = (
        "import sys\nfrom armwise.io.writing import write_file\nwhile True: write_file(sys.argv[1], b'new' * 300_000)"
    )
    target, chance, left = tmp_path / "list.csv", random.Random(7), 0
    for _ in range(100):
        process = subprocess.Popen([sys.executable, "-c", code, str(target)])
        while not target.exists():
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.02))
        process.kill()
        process.wait()
        assert target.read_bytes() == b"new" * 300_000
        left += len(os.listdir(tmp_path)) > 1
        target.unlink()
    assert left, "no kill met a temporary file, so that the test shows nothing"
    subprocess.run([sys.executable, "-c", code.replace("while True", "for _ in range(1)"), str(target)], check=True)
    assert os.listdir(tmp_path) == ["list.csv"]
