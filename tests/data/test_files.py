"""Files that are missing, cut off or wrong: each complaint names the file, the place and the remedy."""

import gzip
import re

import polars as pl
import pytest

from armwise.data import ctn0094, heartsteps, oulad
from armwise.data.encoding import encode
from armwise.data.files import read_table
from armwise.errors import InvalidInputError

COLUMNS = {"who": int, "score": float, "yes": bool, "word": str}
GOOD = "who,score,yes,word\n1,0.5,True,a\n2,,False,\n"


def write(folder, text, name="table.csv"):
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz"])
def test_columns_have_their_types_and_gaps(tmp_path, name):
    table = read_table(write(tmp_path, GOOD, name), COLUMNS, frozenset(["score", "word"]))
    assert table.to_dict(as_series=False) == {
        "who": [1, 2],
        "score": [0.5, None],
        "yes": [True, False],
        "word": ["a", None],
    }


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("who,score,yes\n1,0.5,True\n", ["no column 'word'", "It has who, score, yes"]),
        (GOOD.replace("2,,", "x,,"), ["line 3", "column 'who'", "'x'", "whole number"]),
        (GOOD.replace("2,,", "2.5,,"), ["line 3", "column 'who'", "'2.5'"]),
        (GOOD.replace("0.5", "half"), ["line 2", "column 'score'", "'half'"]),
        (GOOD.replace("0.5", "inf"), ["line 2", "column 'score'", "'inf'"]),
        (GOOD.replace("True", "maybe"), ["line 2", "column 'yes'", "'maybe'", "True or False"]),
        (GOOD.replace("2,,", ",,"), ["line 3", "column 'who' is empty"]),
        (GOOD[:-9], ["line 3", "column 'yes' is empty"]),
        (GOOD + "3,1.0,True,a,too many\n", ["not a comma-separated table"]),
        ("who,score,yes,word\n", ["no rows"]),
        ("", ["not a comma-separated table"]),
    ],
)
def test_a_malformed_file_is_refused_by_place(tmp_path, text, parts):
    path = write(tmp_path, text)
    with pytest.raises(InvalidInputError) as error:
        read_table(path, COLUMNS, frozenset(["score", "word"]))
    assert all(part in str(error.value) for part in [str(path), *parts]), str(error.value)


def test_a_truncated_gzip_is_refused(tmp_path):
    path = write(tmp_path, GOOD * 100, "table.csv.gz")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InvalidInputError, match=re.escape(f"{path} is not a complete gzip file")):
        read_table(path, COLUMNS)
    path.write_text(GOOD)
    with pytest.raises(InvalidInputError, match=r"not a complete gzip file.*download it again"):
        read_table(path, COLUMNS)


@pytest.mark.parametrize("load", [oulad, ctn0094, heartsteps])
def test_a_folder_without_the_file_is_refused(tmp_path, load):
    with pytest.raises(InvalidInputError, match=r"does not exist. Pass the folder that holds .*\.csv"):
        load(tmp_path)


def test_a_folder_in_the_files_place_is_refused(tmp_path):
    (tmp_path / "users.csv").mkdir()
    with pytest.raises(InvalidInputError, match="cannot be read: Is a directory"):
        heartsteps(tmp_path)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"trial": "28"}, "trial must be one of '27', '30', '51', not '28'"),
        ({"outcome": "happy"}, "outcome must be one of 'engaged', 'negative'"),
        ({"trial": "51", "phase": 2}, "phase must be 1, or 2 in trial '30' alone"),
    ],
)
def test_unknown_choices_are_refused(tmp_path, options, part):
    with pytest.raises(InvalidInputError, match=part):
        ctn0094(tmp_path, **options)


def test_an_unknown_code_is_refused(tmp_path):
    header = "who,project,arm,phase,week,uds_code\n"
    write(tmp_path, header + "1,27,Methadone,1,1,o\n1,27,Methadone,1,2,?\n", "weekly_states.csv.gz")
    with pytest.raises(InvalidInputError, match=r"weekly_states.csv.gz, line 3, column 'uds_code' has '\?'"):
        ctn0094(tmp_path)


def test_words_and_numbers_become_levels_with_one_for_the_missing():
    table = pl.DataFrame(
        {
            "word": ["b", None, "a", "b"],
            "same": ["x", "x", "x", "x"],
            "number": [1.0, 2.0, 3.0, 4.0],
            "gaps": [0.0, 0.0, None, 5.0],
        }
    )
    features = encode(table, ["word", "same"], ["number", "gaps"], num_bins=2)
    assert features.levels == (3, 2, 3)
    assert features.codes.tolist() == [[1, 0, 0], [2, 0, 0], [0, 1, 2], [1, 1, 1]]
