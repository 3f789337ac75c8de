"""The generated tables of docs/performance.md are those of benchmarks/results/performance, to the letter."""

import re

import pytest

from benchmarks import page
from benchmarks.harness import with_section
from benchmarks.states import quality_rows

NAMES = sorted(path.stem for path in page.FOLDER.glob("*.json"))


@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_what_was_measured(name):
    document = page.PAGE.read_text()
    assert f"<!-- {name} -->" in document
    assert with_section(document, name, page.section(name)) == document


def test_every_section_has_results():
    assert set(NAMES) <= set(re.findall(r"<!-- ([\w-]+) -->", page.PAGE.read_text()))
    assert {"states-quality", "joint-evaluation", "start-up"} <= set(NAMES)


def test_differences_are_paired_by_domain():
    found = [
        {"states": 3, "seed": seed, "policies": policies, "joint": seed + gain, "decomposed": 0.5}
        for seed in (0, 1, 2)
        for policies, gain in (("all", 0.0), ("index", 0.25))
    ]
    assert quality_rows(found) == [
        ["3", '"all"', "3", "1.000", "0.500"],
        ["3", '"index"', "3", "1.250 (+0.250 ± 0.000)", "0.500 (+0.000 ± 0.000)"],
    ]
