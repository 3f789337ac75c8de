"""Files are read whole, and what is not an ordinary file is refused at once."""

import os

import pytest

from armwise.io.reading import read_file


def test_a_file_comes_whole(tmp_path):
    (tmp_path / "table.csv").write_bytes(b"a\r\n\x00")
    assert read_file(tmp_path / "table.csv") == b"a\r\n\x00"


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "missing"])
def test_what_is_no_ordinary_file_is_refused_at_once(tmp_path, kind):
    path = {"device": "/dev/zero", "folder": tmp_path}.get(kind, tmp_path / kind)
    if kind == "pipe":
        os.mkfifo(path)
    with pytest.raises(OSError, match=r"not an ordinary file|Is a directory|No such file"):
        read_file(path)
