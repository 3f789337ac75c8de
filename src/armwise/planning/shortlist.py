"""The best people under a budget and budgets of groups, from a stream, remembering no more people than the budget.

Why taking the best first is optimal. Groups divide the people, so "at most b_g of group g, at most B in all" is a
laminar matroid: of any two feasible sets, the smaller can be extended by someone of the larger. On a matroid the set
of k best that greedy finds has, for every k, the largest sum of any k feasible people (Rado 1957), for any weights.

Why nobody need be remembered. Let x be left out when only some people are known. Either b_g of her own group come
before her, or B of the chosen do. New people can push some of these out, but only in favour of someone of the same
group who comes before them, and so before x. Hence x stays out, and the best of everyone are the best among those
chosen so far and those not yet seen.
"""

import polars as pl

from armwise.planning.rules import CallRules
from armwise.planning.ties import tie_breaks

ORDER = ["index", "tie", "id"]
DESCENDING = [True, False, False]


class Shortlist:
    """Those to be called among the people added so far.

    Args:
        rules: the budgets.
        seed: of the lots between equal indices.
    """

    def __init__(self, rules: CallRules, seed: int):
        self._rules, self._seed = rules, seed
        self.chosen: pl.DataFrame | None = None

    def add(self, people: pl.DataFrame) -> None:
        """Consider more people: a frame with the columns id, index, group and whatever else is to be kept."""
        hopeful = self._hopeful(people)
        ties = pl.Series("tie", tie_breaks(hopeful["id"].to_list(), self._seed), dtype=pl.UInt64)
        hopeful = hopeful.with_columns(ties)
        rivals = hopeful if self.chosen is None else pl.concat([self.chosen, hopeful])
        in_order = rivals.sort(ORDER, descending=DESCENDING)
        within_group = pl.int_range(pl.len()).over("group") < self._places()
        self.chosen = in_order.filter(within_group).head(self._rules.budget)

    def _hopeful(self, people: pl.DataFrame) -> pl.DataFrame:
        """Those who could still be chosen, ties included: cheap, so that few need a lot drawn."""
        if self.chosen is not None and self.chosen.height == self._rules.budget:
            lowest = self.chosen["index"].min() if self._rules.budget else float("inf")
            people = people.filter(pl.col("index") >= lowest)
        return people.filter(pl.col("index").rank("min", descending=True).over("group") <= self._places())

    def _places(self) -> pl.Expr:
        """How many of a person's group may be called."""
        caps = {name: min(cap, self._rules.budget) for name, cap in self._rules.group_budgets}
        if not caps:
            return pl.lit(self._rules.budget, dtype=pl.Int64)
        return pl.col("group").replace_strict(caps, return_dtype=pl.Int64)
