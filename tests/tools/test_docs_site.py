"""Every relative link of the documentation leads to a file and a heading that exist; pages fit the site too."""

import pytest

from tools.docs_site import (
    DOCS,
    ELSEWHERE,
    ROOT,
    api_page,
    heading_anchors,
    linked_files,
    links,
    public_names,
    resolve,
    rewrite,
    site_path,
)

PAGES = sorted(
    {path for path in linked_files() if path.endswith(".md")}
    | {f"{DOCS}{path.name}" for path in (ROOT / DOCS).glob("*.md")}
)


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in links(text):
        if ELSEWHERE.match(target) and not target.startswith("#"):
            continue
        path, _, anchor = resolve(page, target), *target.partition("#")[1:]
        assert (ROOT / path).exists(), f"{page} links to {target}, which does not exist"
        if anchor:
            assert anchor in heading_anchors((ROOT / path).read_text(encoding="utf-8")), f"{page} links to {target}"


def test_the_pages_have_links_to_test():
    assert len(PAGES) > 20
    assert sum(len(list(links((ROOT / page).read_text(encoding="utf-8")))) for page in PAGES) > 80


def test_links_and_anchors_are_found_outside_code_only():
    code = "```\n# No\n[x](no.md)\n```\n"
    text = f"# A `b` c!\n\n[x](y.md#z) and ![i](i.svg), not `[x](no.md)`.\n\n{code}\n## A b c\n## A b c\n"
    assert list(links(text)) == ["y.md#z", "i.svg"]
    assert heading_anchors(text) == {"a-b-c", "a-b-c-1", "a-b-c-2"}


@pytest.mark.parametrize(
    ("page", "text", "site"),
    [
        ("README.md", "[x](docs/model.md#a)", "[x](model.md#a)"),
        ("README.md", "[x](benchmarks/results/plan.md)", "[x](benchmarks/results/plan.md)"),
        ("README.md", "[all modules](src/armwise/rmab)", "all modules"),
        ("README.md", "[x](https://a.b) [y](#c)", "[x](https://a.b) [y](#c)"),
        ("docs/model.md", "[x](../benchmarks/results/chains.md)", "[x](benchmarks/results/chains.md)"),
        ("docs/model.md", "[x](../README.md)", "[x](index.md)"),
        ("benchmarks/results/plan.md", "[x](../../docs/model.md)", "[x](../../model.md)"),
        ("docs/model.md", "Said:\n- a\n- b\n", "Said:\n\n- a\n- b\n"),
        ("docs/model.md", "- a\n  more\n- b\n", "- a\n  more\n- b\n"),
        ("docs/model.md", "```\nx:\n- a\n[x](../README.md)\n```\n", "```\nx:\n- a\n[x](../README.md)\n```\n"),
    ],
)
def test_pages_are_rewritten_for_the_site(page, text, site):
    assert rewrite(page, text) == site


def test_docs_are_the_root_of_the_site():
    assert [site_path(path) for path in ("README.md", "docs/model.md", "CHANGELOG.md")] == [
        "index.md",
        "model.md",
        "CHANGELOG.md",
    ]


def test_the_api_has_every_public_name():
    import armwise

    names = public_names()
    assert sorted(name for own in names.values() for name in own) == sorted(armwise.__all__)
    assert "::: armwise.rmab.Problem\n" in api_page("armwise.rmab", names["armwise.rmab"])
