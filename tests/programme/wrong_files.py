"""Ways for a table's file to be wrong: CSV, Excel, Parquet."""

import gzip
import os
from pathlib import Path

import polars as pl

from tests.programme.cases import (
    CALLS,
    PEOPLE,
    VISITS,
    Case,
    edit,
    elsewhere,
    parquet,
    parquet_bytes,
    raw,
    remove,
    rows_of,
    setting,
    typed,
    workbook,
    workbook_bytes,
)
from tests.programme.small import BENEFICIARIES, ENGAGEMENT, edited


def _replace_by_folder(folder: Path) -> None:
    (folder / CALLS).unlink()
    (folder / CALLS).mkdir()


def _replace_by_pipe(folder: Path) -> None:
    (folder / CALLS).unlink()
    os.mkfifo(folder / CALLS)


def _link_to_itself(folder: Path) -> None:
    (folder / CALLS).unlink()
    (folder / CALLS).symlink_to(folder / CALLS)


WRONG_FILES = [
    Case("missing file", remove(CALLS), "file-missing", CALLS, None, "programme.toml"),
    Case("folder in a file's place", _replace_by_folder, "file-is-folder", CALLS, None, "folder"),
    Case("pipe in a file's place", _replace_by_pipe, "file-unreadable", CALLS, None, "ordinary"),
    Case("link to itself", _link_to_itself, "file-unreadable", CALLS, None, "cannot be opened"),
    elsewhere(
        "misspelt file", "engagement.csv", "engagment.csv", lambda path: None, "file-missing", None, "'engagement.csv'"
    ),
    elsewhere("missing folder", "engagement.csv", "logs/calls.csv", lambda path: None, "file-missing", None, "'logs'"),
    elsewhere(
        "unknown kind", "engagement.csv", "calls.docx", lambda path: path.write_text("x"), "file-kind", None, ".xlsx"
    ),
    elsewhere("no kind", "engagement.csv", "calls", lambda path: path.write_text("x"), "file-kind", None, ".csv"),
    raw("empty file", CALLS, b"", "file-empty", None),
    raw("only blank lines", CALLS, b"\n\n \n", "file-empty", None),
    raw("only a byte-order mark", CALLS, b"\xef\xbb\xbf", "file-empty", None),
    raw("only a header", CALLS, b"id,date,connected,seconds\n", "table-empty", None),
    raw("only a header of people", PEOPLE, BENEFICIARIES.splitlines()[0].encode(), "table-empty", None),
    raw("utf-16", CALLS, ENGAGEMENT.encode("utf-16"), "file-encoding", None, "UTF-16"),
    raw("utf-16 without a mark", CALLS, ENGAGEMENT.encode("utf-16-le"), "file-encoding", None, "UTF-16"),
    raw("utf-16 of the other kind", CALLS, ENGAGEMENT.encode("utf-16-be"), "file-encoding", None, "UTF-16"),
    raw("latin-1", PEOPLE, BENEFICIARIES.replace("urdu", "ourdoué").encode("latin-1"), "file-encoding", 3, "CSV UTF-8"),
    raw("broken utf-8", PEOPLE, BENEFICIARIES.encode().replace(b"urdu", b"ur\xffdu"), "file-encoding", 3, "iconv"),
    raw("cut off inside a letter", PEOPLE, BENEFICIARIES.encode() + "0005,É".encode()[:-1], "file-encoding", 6),
    raw("semicolons", CALLS, ENGAGEMENT.replace(",", ";").encode(), "file-separator", 1, 'separator = ";"'),
    raw("tabs", CALLS, ENGAGEMENT.replace(",", "\t").encode(), "file-separator", 1, 'separator = "\\t"'),
    raw("bars", CALLS, ENGAGEMENT.replace(",", "|").encode(), "file-separator", 1, 'separator = "|"'),
    setting(
        "semicolons declared",
        'file = "engagement.csv"',
        'file = "engagement.csv"\nseparator = ";"',
        "file-separator",
        'separator = ","',
        1,
    )._replace(file=CALLS),
    raw("old line ends", CALLS, ENGAGEMENT.replace("\n", "\r").encode(), "file-line-ends", None),
    raw("workbook named csv", CALLS, workbook_bytes(), "file-kind", None, ".xlsx"),
    raw("parquet named csv", CALLS, parquet_bytes(), "file-kind", None, ".parquet"),
    raw("gzip named csv", CALLS, gzip.compress(ENGAGEMENT.encode()), "file-kind", None, "gunzip"),
    raw("old workbook named csv", CALLS, b"\xd0\xcf\x11\xe0" + bytes(100), "file-kind", None, ".xls"),
    raw("web page named csv", CALLS, b"<!DOCTYPE html><html>Please log in</html>", "file-kind", None, "login"),
    raw("pdf named csv", CALLS, b"%PDF-1.7 ...", "file-kind", None, "PDF"),
    raw("random bytes named csv", CALLS, bytes([200, 13, 7, 255] * 50), "file-encoding", 1),
    edit("open quote", CALLS, "0003,", '"0003,', "file-quotes", 5),
    edit("stray quote", CALLS, "0003,2024-01-04,yes", '0003,2024-01-04,ye"s', "file-quotes", 5),
    edit("two stray quotes", PEOPLE, "Bina Secret", 'Bina "the Great" Secret', "file-quotes", 3),
    edit("quote inside a cell", PEOPLE, "urdu", '"ur"du', "file-quotes", 3),
    edit("a cell too many", CALLS, "0003,2024-01-04,yes,30", "0003,2024-01-04,yes,30,9", "file-ragged", 5, "5 cells"),
    edit("a cell too few", CALLS, "0003,2024-01-04,yes,30", "0003,2024-01-04,yes", "file-ragged", 5, "3 cells"),
    raw("cut off in the last row", CALLS, ENGAGEMENT[:-9].encode(), "file-ragged", 10, "cut off"),
    raw(
        "cut off in a quoted file",
        CALLS,
        ENGAGEMENT.replace("yes", '"yes"')[:-9].encode(),
        "file-ragged",
        10,
        "cut off",
    ),
    edit("a comma in a name", PEOPLE, "Bina Secret", "Secret, Bina", "file-ragged", 3, "in quotes"),
    edit("decimal commas", CALLS, "yes,30", "yes,30,5", "file-ragged", 5),
    raw("no header", CALLS, ENGAGEMENT.split("\n", 1)[1].encode(), "header-missing", 1, "id, date, seconds, connected"),
    raw("no header, ids of letters", PEOPLE, b"A1,Asha Secret,hindi\n", "header-missing", 1, "Add a row of names"),
    edit("title above the header", CALLS, "id,date", "Call log January\nid,date", "header-below", 2, "Delete row 1,"),
    edit(
        "titles above the header", CALLS, "id,date", "Calls,,,\n,,,\nid,date", "header-below", 3, "Delete rows 1 to 2"
    ),
    edit("missing column", CALLS, "connected,", "answered,", "column-missing", None, "answered"),
    edit("misspelt column", CALLS, "seconds", "secnds", "column-missing", None, "'secnds'"),
    edit("column in capitals", CALLS, "seconds", "Seconds", "column-missing", None, "capitals"),
    edit("spaces around a column", CALLS, "id,date", "id, date", "column-missing", None, "' date'"),
    edit("missing id column", CALLS, "id,date", "person,date", "column-missing", None),
    edit("missing feature", PEOPLE, "age", "years", "column-missing", None),
    edit("missing group", PEOPLE, "district", "block", "column-missing", None),
    edit("missing never-call column", PEOPLE, "status", "state", "column-missing", None),
    edit("missing status", VISITS, "status", "state", "column-missing", None),
    edit("column twice", CALLS, "id,date,connected,seconds", "id,date,date,seconds", "column-duplicate", 1),
    edit("id column twice", PEOPLE, "id,name", "id,id", "column-duplicate", 1),
    setting(
        "sheet of a csv",
        'file = "engagement.csv"',
        'file = "engagement.csv"\nsheet = "a"',
        "sheet-missing",
        "Remove",
        None,
    )._replace(file=CALLS),
]

WORKBOOKS = [
    elsewhere(
        "two sheets",
        "engagement.csv",
        "calls.xlsx",
        workbook(rows_of(ENGAGEMENT), "January", "Notes"),
        "sheet-choice",
        None,
        'sheet = "January"',
    ),
    elsewhere("empty workbook", "engagement.csv", "calls.xlsx", workbook([]), "file-empty", None, "is empty"),
    elsewhere(
        "workbook of a header",
        "engagement.csv",
        "calls.xlsx",
        workbook(rows_of(ENGAGEMENT)[:1]),
        "table-empty",
        None,
        "",
    ),
    elsewhere(
        "truncated workbook",
        "engagement.csv",
        "calls.xlsx",
        lambda path: path.write_bytes(workbook_bytes()[:2000]),
        "file-damaged",
        None,
        "password",
    ),
    elsewhere(
        "csv named xlsx",
        "engagement.csv",
        "calls.xlsx",
        lambda path: path.write_text(ENGAGEMENT),
        "file-damaged",
        None,
        "Excel",
    ),
    elsewhere("empty xlsx", "engagement.csv", "calls.xlsx", lambda path: path.write_bytes(b""), "file-empty", None, ""),
    elsewhere(
        "zip of noise",
        "engagement.csv",
        "calls.xlsx",
        lambda path: path.write_bytes(b"PK\3\4" + bytes(range(250))),
        "file-damaged",
        None,
        "",
    ),
    elsewhere(
        "noise named xls",
        "engagement.csv",
        "calls.xls",
        lambda path: path.write_bytes(bytes(range(250))),
        "file-damaged",
        None,
        "",
    ),
    elsewhere(
        "merged cells",
        "engagement.csv",
        "calls.xlsx",
        workbook(rows_of(edited(CALLS, "0001,2024-01-03", ",2024-01-03")), merge="A2:A3"),
        "id-empty",
        3,
        "merged",
    ),
    elsewhere(
        "empty row in a workbook",
        "engagement.csv",
        "calls.xlsx",
        workbook([*rows_of(ENGAGEMENT)[:2], [], *rows_of(ENGAGEMENT)[2:]]),
        "id-empty",
        3,
        "",
    ),
    elsewhere(
        "numeric ids in a workbook",
        "engagement.csv",
        "calls.xlsx",
        workbook([["id", "date", "connected", "seconds"], [1, "2024-01-01", "yes", 40]]),
        "id-unknown",
        2,
        "'0001'",
    ),
    elsewhere(
        "number of a day in a workbook",
        "engagement.csv",
        "calls.xlsx",
        workbook([["id", "date", "connected", "seconds"], ["0001", 45292, "yes", 40]]),
        "date-invalid",
        2,
        "spreadsheet",
    ),
    elsewhere(
        "header below a title",
        "engagement.csv",
        "calls.xlsx",
        workbook([["Calls"], *rows_of(ENGAGEMENT)]),
        "header-below",
        2,
        "Delete row 1,",
    ),
    elsewhere(
        "blank rows above",
        "engagement.csv",
        "calls.xlsx",
        workbook([[], [], *rows_of(edited(CALLS, "yes,45", "yes,-45"))]),
        "seconds-negative",
        4,
        "-45",
    ),
    elsewhere(
        "column twice in a workbook",
        "engagement.csv",
        "calls.xlsx",
        workbook([["id", "date", "connected", "seconds", "date"], ["0001", "2024-01-01", "yes", 40, ""]]),
        "column-duplicate",
        1,
        "",
    ),
    elsewhere(
        "missing column in a workbook",
        "engagement.csv",
        "calls.xlsx",
        workbook([["id", "date"], ["0001", "2024-01-01"]]),
        "column-missing",
        None,
        "id, date",
    ),
]

PARQUETS = [
    elsewhere(
        "truncated parquet",
        "engagement.csv",
        "calls.parquet",
        lambda path: path.write_bytes(parquet_bytes()[:300]),
        "file-damaged",
        None,
        "Parquet",
    ),
    elsewhere(
        "csv named parquet",
        "engagement.csv",
        "calls.parquet",
        lambda path: path.write_text(ENGAGEMENT),
        "file-damaged",
        None,
        "Parquet",
    ),
    elsewhere(
        "noise inside a parquet",
        "engagement.csv",
        "calls.parquet",
        lambda path: path.write_bytes(b"PAR1" + bytes(300) + b"PAR1"),
        "file-damaged",
        None,
        "Parquet",
    ),
    elsewhere(
        "empty parquet", "engagement.csv", "calls.parquet", parquet(typed(ENGAGEMENT)[:0]), "table-empty", None, ""
    ),
    elsewhere(
        "parquet without a column",
        "engagement.csv",
        "calls.parquet",
        parquet(typed(ENGAGEMENT).drop("connected")),
        "column-missing",
        None,
        "seconds",
    ),
    elsewhere(
        "whole numbers as ids",
        "engagement.csv",
        "calls.parquet",
        parquet(typed(ENGAGEMENT, id=pl.col("id").cast(pl.Int64))),
        "id-unknown",
        1,
        "'0001'",
    ),
    elsewhere(
        "a list as seconds",
        "engagement.csv",
        "calls.parquet",
        parquet(typed(ENGAGEMENT, seconds=pl.lit([[1.0]]))),
        "file-kind",
        None,
        "List",
    ),
    elsewhere(
        "infinite seconds",
        "engagement.csv",
        "calls.parquet",
        parquet(typed(ENGAGEMENT, connected=pl.lit("yes"), seconds=pl.lit(float("inf")))),
        "seconds-invalid",
        1,
        "inf",
    ),
    elsewhere(
        "missing id in a parquet",
        "engagement.csv",
        "calls.parquet",
        parquet(typed(ENGAGEMENT, id=pl.lit(None, dtype=pl.String))),
        "id-empty",
        1,
        "",
    ),
]
