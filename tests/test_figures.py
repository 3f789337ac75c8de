"""The README's figures are those of benchmarks/results, to the letter: none is typed by hand."""

import re

import pytest

from benchmarks.harness import README, RESULTS, headlines, seconds, with_section

NAMES = sorted(path.stem for path in RESULTS.glob("*.json"))


@pytest.mark.parametrize("name", NAMES)
def test_the_readme_shows_what_was_measured(name):
    document = README.read_text()
    assert f"<!-- {name} -->" in document
    assert with_section(document, name, headlines(name)) == document


def test_every_section_of_figures_has_results():
    assert set(re.findall(r"<!-- (\w+) -->", README.read_text())) == set(NAMES)
    assert NAMES


@pytest.mark.parametrize(("value", "text"), [(2.0, "2 s"), (0.0123, "12.3 ms"), (4e-5, "40 µs"), (3e-9, "3 ns")])
def test_durations_are_written_in_their_unit(value, text):
    assert seconds(value) == text
