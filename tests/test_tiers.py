"""Every entry of the exhaustive tier names a test that exists: a renamed one must not slip into the quick tier."""

import re
from pathlib import Path

import pytest

from tests.tiers import EXHAUSTIVE

ROOT = Path(__file__).parents[1]
ENTRIES = [entry for entries in EXHAUSTIVE.values() for entry in entries]


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_names_a_test(entry):
    path, _, name = entry.partition("::")
    assert (ROOT / path).exists()
    function = name.partition("[")[0].strip("*")
    assert not function or re.search(rf"^def {re.escape(function)}", (ROOT / path).read_text(), re.MULTILINE)


def test_an_entry_is_listed_once():
    assert len(set(ENTRIES)) == len(ENTRIES)
