import hashlib
import logging
import os
import shutil
import subprocess
import tempfile
import threading
import time
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
    monkeypatch.setattr(library, "_given_up", set())
    return tmp_path / "armwise"


@pytest.fixture
def tiny(monkeypatch):
    """A source that is compiled in no time, with the function of the real one."""
    text = 'extern "C" int armwise_dec_dfl() { return 1; }\n' + "double table[4096] = {1.0};\n"
    monkeypatch.setattr(library, "source", lambda _: text)


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
@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("target", ["file", "link", "folder", "pipe"])
def test_what_others_may_have_written_is_not_loaded_but_built_again(cache, monkeypatch, target):
    assert load("dec_dfl.cpp", DEFINITIONS) is not None
    (path,) = cache.iterdir()
    elsewhere = cache.parent / "elsewhere.so"
    if target == "file":
        path.chmod(0o722)
    else:
        path.rename(elsewhere)
        {"link": lambda: path.symlink_to(elsewhere), "folder": path.mkdir, "pipe": lambda: os.mkfifo(path)}[target]()
    opened = []
    really = library.ctypes.CDLL
    monkeypatch.setattr(library, "_open", lambda name, _: [opened.append(name), really(str(name))][1])
    load("dec_dfl.cpp", DEFINITIONS)
    (loaded,) = opened
    assert loaded.parent.name.startswith("armwise-build-")  # not the one that was there
    assert path.is_file()
    assert not path.is_symlink()
    assert path.stat().st_mode & 0o077 == 0


DAMAGES = {
    "empty": lambda content: b"",
    "cut short": lambda content: content[:5000],  # loading it as it is would end the process
    "longer": lambda content: content + b"more",
    "garbage": lambda content: b"no library at all",
    "one bit": lambda content: content[:3000] + bytes([content[3000] ^ 1]) + content[3001:],
}


@needs_compiler
@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_library_is_built_again(cache, damage):
    assert load("dec_dfl.cpp", DEFINITIONS) is not None
    (path,) = cache.iterdir()
    content = path.read_bytes()
    path.write_bytes(DAMAGES[damage](content))
    assert load("dec_dfl.cpp", DEFINITIONS, "armwise_dec_dfl") is not None
    assert [each.name for each in cache.iterdir()] == [path.name]
    assert path.read_bytes() == content


@needs_compiler
@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("content", [b"no library at all", "without the function"])
def test_a_library_that_was_kept_whole_but_is_of_no_use_is_built_again(cache, tmp_path, content):
    assert load("dec_dfl.cpp", DEFINITIONS) is not None
    (path,) = cache.iterdir()
    path.unlink()
    if isinstance(content, str):
        Path(tmp_path, "other.cpp").write_text("int other() { return 1; }")
        subprocess.run(["c++", "-shared", "-fPIC", tmp_path / "other.cpp", "-o", tmp_path / "other.so"], check=True)
        content = Path(tmp_path, "other.so").read_bytes()
    stem = path.stem.rsplit("-", 1)[0]
    wrong = cache / f"{stem}-{hashlib.sha256(content).hexdigest()}.so"
    wrong.write_bytes(content)
    wrong.chmod(0o700)
    assert load("dec_dfl.cpp", DEFINITIONS, "armwise_dec_dfl") is not None
    assert [each.name for each in cache.iterdir()] == [path.name]


@needs_compiler
@pytest.mark.usefixtures("tiny")
def test_a_build_that_was_killed_is_cleared_by_the_next(cache):
    for name, age in (("armwise-build-old", 7200), ("armwise-build-now", 0)):
        (cache / name).mkdir(parents=True)
        (cache / name / "source.cpp").touch()
        os.utime(cache / name, (time.time() - age,) * 2)
    cache.chmod(0o700)
    assert load("dec_dfl.cpp", DEFINITIONS) is not None
    assert {path.name for path in cache.iterdir() if path.is_dir()} == {"armwise-build-now"}


@needs_compiler
@pytest.mark.usefixtures("tiny")
def test_builds_at_the_same_time_do_not_disturb_each_other(cache):
    threads = [threading.Thread(target=lambda: results.append(load("dec_dfl.cpp", DEFINITIONS))) for _ in range(3)]
    results = []
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 3
    assert all(results)
    assert all(path.suffix == ".so" for path in cache.iterdir())


@needs_compiler
@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("wrong", ["no folder", "others may write"])
def test_without_a_cache_of_our_own_it_is_built_for_the_process_and_nothing_stays(cache, tmp_path, monkeypatch, wrong):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    if wrong == "no folder":
        cache.parent.joinpath("file").touch()
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache.parent / "file"))
    else:
        cache.mkdir()
        cache.chmod(0o777)
    assert load("dec_dfl.cpp", DEFINITIONS) is not None
    assert not cache.exists() or not list(cache.iterdir())
    assert not list(temporary.iterdir())


@needs_compiler
@pytest.mark.usefixtures("tiny")
def test_a_cache_that_cannot_be_written_to_is_no_error(cache, tmp_path, monkeypatch):
    cache.mkdir(mode=0o700)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    allowed = os.access  # root may write anywhere, so the answer is made up
    monkeypatch.setattr(os, "access", lambda path, *mode: path != cache and allowed(path, *mode))
    assert load("dec_dfl.cpp", DEFINITIONS) is not None
    assert not list(cache.iterdir())
    assert not list(temporary.iterdir())


def test_switched_off(cache, monkeypatch):
    monkeypatch.setenv(library.SWITCH, "0")
    assert load("dec_dfl.cpp", DEFINITIONS) is None
    assert not cache.exists()


SCRIPTS = {
    "none": None,
    "broken": "exit 1",
    "old": '[ "$1" = --version ]',
    "hanging": "sleep 60",
    "hanging when it compiles": '[ "$1" = --version ] || sleep 60',
    "writes garbage": '[ "$1" = --version ] || while [ "$1" ]; do [ "$1" = -o ] && echo garbage > "$2"; shift; done',
    "speaks no UTF-8": "printf 'caf\\351 1.0'; exit 1",
}


@pytest.mark.parametrize("compiler", SCRIPTS)
def test_a_compiler_that_does_not_work_is_no_error(cache, tmp_path, monkeypatch, caplog, compiler):
    script = Path(tmp_path, "compiler")
    if compiler != "none":
        script.write_text(f"#!/bin/sh\n{SCRIPTS[compiler]}\n")
        script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    monkeypatch.setattr(library, "_VERSION_TIME", 0.3)
    monkeypatch.setattr(library, "_COMPILE_TIME", 0.3)
    started = time.monotonic()
    with caplog.at_level(logging.INFO):
        assert load("dec_dfl.cpp", DEFINITIONS) is None
        assert load("dec_dfl.cpp", (*DEFINITIONS, ("MORE", "1"))) is None  # said once, waited for once
    assert time.monotonic() - started < 20  # the script's child would hold its pipes for a minute
    assert [record.levelname for record in caplog.records] == ["WARNING"] * (compiler != "none")
    assert not cache.exists() or not os.listdir(cache)


@needs_compiler
@pytest.mark.usefixtures("tiny")
def test_a_compiler_whose_version_is_not_utf_8_is_used(cache, tmp_path, monkeypatch):
    script = Path(tmp_path, "compiler")
    script.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && printf \'caf\\351 1.0\' || exec {shutil.which("c++")} "$@"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    assert load("dec_dfl.cpp", DEFINITIONS, "armwise_dec_dfl") is not None
