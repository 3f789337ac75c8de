"""Two thousand changed descriptions of models, and damaged weights: one kind of error."""

import numpy as np
import pytest

import armwise as aw
from armwise.training import load_model, save_model
from tests.training.test_saving import LOSSES, saved, try_changes


@pytest.mark.parametrize("seed", range(4))
def test_changed_descriptions_are_refused_or_right(tmp_path, seed):
    try_changes(tmp_path, seed=100 + seed, number=500)


def test_damaged_weights_are_refused(tmp_path):
    save_model(tmp_path / "m", saved(loss=LOSSES[0]))
    path = tmp_path / "m" / "weights.npz"
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for trial in range(300):
        place = int(rng.integers(len(content)))
        changed = content[:place] + (
            b"" if trial % 2 else bytes([content[place] ^ (1 << trial % 8)]) + content[place + 1 :]
        )
        path.write_bytes(changed)
        with pytest.raises(aw.InvalidInputError, match=r"weights.npz"):
            load_model(tmp_path / "m")
