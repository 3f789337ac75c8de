"""Whatever is wrong with the files: a finding in the right place, its exit code, no traceback, nothing written."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from armwise.cli import app
from armwise.errors import ExitCode, InvalidProgrammeError
from armwise.programme import check_programme, examine_programme, load_programme
from armwise.programme.finding_kinds import KINDS, Severity
from tests.programme.cases import Case, parquet, rows_of, typed, workbook
from tests.programme.malformed import CASES
from tests.programme.small import ENGAGEMENT, edited, write_programme


def listing(folder: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_mtime_ns for path in folder.rglob("*")}


@pytest.fixture
def spoilt(tmp_path, request) -> tuple[Path, Case]:
    path = write_programme(tmp_path)
    request.param.spoil(tmp_path)
    return path, request.param


def by_name(case: Case) -> str:
    return case.name


def test_there_are_at_least_150_ways_to_be_wrong():
    assert len(CASES) >= 150
    assert len({case.name for case in CASES}) == len(CASES)


def test_every_kind_of_error_is_provoked():
    errors = {kind for kind, known in KINDS.items() if known.severity is Severity.ERROR}
    assert errors == {case.kind for case in CASES}


@pytest.mark.parametrize("spoilt", CASES, indirect=True, ids=by_name)
def test_what_is_wrong_is_found_and_nothing_is_written(spoilt):
    path, case = spoilt
    before = listing(path.parent)
    report = check_programme(path)
    found = [each for each in report.findings if each.kind == case.kind and each.file.endswith(case.file)]
    assert found, f"{case.kind} not among:\n{report}"
    assert any(case.says in str(each) for each in found), str(report)
    if case.row is not None:
        assert case.row in [each.row for each in found], str(report)
    assert all(each.what and each.remedy for each in report.findings)
    assert report.exit_code == ExitCode.INVALID_INPUT
    assert listing(path.parent) == before


@pytest.mark.parametrize("spoilt", CASES, indirect=True, ids=by_name)
def test_no_finding_shows_what_is_personal(spoilt):
    assert "Secret" not in str(check_programme(spoilt[0]))


@pytest.mark.parametrize("spoilt", CASES[::3], indirect=True, ids=by_name)
def test_the_command_line_says_it_with_its_exit_code(spoilt):
    path, case = spoilt
    before = listing(path.parent)
    result = CliRunner().invoke(app, ["check", str(path), "--json"])
    assert result.exit_code == ExitCode.INVALID_INPUT
    assert isinstance(result.exception, SystemExit)
    assert case.kind in {finding["kind"] for finding in json.loads(result.stdout)["findings"]}
    assert "Traceback" not in result.stderr
    assert listing(path.parent) == before


@pytest.mark.parametrize("spoilt", CASES[1::20], indirect=True, ids=by_name)
def test_loading_refuses_with_all_findings(spoilt):
    with pytest.raises(InvalidProgrammeError) as error:
        load_programme(spoilt[0])
    assert case_kinds(error.value.report) >= {spoilt[1].kind}


def case_kinds(report) -> set[str]:
    return {finding.kind for finding in report.findings}


def test_problems_of_all_files_are_found_at_once(tmp_path):
    path = write_programme(tmp_path)
    wanted = ["toml: unknown key", "duplicate person", "negative seconds", "status unknown"]
    for case in CASES:
        if case.name in wanted:
            case.spoil(tmp_path)
    kinds = {"config-unknown-key", "id-duplicate", "seconds-negative", "status-unknown"}
    assert kinds <= case_kinds(check_programme(path))


def test_a_million_bad_rows_are_one_line(tmp_path):
    rows = "".join(f"0001,2024-01-01,yes,-{number}\n" for number in range(1, 1001))
    report = check_programme(write_programme(tmp_path, engagement=f"id,date,connected,seconds\n{rows}"))
    shown = [finding for finding in report.findings if finding.kind == "seconds-negative"]
    assert [finding.row for finding in shown] == [2, 3, 4]
    assert str(report) == (
        "engagement.csv, column 'seconds': Seconds cannot be negative. 1,000 rows: row 2 '-1'; row 3 '-2'; row 4 '-3'; "
        "and 997 more. Correct the cell, or delete the row if it does not belong here."
    )
    assert report.as_dict()["totals"][0]["count"] == 1000


def test_a_foreign_export_gets_one_line_for_each_column_and_kind(tmp_path):
    """Every cell of three columns is wrong, in 200 rows: three lines, not 60."""
    rows = "".join(f"{number};01.02.2024;ja;12,5\n" for number in range(1, 201))
    settings = edited("programme.toml", 'file = "engagement.csv"', 'file = "engagement.csv"\nseparator = ";"')
    path = write_programme(tmp_path, programme=settings, engagement=f"id;date;connected;seconds\n{rows}")
    report = check_programme(path)
    lines = str(report).splitlines()
    assert len(lines) == len({(total.kind, total.column) for total in report.totals}) == 4
    assert all("200 rows" in line for line in lines)
    printed = CliRunner().invoke(app, ["check", str(path)]).stdout.splitlines()
    assert [line.removeprefix("error   ") for line in printed] == lines


def test_ragged_rows_are_one_line_with_the_cells_of_each(tmp_path):
    rows = "".join(f"0001,2024-01-01,yes,1{',x' * number}\n" for number in range(6))
    report = check_programme(write_programme(tmp_path, engagement=f"id,date,connected,seconds\n{rows}"))
    assert "5 rows: row 3, which has 5 cells; row 4, which has 6 cells; row 5, which has 7 cells; and 2" in str(report)


def test_each_unknown_word_is_shown_once(tmp_path):
    words = ["maybe"] * 30 + ["perhaps"]
    rows = "".join(f"0001,2024-01-01,{word},1\n" for word in words)
    report = check_programme(write_programme(tmp_path, engagement=f"id,date,connected,seconds\n{rows}"))
    assert [finding.value for finding in report.findings] == ["maybe", "perhaps"]
    assert report.totals[0].count == 31


def test_a_person_whose_row_is_broken_is_not_unknown(tmp_path):
    path = write_programme(tmp_path, beneficiaries=edited("beneficiaries.csv", "Bina Secret", "Secret, Bina"))
    assert case_kinds(check_programme(path)) == {"file-ragged"}


PIECES = [
    b'"',
    b",",
    b"\n",
    b"\r",
    b"\0",
    b"\xff",
    b"=",
    b";",
    b"[",
    b"\xef\xbb\xbf",
    b"1e999",
    b"2024-13-45",
    b"9" * 30,
]


def damaged(rng: np.random.Generator, content: bytes) -> bytes:
    """The content with a few pieces put in, cut out or copied elsewhere."""
    for _ in range(rng.integers(1, 4)):
        start, length = rng.integers(len(content) + 1), rng.integers(1, 30)
        piece = [PIECES[rng.integers(len(PIECES))], b"", content[length : 2 * length]][rng.integers(3)]
        content = content[:start] + piece + content[start + length * (piece == b"") :]
    return content


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet"])
def test_whatever_the_damage_there_are_errors_or_data(tmp_path, rng, suffix):
    name = f"calls{suffix}"
    make = {".csv": lambda path: path.write_text(ENGAGEMENT), ".xlsx": workbook(rows_of(ENGAGEMENT))}
    make.get(suffix, parquet(typed(ENGAGEMENT)))(tmp_path / name)
    sound = (tmp_path / name).read_bytes()
    path = write_programme(tmp_path, programme=edited("programme.toml", "engagement.csv", name))
    for _ in range(100):
        (tmp_path / name).write_bytes(damaged(rng, sound))
        report, data = examine_programme(path)
        assert (data is None) == (Severity.ERROR in {finding.severity for finding in report.findings}), str(report)
