"""Files that no one meant to write: each is read rightly or refused with its place, and mended as the remedy says."""

import polars as pl
import pytest
from typer.testing import CliRunner

from armwise.cli import app
from armwise.errors import ExitCode
from armwise.programme import check_programme, load_programme
from armwise.programme.finding_kinds import Severity
from tests.exhaustive.programme.odd_tables import PARQUETS, WORKBOOKS
from tests.exhaustive.programme.odd_texts import CELLS, CSV
from tests.programme.cases import CALLS, TOML
from tests.programme.mending import change, remove
from tests.programme.small import write_programme
from tests.programme.test_loading import EXPECTED, arrays

ALL = [*CSV, *CELLS, *WORKBOOKS, *PARQUETS]


def test_there_are_at_least_sixty():
    assert len(ALL) >= 60
    assert len({odd.name for odd in ALL}) == len(ALL)


@pytest.mark.parametrize("odd", ALL, ids=lambda odd: odd.name)
def test_an_odd_file_is_read_rightly_or_refused_and_mended(tmp_path, odd):
    path = write_programme(tmp_path)
    odd.spoil(tmp_path)
    result = CliRunner().invoke(app, ["check", str(path)])
    assert isinstance(result.exception, SystemExit | None), result.exception
    report = check_programme(path)
    if odd.kind is None:
        assert report.findings == (), str(report)
        assert arrays(load_programme(path)) == EXPECTED
        return
    assert result.exit_code == ExitCode.INVALID_INPUT
    found = [each for each in report.findings if each.kind == odd.kind]
    assert any(odd.says in str(each) for each in found), str(report)
    assert odd.row is None or odd.row in [each.row for each in found], str(report)
    assert odd.column is None or {each.column for each in found} == {odd.column}, str(report)
    assert all(each.file and each.what and each.remedy for each in report.findings)
    assert all(len(line) < 1500 for line in str(report).splitlines())
    for step in odd.mend:
        step(tmp_path)
    errors = [each for each in check_programme(path).findings if each.severity is Severity.ERROR]
    assert errors == []


def test_a_table_without_columns_is_empty(tmp_path):
    path = write_programme(tmp_path)
    remove(CALLS)(tmp_path)
    change(TOML, CALLS, "calls.parquet")(tmp_path)
    pl.DataFrame().write_parquet(tmp_path / "calls.parquet")
    assert [each.kind for each in check_programme(path).findings] == ["file-empty"]
