"""Ids that may mean the same person although they are written differently: Unicode forms, capitals, letters, zeros."""

import unicodedata
from collections.abc import Callable

import polars as pl

from armwise.programme.findings import MOST_SHOWN, Findings, Table

# Cyrillic and Greek letters that look like Latin ones as small letters or as capitals, and the dashes.
LOOK_ALIKES = str.maketrans("авекмнорстухіјѕԁһӏαβεζηικμνορτυχ‐‑‒–—―−", "abekmhopctyxijsdhlabezhikmnoptyx-------")


def normalise_ids(table: Table, findings: Findings) -> Table:
    """The table with its ids in Unicode's composed form (NFC), so that tables can be compared. Changes are noted."""
    ids = table[table.id_column]
    composed = _change_letters(ids, lambda text: unicodedata.normalize("NFC", text))
    changed = (ids != composed).fill_null(False)
    if not changed.any():
        return table
    findings.rows("id-composed", table, table.id_column, changed)
    return Table(table.source, table.frame.with_columns(composed), table.rows, table.id_column, table.complete)


def note_similar(table: Table, findings: Findings) -> None:
    """Note people whose ids look nearly the same: they differ only in capitals, widths or look-alike letters."""
    ids = table[table.id_column]
    if not ids.str.contains(r"[^0-9]").any():
        return
    distinct = ids.drop_nulls().unique(maintain_order=True)
    alike = skeleton(distinct)
    doubles = alike.is_duplicated()
    if not doubles.any():
        return
    firsts = doubles & alike.is_first_distinct()
    first = dict(zip(alike.filter(firsts).to_list(), distinct.filter(firsts).to_list(), strict=True))
    later = distinct.filter(doubles & ~alike.is_first_distinct())
    places = (ids.is_in(later.implode()) & ids.is_first_distinct()).arg_true()
    for number, place in enumerate(places.head(MOST_SHOWN).to_list()):
        other = first[skeleton(ids[place : place + 1]).item()]
        rest = len(places) - min(len(places), MOST_SHOWN) if number == 0 else 0
        where = {"row": table.rows[place], "column": table.id_column, "value": ids[place]}
        findings.add("id-similar", table.file, **where, hint=f"looks like {other!r}", count=1 + rest)


def find_similar(unknown: pl.Series, known: pl.Series) -> list[str | None]:
    """For each unknown id, a known one that differs only in zeros, spaces, capitals or looks; none if there is none."""
    wanted = _bare(unknown)
    bare = _bare(known)
    near = bare.is_in(wanted.implode())
    found = dict(zip(bare.filter(near).to_list(), known.filter(near).to_list(), strict=True))
    return [found.get(each) for each in wanted.to_list()]


def skeleton(ids: pl.Series) -> pl.Series:
    """The ids in a plain form with small letters only. Two ids that look alike have the same plain form."""
    return _change_letters(ids, _plain_letters).str.to_lowercase()


def _bare(ids: pl.Series) -> pl.Series:
    """The plain form without invisible characters, leading zeros, ".0" and a spreadsheet's marks (apostrophe, ="…")."""
    seen = skeleton(ids).str.replace_all(r"\p{Cf}", "").str.strip_chars()
    return seen.str.replace(r"""^(?:'|=")(.*?)"?$""", "$1").str.strip_chars_start("0").str.replace(r"\.0+$", "")


def _plain_letters(text: str) -> str:
    letters = unicodedata.normalize("NFKC", text).casefold().translate(LOOK_ALIKES)
    return "".join(str(unicodedata.decimal(each)) if each.isdecimal() else each for each in letters)


def _change_letters(ids: pl.Series, change: Callable[[str], str]) -> pl.Series:
    """Apply ``change`` to the ids that are not plain ASCII. Most tables have none, so millions of ids cost nothing."""
    foreign = (ids.str.len_bytes() != ids.str.len_chars()).fill_null(False)
    if not foreign.any():
        return ids
    return ids.clone().scatter(foreign.arg_true(), [change(each) for each in ids.filter(foreign).to_list()])
