"""The exhaustive tier: everything below this folder gets the marker ``exhaustive``, and ``make test`` leaves it out.

Here live sweeps over many cases, loops that kill processes, slow references and browsers. ``make test-all`` runs them.
"""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark by folder; the hook sees the items of the whole session."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.exhaustive)
