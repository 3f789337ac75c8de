"""Where the public data sets lie: beside the repository, never inside it."""

from pathlib import Path

import numpy as np
import pytest

SHARED = Path(__file__).parents[2].parent / "shared" / "data"


def real_data(name: str) -> Path:
    """The folder of a data set; the test is skipped where it is not at hand."""
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"the public data set {name} is not at ../shared/data/{name}")
    return folder


def engaging(counts) -> np.ndarray:
    """The share of transitions that end in state 1, by state and action, over all people."""
    total = np.asarray(counts, dtype=float).sum(axis=(0, 1))
    return total[..., 1] / total.sum(axis=-1)
