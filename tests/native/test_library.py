import logging
import os
import shutil
from pathlib import Path

import pytest

from armwise.native import library

DEFINITIONS = (("NUMBER", "float"), ("STATES", "2"), ("POLICIES", "4"))
load = library.load.__wrapped__  # without the memory of what was loaded before

needs_compiler = pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(library.SWITCH, raising=False)
    return tmp_path / "armwise"


def test_the_source_travels_with_the_package():
    assert "armwise_dec_dfl" in library.source("dec_dfl.cpp")


@needs_compiler
def test_compiled_once_and_then_taken_from_the_cache(cache, monkeypatch):
    assert load("dec_dfl.cpp", DEFINITIONS) is not None
    (path,) = cache.iterdir()
    assert path.stat().st_mode & 0o077 == 0
    monkeypatch.setattr(library, "_compile", lambda *_: pytest.fail("compiled again"))
    assert load("dec_dfl.cpp", DEFINITIONS) is not None


@needs_compiler
@pytest.mark.parametrize("target", ["file", "link"])
def test_what_others_may_have_written_is_not_loaded(cache, monkeypatch, caplog, target):
    assert load("dec_dfl.cpp", DEFINITIONS) is not None
    (path,) = cache.iterdir()
    if target == "file":
        path.chmod(0o722)
    else:
        path.rename(path.with_suffix(".elsewhere"))
        path.symlink_to(path.with_suffix(".elsewhere"))
    monkeypatch.setattr(library.ctypes, "CDLL", lambda _: pytest.fail("loaded"))
    with caplog.at_level(logging.INFO):
        assert load("dec_dfl.cpp", DEFINITIONS) is None
    assert "others may write to it" in caplog.text


@needs_compiler
@pytest.mark.parametrize("wrong", ["no folder", "others may write"])
def test_without_a_cache_of_our_own_a_folder_of_the_process(cache, monkeypatch, wrong):
    if wrong == "no folder":
        cache.parent.joinpath("file").touch()
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache.parent / "file"))
    else:
        cache.mkdir()
        cache.chmod(0o777)
    assert load("dec_dfl.cpp", DEFINITIONS) is not None
    assert not cache.exists() or not list(cache.iterdir())


def test_switched_off(cache, monkeypatch):
    monkeypatch.setenv(library.SWITCH, "0")
    assert load("dec_dfl.cpp", DEFINITIONS) is None
    assert not cache.exists()


@pytest.mark.parametrize("compiler", ["none", "broken", "old"])
def test_a_compiler_that_does_not_work_is_no_error(cache, tmp_path, monkeypatch, caplog, compiler):
    script = Path(tmp_path, "compiler")
    if compiler != "none":
        script.write_text("#!/bin/sh\n" + ("exit 1" if compiler == "broken" else '[ "$1" = --version ]'))
        script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    with caplog.at_level(logging.INFO):
        assert load("dec_dfl.cpp", DEFINITIONS) is None
    assert len(caplog.records) == (compiler != "none")
    assert not cache.exists() or not os.listdir(cache)
