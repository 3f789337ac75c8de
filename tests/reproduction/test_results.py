"""Rows survive their CSV; rows of another kind are refused."""

import dataclasses
import math

import pytest

from armwise.errors import InvalidInputError
from reproduction.results import HistoryRow, RunRow, group_by, read_folder, read_page, read_rows, write_rows
from tests.reproduction.small import run_row


def test_rows_survive_a_round_trip(tmp_path):
    rows = [
        run_row(temperature=0.1, learning_rate=1e-5, split=3, hardware='CPU "fast", 2 cores'),
        run_row(validation_loss=-1.2345678, joint_never=1e-30, joint_achieved=12345.678),
    ]
    write_rows(tmp_path / "new" / "rows.csv", rows)
    assert read_rows(tmp_path / "new" / "rows.csv", RunRow) == rows


def test_what_was_not_measured_stays_nan(tmp_path):
    write_rows(tmp_path / "rows.csv", [run_row(joint_quality=math.nan)])
    (row,) = read_rows(tmp_path / "rows.csv", RunRow)
    assert math.isnan(row.joint_quality)
    assert row.temperature is None


def test_other_columns_are_refused_by_name(tmp_path):
    write_rows(tmp_path / "rows.csv", [run_row()])
    with pytest.raises(InvalidInputError, match=r"rows.csv has other columns than HistoryRow: .*best_epoch"):
        read_rows(tmp_path / "rows.csv", HistoryRow)


def test_nothing_is_not_written(tmp_path):
    with pytest.raises(InvalidInputError, match="no rows"):
        write_rows(tmp_path / "rows.csv", [])


def test_a_folder_is_read_in_the_order_of_names(tmp_path):
    for name, split in (("b", 1), ("a", 2)):
        write_rows(tmp_path / f"{name}.csv", [run_row(split=split)])
    assert [row.split for row in read_folder(tmp_path, RunRow)] == [2, 1]


def test_groups_keep_the_order_of_rows():
    rows = [run_row(split=split, initialisation=start) for split, start in ((1, 0), (0, 0), (1, 1))]
    assert list(group_by(rows, "split")) == [(1,), (0,)]
    assert [row.initialisation for row in group_by(rows, "split")[1,]] == [0, 1]


def test_a_damaged_page_says_so(tmp_path):
    (tmp_path / "page.json").write_text("{")
    with pytest.raises(InvalidInputError, match=r"page.json cannot be read"):
        read_page(tmp_path / "page.json")


def test_every_column_of_a_run_has_a_plain_type():
    assert {field.type for field in dataclasses.fields(RunRow)} == {str, int, float, float | None}
