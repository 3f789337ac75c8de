"""Text that a spreadsheet will not run."""

import polars as pl

# What spreadsheets take for the beginning of a formula; some skip tabs and line ends before one.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


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


def safe_text(text: str) -> str:
    """The text with an apostrophe before it if a spreadsheet would run it."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _starts_formula(column: str) -> pl.Expr:
    return pl.any_horizontal([pl.col(column).str.starts_with(start) for start in FORMULA_STARTS])
