"""An error of a spreadsheet's formula is neither a missing value nor a category."""

import datetime
import io
import zipfile
from pathlib import Path

import pytest
import xlsxwriter

from armwise.programme import check_programme
from armwise.programme.excel_file import errors_as_text
from tests.programme.cases import rows_of
from tests.programme.small import BENEFICIARIES, PROGRAMME, edited, write_programme


def with_error(path: Path, row: int, column: int, error: str, *, offset: int = 0) -> None:
    """The beneficiaries as a workbook in which one formula failed."""
    book = xlsxwriter.Workbook(str(path))
    sheet = book.add_worksheet()
    for number, cells in enumerate(rows_of(BENEFICIARIES)):
        sheet.write_row(number + offset, offset, cells)
    sheet.write_formula(row + offset, column + offset, "=1/0", None, error)
    book.close()


@pytest.mark.parametrize("offset", [0, 3])
@pytest.mark.parametrize(
    ("column", "error", "kind"),
    [
        (0, "#REF!", "id-placeholder"),
        (2, "#DIV/0!", "feature-number"),
        (3, "#N/A", "feature-error"),
        (4, "#VALUE!", "group-empty"),
        (5, "#NAME?", "never-call-unknown"),
        (6, "#NUM!", "date-invalid"),
    ],
)
def test_a_failed_formula_is_found_where_it_is(tmp_path, column, error, kind, offset):
    path = write_programme(tmp_path, programme=PROGRAMME.replace("beneficiaries.csv", "people.xlsx"))
    with_error(tmp_path / "people.xlsx", 2, column, error, offset=offset)
    found = [(each.kind, each.row, each.value) for each in check_programme(path).findings]
    assert (kind, 3 + offset, error) in found


@pytest.mark.parametrize("word", ["#N/A", "#NV", "#WERT!", "#¡DIV/0!", "#BEZUG!"])
def test_an_error_as_text_is_no_category(tmp_path, word):
    path = write_programme(tmp_path, beneficiaries=edited("beneficiaries.csv", "urdu", word))
    assert [(each.kind, each.row, each.value) for each in check_programme(path).findings] == [
        ("feature-error", 3, word)
    ]


@pytest.mark.parametrize("word", ["#1", "# 5", "n/a", "#hashtag"])
def test_other_words_stay_categories(tmp_path, word):
    path = write_programme(tmp_path, beneficiaries=edited("beneficiaries.csv", "urdu", word))
    assert check_programme(path).findings == ()


def test_a_workbook_without_errors_is_left_as_it_is(tmp_path):
    stream = io.BytesIO()
    book = xlsxwriter.Workbook(stream)
    book.add_worksheet().write_row(0, 0, ['t="e"', "#N/A", datetime.date(2024, 1, 1).isoformat()])
    book.close()
    assert errors_as_text(stream.getvalue()) == stream.getvalue()


@pytest.mark.parametrize("raw", [b"", b"PK\3\4" + bytes(range(250)), b"\xd0\xcf\x11\xe0" + bytes(100)])
def test_what_is_no_workbook_is_left_to_the_reader(raw):
    assert errors_as_text(raw) == raw


def test_a_damaged_workbook_is_left_to_the_reader(tmp_path):
    with_error(tmp_path / "people.xlsx", 2, 2, "#DIV/0!")
    raw = bytearray((tmp_path / "people.xlsx").read_bytes())
    with zipfile.ZipFile(io.BytesIO(bytes(raw))) as book:
        start = book.getinfo("xl/worksheets/sheet1.xml").header_offset
    raw[start + 80 : start + 120] = bytes(40)
    assert errors_as_text(bytes(raw)) == bytes(raw)
