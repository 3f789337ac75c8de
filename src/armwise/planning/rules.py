"""Who may be called this time, and why the others may not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from armwise.errors import InvalidInputError
from armwise.rmab.checks import check_count

FINISHED, NOT_ENROLLED = "finished", "not enrolled yet"
NEVER_CALL, COOL_DOWN, MAX_CALLS, HISTORY = "never to be called", "called recently", "calls used up", "too little known"


@dataclass(frozen=True)
class CallRules:
    """How many people are called in a step, and who may be.

    Attributes:
        budget: at most so many people.
        group_budgets: at most so many of each group, together with the budget; none if empty.
        cool_down: a person called is left alone for so many steps after it.
        max_calls: calls that a person gets at most; none for no limit.
        min_observed: steps in which a person must have been observed.
        step_name: what a step is called in explanations.
    """

    budget: int
    group_budgets: tuple[tuple[str, int], ...] = ()
    cool_down: int = 0
    max_calls: int | None = None
    min_observed: int = 1
    step_name: str = "week"

    @classmethod
    def make(
        cls,
        budget: Any,
        group_budgets: Any,
        cool_down: Any,
        max_calls: Any,
        min_observed: Any,
        step_name: Any,
    ) -> "CallRules":
        """Checked rules from what a caller gave."""
        if not isinstance(step_name, str):
            raise InvalidInputError(f"step_name must be text, such as 'week', not {step_name!r}.")
        return cls(
            check_count("budget", budget, minimum=0),
            _group_budgets({} if group_budgets is None else group_budgets),
            check_count("cool_down", cool_down, minimum=0),
            None if max_calls is None else check_count("max_calls", max_calls, minimum=0),
            check_count("min_observed", min_observed, minimum=0),
            step_name,
        )


def _group_budgets(groups: Any) -> tuple[tuple[str, int], ...]:
    if not isinstance(groups, Mapping):
        raise InvalidInputError(
            f"group_budgets must be a mapping from groups to numbers of calls, such as {{'north': 20}}, not {groups!r}."
        )
    counts = {str(name): check_count(f"group_budgets[{name!r}]", number, minimum=0) for name, number in groups.items()}
    return tuple(sorted(counts.items()))


def why_not(rules: CallRules) -> dict[str, pl.Expr]:
    """For each rule, an expression over a roster that is true of the people it keeps from being called.

    The exclusions "finished" and "not enrolled yet" are rules of their own; every other one means never to be called.
    """
    exclusion = pl.col("exclusion")
    absent = exclusion.is_in([FINISHED, NOT_ENROLLED])
    return {
        FINISHED: (exclusion == FINISHED).fill_null(False),
        NOT_ENROLLED: (exclusion == NOT_ENROLLED).fill_null(False),
        NEVER_CALL: exclusion.is_not_null() & ~absent.fill_null(False),
        # A call in the planned step itself counts as well: nobody is called twice in a step.
        COOL_DOWN: pl.col("since_call").is_between(0, rules.cool_down).fill_null(False),
        MAX_CALLS: pl.lit(False) if rules.max_calls is None else pl.col("calls") >= rules.max_calls,
        HISTORY: pl.col("observed") < rules.min_observed,
    }


def first_reason(rules: CallRules) -> pl.Expr:
    """The first rule that keeps a person from being called, null for those who may be."""
    reason = pl.lit(None, dtype=pl.String)
    for name, applies in reversed(why_not(rules).items()):
        words = pl.format("{}: {}", pl.lit(name), pl.col("exclusion")) if name == NEVER_CALL else pl.lit(name)
        reason = pl.when(applies).then(words).otherwise(reason)
    return reason


def check_groups(groups: pl.Series, rules: CallRules) -> None:
    """Refuse people whose group has no budget while others' have."""
    if not rules.group_budgets:
        return
    unknown = groups.filter(groups.is_null() | ~groups.is_in([name for name, _ in rules.group_budgets]))
    if len(unknown):
        whose = "no group" if unknown[0] is None else f"the group {unknown[0]!r}"
        raise InvalidInputError(
            f"{len(unknown)} people belong to {whose} or another without a budget. Add it to group_budgets, 0 if "
            "nobody of it is to be called."
        )
