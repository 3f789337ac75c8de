"""Names, addresses and telephone numbers: refused by check and by fit alike, so that no model keeps them."""

import zipfile

import polars as pl
import pytest
from sklearn.base import clone

import armwise as aw
from armwise.programme.personal_columns import is_personal
from tests.planner.outreach import small
from tests.programme.small import PROGRAMME, edited, write_programme

NAMES = [f"Asha Secret-{number:03d}" for number in range(300)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (NAMES, True),
        (NAMES[:200] + NAMES[:100], False),  # only 100 of 300 are alone: no more personal than a village
        (NAMES[:200] + ["Devi"] * 100, True),
        (NAMES[:40] + ["none"] * 260, False),
        (NAMES[:12], True),
        (NAMES[:9], False),
        (NAMES[:20] + [None] * 280, True),
        (["north", "south", "west"] * 20, False),
        ([f"village {number}" for number in range(10)] + ["village 0", "village 1"], False),  # 12 people, 10 villages
        ([f"village {number % 25}" for number in range(60)], False),
        ([None] * 60, False),
        ([True, False] * 30, False),
        (list(range(9_876_543_210, 9_876_543_270)), True),
        ([float(number) for number in range(9_876_543_210, 9_876_543_270)], True),
        ([19_680_615 + number for number in range(60)], True),
        ([str(number) for number in range(9_876_543_210, 9_876_543_270)], True),
        ([None, *range(9_876_543_210, 9_876_543_270), -1, 0], True),
        ([9_876_543_210, 9_876_543_211] * 30, False),
        (list(range(18, 78)), False),
        ([50 + number / 7 for number in range(60)], False),
        ([12_345_678.5 + number for number in range(60)], False),
        ([10_000 + 37 * number for number in range(60)], False),
    ],
)
def test_a_column_is_personal_if_most_people_have_a_value_of_their_own(values, expected):
    assert is_personal(pl.Series("column", values)) is expected


@pytest.mark.parametrize(
    ("column", "changes"),
    [
        (NAMES, {"categorical": None}),
        (NAMES, {"categorical": ["phone", "name"]}),
        (list(range(9_876_543_210, 9_876_543_510)), {"numeric": None}),
        (list(range(9_876_543_210, 9_876_543_510)), {"numeric": ["name"]}),
        ([str(number) for number in range(9_876_543_210, 9_876_543_510)], {"numeric": ["name"]}),
        (list(range(300)), {"categorical": ["name"]}),
    ],
)
def test_fit_refuses_personal_columns_and_says_which(column, changes):
    case = small()
    people = case.people.with_columns(name=pl.Series(column[: case.people.height]))
    with pytest.raises(aw.InvalidInputError, match=r"nobody else has in column 'name'.*Drop column 'name'") as error:
        clone(case.planner).set_params(**changes).fit(people, case.weeks)
    assert not any(str(value) in str(error.value) for value in people["name"] if len(str(value)) > 3)


def test_several_personal_columns_are_one_error():
    case = small()
    people = case.people.with_columns(name=pl.Series(NAMES[:120]), street=pl.Series(NAMES[120:240]))
    with pytest.raises(aw.InvalidInputError, match="in columns 'name', 'street'"):
        clone(case.planner).set_params(categorical=["street", "name"][::-1]).fit(people, case.weeks)


def test_a_model_holds_no_name_of_a_column_that_it_did_not_learn_from(tmp_path):
    case, path = small(), tmp_path / "model.armwise"
    people = case.people.with_columns(name=pl.Series(NAMES[:120]))
    clone(case.planner).fit(people, case.weeks).save(path)
    with zipfile.ZipFile(path) as archive:
        everything = path.read_bytes() + b"".join(archive.read(name) for name in archive.namelist())
    assert b"language" in everything
    assert b"Secret" not in everything


def test_check_and_fit_refuse_names_in_a_programme(tmp_path):
    rows = [f"{number:04d},{NAMES[number]},25,hindi,north,active,2024-01-01" for number in range(1, 13)]
    header = "id,name,age,language,district,status,enrolled"
    listed = edited("programme.toml", 'categories = ["language"]', 'categories = ["language", "name"]')
    path = write_programme(tmp_path, programme=listed, beneficiaries="\n".join([header, *rows, ""]))
    findings = [each for each in aw.check_programme(path).findings if each.kind == "feature-names"]
    assert [(each.column, each.severity) for each in findings] == [("name", "error")]
    with pytest.raises(aw.InvalidProgrammeError, match="Remove it from 'numbers' and 'categories'"):
        aw.weekly.fit_programme(path)
    path.write_text(PROGRAMME, encoding="utf-8")
    assert not [each for each in aw.check_programme(path).findings if each.kind == "feature-names"]
