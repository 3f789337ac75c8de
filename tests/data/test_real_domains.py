"""The facts that the public data sets' own READMEs state, found again by the loaders."""

import gzip

import jax
import numpy as np
import pytest

from armwise.data import ctn0094, heartsteps, oulad
from armwise.data.domains.oulad import with_nudge
from tests.data.real_data import engaging, real_data


def test_oulad_has_the_engagement_its_readme_states():
    domain = oulad(real_data("oulad"), size=29_252, nudge_share=0.0)
    assert domain.cohorts.true_transitions.shape == (1, 29_252, 2, 2, 2)
    counts = np.asarray(domain.cohorts.counts)
    assert counts[..., 1, :].sum() == 0
    np.testing.assert_allclose(engaging(counts[..., :1, :])[:, 0], [0.340, 0.862], atol=5e-4)
    assert "29,252" in domain.note
    assert "simulated" in domain.note
    assert domain.cohorts.features.levels[:5] == (7, 2, 13, 5, 11)


def test_oulad_later_weeks_and_other_thresholds():
    folder = real_data("oulad")
    late = oulad(folder, size=29_252, nudge_share=0.0, weeks=(20, 33)).cohorts.counts
    np.testing.assert_allclose(engaging(late[..., :1, :])[:, 0], [0.155, 0.797], atol=1.5e-3)
    busy = oulad(folder, size=29_252, nudge_share=0.0, weeks=(0, 33), thresholds=(10,)).cohorts.counts
    np.testing.assert_allclose(engaging(busy[..., :1, :])[:, 0], [0.189, 0.713], atol=1.5e-3)
    assert oulad(folder, thresholds=(0, 20)).cohorts.true_transitions.shape[2:] == (3, 2, 3)


def test_oulad_weeks_after_a_modules_end_are_not_observed():
    counts = np.asarray(oulad(real_data("oulad"), size=29_252, nudge_share=0.0, weeks=(37, 38)).cohorts.counts)
    assert set(counts.sum(axis=(2, 3, 4)).ravel().tolist()) == {0.0, 1.0}


def test_the_simulated_nudge_does_what_it_says():
    domain = oulad(real_data("oulad"), nudge_share=0.3, nudge_effect=0.25, nudge_spread=0.0)
    counts, transitions = np.asarray(domain.cohorts.counts), np.asarray(domain.cohorts.true_transitions)
    passive, nudged = transitions[..., 0, 1], transitions[..., 1, 1]
    np.testing.assert_allclose(nudged, passive + 0.25 * (1 - passive), rtol=1e-6)
    seen = engaging(counts)
    np.testing.assert_allclose(seen[:, 1], seen[:, 0] + 0.25 * (1 - seen[:, 0]), atol=0.01)
    share = counts[..., 1, :].sum() / counts.sum()
    assert abs(share - 0.3) < 0.01


def test_a_harmful_nudge_moves_one_state_down():
    passive = np.array([[[0.2, 0.3, 0.5]] * 3])
    moved = with_nudge(passive, np.array([-0.5]))[0, 0, 1]
    np.testing.assert_allclose(moved, 0.5 * np.array([0.2, 0.3, 0.5]) + 0.5 * np.array([0.5, 0.5, 0.0]))


@pytest.mark.parametrize(
    ("options", "size", "expected"),
    [
        ({"trial": "27"}, 1269, [[0.195, 0.405], [0.760, 0.795]]),
        ({"trial": "27", "outcome": "negative"}, 1269, [[0.128, 0.214], [0.670, 0.668]]),
        ({"trial": "51"}, 570, [[0.149, 0.218], [0.739, 0.786]]),
        ({"trial": "30"}, 653, [[0.242, 0.189], [0.585, 0.586]]),
        ({"trial": "30", "phase": 2}, 360, [[0.369, 0.385], [0.737, 0.732]]),
    ],
)
def test_ctn0094_has_the_engagement_its_readme_states(options, size, expected):
    cohorts = ctn0094(real_data("ctn0094"), size=size, **options).cohorts
    assert (cohorts.num_cohorts, cohorts.num_arms) == (1, size)
    np.testing.assert_allclose(engaging(cohorts.counts), expected, atol=6e-4)


def test_ctn0027_has_as_many_transitions_as_its_readme_states():
    counts = np.asarray(ctn0094(real_data("ctn0094"), size=1269).cohorts.counts)
    assert counts.sum(axis=(0, 1, 4)).tolist() == [[8487, 3753], [8119, 8156]]
    one_action_each = (counts.sum(axis=(2, 4)) > 0).sum(axis=-1)
    assert one_action_each.max() == 1


@pytest.mark.parametrize(
    ("threshold", "expected"), [(0, [[0.355, 0.364], [0.760, 0.778]]), (250, [[0.176, 0.188], [0.438, 0.479]])]
)
def test_heartsteps_has_the_effects_its_readme_states(threshold, expected):
    # The README counts missing steps as none; leaving them out, our default, keeps 5,599 of the 6,590 points.
    folder = real_data("heartsteps")
    as_zero = heartsteps(folder, size=37, thresholds=(threshold,), missing_is_zero=True).cohorts.counts
    np.testing.assert_allclose(engaging(as_zero), expected, atol=5e-4)
    assert np.asarray(as_zero).sum() == 6590
    assert np.asarray(heartsteps(folder, size=37, thresholds=(threshold,)).cohorts.counts).sum() < 6590


@pytest.mark.parametrize(
    ("load", "name"),
    [(oulad, "oulad"), (ctn0094, "ctn0094"), (heartsteps, "heartsteps")],
)
def test_neither_the_order_of_lines_nor_the_run_matters(tmp_path, rng, load, name):
    folder = real_data(name)
    for path in folder.glob("*.csv*"):
        packed = path.suffix == ".gz"
        text = (gzip.decompress(path.read_bytes()) if packed else path.read_bytes()).decode()
        header, *lines = text.splitlines()
        shuffled = "\n".join([header, *rng.permutation(np.array(lines, dtype=object))]).encode()
        (tmp_path / path.name).write_bytes(gzip.compress(shuffled, compresslevel=1) if packed else shuffled)
    one, again, other = load(folder, 1), load(tmp_path, 1), load(folder, 2)
    jax.tree.map(np.testing.assert_array_equal, one.cohorts, again.cohorts)
    assert (one.cohorts.ids != other.cohorts.ids).any()
    assert sum(one.sizes) == one.cohorts.num_cohorts
    assert [part.num_cohorts for part in one.split(0)] == list(one.sizes)
