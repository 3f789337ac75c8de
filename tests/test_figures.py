"""The README's figures are those of benchmarks/results, to the letter: none is typed by hand."""

from pathlib import Path

import pytest

from benchmarks.harness import README, RESULTS, seconds, with_section

TABLES = sorted(RESULTS.glob("*.md"))


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_the_readme_shows_the_measured_table(path: Path):
    document = README.read_text()
    assert f"<!-- {path.stem} -->" in document
    assert with_section(document, path.stem, path.read_text()) == document


def test_there_is_a_table_at_all():
    assert TABLES


@pytest.mark.parametrize(("value", "text"), [(2.0, "2 s"), (0.0123, "12.3 ms"), (4e-5, "40 µs"), (3e-9, "3 ns")])
def test_durations_are_written_in_their_unit(value, text):
    assert seconds(value) == text
