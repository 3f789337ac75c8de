"""A spreadsheet runs none of the text."""

import polars as pl
import pytest

from armwise.io.spreadsheets import safe_text, spreadsheet_safe, without_hidden


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=cmd|' /C calc'!A0", "＝1+1", "＋1", "－1", "＠A"]
)
def test_text_that_would_run_is_neutralised(text):
    assert safe_text(text) == "'" + text
    table = spreadsheet_safe(pl.DataFrame({"=name": [text, "plain", None], "number": [-1, 0, 1]}))
    assert table.to_dict(as_series=False) == {"'=name": ["'" + text, "plain", None], "number": [-1, 0, 1]}


def test_hidden_characters_can_be_seen():
    table = pl.DataFrame({"id": ["a\x1b]0;x\x07", "b\u202e\u200b", None], "group": ["né", "क्\u200dष", "x\ty\nz"]})
    assert without_hidden(table).to_dict(as_series=False) == {
        "id": [r"a\x1b]0;x\x07", r"b\u202e\u200b", None],
        "group": ["né", "क्\u200dष", "x\ty\nz"],
    }


def test_ordinary_text_is_left_alone():
    table = pl.DataFrame({"id": ["0001", "a=b", ""], "when": ["2024-01-01", "1-2", "x"]})
    assert spreadsheet_safe(table).equals(table)
