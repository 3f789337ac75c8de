"""The call list as a workbook: ids stay text, the bytes stay the same, and what comes back is accepted."""

import time

import fastexcel
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from armwise.cli import app
from armwise.errors import ExitCode, InvalidInputError
from armwise.io.spreadsheets import MOST_ROWS, to_workbook
from armwise.programme import check_programme
from armwise.programme.findings import Findings
from armwise.programme.settings import Source
from armwise.programme.table_file import read_table
from armwise.weekly import plan_programme
from tests.weekly.quick import write_quick_programme

ODD = pl.DataFrame(
    {"id": ["0630107", "=1+1", "007e5", "१२", "a\x1bb", None], "rank": [1, 2, 3, 4, 5, None], "gain": [0.123456] * 6}
)


@pytest.fixture(scope="module")
def programme(tmp_path_factory):
    return write_quick_programme(tmp_path_factory.mktemp("workbook"))


def test_a_list_is_written_as_a_workbook_and_verified(programme):
    target = programme.with_name("call-list.xlsx")
    command = ["plan", str(programme), "--output", str(target)]
    assert CliRunner().invoke(app, command).exit_code == ExitCode.OK
    assert CliRunner().invoke(app, [*command, "--verify"]).exit_code == ExitCode.OK
    calls = plan_programme(programme).plan.calls
    back = fastexcel.read_excel(target).load_sheet(0).to_polars()
    assert back["id"].to_list() == calls["id"].to_list()
    assert back["id"][0].startswith("0")
    assert back["expected_gain"].to_list() == calls["expected_gain"].cast(pl.Float64).round(4).to_list()
    target.write_bytes(target.read_bytes()[:-1])
    assert CliRunner().invoke(app, [*command, "--verify"]).exit_code == ExitCode.NOT_VERIFIED


def test_the_same_table_is_the_same_bytes_at_another_time(monkeypatch):
    first = to_workbook(ODD, 4)
    monkeypatch.setattr(time, "localtime", lambda *_: time.gmtime(10**9))
    monkeypatch.setattr(time, "time", lambda: 1e9)
    assert to_workbook(ODD, 4) == first


def test_every_text_comes_back_as_it_was(tmp_path):
    (tmp_path / "list.xlsx").write_bytes(to_workbook(ODD, 4))
    source = Source("interventions", "list.xlsx", tmp_path / "list.xlsx", None, ",")
    table = read_table(source, "id", ("rank", "gain"), Findings())
    assert table is not None
    assert table["id"].to_list() == ODD["id"].to_list()
    assert table["rank"].to_list() == ["1", "2", "3", "4", "5", None]
    assert set(table["gain"]) == {"0.1235"}


def test_a_list_with_dates_comes_back_as_interventions(programme, tmp_path):
    path = write_quick_programme(tmp_path)
    calls = plan_programme(programme).plan.calls
    made = calls.select("id", date=pl.lit("2024-02-20"), status=pl.lit("delivered"))
    (tmp_path / "calls.xlsx").write_bytes(to_workbook(made, 4))
    path.write_text(path.read_text().replace("interventions.csv", "calls.xlsx"))
    assert check_programme(path).findings == ()


def test_a_list_too_large_for_a_workbook_is_refused():
    with pytest.raises(InvalidInputError, match=r"Write \.csv or \.parquet"):
        to_workbook(pl.DataFrame({"index": np.zeros(MOST_ROWS + 1)}), 4)
    with pytest.raises(InvalidInputError, match="longer than a cell"):
        to_workbook(pl.DataFrame({"id": ["x" * 40_000]}), 4)
