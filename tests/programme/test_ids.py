"""Ids that look alike: composed alike, compared alike, and said where they stay apart."""

import unicodedata

import numpy as np
import polars as pl
import pytest

from armwise.errors import ExitCode
from armwise.programme import check_programme, load_programme
from armwise.programme.ids import find_similar, skeleton
from tests.programme.small import BENEFICIARIES, ENGAGEMENT, INTERVENTIONS, write_programme
from tests.programme.test_loading import EXPECTED, arrays

SEPARATE = unicodedata.normalize("NFD", "é0001")


def with_id(text: str, old: str, new: str) -> str:
    assert f"\n{old}," in text
    return text.replace(f"\n{old},", f"\n{new},")


def test_ids_of_separate_accents_are_the_same_people(tmp_path):
    """Beneficiaries composed, the log not: one person, and a warning."""
    path = write_programme(
        tmp_path,
        beneficiaries=with_id(BENEFICIARIES, "0001", "é0001"),
        engagement=with_id(ENGAGEMENT, "0001", SEPARATE),
        interventions=with_id(INTERVENTIONS, "0001", SEPARATE),
    )
    report = check_programme(path)
    assert {(finding.kind, finding.file) for finding in report.findings} == {
        ("id-composed", "engagement.csv"),
        ("id-composed", "interventions.csv"),
    }
    assert report.exit_code == ExitCode.OK
    data = arrays(load_programme(path))
    assert sorted(data["num_calls"]) == sorted(EXPECTED["num_calls"])
    assert "é0001" in data["ids"]


def test_two_rows_of_one_person_in_two_unicode_forms_are_a_duplicate(tmp_path):
    people = with_id(with_id(BENEFICIARIES, "0001", "é0001"), "0002", SEPARATE)
    report = check_programme(write_programme(tmp_path, beneficiaries=people))
    assert ("id-duplicate", 3) in [(finding.kind, finding.row) for finding in report.findings]


@pytest.mark.parametrize(
    ("first", "second"),
    [("a1", "A1"), ("pac1", "рас1"), ("12a", "１２a"), ("x-7", "x–7"), ("a٣", "a3"), ("ΑΒ", "AB"), ("ﬁ1", "fi1")],
)
def test_people_whose_ids_look_alike_are_said(tmp_path, first, second):
    texts = {
        "beneficiaries": with_id(with_id(BENEFICIARIES, "0001", first), "0002", second),
        "engagement": with_id(with_id(ENGAGEMENT, "0001", first), "0002", second),
        "interventions": with_id(with_id(INTERVENTIONS, "0001", first), "0002", second),
    }
    report = check_programme(write_programme(tmp_path, **texts))
    [finding] = report.findings
    assert (finding.kind, finding.row, finding.value) == ("id-similar", 3, second)
    assert finding.hint == f"looks like {first!r}"
    assert report.exit_code == ExitCode.OK


@pytest.mark.parametrize("cell", ["PaC1", "рac1", "ｐac1", "00pac1", "pac1.0", "'pac1", "pac1\u200b"])
def test_an_unknown_id_seems_to_be_the_one_it_looks_like(tmp_path, cell):
    texts = {
        "beneficiaries": with_id(BENEFICIARIES, "0001", "pac1"),
        "engagement": with_id(ENGAGEMENT, "0001", "pac1").replace("0003,", f"{cell},"),
        "interventions": with_id(INTERVENTIONS, "0001", "pac1"),
    }
    findings = check_programme(write_programme(tmp_path, **texts)).findings
    [finding] = [each for each in findings if each.kind == "id-unknown"]
    assert (finding.value, finding.hint) == (cell, "seems to be 'pac1'")


def test_ids_with_accents_are_not_one_another():
    ids = pl.Series(["é1", "e1", "ä1", "a1", "0001", "1", "१", "२"])
    assert skeleton(ids).n_unique() == 7
    assert skeleton(pl.Series(["१"])).item() == "1"


def test_find_similar_by_brute_force(rng: np.random.Generator):
    letters = np.array(["0", "1", "a", "A", "а", "é", "１"])
    known = pl.Series(["".join(rng.choice(letters, 4)) for _ in range(200)]).unique()
    unknown = pl.Series(["".join(rng.choice(letters, 4)) for _ in range(50)])
    same = {}
    for each in known:
        same[skeleton(pl.Series([each])).item().lstrip("0")] = each
    assert find_similar(unknown, known) == [
        same.get(skeleton(pl.Series([each])).item().lstrip("0")) for each in unknown
    ]
