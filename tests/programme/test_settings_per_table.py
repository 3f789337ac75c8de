"""Each table may have its own date format, decimal mark and encoding."""

import re
from datetime import date, datetime

import polars as pl
import pytest

from armwise.programme import check_programme, load_programme
from tests.programme.cases import parquet, rows_of, typed, workbook
from tests.programme.small import BENEFICIARIES, ENGAGEMENT, INTERVENTIONS, PROGRAMME, write_programme
from tests.programme.test_loading import EXPECTED, arrays


def with_dates(text: str, form: str) -> str:
    return re.sub(r"2024-\d\d-\d\d", lambda found: date.fromisoformat(found[0]).strftime(form), text)


def with_settings(section: str, added: str, file: str | None = None) -> str:
    settings = PROGRAMME.replace(f'file = "{section}.csv"', f'file = "{file or section + ".csv"}"\n{added}')
    assert settings != PROGRAMME
    return settings


def test_each_table_has_a_date_format_of_its_own(tmp_path):
    settings = with_settings("engagement", 'date_format = "%d.%m.%Y %H:%M"')
    settings = settings.replace('file = "interventions.csv"', 'file = "interventions.csv"\ndate_format = "%m/%d/%y"')
    settings = settings.replace("step_days = 7", 'step_days = 7\ndate_format = "%Y%m%d"')
    path = write_programme(
        tmp_path,
        programme=settings,
        beneficiaries=with_dates(BENEFICIARIES, "%Y%m%d"),
        engagement=with_dates(ENGAGEMENT, "%d.%m.%Y 08:30"),
        interventions=with_dates(INTERVENTIONS, "%m/%d/%y"),
    )
    assert arrays(load_programme(path)) == EXPECTED


def test_a_decimal_comma(tmp_path):
    settings = with_settings("engagement", 'separator = ";"\ndecimal = ","')
    rows = ENGAGEMENT.replace(",", ";").replace(";30\n", ";30,0\n").replace(";31\n", ";30,1\n")
    assert arrays(load_programme(write_programme(tmp_path, programme=settings, engagement=rows))) == EXPECTED


@pytest.mark.parametrize("cell", ["1.234", "12.5", "1.234,5"])
def test_a_point_in_a_table_with_decimal_commas_is_refused(tmp_path, cell):
    settings = with_settings("engagement", 'separator = ";"\ndecimal = ","')
    rows = ENGAGEMENT.replace(",", ";").replace(";30\n", f";{cell}\n")
    report = check_programme(write_programme(tmp_path, programme=settings, engagement=rows))
    assert [(finding.kind, finding.row, finding.value) for finding in report.findings] == [("seconds-invalid", 5, cell)]


@pytest.mark.parametrize(
    ("encoding", "python"),
    [
        ("windows-1252", "cp1252"),
        ("latin-1", "latin-1"),
        ("utf-16", "utf-16"),
        ("utf-16", "utf-16-be"),
        ("UTF-8", "utf-8-sig"),
    ],
)
def test_a_declared_encoding(tmp_path, encoding, python):
    path = write_programme(tmp_path, programme=with_settings("beneficiaries", f'encoding = "{encoding}"'))
    people = BENEFICIARIES.replace("urdu", "français")
    (tmp_path / "beneficiaries.csv").write_bytes(people.encode(python))
    assert load_programme(path).features["language"][1] == "français"


@pytest.mark.parametrize("encoding", ["windows-1252", "utf-16"])
def test_a_file_that_is_utf_8_is_not_read_as_something_else(tmp_path, encoding):
    settings = with_settings("beneficiaries", f'encoding = "{encoding}"')
    path = write_programme(tmp_path, programme=settings, beneficiaries=BENEFICIARIES.replace("urdu", "français"))
    [finding] = check_programme(path).findings
    assert (finding.kind, finding.remedy) == ("file-encoding", "Remove 'encoding' from [beneficiaries].")


def test_a_utf_8_file_with_a_broken_byte_is_not_taken_for_windows_1252(tmp_path):
    path = write_programme(tmp_path)
    people = (
        BENEFICIARIES.replace("urdu", "français").replace("hindi", "हिन्दी").encode().replace(b"marathi", b"mar\xffthi")
    )
    (tmp_path / "beneficiaries.csv").write_bytes(people)
    [finding] = check_programme(path).findings
    assert (finding.kind, finding.row) == ("file-encoding", 5)
    assert "windows-1252" not in finding.remedy


DAYS = [
    [row[0], datetime.fromisoformat(str(row[1])) if number else row[1], *row[2:]]
    for number, row in enumerate(rows_of(ENGAGEMENT))
]


@pytest.mark.parametrize(
    ("file", "make"),
    [
        ("calls.xlsx", workbook(DAYS)),
        ("calls.parquet", parquet(typed(ENGAGEMENT, date=pl.col("date").str.to_date()))),
    ],
)
def test_dates_kept_as_dates_need_no_format(tmp_path, file, make):
    """The other tables are text with days first; what a spreadsheet shows is not what it keeps."""
    settings = with_settings("engagement", "", file).replace("step_days = 7", 'date_format = "%d/%m/%Y"')
    texts = {"beneficiaries": BENEFICIARIES, "interventions": INTERVENTIONS}
    texts = {name: with_dates(text, "%d/%m/%Y") for name, text in texts.items()}
    path = write_programme(tmp_path, programme=settings, **texts)
    make(tmp_path / file)
    assert arrays(load_programme(path)) == EXPECTED


@pytest.mark.parametrize(
    ("file", "make"),
    [
        ("calls.xlsx", workbook([[*row[:3], 30.5 if row[3] == "31" else row[3]] for row in rows_of(ENGAGEMENT)])),
        ("calls.parquet", parquet(typed(ENGAGEMENT, seconds=pl.col("seconds").replace("31", "30.5").cast(pl.Float64)))),
    ],
)
def test_numbers_kept_as_numbers_need_no_decimal_mark(tmp_path, file, make):
    path = write_programme(tmp_path, programme=with_settings("engagement", 'decimal = ","', file))
    make(tmp_path / file)
    assert arrays(load_programme(path)) == EXPECTED


def test_settings_that_make_no_sense_are_refused(tmp_path):
    for added, says in (
        ('encoding = "ebcdic"', "windows-1252"),
        ('decimal = ";"', '"." or ","'),
        ('date_format = "dd.mm.yyyy"', "%d"),
    ):
        [finding] = check_programme(write_programme(tmp_path, programme=with_settings("engagement", added))).findings
        assert finding.kind == "config-wrong-value"
        assert says in finding.remedy
    weeks = with_settings("engagement", 'date_format = "%d.%m.%Y"').replace('date = "date"', 'week = "date"')
    report = check_programme(write_programme(tmp_path, programme=weeks))
    assert ("config-conflict", "engagement.date_format") in [(each.kind, each.column) for each in report.findings]
