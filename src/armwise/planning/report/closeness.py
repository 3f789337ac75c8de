"""How much the order of the list matters: how far those on it are from those who just missed it."""

from typing import NamedTuple

import polars as pl

# Indices closer together than this share of the list's median are as good as equal.
CLOSE = 0.05


class Closeness(NamedTuple):
    """Those on the list beside those who may be called and are not.

    Attributes:
        num_left: people who may be called and are not on the list.
        num_by_lot: on the list by lot: someone with exactly the same index is not on it.
        num_close: on the list, although someone left out has almost the same index.
        listed: the average expected gain on the list; NaN if nobody is, or if gains are unknown.
        everyone: the same of all who may be called.
    """

    num_left: int
    num_by_lot: int
    num_close: int
    listed: float
    everyone: float


def measure_closeness(calls: pl.DataFrame, everyone: pl.DataFrame, groups: pl.DataFrame | None) -> Closeness:
    """How close a list is to the people whom it leaves out.

    Args:
        calls: the list, with id, index and expected_gain.
        everyone: all who may be called, with the same columns.
        groups: id and group of each person, where groups have budgets of their own, so that people compete within
            theirs; none where everyone competes with everyone.
    """
    columns = ["id", "index", "expected_gain"]
    people = everyone.select(columns).with_columns(listed=pl.col("id").is_in(calls["id"].implode()))
    people = people.with_columns(group=pl.lit("")) if groups is None else people.join(groups, on="id", how="left")
    best_left = pl.col("index").filter(~pl.col("listed")).max().over("group")
    margin = CLOSE * pl.col("index").filter(pl.col("listed")).median().abs()
    people = people.with_columns(ahead=pl.col("index") - best_left, margin=margin)
    mine = people.filter("listed")
    return Closeness(
        num_left=people.height - mine.height,
        num_by_lot=int((mine["ahead"] == 0).sum()),
        num_close=int((mine["ahead"] <= mine["margin"]).sum()),
        listed=_mean(mine["expected_gain"]),
        everyone=_mean(people["expected_gain"]),
    )


def _mean(gains: pl.Series) -> float:
    known = gains.drop_nulls().to_numpy()
    return float(known.mean()) if len(known) else float("nan")
