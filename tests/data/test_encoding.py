"""Codes learned once and applied to other people: against a plain Python encoder, and whatever may go wrong."""

import bisect
import dataclasses
import datetime
import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armwise.data import Encoder
from armwise.errors import InvalidInputError

PEOPLE = pl.DataFrame(
    {
        "phone": ["own", "shared", None, "own", "none"],
        "age": [21, 35, None, 28, 40],
        "smokes": [True, False, False, None, True],
        "weight": [61.5, math.nan, 70.0, 55.0, 80.0],
        "country": ["in"] * 5,
        "empty": [None] * 5,
    }
)

words = st.lists(st.one_of(st.none(), st.sampled_from(["a", "b", "B", "", "é", "10", "9"])), min_size=1, max_size=12)
numbers = st.one_of(st.none(), st.just(math.nan), st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0, 2.0]))


@st.composite
def tables(draw):
    text = draw(words)
    size = {"min_size": len(text), "max_size": len(text)}
    yes = draw(st.lists(st.one_of(st.none(), st.booleans()), **size))
    columns = {"text": text, "yes": yes, "number": draw(st.lists(numbers, **size))}
    types = {"text": pl.String, "yes": pl.Boolean, "number": pl.Float64}
    return pl.DataFrame(columns, schema=types)


def plain_code(column, value):
    """The same by dictionary and bisection, one value at a time."""
    missing = value is None or (isinstance(value, float) and math.isnan(value))
    if hasattr(column, "cuts"):
        return len(column.cuts) + 1 if missing else bisect.bisect_left(column.cuts, value)
    text = str(value).lower() if isinstance(value, bool) else value
    return column.levels.index(text) if not missing and text in column.levels else len(column.levels)


def codes_of(encoder, table):
    return np.asarray(encoder.transform(table).features.codes)


@given(learned=tables(), other=tables(), num_bins=st.integers(2, 5))
def test_every_code_is_the_one_a_plain_encoder_gives(learned, other, num_bins):
    encoder = Encoder.fit(learned, num_bins=num_bins)
    for table in (learned, other):
        features, unseen = encoder.transform(table)
        expected = [
            [plain_code(column, table[column.name][row]) for column in encoder.columns] for row in range(table.height)
        ]
        assert features.codes.tolist() == expected
        assert features.levels == encoder.levels
        assert (np.asarray(features.codes) < np.asarray(encoder.levels)).all()
        if table is learned:
            assert not any(unseen.values())


@given(table=tables(), seed=st.integers(0, 2**32 - 1), size=st.integers(1, 5))
def test_neither_row_order_nor_batches_nor_a_file_change_anything(table, seed, size):
    encoder, order = Encoder.fit(table), np.random.default_rng(seed).permutation(table.height)
    assert Encoder.fit(table[order]) == encoder
    codes = codes_of(encoder, table)
    np.testing.assert_array_equal(codes_of(encoder, table[order]), codes[order])
    batches = [codes_of(encoder, part) for part in table.iter_slices(size)]
    np.testing.assert_array_equal(np.concatenate(batches), codes)
    assert {part.dtype for part in batches} == {codes.dtype}
    assert Encoder.from_dict(json.loads(json.dumps(encoder.to_dict()))) == encoder


def test_columns_are_taken_by_type_and_those_that_tell_nothing_are_dropped():
    encoder = Encoder.fit(PEOPLE, num_bins=2)
    assert [column.name for column in encoder.columns] == ["phone", "smokes", "age", "weight"]
    assert encoder.columns[0].levels == ("none", "own", "shared")
    assert encoder.columns[1].levels == ("false", "true")
    assert encoder.columns[2].cuts == (28.0,)
    assert [column.had_missing for column in encoder.columns] == [True] * 4
    assert encoder.dropped == ("country", "empty")
    assert encoder.levels == (4, 3, 3, 3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        encoder.dropped = ()


def test_a_number_may_stand_for_a_word():
    districts = pl.DataFrame({"district": [3, 12, 3, None], "age": [1, 2, 3, 4]})
    encoder = Encoder.fit(districts, categorical=["district"])
    assert [column.name for column in encoder.columns] == ["district", "age"]
    assert encoder.columns[0].levels == ("12", "3")
    as_floats = districts.with_columns(pl.col("district").cast(pl.Float64))
    assert Encoder.fit(as_floats, categorical=["district"]) == encoder
    for kind in (pl.Float32, pl.Int16, pl.String):
        np.testing.assert_array_equal(
            codes_of(encoder, districts.with_columns(pl.col("district").cast(kind))), codes_of(encoder, districts)
        )
    assert [column.name for column in Encoder.fit(districts, [], ["age"]).columns] == ["age"]
    halves = pl.DataFrame({"dose": [0.5, 1.0, 1e300, None]})
    assert Encoder.fit(halves, ["dose"], []).columns[0].levels[:2] == ("0.5", "1")
    assert codes_of(Encoder.fit(halves, ["dose"], []), halves).tolist() == [[0], [1], [2], [3]]


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["x", "9", "10", "2"])])
def test_how_polars_keeps_words_makes_no_difference(kind):
    text = pl.DataFrame({"word": ["10", "2", "9", None, "10"]})
    other = text.with_columns(pl.col("word").cast(kind))
    for roles in ({}, {"categorical": [], "numeric": ["word"]}):
        encoder = Encoder.fit(text, **roles)
        assert Encoder.fit(other, **roles) == encoder
        np.testing.assert_array_equal(codes_of(encoder, other), codes_of(encoder, text))


def test_what_was_not_seen_is_unknown_and_counted():
    encoder = Encoder.fit(PEOPLE, num_bins=2)
    new = pl.DataFrame(
        {
            "surplus": [datetime.date(2024, 1, 1)] * 3,
            "weight": [1e9, -1e9, None],
            "age": ["1000", None, "-5"],
            "smokes": [None, True, False],
            "phone": ["stolen", "borrowed", None],
        }
    )
    features, unseen = encoder.transform(new)
    assert features.codes.tolist() == [[3, 2, 1, 1], [3, 1, 2, 0], [3, 0, 0, 2]]
    assert unseen == {"phone": 2, "smokes": 0}


def test_a_level_is_kept_for_the_missing_even_if_none_was():
    encoder = Encoder.fit(pl.DataFrame({"word": ["a", "b"], "number": [1, 2]}))
    assert encoder.levels == (3, 3)
    assert not any(column.had_missing for column in encoder.columns)
    missing = pl.DataFrame({"word": [None], "number": [None]})
    assert encoder.transform(missing).features.codes.tolist() == [[2, 2]]
    assert encoder.transform(missing).unseen == {"word": 0}


def test_no_one_and_nothing_can_be_encoded():
    encoder = Encoder.fit(PEOPLE)
    assert encoder.transform(PEOPLE.clear()).features.codes.shape == (0, 4)
    constant = Encoder.fit(PEOPLE.select("country"))
    assert constant.transform(PEOPLE).features.codes.shape == (5, 0)
    assert constant.transform(pl.DataFrame({"anything": [1, 2]})).features.width == 0


@pytest.mark.parametrize(("num_words", "dtype"), [(255, np.uint8), (256, np.uint16)])
def test_codes_are_as_small_as_their_levels_allow(num_words, dtype):
    table = pl.DataFrame({"word": [f"{number:03}" for number in range(num_words)] + [None]})
    codes = codes_of(Encoder.fit(table), table)
    assert codes.dtype == dtype
    assert codes[:, 0].tolist() == list(range(num_words + 1))


def test_very_many_words_need_four_bytes():
    table = pl.DataFrame({"word": [f"{number:06}" for number in range(70_000)]})
    codes = codes_of(Encoder.fit(table, max_levels=70_000), table)
    assert codes[:, 0].tolist() == list(range(70_000))


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"table": PEOPLE.to_dict()}, "must be a Polars DataFrame, not dict"),
        ({"table": PEOPLE.lazy()}, "must be a Polars DataFrame, not LazyFrame"),
        ({"table": PEOPLE.clear()}, "no rows to learn from"),
        ({"table": pl.DataFrame({"born": [datetime.date(2000, 1, 1)]})}, "'born' has the type Date.*a number, such as"),
        ({"table": pl.DataFrame({"calls": [[1, 2]]})}, r"'calls' has the type List.*columns of their own"),
        ({"categorical": ["phone", "age"], "numeric": ["age"]}, "'age' is named more than once"),
        ({"categorical": "phone"}, r"must be a list of columns, not 'phone'\. Write \['phone'\]"),
        ({"numeric": ["height", "age", "hair"]}, "no column 'height', 'hair'"),
        ({"numeric": ["phone"]}, "Column 'phone' must hold finite numbers, but row 0 has 'own'"),
        ({"num_bins": 1}, "num_bins must be at least 2"),
        ({"max_levels": 2}, "Column 'phone' has 3 different values, more than max_levels = 2"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(changes, part):
    with pytest.raises(InvalidInputError, match=part):
        Encoder.fit(**({"table": PEOPLE} | changes))


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"age": ["21", "35", None, "twenty", "40"]}, "Column 'age' must hold finite numbers, but row 3 has 'twenty'"),
        ({"age": [1.0, 2.0, math.inf, 3.0, 4.0]}, "row 2 has inf"),
        ({"age": [datetime.date(2000, 1, 1)] * 5}, "'age' has the type Date"),
        ({"phone": [datetime.date(2000, 1, 1)] * 5}, "'phone' has the type Date"),
    ],
)
def test_a_column_that_changed_is_refused(changes, part):
    encoder = Encoder.fit(PEOPLE)
    with pytest.raises(InvalidInputError, match=part):
        encoder.transform(PEOPLE.with_columns(**{name: pl.Series(values) for name, values in changes.items()}))


def test_columns_that_are_gone_are_named_unless_they_told_nothing():
    encoder = Encoder.fit(PEOPLE)
    with pytest.raises(InvalidInputError, match=r"no column 'phone', 'weight'\. Add it, with nulls"):
        encoder.transform(PEOPLE.drop("phone", "weight"))
    assert encoder.transform(PEOPLE.drop("country", "empty")).features.codes.shape == (5, 4)


def changed(path, value):
    """The saved encoder with one thing changed."""
    saved = Encoder.fit(PEOPLE).to_dict()
    place = saved
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return saved


@pytest.mark.parametrize(
    ("saved", "part"),
    [
        (None, "must have the keys 'version', 'columns', 'dropped' and no others, not NoneType"),
        (changed(["version"], 2), "has the version 2, and this armwise reads 1"),
        (changed(["version"], "1"), "has the version '1', and this armwise reads 1"),
        ({"version": 7, "trees": []}, "has the version 7"),
        (changed(["colour"], "red"), "no others, not 'version', 'columns', 'dropped', 'colour'"),
        (changed(["columns", 0, "kind"], "picture"), "Column 0 of the saved encoder must have the keys"),
        (changed(["columns", 2, "kind"], "picture"), "kind 'picture'; known are 'category' and 'number'"),
        (changed(["columns", 0, "levels"], ["b", "a"]), "levels must be of type str and increasing"),
        (changed(["columns", 0, "levels"], ["a", 1]), "levels must be of type str and increasing"),
        (changed(["columns", 2, "cuts"], [1.0, math.nan]), "cuts must be of type float and increasing"),
        (changed(["columns", 2, "cuts"], [math.inf]), "cuts must be of type float and increasing"),
        (changed(["columns", 2, "had_missing"], 1), "'had_missing' = 1, which is not of type bool"),
        (changed(["columns", 1, "name"], "phone"), "'phone' is named more than once"),
        (changed(["dropped"], [3]), "dropped must be of type str"),
    ],
)
def test_what_to_dict_did_not_write_is_refused(saved, part):
    with pytest.raises(InvalidInputError, match=part):
        Encoder.from_dict(saved)


def test_a_number_may_lose_its_decimal_point_in_a_file():
    assert Encoder.from_dict(changed(["columns", 2, "cuts"], [21, 28])).columns[2].cuts == (21.0, 28.0)
