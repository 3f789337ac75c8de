"""An evaluation that is kept comes back as it was, and a damaged one is refused."""

import json

import numpy as np
import pytest

from armwise.errors import InvalidInputError
from armwise.weekly import read_assessment
from tests.report.pages import make_assessment


def test_what_is_kept_comes_back(tmp_path):
    kept, path = make_assessment(), tmp_path / "evaluation.json"
    path.write_text(kept.to_json())
    again = read_assessment(path)
    assert again.to_json() == kept.to_json()
    for name in ("inputs", "num_people", "num_states", "origins", "num_judged", "num_calls", "budget_share", "bound"):
        assert getattr(again, name) == getattr(kept, name)
    assert again.effects.by_state == kept.effects.by_state
    assert again.effects.overall == kept.effects.overall
    assert (again.ways[:-1], again.predictions, again.called) == (kept.ways[:-1], kept.predictions, kept.called)
    for before, after in zip(kept.left_alone, again.left_alone, strict=True):
        assert (after.predicted, after.number) == (before.predicted, before.number)
        np.testing.assert_allclose(after.observed, before.observed, rtol=1e-6)
    assert np.isnan(again.ways[-1].lead).all()


def test_a_bound_that_was_not_computed_comes_back_as_none(tmp_path):
    (tmp_path / "evaluation.json").write_text(make_assessment(bound=None).to_json())
    assert read_assessment(tmp_path / "evaluation.json").bound is None


def test_json_knows_no_nan():
    page = json.loads(make_assessment().to_json(), parse_constant=pytest.fail)
    assert page["ways"][-1]["lead"] == {"value": None, "low": None, "high": None}
    assert page["effects"]["by_group"]["language"][1]["effect"]["value"] is None


def test_without_a_file_there_is_none(tmp_path):
    assert read_assessment(tmp_path / "evaluation.json") is None


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"version": 3', '"version": 2', "another version. Evaluate again"),
        ('"num_people": 60', '"num_persons": 60', "damaged"),
        ("{", "", "damaged"),
        ('"lead"', '"leads"', "damaged"),
        ('"num_states": 2', '"num_states": []', "damaged"),
        ('"armwise-evaluation"', '"armwise-plan"', "another version"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, old, new, complaint):
    text = make_assessment().to_json()
    assert old in text
    path = tmp_path / "evaluation.json"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InvalidInputError, match=complaint):
        read_assessment(path)
