"""Who may be called this time, and why the others may not."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import polars as pl

from armwise._validation import check_count, check_share
from armwise.errors import InvalidInputError
from armwise.programme.programme_data import FINISHED, NOT_ENROLLED
from armwise.programme.settings import CHOICES, LOTTERY_COST

NEVER_CALL, COOL_DOWN, MAX_CALLS, HISTORY = "never to be called", "called recently", "calls used up", "too little known"


@dataclass(frozen=True)
class CallRules:
    """How many people are called in a step, who may be called, and how they are chosen.

    Attributes:
        budget: the most people to call; None if ``plan`` gets the budget.
        group_budgets: the most people to call in each group; the budget holds too. Empty for no such limits. Given as
            a mapping, kept as pairs in the order of names.
        cool_down: for how many steps after a call a person is left alone.
        max_calls: the most calls that a person gets; None for no limit.
        min_observed: in how many steps a person must have been observed.
        step_name: the word for a step in explanations.
        choice: "best" calls the people with the highest expected indices. "lottery" draws lots between people whose
            expected indices hardly differ; how uncertain an index is sets the chance. People clearly ahead are called.
        lottery_cost: the largest share by which lots may lower the expected sum of indices on the list.

    Example:
        >>> CallRules(cool_down=2, max_calls=4, group_budgets={"north": 20}).group_budgets
        (('north', 20),)
        >>> CallRules(choice="worst")
        Traceback (most recent call last):
            ...
        armwise.errors.InvalidInputError: choice must be "lottery" or "best", not 'worst'.
    """

    # The constructor takes any value; values that cannot be right are refused below, each with its own message.
    budget: Any = None
    group_budgets: Any = ()
    cool_down: Any = 0
    max_calls: Any = None
    min_observed: Any = 1
    step_name: Any = "week"
    choice: Any = CHOICES[0]
    lottery_cost: Any = LOTTERY_COST

    def __post_init__(self) -> None:
        if not isinstance(self.step_name, str):
            raise InvalidInputError(f"step_name must be text, such as 'week', not {self.step_name!r}.")
        if not isinstance(self.choice, str) or self.choice not in CHOICES:
            options = " or ".join(f'"{name}"' for name in CHOICES)
            raise InvalidInputError(f"choice must be {options}, not {self.choice!r}.")
        checked = {
            "budget": _optional("budget", self.budget),
            "group_budgets": _group_budgets(self.group_budgets),
            "cool_down": check_count("cool_down", self.cool_down, minimum=0),
            "max_calls": _optional("max_calls", self.max_calls),
            "min_observed": check_count("min_observed", self.min_observed, minimum=0),
            "lottery_cost": check_share("lottery_cost", self.lottery_cost),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def with_budget(self, budget: Any) -> "CallRules":
        """The same rules with the budget that ``plan`` was given. Refuses two different budgets."""
        if budget is None and self.budget is None:
            raise InvalidInputError("budget must be a whole number, not None: say how many people can be called.")
        if budget is None:
            return self
        number = check_count("budget", budget, minimum=0)
        if self.budget not in (None, number):
            raise InvalidInputError(
                f"budget is {number}, and that of the rules is {self.budget}. Give it in one place only."
            )
        return replace(self, budget=number)

    @property
    def total(self) -> int:
        """The budget. Rules without one are refused."""
        if self.budget is None:
            raise InvalidInputError("These rules have no budget yet. Give them one: rules.with_budget(42).")
        return int(self.budget)


def refuse_misplaced(given: Mapping[str, Any]) -> None:
    """Refuse keyword arguments that ``plan`` does not have. If one is a rule, the message says where it belongs."""
    names = {field.name for field in fields(CallRules)}
    rules = ", ".join(f"{name}={value!r:.60}" for name, value in given.items() if name in names)
    if rules:
        raise InvalidInputError(f"plan takes rules in one place: plan(…, rules=CallRules({rules})).")
    for name in given:
        raise TypeError(f"plan() got an unexpected keyword argument {name!r}")


def _optional(name: str, value: Any) -> int | None:
    return None if value is None else check_count(name, value, minimum=0)


def _group_budgets(groups: Any) -> tuple[tuple[str, int], ...]:
    # A copy of rules has pairs already.
    if isinstance(groups, tuple) and all(isinstance(each, tuple) and len(each) == 2 for each in groups):
        groups = dict(groups)
    if not isinstance(groups, Mapping):
        raise InvalidInputError(
            f"group_budgets must be a mapping from groups to numbers of calls, such as {{'north': 20}}, not {groups!r}."
        )
    counts = {str(name): check_count(f"group_budgets[{name!r}]", number, minimum=0) for name, number in groups.items()}
    return tuple(sorted(counts.items()))


def why_not(rules: CallRules) -> dict[str, pl.Expr]:
    """For each rule, an expression over a roster that is true for people who must not be called by it.

    The exclusions "finished" and "not enrolled yet" are separate rules. Every other exclusion means never to be called.
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
    """The first rule by which a person must not be called; null for people who may be called."""
    reason = pl.lit(None, dtype=pl.String)
    for name, applies in reversed(why_not(rules).items()):
        words = pl.format("{}: {}", pl.lit(name), pl.col("exclusion")) if name == NEVER_CALL else pl.lit(name)
        reason = pl.when(applies).then(words).otherwise(reason)
    return reason


def check_groups(groups: pl.Series, rules: CallRules) -> None:
    """Refuse people whose group has no budget if other groups have one."""
    if not rules.group_budgets:
        return
    unknown = groups.filter(groups.is_null() | ~groups.is_in([name for name, _ in rules.group_budgets]))
    if len(unknown):
        whose = "no group" if unknown[0] is None else f"the group {unknown[0]!r}"
        raise InvalidInputError(
            f"{len(unknown)} people belong to {whose} or another without a budget. Add it to group_budgets, 0 if "
            "nobody of it is to be called."
        )
