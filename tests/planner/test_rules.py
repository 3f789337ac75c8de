"""Rules that anyone can write down: what is wrong is said, and the budget is given in one place."""

import dataclasses

import pytest

import armwise as aw
from armwise.errors import InvalidInputError
from armwise.programme.settings import CHOICES


def test_rules_by_keyword():
    rules = aw.CallRules(cool_down=2, max_calls=4, choice="best")
    assert (rules.budget, rules.group_budgets, rules.cool_down, rules.max_calls) == (None, (), 2, 4)
    assert rules.with_budget(42) == aw.CallRules(42, cool_down=2, max_calls=4, choice="best")
    assert rules.with_budget(42).total == 42
    assert aw.CallRules().choice == CHOICES[0]


def test_group_budgets_are_kept_in_the_order_of_names_and_survive_a_copy():
    rules = aw.CallRules(5, {"south": 2, 7: 3.0})
    assert rules.group_budgets == (("7", 3), ("south", 2))
    assert dataclasses.replace(rules, budget=4).group_budgets == rules.group_budgets


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"budget": -1}, "budget must be at least 0"),
        ({"budget": True}, "budget must be a whole number, not True"),
        ({"cool_down": 0.5}, "cool_down must be a whole number"),
        ({"cool_down": None}, "cool_down must be a whole number, not None"),
        ({"max_calls": "4"}, "max_calls must be a whole number"),
        ({"min_observed": -2}, "min_observed must be at least 0"),
        ({"step_name": 7}, "step_name must be text"),
        ({"choice": "luck"}, 'choice must be "lottery" or "best", not \'luck\''),
        ({"choice": None}, 'choice must be "lottery" or "best", not None'),
        ({"choice": ["best"]}, "choice must be"),
        ({"lottery_cost": 1.5}, "lottery_cost must be between 0 and 1"),
        ({"lottery_cost": "1 %"}, "lottery_cost must be between 0 and 1"),
        ({"group_budgets": [1, 2]}, "group_budgets must be a mapping"),
        ({"group_budgets": {"north": -1}}, r"group_budgets\['north'\] must be at least 0"),
    ],
)
def test_what_is_wrong_is_said(wrong, message):
    with pytest.raises(InvalidInputError, match=message):
        aw.CallRules(**wrong)


def test_the_budget_is_given_in_one_place():
    assert aw.CallRules(3).with_budget(None).total == 3
    assert aw.CallRules(3).with_budget(3).total == 3
    with pytest.raises(InvalidInputError, match="Give it in one place only"):
        aw.CallRules(3).with_budget(4)
    with pytest.raises(InvalidInputError, match="budget must be a whole number, not None"):
        aw.CallRules().with_budget(None)
    with pytest.raises(InvalidInputError, match="no budget yet"):
        _ = aw.CallRules().total
