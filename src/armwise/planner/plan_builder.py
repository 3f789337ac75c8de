"""Make a plan from people and a model, a part of the people at a time."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Float
from scipy.special import ndtri

from armwise.data import Encoder
from armwise.errors import ConvergenceError, InvalidInputError
from armwise.evaluation.resampling import LEVEL
from armwise.models.chains import PersonPosterior
from armwise.planner.call_gains import CallGains
from armwise.planner.frames import check_distinct
from armwise.planner.plan import Plan, PlanSummary, call_table
from armwise.planner.posterior_draws import draw_indices
from armwise.planner.reasons import Evidence, reasons
from armwise.planner.roster import FROM_WEEKS, Roster
from armwise.planner.rules import CallRules, check_groups, first_reason
from armwise.planner.scoring import Scores, infer, score
from armwise.planner.shortlist import Selection, tie_breaks
from armwise.rmab import Problem

CHANCES = ("chance", "chance_called", "chance_low", "chance_high", "own_share")
GAINS = ("index", "gain", "gain_low", "gain_high")
KEPT = ("id", "group", "state", "since_observed", "calls", *GAINS, *FROM_WEEKS, *CHANCES)


class Learned(NamedTuple):
    """What a plan is made from: an encoder, a model, a problem, and what calls gain."""

    encoder: Encoder
    model: Any
    problem: Problem
    gains: CallGains


class Scored(NamedTuple):
    """The people who may be called, with their scores.

    Attributes:
        eligible: where they stand, with the columns of ``KEPT``.
        index_draws: each person's index in chains drawn from what is known; None if the model gives only one chain.
        unseen: by column, how many values the model never learned from.
    """

    eligible: pl.DataFrame
    index_draws: Float[np.ndarray, "draws people"] | None
    unseen: dict[str, int]


class PlanBuilder:
    """Makes plans from what was learned and from rules.

    Args:
        learned: what a plan is made from.
        rules: budgets, who may be called, and how people are chosen.
        seed: the seed of all lots.
        step: the planned step, a number or text. Lots differ from step to step.
    """

    def __init__(self, learned: Learned, rules: CallRules, seed: int, step: int | str = 0):
        self._encoder, self._model, self._problem, self._gains = learned
        self._rules, self._seed, self._step = rules, seed, step

    def plan(self, people: Roster, batch_size: int | None = None) -> Plan:
        """The plan for these people.

        Memory holds one part of the people, those who may be on the list, their weeks, and 8 bytes a person for ids.
        """
        selection, excluded, unseen = Selection(self._rules, self._seed, self._step), Counter[str](), Counter[str]()
        num_people, num_found, hashes = 0, 0, []
        for frame in people.batches([column.name for column in self._encoder.columns], batch_size):
            roster = people.standing(frame).with_columns(why_not=first_reason(self._rules))
            excluded.update(dict(roster["why_not"].drop_nulls().value_counts().iter_rows()))
            hashes.append(roster["id"].hash().to_numpy())
            scored = self._scored(people, frame, roster, draws=True)
            unseen.update(scored.unseen)
            selection.add(scored.eligible.select(KEPT), scored.index_draws)
            num_people += frame.height
            num_found += int((roster["row"] >= 0).sum())
        if not num_people:
            raise InvalidInputError("There is nobody to plan for: the table has no rows.")
        _check_once_each(people, hashes)
        if not num_found:
            people.refuse_strangers()
        return self._finish(people, num_people, selection, excluded, unseen)

    def _scored(self, people: Roster, frame: pl.DataFrame, roster: pl.DataFrame, *, draws: bool) -> Scored:
        """The people who may be called, with their scores and chances."""
        may = roster["why_not"].is_null()
        eligible = roster.filter(may)
        check_groups(eligible["group"], self._rules)
        features, unseen = self._encoder.transform(frame.filter(may))
        chains, posterior = infer(self._model, features, people.weeks(eligible))
        states = eligible["state"].fill_null(-1).to_numpy()
        gaps = (eligible["since_observed"].fill_null(1) - 1).to_numpy()
        scores = score(chains, self._problem, self._gains, states, gaps)
        finite = np.isfinite(scores.index)
        if not finite.all():
            identity = eligible["id"][int(np.argmin(finite))]
            raise ConvergenceError(f"The model gives id {identity!r} no finite index. Fit it anew.")
        columns = [pl.Series("index", scores.index), *_gains(scores), *_chances(scores, posterior)]
        told = _without_weeks(eligible.with_columns(columns))
        return Scored(told, self._draws(eligible, scores, posterior) if draws else None, unseen)

    def _draws(
        self, eligible: pl.DataFrame, scores: Scores, posterior: PersonPosterior | None
    ) -> Float[np.ndarray, "draws people"] | None:
        if posterior is None:
            return None
        lots = tie_breaks(eligible["id"].to_list(), self._seed, self._step)
        return draw_indices(posterior, self._problem, scores.belief, lots)

    def _finish(
        self,
        people: Roster,
        num_people: int,
        selection: Selection,
        excluded: Counter[str],
        unseen: Counter[str],
    ) -> Plan:
        chosen, probabilities, num_draws = selection.finish()
        used = dict(chosen["group"].drop_nulls().value_counts().iter_rows())
        summary = PlanSummary(
            num_people=num_people,
            num_eligible=num_people - excluded.total(),
            num_calls=chosen.height,
            budget=self._rules.total,
            calls_by_group={name: (used.get(name, 0), cap) for name, cap in self._rules.group_budgets},
            excluded=dict(sorted(excluded.items())),
            unseen={name: number for name, number in sorted(unseen.items()) if number},
            num_without_gain=int((chosen["gain"] <= 0).sum()),
            num_without_predicted_gain=int((chosen["index"] <= 0).sum()),
        )
        evidence = Evidence.of(self._gains.effects, self._rules.step_name, people.num_states)
        # With calls for everyone, every draw's list holds everyone, so the probabilities say nothing.
        told = chosen.drop("call_probability") if summary.num_calls == summary.num_eligible else chosen
        words = reasons(told, self._rules, people.num_states, evidence)
        calls = call_table(chosen.with_columns(words), evidence, has_groups="group" in people.columns)

        def standing(identity: str) -> pl.DataFrame:
            frame = people.find(identity)
            roster = people.standing(frame).with_columns(why_not=first_reason(self._rules))
            scored = self._scored(people, frame, roster, draws=False).eligible
            own = scored.with_columns(reasons(scored, self._rules, people.num_states, evidence))
            return own if own.height else roster

        return Plan(calls, summary, self._rules, standing, evidence, probabilities, num_draws)


def _gains(scores: Scores) -> list[pl.Series]:
    """The gain and its 95 % interval; null if there were too few calls to tell."""
    half = float(ndtri(0.5 + LEVEL / 2)) * scores.gain_error
    columns = {"gain": scores.gain, "gain_low": scores.gain - half, "gain_high": scores.gain + half}
    # −0.0 and 0.0 are the same gain and must be the same text.
    return [pl.Series(name, values + 0.0).fill_nan(None) for name, values in columns.items()]


def _chances(scores: Scores, posterior: PersonPosterior | None) -> list[pl.Series]:
    """The chances of the next step and the 90 % interval of their difference; null if there is no posterior."""
    if posterior is None:
        return [pl.Series(name, [None], dtype=pl.Float64).new_from_index(0, len(scores.index)) for name in CHANCES]
    _, low, high = posterior.effects()
    # For a person who may be in several states, the interval is the average over these states.
    ends = [np.sum(scores.belief * end, axis=1) for end in (low, high)]
    values = (scores.chance, scores.chance_called, *ends, posterior.own_share)
    return [pl.Series(name, np.asarray(each, dtype=float)) for name, each in zip(CHANCES, values, strict=True)]


def _without_weeks(eligible: pl.DataFrame) -> pl.DataFrame:
    """Drop the chances of people with a known state but no weeks. Otherwise their sentence would call them new."""
    unknown = pl.col("state").is_not_null() & (pl.col("own_weeks") == 0)
    return eligible.with_columns(pl.when(~unknown).then(pl.col(name)).alias(name) for name in CHANCES)


def _check_once_each(people: Roster, hashes: list[np.ndarray]) -> None:
    """Refuse a person who has two rows. Ids are compared only if two hashes are equal, which is rare."""
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
