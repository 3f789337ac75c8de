"""Results are written whole or not at all."""

import os
import stat

import pytest

from armwise import writing
from armwise.errors import OutputError
from armwise.writing import write_file, write_folder


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
