"""From people and a model to a plan, a part of the people at a time."""

from collections import Counter
from typing import Any

import numpy as np
import polars as pl

from armwise.data import Encoder
from armwise.errors import ConvergenceError, InvalidInputError
from armwise.planning.call_list import Plan, PlanSummary, call_table
from armwise.planning.frames import check_distinct
from armwise.planning.population import Population
from armwise.planning.rules import CallRules, check_groups, first_reason
from armwise.planning.scoring import score
from armwise.planning.shortlist import Shortlist
from armwise.rmab import Problem

KEPT = ("id", "group", "state", "since_observed", "index", "gain")


class Planning:
    """What a plan is made by: an encoder, a model, a problem; rules; and a seed for ties."""

    def __init__(self, encoder: Encoder, model: Any, problem: Problem, rules: CallRules, seed: int):
        self._encoder, self._model, self._problem = encoder, model, problem
        self._rules, self._seed = rules, seed

    def plan(self, people: Population, batch_size: int | None = None) -> Plan:
        """The plan for these people; memory holds one part of them, the list, and 8 bytes a person for their ids."""
        shortlist, reasons, unseen, hashes = Shortlist(self._rules, self._seed), Counter[str](), Counter[str](), []
        num_people = 0
        for frame in people.batches([column.name for column in self._encoder.columns], batch_size):
            roster = people.roster(frame).with_columns(why_not=first_reason(self._rules))
            reasons.update(dict(roster["why_not"].drop_nulls().value_counts().iter_rows()))
            hashes.append(roster["id"].hash().to_numpy())
            eligible, unknown = self._scored(frame, roster)
            unseen.update(unknown)
            shortlist.add(eligible.select(KEPT))
            num_people += frame.height
        if not num_people:
            raise InvalidInputError("There is nobody to plan for: the table has no rows.")
        _check_once_each(people, hashes)
        return self._finish(people, num_people, shortlist, reasons, unseen)

    def _scored(self, frame: pl.DataFrame, roster: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int]]:
        """Those who may be called, with index and gain; and how many unseen values they have, by column."""
        may = roster["why_not"].is_null()
        eligible = roster.filter(may)
        check_groups(eligible["group"], self._rules)
        features, unseen = self._encoder.transform(frame.filter(may))
        states = eligible["state"].fill_null(-1).to_numpy()
        gaps = (eligible["since_observed"].fill_null(1) - 1).to_numpy()
        scores = score(self._model, self._problem, features, states, gaps)
        finite = np.isfinite(scores.index)
        if not finite.all():
            identity = eligible["id"][int(np.argmin(finite))]
            raise ConvergenceError(f"The model gives id {identity!r} no finite index. Fit it anew.")
        return eligible.with_columns(index=pl.Series(scores.index), gain=pl.Series(scores.gain)), unseen

    def _finish(
        self,
        people: Population,
        num_people: int,
        shortlist: Shortlist,
        reasons: Counter[str],
        unseen: Counter[str],
    ) -> Plan:
        chosen = shortlist.chosen
        assert chosen is not None
        used = dict(chosen["group"].drop_nulls().value_counts().iter_rows())
        summary = PlanSummary(
            num_people=num_people,
            num_eligible=num_people - reasons.total(),
            num_calls=chosen.height,
            budget=self._rules.budget,
            calls_by_group={name: (used.get(name, 0), cap) for name, cap in self._rules.group_budgets},
            excluded=dict(sorted(reasons.items())),
            unseen={name: number for name, number in sorted(unseen.items()) if number},
            num_without_gain=int((chosen["gain"] <= 0).sum()),
        )
        calls = call_table(chosen, self._rules, people.num_states, has_groups="group" in people.columns)

        def standing(identity: str) -> pl.DataFrame:
            frame = people.find(identity)
            roster = people.roster(frame).with_columns(why_not=first_reason(self._rules))
            scored, _ = self._scored(frame, roster)
            return scored if scored.height else roster

        return Plan(calls, summary, self._rules, standing)


def _check_once_each(people: Population, hashes: list[np.ndarray]) -> None:
    """Refuse a person who has two rows. Equal hashes are rare, and only then the ids themselves are compared."""
    ordered = np.concatenate(hashes)
    ordered.sort()
    again = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(again):
        return
    suspects = []
    for frame in people.batches([]):
        ids = frame[people.columns["id"]].cast(pl.String)
        suspects.append(ids.filter(ids.hash().is_in(again.tolist())))
    check_distinct(pl.concat(suspects))
