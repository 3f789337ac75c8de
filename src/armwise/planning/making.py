"""From people and a model to a plan, a part of the people at a time."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.special import ndtri

from armwise.data import Encoder
from armwise.errors import ConvergenceError, InvalidInputError
from armwise.evaluation.resampling import LEVEL
from armwise.planner import CallGains
from armwise.planning.call_list import Plan, PlanSummary, call_table
from armwise.planning.evidence import Evidence
from armwise.planning.frames import check_distinct
from armwise.planning.population import Population
from armwise.planning.rules import CallRules, check_groups, first_reason
from armwise.planning.scoring import Scores, score
from armwise.planning.shortlist import Shortlist
from armwise.rmab import Problem

KEPT = ("id", "group", "state", "since_observed", "index", "gain", "gain_low", "gain_high")


class Learned(NamedTuple):
    """What a plan is made by: an encoder, a model, a problem, and what calls gain."""

    encoder: Encoder
    model: Any
    problem: Problem
    gains: CallGains


class Planning:
    """Makes plans by what was learned, rules, and a seed for ties."""

    def __init__(self, learned: Learned, rules: CallRules, seed: int):
        self._encoder, self._model, self._problem, self._gains = learned
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
        scores = score(self._model, self._problem, self._gains, features, states, gaps)
        finite = np.isfinite(scores.index)
        if not finite.all():
            identity = eligible["id"][int(np.argmin(finite))]
            raise ConvergenceError(f"The model gives id {identity!r} no finite index. Fit it anew.")
        return eligible.with_columns(pl.Series("index", scores.index), *_gains(scores)), unseen

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
        evidence = Evidence.of(self._gains.effects, self._rules.step_name, people.num_states)
        calls = call_table(chosen, self._rules, people.num_states, evidence, has_groups="group" in people.columns)

        def standing(identity: str) -> pl.DataFrame:
            frame = people.find(identity)
            roster = people.roster(frame).with_columns(why_not=first_reason(self._rules))
            scored, _ = self._scored(frame, roster)
            return scored if scored.height else roster

        return Plan(calls, summary, self._rules, standing, evidence)


def _gains(scores: Scores) -> list[pl.Series]:
    """The gain and its 95 % interval; nothing where there were too few calls to tell."""
    half = float(ndtri(0.5 + LEVEL / 2)) * scores.gain_error
    columns = {"gain": scores.gain, "gain_low": scores.gain - half, "gain_high": scores.gain + half}
    # −0.0 and 0.0 are the same gain and must be the same text.
    return [pl.Series(name, values + 0.0).fill_nan(None) for name, values in columns.items()]


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
