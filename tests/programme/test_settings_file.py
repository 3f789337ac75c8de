"""programme.toml as frozen settings."""

import dataclasses
import datetime

import pytest

from armwise.errors import InvalidProgrammeError
from armwise.planner.rules import CallRules
from armwise.programme import NeverCall, init_programme, read_programme
from armwise.programme.findings import Findings
from armwise.programme.settings_file import draft_programme
from armwise.weekly.plan import rules_of
from tests.programme.small import PROGRAMME, write_programme


def test_the_settings_by_hand(tmp_path):
    programme = read_programme(write_programme(tmp_path))
    assert programme.name == "Four people"
    assert programme.time.plan == datetime.date(2024, 1, 22)
    assert (programme.time.by_week, programme.time.step_days, programme.time.start) == (False, 7, None)
    assert programme.beneficiaries.source.path == tmp_path / "beneficiaries.csv"
    assert (programme.beneficiaries.numbers, programme.beneficiaries.categories) == (("age",), ("language",))
    assert (programme.engagement.thresholds, programme.engagement.num_states) == ((30.0,), 2)
    assert programme.budget == dataclasses.replace(programme.budget, total=2, per_group=(("north", 1), ("south", 1)))
    assert programme.rules.never_call == (NeverCall("status", ("opted out",), ("active",)),)
    assert (programme.rules.cool_down, programme.rules.max_calls, programme.rules.min_observed) == (1, 3, 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        programme.name = "other"


def test_the_defaults(tmp_path):
    text = PROGRAMME.split("[time]")[0].replace("thresholds = [30]\n", "") + "[budget]\ntotal = 7\n"
    programme = read_programme(write_programme(tmp_path, programme=text.replace('name = "Four people"\n', "")))
    assert programme.name == tmp_path.name
    assert (programme.time.step_days, programme.time.date_format, programme.time.ignore_later) == (7, None, False)
    assert programme.engagement.thresholds == (30.0,)
    assert (programme.budget.total, programme.budget.group, programme.budget.per_group) == (7, None, ())
    assert (programme.rules.cool_down, programme.rules.max_calls, programme.rules.min_observed) == (0, None, 1)
    assert (programme.outage.drop, programme.outage.window) == (0.5, 4)
    assert (programme.choice, programme.lottery_cost) == (CallRules().choice, CallRules().lottery_cost)


@pytest.mark.parametrize(("rule", "cost"), [("lottery", 0.05), ("best", 0.05), ("lottery", 0), ("lottery", 1)])
def test_the_way_to_choose(tmp_path, rule, cost):
    text = f'{PROGRAMME}\n[choice]\nrule = "{rule}"\ncost = {cost}\n'
    programme = read_programme(write_programme(tmp_path, programme=text))
    assert (programme.choice, programme.lottery_cost) == (rule, cost)
    rules = rules_of(programme)
    assert (rules.choice, rules.lottery_cost) == (rule, cost)


def test_the_groups_make_the_total(tmp_path):
    text = PROGRAMME.replace("total = 2\n", "").replace("south = 1", "south = 4")
    assert read_programme(write_programme(tmp_path, programme=text)).budget.total == 5


def test_every_setting_that_the_sample_shows_exists(tmp_path):
    """The commented settings of the sample are taken at their word, one at a time: none is unknown."""
    init_programme(tmp_path / "sample")
    path = tmp_path / "sample" / "programme.toml"
    lines = path.read_text().splitlines()
    shown = [number for number, line in enumerate(lines) if line.startswith("# ") and " = " in line.split("  ")[0]]
    assert len(shown) >= 8
    for number in shown:
        path.write_text("\n".join([*lines[:number], lines[number].removeprefix("# "), *lines[number + 1 :]]))
        draft_programme(path, findings := Findings())
        # A setting may contradict the sample's own, as state does seconds.
        assert {finding.kind for finding in findings.report().findings} <= {"config-conflict"}, lines[number]


def test_all_errors_of_the_file_are_listed(tmp_path):
    text = PROGRAMME.replace("total = 2", "totl = 2").replace("cool_down = 1", 'cool_down = "long"')
    with pytest.raises(InvalidProgrammeError) as error:
        read_programme(write_programme(tmp_path, programme=text))
    assert "Did you mean 'total'?" in str(error.value)
    assert "cool_down" in str(error.value)
    assert error.value.report.findings[0].row == text[: text.index("totl")].count("\n") + 1


def test_a_folder_in_its_place_is_told_which_file(tmp_path):
    path = write_programme(tmp_path)
    with pytest.raises(InvalidProgrammeError, match="This is a folder") as error:
        read_programme(tmp_path)
    assert str(path) in str(error.value)
    path.unlink()
    with pytest.raises(InvalidProgrammeError, match="Give the path of a file"):
        read_programme(tmp_path)
