"""Choose who is called from a stream of people, and remember only people who can still be called.

There are two ways to choose. "best" takes the highest expected indices. "lottery" draws lots between people whose
expected indices hardly differ (``armwise.planner.lottery``). Both ways report how often each person belongs on the
list.

Why taking the best first is optimal. Groups divide the people, so "at most b_g of group g, at most B in all" is a
laminar matroid: of any two feasible sets, the smaller can be extended by someone of the larger. On a matroid the set
of k best that greedy finds has, for every k, the largest sum of any k feasible people (Rado 1957), for any weights.

Why people who were left out can be forgotten. Let x be left out when only some people are known. Either b_g people of
her own group come before her, or B of the chosen people do. New people can push some of these out. But each one is
replaced by a person who comes before her, and so before x. Hence x stays out, and the best of everyone are the best
among the people chosen so far and those not yet seen.
"""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Float, Int, UInt64

from armwise.planner.lottery import UNIT, Candidates, call_probabilities, draw_list, lot_probabilities
from armwise.planner.rules import CallRules
from armwise.programme.settings import LOTTERY

ORDER = ["index", "tie", "id"]
DESCENDING = [True, False, False]
PROBABILITIES = ["call_probability", "lot_probability", "list_probability"]
# Lots are drawn among the people with the highest expected indices: this many times as many as are called.
REACH = 4
DRAWS = "armwise:draws"
FEWEST_TO_SORT = 2**15
# No programme is larger, and ``REACH`` times this number still fits into Polars' integers.
MOST_PEOPLE = 2**40


class Selected(NamedTuple):
    """Who is called, and everyone's probability of a call.

    Attributes:
        chosen: the people called, the highest index first: the columns that were added, ``tie`` (the person's lot) and
            the three probabilities.
        probabilities: id and three probabilities of everyone for whom one of them is not 0, the most probable first.
            ``call_probability`` is the share of posterior draws whose best list she is on. ``lot_probability`` is her
            chance if lots decide between people whose expected indices hardly differ. ``list_probability`` is the
            chance that she had of being put on this list: with "lottery" it is her ``lot_probability``, with "best" it
            is 1 or 0.
        num_draws: the number of posterior draws that the probabilities come from.
    """

    chosen: pl.DataFrame
    probabilities: pl.DataFrame
    num_draws: int


class Selection:
    """Chooses among the people added.

    Args:
        rules: the budgets, and the way to choose.
        seed: the seed of all lots.
        step: the planned step, a number or text. Lots differ from step to step.
    """

    def __init__(self, rules: CallRules, seed: int, step: int | str = 0):
        self._rules, self._seed, self._step = rules, seed, step
        self._places = [cap for _, cap in rules.group_budgets] or [rules.total]
        self._near = Shortlist(rules, seed, step, REACH)
        self._candidates = Candidates(self._places, rules.total)
        self._num_draws = 0

    def add(self, people: pl.DataFrame, index_draws: Float[np.ndarray, "draws people"] | None = None) -> None:
        """Consider more people.

        Args:
            people: a frame with the columns id, index, group and any others to keep.
            index_draws: the index of each person in each posterior draw; by default the index counts as certain.
        """
        draws = people["index"].to_numpy()[None] if index_draws is None else index_draws
        self._num_draws = len(draws)
        self._candidates.add(people.select("id", "group"), self._codes(people), draws)
        own = pl.Series(DRAWS, np.ascontiguousarray(draws.T), dtype=pl.Array(pl.Float32, len(draws)))
        self._near.add(people.with_columns(own))

    def finish(self) -> Selected:
        """Who is called among everyone added."""
        belonging = self._belonging()
        near = self._lots().join(belonging, on="id", how="left", maintain_order="left")
        # A person with a high average index may still be on no draw's list.
        near = near.with_columns(pl.col("call_probability").fill_null(0.0))
        if self._rules.choice == LOTTERY:
            codes, start = self._codes(near), random_number(self._seed, self._step, UNIT)
            drawn = draw_list(near["lot_probability"].to_numpy(), codes, start)
            near = near.with_columns(pl.Series("drawn", drawn), list_probability=pl.col("lot_probability"))
        else:
            best = self._near.first(near)["id"]
            near = near.with_columns(drawn=pl.col("id").is_in(best.implode()))
            near = near.with_columns(list_probability=pl.col("drawn").cast(pl.Float64))
        chosen = near.filter("drawn").drop("drawn").sort(ORDER, descending=DESCENDING)
        return Selected(chosen, _everyone(near, belonging), self._num_draws)

    def _lots(self) -> pl.DataFrame:
        """People above or near the end of the list, in the order of their lots, with their lot probabilities."""
        near = self._near.chosen.sort(["tie", "id"])
        draws = near[DRAWS].to_numpy().T.reshape(self._num_draws, near.height)
        index = near["index"].to_numpy().astype(np.float64)
        limits = self._codes(near), self._places, self._rules.total
        found = lot_probabilities(index, draws, *limits, cost=self._rules.lottery_cost)
        return near.drop(DRAWS).with_columns(pl.Series("lot_probability", found))

    def _belonging(self) -> pl.DataFrame:
        """Id and call probability of the candidates. The order in which they came changes nothing."""
        people, _, index_draws = self._candidates.thin()
        order = people.select(pl.arg_sort_by("id")).to_series().to_numpy()
        people = people[order]
        found = call_probabilities(index_draws[:, order], self._codes(people), self._places, self._rules.total)
        return people.select("id", pl.Series("call_probability", found))

    def _codes(self, people: pl.DataFrame) -> Int[np.ndarray, " people"]:
        """The position of each person's group among the group budgets; 0 without group budgets."""
        if not self._rules.group_budgets:
            return np.zeros(people.height, np.int64)
        codes = {name: code for code, (name, _) in enumerate(self._rules.group_budgets)}
        return people["group"].replace_strict(codes, return_dtype=pl.Int64).to_numpy()


def _everyone(near: pl.DataFrame, belonging: pl.DataFrame) -> pl.DataFrame:
    """Everyone with a probability, including people on some draw's list whose expected index is not near the top."""
    named = near.select("id", *PROBABILITIES)
    others = belonging.join(named, on="id", how="anti").with_columns(lot_probability=0.0, list_probability=0.0)
    everyone = pl.concat([named, others.select(named.columns)])
    known = everyone.filter(pl.any_horizontal(pl.col(name) > 0 for name in PROBABILITIES))
    return known.sort(["call_probability", "id"], descending=[True, False])


class Shortlist:
    """The highest indices among the people added so far.

    Args:
        rules: the budgets.
        seed: the seed of the lots between equal indices.
        step: the planned step.
        times: remember as many people as if all budgets were so many times as large.
    """

    def __init__(self, rules: CallRules, seed: int, step: int | str = 0, times: int = 1):
        self._seed, self._step, self._times = seed, step, times
        self._total, self._group_budgets = min(rules.total, MOST_PEOPLE), rules.group_budgets
        self._rivals: list[pl.DataFrame] = []
        self._lowest = -float("inf")

    def add(self, people: pl.DataFrame) -> None:
        """Consider more people: a frame with the columns id, index, group and any others to keep."""
        hopeful = self._hopeful(people)
        ties = pl.Series("tie", tie_breaks(hopeful["id"].to_list(), self._seed, self._step), dtype=pl.UInt64)
        self._rivals.append(hopeful.with_columns(ties))
        # Sorting again after every few people would take most of the time.
        if sum(each.height for each in self._rivals[1:]) > max(FEWEST_TO_SORT, self._rivals[0].height // 2):
            self._sort()

    @property
    def chosen(self) -> pl.DataFrame:
        """The best so far, in order."""
        self._sort()
        return self._rivals[0]

    def _sort(self) -> None:
        most, chosen = self._total * self._times, self.first(pl.concat(self._rivals), self._times)
        if chosen.height == most:
            self._lowest = float(chosen["index"].to_numpy().min()) if most else float("inf")
        self._rivals = [chosen]

    def first(self, people: pl.DataFrame, times: int = 1) -> pl.DataFrame:
        """The best people, in order, within ``times`` the budgets. They must have their lots."""
        in_order = people.sort(ORDER, descending=DESCENDING)
        within_group = pl.int_range(pl.len()).over("group") < self._places(times)
        return in_order.filter(within_group).head(self._total * times)

    def _hopeful(self, people: pl.DataFrame) -> pl.DataFrame:
        """The people who could still be chosen, ties included. This check is cheap, and only they need a lot."""
        people = people.filter(pl.col("index") >= self._lowest)
        return people.filter(pl.col("index").rank("min", descending=True).over("group") <= self._places(self._times))

    def _places(self, times: int) -> pl.Expr:
        """How many of a person's group may be chosen."""
        caps = {name: times * min(cap, self._total) for name, cap in self._group_budgets}
        if not caps:
            return pl.lit(times * self._total, dtype=pl.Int64)
        return pl.col("group").replace_strict(caps, return_dtype=pl.Int64)


def tie_breaks(ids: Iterable[str], seed: int, step: int | str = 0) -> UInt64[np.ndarray, " people"]:
    """A random number for each id: BLAKE2b, keyed by the seed and salted by the planned step.

    A plain loop takes about a microsecond for each id. That is fast enough even for millions of people.

    Args:
        ids: people's ids.
        seed: the planner's seed.
        step: the planned step: its number, or its text as in the manifest.

    Example:
        >>> tie_breaks(["000085", "000193"], seed=0, step=12).tolist()
        [11039135065374604901, 2517836712362455629]
    """
    return _hash(ids, seed, step, b"tie")


def random_number(seed: int, step: int | str, below: int) -> int:
    """The random number of a plan at which its lots start: a whole number from 0 to ``below`` − 1."""
    return int(_hash([""], seed, step, b"start")[0]) * below >> 64


def _hash(texts: Iterable[str], seed: int, step: int | str, purpose: bytes) -> UInt64[np.ndarray, " texts"]:
    key = seed.to_bytes(16, "little", signed=True)
    salt = hashlib.blake2b(str(step).encode(), digest_size=16).digest()
    digests = b"".join(
        hashlib.blake2b(text.encode(), digest_size=8, key=key, salt=salt, person=purpose).digest() for text in texts
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
