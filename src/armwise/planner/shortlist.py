"""Who is called, from a stream of people, remembering no more of them than could still be.

Two ways to choose. "best" takes the highest expected indices; "lottery" draws lots between people whose expected
indices hardly differ (``armwise.planner.lottery``). Either way it is known how often each person belongs on the list.

Why taking the best first is optimal. Groups divide the people, so "at most b_g of group g, at most B in all" is a
laminar matroid: of any two feasible sets, the smaller can be extended by someone of the larger. On a matroid the set
of k best that greedy finds has, for every k, the largest sum of any k feasible people (Rado 1957), for any weights.

Why nobody need be remembered. Let x be left out when only some people are known. Either b_g of her own group come
before her, or B of the chosen do. New people can push some of these out, but only in favour of someone of the same
group who comes before them, and so before x. Hence x stays out, and the best of everyone are the best among those
chosen so far and those not yet seen.
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
# Lots are drawn among the highest expected indices, of this many times as many people as are called.
REACH = 4
DRAWS = "armwise:draws"
FEWEST_TO_SORT = 2**15
# No programme is larger, and so many times more than that is still a number that Polars knows.
MOST_PEOPLE = 2**40


class Selected(NamedTuple):
    """Who is called, and with what probability everyone could have been.

    Attributes:
        chosen: those called, the highest index first: the columns that were added, ``tie`` (the person's lot) and the
            three probabilities.
        probabilities: id and three probabilities of everyone for whom one of them is not 0, the most probable first.
            ``call_probability`` is how often she belongs on the list, by the posterior draws. ``lot_probability`` is
            her chance where lots decide between people whose expected indices hardly differ. ``list_probability`` is
            the chance that she had of being put on this list: the same by "lottery", 1 or 0 by "best".
        num_draws: posterior draws that the probabilities are from.
    """

    chosen: pl.DataFrame
    probabilities: pl.DataFrame
    num_draws: int


class Selection:
    """Chooses among the people added.

    Args:
        rules: the budgets, and the way to choose.
        seed: of all lots.
        step: that is planned, its number or its words: lots differ from step to step.
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
            people: a frame with the columns id, index, group and whatever else is to be kept.
            index_draws: the index of each person in each posterior draw; by default the index is taken to be known.
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
        # A person whose index is high on average may be on no single draw's list.
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
        """Those near the end of the list or above it, in the order of their lots, with their lot probabilities."""
        near = self._near.chosen.sort(["tie", "id"])
        draws = near[DRAWS].to_numpy().T.reshape(self._num_draws, near.height)
        index = near["index"].to_numpy().astype(np.float64)
        limits = self._codes(near), self._places, self._rules.total
        found = lot_probabilities(index, draws, *limits, cost=self._rules.lottery_cost)
        return near.drop(DRAWS).with_columns(pl.Series("lot_probability", found))

    def _belonging(self) -> pl.DataFrame:
        """Id and call probability of the candidates, whatever the order they came in."""
        people, _, index_draws = self._candidates.thin()
        order = people.select(pl.arg_sort_by("id")).to_series().to_numpy()
        people = people[order]
        found = call_probabilities(index_draws[:, order], self._codes(people), self._places, self._rules.total)
        return people.select("id", pl.Series("call_probability", found))

    def _codes(self, people: pl.DataFrame) -> Int[np.ndarray, " people"]:
        """Each person's group as its place among the budgets; 0 without budgets of groups."""
        if not self._rules.group_budgets:
            return np.zeros(people.height, np.int64)
        codes = {name: code for code, (name, _) in enumerate(self._rules.group_budgets)}
        return people["group"].replace_strict(codes, return_dtype=pl.Int64).to_numpy()


def _everyone(near: pl.DataFrame, belonging: pl.DataFrame) -> pl.DataFrame:
    """Everyone with a probability, also those on some draw's list whose expected index is not among the highest."""
    named = near.select("id", *PROBABILITIES)
    others = belonging.join(named, on="id", how="anti").with_columns(lot_probability=0.0, list_probability=0.0)
    everyone = pl.concat([named, others.select(named.columns)])
    known = everyone.filter(pl.any_horizontal(pl.col(name) > 0 for name in PROBABILITIES))
    return known.sort(["call_probability", "id"], descending=[True, False])


class Shortlist:
    """The highest indices among the people added so far.

    Args:
        rules: the budgets.
        seed: of the lots between equal indices.
        step: that is planned.
        times: remember as many people as if all budgets were so many times as large.
    """

    def __init__(self, rules: CallRules, seed: int, step: int | str = 0, times: int = 1):
        self._seed, self._step, self._times = seed, step, times
        self._total, self._group_budgets = min(rules.total, MOST_PEOPLE), rules.group_budgets
        self._rivals: list[pl.DataFrame] = []
        self._lowest = -float("inf")

    def add(self, people: pl.DataFrame) -> None:
        """Consider more people: a frame with the columns id, index, group and whatever else is to be kept."""
        hopeful = self._hopeful(people)
        ties = pl.Series("tie", tie_breaks(hopeful["id"].to_list(), self._seed, self._step), dtype=pl.UInt64)
        self._rivals.append(hopeful.with_columns(ties))
        # Sorting again for every few people would take most of the time.
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
        """The best of people who have their lots, within so many times the budgets, in order."""
        in_order = people.sort(ORDER, descending=DESCENDING)
        within_group = pl.int_range(pl.len()).over("group") < self._places(times)
        return in_order.filter(within_group).head(self._total * times)

    def _hopeful(self, people: pl.DataFrame) -> pl.DataFrame:
        """Those who could still be chosen, ties included: cheap, so that few need a lot drawn."""
        people = people.filter(pl.col("index") >= self._lowest)
        return people.filter(pl.col("index").rank("min", descending=True).over("group") <= self._places(self._times))

    def _places(self, times: int) -> pl.Expr:
        """How many of a person's group may be chosen."""
        caps = {name: times * min(cap, self._total) for name, cap in self._group_budgets}
        if not caps:
            return pl.lit(times * self._total, dtype=pl.Int64)
        return pl.col("group").replace_strict(caps, return_dtype=pl.Int64)


def tie_breaks(ids: Iterable[str], seed: int, step: int | str = 0) -> UInt64[np.ndarray, " people"]:
    """A number for each id: BLAKE2b, keyed by the seed and salted by the planned step.

    Only people who may reach the list need one, so that a plain loop (about a microsecond each) is enough even for
    millions.

    Args:
        ids: of the people.
        seed: of the planner.
        step: that is planned: its number, or its words as in the manifest.

    Example:
        >>> tie_breaks(["000085", "000193"], seed=0, step=12).tolist()
        [11039135065374604901, 2517836712362455629]
    """
    return _hash(ids, seed, step, b"tie")


def random_number(seed: int, step: int | str, below: int) -> int:
    """One random number of a plan, a whole one from 0 on and below ``below``: where its lots start."""
    return int(_hash([""], seed, step, b"start")[0]) * below >> 64


def _hash(texts: Iterable[str], seed: int, step: int | str, purpose: bytes) -> UInt64[np.ndarray, " texts"]:
    key = seed.to_bytes(16, "little", signed=True)
    salt = hashlib.blake2b(str(step).encode(), digest_size=16).digest()
    digests = b"".join(
        hashlib.blake2b(text.encode(), digest_size=8, key=key, salt=salt, person=purpose).digest() for text in texts
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
