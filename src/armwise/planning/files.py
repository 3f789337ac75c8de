"""Text that a spreadsheet will not run, and that steers no terminal."""

import polars as pl

from armwise.text import HIDDEN, visible

# What spreadsheets take for the beginning of a formula; some skip tabs and line ends before one, and some, in East
# Asian settings, read the wide forms as the usual ones.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def spreadsheet_safe(table: pl.DataFrame) -> pl.DataFrame:
    """The table with an apostrophe before every text that a spreadsheet would run as a formula.

    Only text columns change: a negative number stays a number. The names of the columns are treated alike.

    Example:
        >>> spreadsheet_safe(pl.DataFrame({"note": ["=1+1", "fine"], "gain": [-1.5, 2.0]})).rows()
        [("'=1+1", -1.5), ('fine', 2.0)]
    """
    columns = [
        pl.when(_starts_formula(name)).then(pl.lit("'") + pl.col(name)).otherwise(pl.col(name)).alias(name)
        for name in table.columns
        if table.schema[name] == pl.String
    ]
    return table.with_columns(columns).rename({name: safe_text(name) for name in table.columns})


def without_hidden(table: pl.DataFrame) -> pl.DataFrame:
    """The table with every hidden character of a text as an escape that can be seen."""
    names = [name for name in table.columns if table.schema[name] == pl.String]
    # Almost always there is nothing to do; then no text is touched.
    odd = [name for name in names if any(HIDDEN.search(text) for text in table[name].drop_nulls().unique().to_list())]
    return table.with_columns(pl.col(name).map_elements(visible, return_dtype=pl.String) for name in odd)


def safe_text(text: str) -> str:
    """The text with an apostrophe before it if a spreadsheet would run it."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _starts_formula(column: str) -> pl.Expr:
    return pl.any_horizontal([pl.col(column).str.starts_with(start) for start in FORMULA_STARTS])
