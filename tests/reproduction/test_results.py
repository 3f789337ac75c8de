"""Parts survive their files, joined or not; what is damaged or of another kind is refused."""

import math

import polars as pl
import pytest

from armwise.errors import InvalidInputError
from reproduction.parts import find_part, read_part
from reproduction.results import STUDIES, has_parts, join_parts, made_by, parts_of, read_rows
from reproduction.runs.records import RunRow, group_by
from tests.reproduction.small import run_row, write, write_runs


def runs_in(results):
    return read_rows(results, "paper", "runs", RunRow)


def test_rows_survive_a_round_trip(tmp_path):
    rows = [
        run_row(temperature=0.1, learning_rate=1e-5, split=3),
        run_row(validation_loss=-1.5, joint_never=2.0**-80, joint_achieved=12345.625),
    ]
    write_runs(tmp_path, "paper", rows)
    assert runs_in(tmp_path) == rows
    join_parts(tmp_path, "paper")
    assert runs_in(tmp_path) == rows


def test_what_was_not_measured_stays_nan(tmp_path):
    write_runs(tmp_path, "paper", [run_row(joint_quality=math.nan)])
    join_parts(tmp_path, "paper")
    (row,) = runs_in(tmp_path)
    assert math.isnan(row.joint_quality)
    assert row.temperature is None


def test_what_was_run_again_takes_the_place_of_what_was_joined(tmp_path):
    write_runs(tmp_path, "paper", [run_row(split=1), run_row(split=2, loss="nll")])
    join_parts(tmp_path, "paper")
    write_runs(tmp_path, "paper", [run_row(split=3)])
    assert [row.split for row in runs_in(tmp_path)] == [3, 2]
    join_parts(tmp_path, "paper")
    assert [row.split for row in runs_in(tmp_path)] == [3, 2]
    assert made_by(tmp_path)["name"].to_list() == ["part 0", "part 1"]


def test_other_columns_are_refused_by_name(tmp_path):
    pl.DataFrame({"name": ["a"], "best_epoch": [1]}).write_parquet(tmp_path / "paper.parquet")
    with pytest.raises(InvalidInputError, match=r"paper.parquet has other columns than it should: .*best_epoch"):
        parts_of(tmp_path, "paper")


def test_nothing_is_not_written(tmp_path):
    with pytest.raises(InvalidInputError, match="no rows"):
        write(tmp_path, "paper", "part", {}, {"runs": []})


def test_parts_are_read_in_the_order_of_names(tmp_path):
    assert not has_parts(tmp_path, "paper")
    for name, split in (("b", 1), ("a", 2)):
        write(tmp_path, "paper", name, {}, {"runs": [run_row(split=split)]})
    assert has_parts(tmp_path, "paper")
    assert parts_of(tmp_path, "paper")["name"].to_list() == ["a", "b"]


def test_what_was_asked_for_is_found_again(tmp_path):
    assert find_part(tmp_path, "paper", "a") is None
    path = write(tmp_path, "paper", "a", {"asked": {"splits": [1, 2]}}, {"runs": [run_row()]})
    assert find_part(tmp_path, "paper", "a") == (path, {"splits": [1, 2]})
    joined = join_parts(tmp_path, "paper")
    assert find_part(tmp_path, "paper", "a") == (joined, {"splits": [1, 2]})
    assert find_part(tmp_path, "paper", "b") is None


def test_groups_keep_the_order_of_rows():
    rows = [run_row(split=split, initialisation=start) for split, start in ((1, 0), (0, 0), (1, 1))]
    assert list(group_by(rows, "split")) == [(1,), (0,)]
    assert [row.initialisation for row in group_by(rows, "split")[1,]] == [0, 1]


def test_a_damaged_part_says_so(tmp_path):
    (tmp_path / "part.json").write_text("{")
    with pytest.raises(InvalidInputError, match=r"part.json cannot be read"):
        read_part(tmp_path / "part.json")


def test_the_columns_of_a_run_are_those_of_its_file():
    shared = {name for name, kind in STUDIES["paper"].items() if not isinstance(kind, pl.List)}
    runs = {field.name for field in STUDIES["paper"]["runs"].inner.fields}
    assert set(RunRow.__dataclass_fields__) <= shared | runs | {"hardware"}
