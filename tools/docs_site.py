"""What ``mkdocs.yml`` cannot say: the README as first page, files outside ``docs/`` that pages link to, and the API.

On the site, ``docs/`` is the root; other files keep their path in the repository. A page's links are rewritten to that,
so that the same Markdown works in the repository and on the site.
"""

from __future__ import annotations

import ast
import os
import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
README, INDEX, DOCS = "README.md", "index.md", "docs/"
CODE = re.compile(r"^ *(`{3,}).*?^ *\1", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?P<text>!?\[[^\]]*\])\((?P<target>[^)\s]+)\)")
ELSEWHERE = re.compile(r"[a-z]+:|#")


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Markdown with everything changed but its blocks of code."""
    changed, end = [], 0
    for block in CODE.finditer(text):
        changed += [change(text[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*changed, change(text[end:])])


def links(text: str) -> Iterator[str]:
    """The targets of a page's links and images, outside code."""
    found: list[str] = []

    def note(part: str) -> str:
        found.extend(match["target"] for match in LINK.finditer(re.sub(r"`[^`\n]*`", "", part)))
        return part

    outside_code(text, note)
    yield from found


def resolve(page: str, target: str) -> str:
    """The path in the repository that a link on a page leads to, without its anchor."""
    path = target.partition("#")[0]
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page


def heading_anchors(text: str) -> set[str]:
    """The anchors that GitHub gives to a page's headings."""
    headings: list[str] = []

    def note(part: str) -> str:
        headings.extend(re.findall(r"^#{1,6} +(.+?) *#*$", part, re.MULTILINE))
        return part

    outside_code(text, note)
    anchors: set[str] = set()
    for heading in headings:
        slug = re.sub(r"[^\w\- ]", "", LINK.sub(lambda link: link["text"], heading).lower()).replace(" ", "-")
        number = sum(
            anchor == slug or re.fullmatch(rf"{re.escape(slug)}-\d+", anchor) is not None for anchor in anchors
        )
        anchors.add(f"{slug}-{number}" if number else slug)
    return anchors


def site_path(path: str) -> str:
    """Where a file of the repository is on the site."""
    return INDEX if path == README else path.removeprefix(DOCS)


def rewrite(page: str, text: str) -> str:
    """A page of the repository for the site; links to folders become plain text."""

    def link(match: re.Match[str]) -> str:
        target = match["target"]
        if ELSEWHERE.match(target):
            return match[0]
        path, anchor = resolve(page, target), target.partition("#")[1:]
        if (ROOT / path).is_dir():
            return match["text"][1:-1]
        place = posixpath.relpath(site_path(path), posixpath.dirname(site_path(page)) or ".")
        return f"{match['text']}({place}{''.join(anchor)})"

    return outside_code(text, lambda part: separate_lists(LINK.sub(link, part)))


def separate_lists(text: str) -> str:
    """An empty line before a list that follows a paragraph at once, which the site's Markdown needs."""
    return re.sub(r"^(?!\s*(?:[-*|]|\d+\.) )(\S.*)\n(?=(?:[-*]|\d+\.) )", r"\1\n\n", text, flags=re.MULTILINE)


def linked_files() -> list[str]:
    """Files outside ``docs/`` that the README, the pages, or these files themselves link to; the README first."""
    waiting = [README, *sorted(f"{DOCS}{path.name}" for path in (ROOT / DOCS).glob("*.md"))]
    seen = dict.fromkeys(waiting)
    while waiting:
        page = waiting.pop()
        for target in links((ROOT / page).read_text(encoding="utf-8")):
            path = resolve(page, target)
            if ELSEWHERE.match(target) or path in seen or not (ROOT / path).is_file():
                continue
            seen[path] = None
            if path.endswith(".md"):
                waiting.append(path)
    return [path for path in seen if not path.startswith(DOCS)]


def public_names() -> dict[str, list[str]]:
    """The public names by the package that they are imported from, as type checkers see them."""
    tree = ast.parse((ROOT / "src" / "armwise" / "__init__.py").read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in checked.body if isinstance(node, ast.ImportFrom)]
    return {str(node.module): [alias.name for alias in node.names] for node in imports}


def api_page(package: str, names: list[str]) -> str:
    """A page of the API: the package's own words, then each public name."""
    entries = [f"::: {package}.{name}" for name in names]
    return (
        "\n\n".join(
            [
                f"# {package}",
                f"::: {package}\n    options:\n      members: false\n      show_root_heading: false",
                *entries,
            ]
        )
        + "\n"
    )


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the API's pages to the navigation."""
    assert config.nav is not None
    config.nav.append({"API": [{package: f"api/{package}.md"} for package in public_names()]})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the README, linked files from outside ``docs/``, and the API."""
    from mkdocs.structure.files import File

    for path in linked_files():
        files.append(File.generated(config, site_path(path), abs_src_path=os.fspath(ROOT / path)))
    for package, names in public_names().items():
        files.append(File.generated(config, f"api/{package}.md", content=api_page(package, names)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Rewrite a page's links, by where the page is in the repository."""
    if page.file.abs_src_path is None:
        return markdown
    return rewrite(Path(page.file.abs_src_path).relative_to(ROOT).as_posix(), markdown)
