"""The documentation site as ``make docs`` builds it: no warning, every page there, nothing fetched from elsewhere."""

import os
import re
import subprocess
import sys

import pytest

import armwise
from tools.docs_site import ROOT, public_names


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    run = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return folder


def test_every_page_is_there(site):
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")} | {"index"}
    assert pages <= {path.stem for path in site.glob("*.html")}
    assert "decides whom a health worker should call" in (site / "index.html").read_text(encoding="utf-8")


def test_every_public_name_is_explained(site):
    for package, names in public_names().items():
        page = (site / "api" / f"{package}.html").read_text(encoding="utf-8")
        assert all(f'id="{package}.{name}"' in page for name in names)
    assert sum(map(len, public_names().values())) == len(armwise.__all__)


def test_a_page_fetches_nothing_from_elsewhere(site):
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        tags = re.findall(r"<(?:script|img|link|iframe|source|video)\b[^>]*>", text)
        assert not [tag for tag in tags if re.search(r'(?:src|href)="?(?:https?:)?//', tag)], path
    assert not [
        path for path in site.rglob("*.css") if re.search(r"url\(['\"]?(?:https?:)?//", path.read_text("utf-8"))
    ]
