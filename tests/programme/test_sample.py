"""The sample programme: its files hold what was simulated, and its note says what was assumed."""

import re

import numpy as np
import pytest

from armwise.data import one_hot, simulated_programme
from armwise.errors import InvalidProgrammeError
from armwise.programme import init_programme, load_programme, read_programme
from armwise.programme.sample import AGE_BANDS, ASSUMED, CATEGORIES, sample_programme
from tests.data.test_simulated_domains import explained_share


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return init_programme(tmp_path_factory.mktemp("sample") / "new", seed=5)[0]


def test_the_files_hold_every_call_that_was_made(path):
    simulated = sample_programme(5).simulated
    hidden = simulated.calls & ~np.asarray(simulated.trajectories.observed)
    assert hidden.any()
    assert load_programme(path).roster["calls"].to_list() == simulated.calls.sum(axis=1).tolist()


def test_the_samples_note_is_true(path):
    levels = (*(len(words) for words in CATEGORIES.values()), AGE_BANDS)
    many = simulated_programme(0, num_people=20_000, num_weeks=8, levels=levels, **ASSUMED)
    effect = many.transitions[:, :, 1, 1] - many.transitions[:, :, 0, 1]
    share = explained_share(np.asarray(one_hot(many.features)), np.log(1 / many.transitions[:, 0, 0, 1] - 1))
    shares = [
        (effect == 0).mean(),
        *(effect < 0).mean(axis=0),
        share,
        1 - np.asarray(many.trajectories.observed).mean(),
    ]
    note = read_programme(path).note
    means = [float(number) for number in re.findall(r"[+-]\d\.\d+", note)]
    percents = [int(number) for number in re.findall(r"(\d+) %", note)]
    np.testing.assert_allclose(means, effect.mean(axis=0), atol=0.005)
    np.testing.assert_allclose(percents, 100 * np.array(shares), atol=1)
    assert many.call_probabilities is not None
    assert "Past calls were drawn at random" in note


def test_the_sample_is_simulated_as_the_note_says():
    simulated = sample_programme(5).simulated
    levels = (*(len(words) for words in CATEGORIES.values()), AGE_BANDS)
    again = simulated_programme(5, num_people=300, num_weeks=8, levels=levels, **ASSUMED)
    np.testing.assert_array_equal(simulated.transitions, again.transitions)
    np.testing.assert_array_equal(simulated.calls, again.calls)


def test_a_note_must_be_text(path, tmp_path):
    wrong = path.read_text().replace('note = """', 'note = 3\nother = """')
    (tmp_path / "programme.toml").write_text(wrong)
    with pytest.raises(InvalidProgrammeError, match="It must be text in quotes"):
        read_programme(tmp_path / "programme.toml")
