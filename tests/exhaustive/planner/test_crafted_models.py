"""Every crafted model, and thousands of changed pages: one refusal each, and nothing left behind."""

import tempfile

import pytest

import armwise as aw
from armwise.errors import InvalidInputError
from tests.planner.crafted import CRAFTED
from tests.planner.test_planner_file import case, parts, try_changes  # noqa: F401 (fixtures)


@pytest.mark.parametrize("name", CRAFTED)
def test_a_crafted_model_is_refused(parts, tmp_path, monkeypatch, name):  # noqa: F811
    path, temporary = tmp_path / "model.armwise", tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    path.write_bytes(CRAFTED[name](parts))
    with pytest.raises(InvalidInputError) as caught:
        aw.OutreachPlanner.load(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert message.isprintable()
    assert list(temporary.iterdir()) == []


def test_there_are_a_hundred_of_them():
    assert len(CRAFTED) >= 100


@pytest.mark.parametrize("seed", range(4))
def test_changed_pages_are_refused_or_plan(case, parts, tmp_path, seed):  # noqa: F811
    try_changes(case, parts, tmp_path, seed=100 + seed, number=500)
