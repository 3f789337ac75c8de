"""Results are written whole or not at all."""

import os
import stat
import subprocess
import sys

import pytest

from armwise.errors import OutputError
from armwise.io import writing
from armwise.io.writing import check_writable, write_file, write_folder


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "plan.csv"
    write_file(path, "old")
    write_file(path, "né\n")
    assert path.read_bytes() == "né\n".encode()
    assert os.listdir(tmp_path) == ["plan.csv"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~writing._mask()


def fail(*_):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step):
    path = tmp_path / "plan.csv"
    write_file(path, "old")
    monkeypatch.setattr(writing.os, step, fail)
    with pytest.raises(OutputError, match=r"plan\.csv could not be written, and nothing was: No space left"):
        write_file(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["plan.csv"]


def test_an_interruption_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(writing.os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_file(tmp_path / "plan.csv", "new")
    assert os.listdir(tmp_path) == []


def test_a_missing_folder_and_a_folder_in_the_files_place(tmp_path):
    with pytest.raises(OutputError, match="No such file or directory"):
        write_file(tmp_path / "missing" / "plan.csv", "x")
    with pytest.raises(OutputError, match="directory"):
        write_file(tmp_path, "x")
    assert os.listdir(tmp_path) == []


def test_a_folder_appears_complete(tmp_path):
    target = tmp_path / "out"
    write_folder(target, {"a.txt": "1", "b.txt": b"2"})
    assert {path.name: path.read_text() for path in target.iterdir()} == {"a.txt": "1", "b.txt": "2"}
    assert os.listdir(tmp_path) == ["out"]


def test_what_exists_is_left_alone(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(OutputError, match="exists already, and nothing was written"):
        write_folder(tmp_path / "out", {"a.txt": "1"})
    assert os.listdir(tmp_path) == ["out"]
    assert os.listdir(tmp_path / "out") == []


def test_a_folder_fails_as_a_whole(tmp_path, monkeypatch):
    written = []
    original = writing._fill

    def second_fails(handle, content):
        written.append(content)
        original(handle, content)
        if len(written) == 2:
            fail()

    monkeypatch.setattr(writing, "_fill", second_fails)
    with pytest.raises(OutputError, match="No space left"):
        write_folder(tmp_path / "out", {"a.txt": "1", "b.txt": "2"})
    assert os.listdir(tmp_path) == []


def test_a_link_is_followed_and_stays_a_link(tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "list.csv").write_text("old")
    link = tmp_path / "call-list.csv"
    link.symlink_to("shared/list.csv")
    write_file(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "shared" / "list.csv").read_text() == "new"
    dangling = tmp_path / "next.csv"
    dangling.symlink_to("shared/next.csv")
    write_file(dangling, "new")
    assert (tmp_path / "shared" / "next.csv").read_text() == "new"
    assert sorted(os.listdir(tmp_path / "shared")) == ["list.csv", "next.csv"]


def test_pipes_devices_and_circles_of_links_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "null").symlink_to("/dev/null")
    for name in ("pipe", "circle", "null"):
        with pytest.raises(OutputError, match=r"not an ordinary file|[Ss]ymbolic links"):
            write_file(tmp_path / name, "x")
        with pytest.raises(OutputError, match=r"not an ordinary file|[Ss]ymbolic links"):
            check_writable(tmp_path / name)
    assert sorted(os.listdir(tmp_path)) == ["circle", "null", "pipe"]


def test_a_place_is_tried_without_a_trace(tmp_path):
    check_writable(tmp_path / "new.csv")
    (tmp_path / "old.csv").write_text("old")
    check_writable(tmp_path / "old.csv")
    assert os.listdir(tmp_path) == ["old.csv"]
    with pytest.raises(OutputError, match=r"plan\.csv could not be written, and nothing was: No such file"):
        check_writable(tmp_path / "missing" / "plan.csv")


KILLED = """
import os, signal, sys
from pathlib import Path
from armwise.io import writing

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

writing.os.replace = writing.os.rename = die
if sys.argv[2] == "file":
    writing.write_file(sys.argv[1], "new")
else:
    writing.write_folder(sys.argv[1], {})
"""


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path, kind):
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "model.armwise"), kind], check=False)
    others = [".model.armwise.abc", "model.armwise-tmp", ".x.another-machine.armwise-tmp"]
    for name in others:
        (tmp_path / name).write_text("someone else's")
    assert len(os.listdir(tmp_path)) == 1 + len(others)
    write_file(tmp_path / "list.csv", "new")
    assert sorted(os.listdir(tmp_path)) == sorted([*others, "list.csv"])


def test_what_a_living_process_writes_is_left_alone(tmp_path):
    with writing._temporary_file(tmp_path / "a.csv") as (_, mine), writing._temporary_folder(tmp_path, "b") as folder:
        write_file(tmp_path / "c.csv", "new")
        assert mine.exists()
        assert folder.is_dir()
    assert os.listdir(tmp_path) == ["c.csv"]


def test_a_file_found_before_it_was_locked_is_made_again(tmp_path, monkeypatch):
    """Between a file's making and its lock another process may take it for abandoned."""
    lock, raced = writing._lock, []

    def late(handle):
        if not raced:
            raced.append(os.listdir(tmp_path))
            writing._remove_abandoned(tmp_path)
        return lock(handle)

    monkeypatch.setattr(writing, "_lock", late)
    write_file(tmp_path / "a.csv", "new")
    assert len(raced[0]) == 1
    assert (tmp_path / "a.csv").read_text() == "new"
