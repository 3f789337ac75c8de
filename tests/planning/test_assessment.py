"""An evaluation that is kept comes back as it was, and a damaged one is refused."""

import json

import pytest

from armwise.errors import InvalidInputError
from armwise.planning import read_assessment
from tests.planning.report.pages import make_assessment


def test_what_is_kept_comes_back(tmp_path):
    kept, path = make_assessment(), tmp_path / "evaluation.json"
    path.write_text(kept.to_json())
    again = read_assessment(path)
    assert again.to_json() == kept.to_json()
    assert again.left_alone == kept.left_alone
    assert again.losses == kept.losses
    assert str(again.evaluation) == str(kept.evaluation)


def test_json_knows_no_nan():
    page = json.loads(make_assessment().to_json(), parse_constant=pytest.fail)
    assert page["evaluation"]["policies"][1]["standard_error"] is None


def test_without_a_file_there_is_none(tmp_path):
    assert read_assessment(tmp_path / "evaluation.json") is None


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"version": 2', '"version": 1', "another version"),
        ('"num_people": 60', '"num_persons": 60', "damaged"),
        ("{", "", "damaged"),
        ('"loss"', '"lost"', "damaged"),
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


def test_the_table_of_losses_names_each():
    lines = make_assessment().table_of_losses().splitlines()
    assert len(lines) == 3
    assert "0.500 ± 0.100" in lines[2]
