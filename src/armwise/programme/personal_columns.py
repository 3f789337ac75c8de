"""Find columns that identify single people, such as names. A model must not learn from them: it keeps their values."""

from collections.abc import Sequence

import polars as pl

from armwise.data.columns import Categories, Numbers
from armwise.errors import InvalidInputError

# With at least this many people, a column is personal if more than this share of them have a value nobody else has.
MANY_PEOPLE, SHARE_ALONE = 50, 0.5
# With fewer people, small groups look the same (12 people from 10 villages), so every person must have her own value.
FEW_PEOPLE = 10
# A whole number of eight digits or more is probably a telephone number, an identity number or a date of birth.
LONG_NUMBER = 10**7


def is_personal(column: pl.Series) -> bool:
    """Whether most people have a value in this column that nobody else has.

    For text, this is the only test. Numbers must also be long: most of them are whole and have eight digits or more.
    A model keeps quantiles, and the quantiles of such numbers are telephone numbers of real people. Ages and weights
    are shorter.

    Args:
        column: text or numbers ``[people]``, null where not known.

    Example:
        >>> is_personal(pl.Series([f"Asha {number}" for number in range(60)]))
        True
        >>> is_personal(pl.Series(["north", "south"] * 30)), is_personal(pl.Series(range(18, 78)))
        (False, False)
        >>> is_personal(pl.Series(range(9_876_500_000, 9_876_500_060)))
        True
    """
    known = column.drop_nulls()
    if known.dtype.is_numeric() and not _are_long(known):
        return False
    alone = int(known.is_unique().sum())
    if len(known) >= MANY_PEOPLE:
        return alone > SHARE_ALONE * len(known)
    return len(known) >= FEW_PEOPLE and alone == len(known)


def refuse_personal(people: pl.DataFrame, categorical: Sequence[str], numeric: Sequence[str]) -> None:
    """Refuse to learn from personal columns; one message names all of them.

    Args:
        people: one row per person.
        categorical: the columns that hold categories.
        numeric: the columns that are cut at quantiles.
    """
    read = [Categories.read(people[name]) for name in categorical] + [Numbers.read(people[name]) for name in numeric]
    names = [column.name for column in read if is_personal(column)]
    if not names:
        return
    columns = ("column " if len(names) == 1 else "columns ") + ", ".join(map(repr, names))
    raise InvalidInputError(
        f"Most people have a value that nobody else has in {columns}, as with names and telephone numbers. The model "
        f"would keep these values. Drop {columns}, or name the columns to learn from in categorical and numeric. Group "
        "places into larger areas, and write large amounts in thousands."
    )


def _are_long(numbers: pl.Series) -> bool:
    long = (numbers == numbers.cast(pl.Float64).floor()) & (numbers.abs() >= LONG_NUMBER)
    return int(long.sum()) > len(numbers) / 2
