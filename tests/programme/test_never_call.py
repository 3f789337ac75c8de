"""An opt-out is never missed because of its spelling: every value must be listed, and what is not stops the plan."""

import re

import pytest

from armwise.errors import ExitCode
from armwise.programme import check_programme, load_programme
from tests.programme.cases import rows_of, workbook
from tests.programme.small import BENEFICIARIES, PROGRAMME, edited, write_programme

NO_LIST = PROGRAMME.replace('[rules.may_call]\nstatus = ["active"]\n\n', "")


@pytest.mark.parametrize("status", ["opted-out", "optedout", "#N/A", "opted  out", "out", "ACTIV", "n/a", "-"])
def test_a_value_in_neither_list_stops_the_plan_with_its_row(tmp_path, status):
    people = BENEFICIARIES.replace("Opted out", status)
    report = check_programme(write_programme(tmp_path, beneficiaries=people))
    [finding] = [each for each in report.findings if each.severity == "error"]
    assert (finding.kind, finding.row, finding.person, finding.value) == ("never-call-unknown", 4, "0003", status)
    assert report.exit_code == ExitCode.INVALID_INPUT


@pytest.mark.parametrize("status", ["", "  "])
def test_an_empty_status_stops_the_plan_unless_it_is_listed(tmp_path, status):
    people = BENEFICIARIES.replace("Opted out", status)
    path = write_programme(tmp_path, beneficiaries=people)
    assert [(each.kind, each.row) for each in check_programme(path).findings if each.severity == "error"] == [
        ("never-call-empty", 4)
    ]
    write_programme(tmp_path, beneficiaries=people, programme=edited("programme.toml", '["active"]', '["active", ""]'))
    assert load_programme(path).roster["exclusion"].to_list() == [None] * 4
    never = edited("programme.toml", '["opted out"]', '["opted out", ""]')
    write_programme(tmp_path, beneficiaries=people, programme=never)
    assert load_programme(path).roster["exclusion"].to_list() == [None, None, "status: empty", None]


def test_an_empty_cell_of_a_workbook_stops_too(tmp_path):
    path = write_programme(tmp_path, programme=edited("programme.toml", "beneficiaries.csv", "people.xlsx"))
    workbook(rows_of(BENEFICIARIES.replace("Opted out", "")))(tmp_path / "people.xlsx")
    assert "never-call-empty" in {finding.kind for finding in check_programme(path).findings}


def test_capitals_and_spaces_around_a_value_do_not_matter(tmp_path):
    people = BENEFICIARIES.replace("Opted out", " OPTED OUT ").replace("south,active", "south, Active")
    assert load_programme(write_programme(tmp_path, beneficiaries=people)).roster["exclusion"].null_count() == 3


def proposed_line(path) -> str:
    [finding] = [each for each in check_programme(path).findings if each.kind == "config-missing-key"]
    return re.search(r"must not be called: (.*)$", finding.remedy)[1]


def test_the_line_that_is_proposed_works(tmp_path):
    people = BENEFICIARIES.replace("south,active", "south,På pause", 1)
    path = write_programme(tmp_path, programme=NO_LIST, beneficiaries=people)
    line = proposed_line(path)
    assert line == 'status = ["active", "på pause"]'
    write_programme(tmp_path, programme=NO_LIST + f"\n[rules.may_call]\n{line}\n", beneficiaries=people)
    assert load_programme(path).roster["exclusion"].null_count() == 3


def test_the_line_that_is_proposed_works_for_any_name_of_a_column(tmp_path):
    name = 'May be "called"?'
    people = BENEFICIARIES.replace("status", '"May be ""called""?"').replace("Opted out", "no").replace("active", "yes")
    settings = NO_LIST.replace('\nstatus = ["opted out"]', "\n'" + name + '\' = ["no"]')
    path = write_programme(tmp_path, programme=settings, beneficiaries=people)
    write_programme(tmp_path, programme=f"{settings}\n[rules.may_call]\n{proposed_line(path)}\n", beneficiaries=people)
    assert load_programme(path).roster["exclusion"].null_count() == 3


@pytest.mark.parametrize("status", ["opted-out", "opt out", "#N/A", ""])
def test_a_doubtful_value_is_never_proposed(tmp_path, status):
    path = write_programme(
        tmp_path, programme=NO_LIST, beneficiaries=BENEFICIARIES.replace("south,active", f"south,{status}", 1)
    )
    assert proposed_line(path) == 'status = ["active"]'
    assert 3 in [finding.row for finding in check_programme(path).findings if finding.kind.startswith("never-call")]


def test_a_column_of_names_is_not_printed_as_a_proposal(tmp_path):
    rows = "".join(f"1{number:03d},Name {number},20,hindi,north,Secret {number},2024-01-01\n" for number in range(30))
    path = write_programme(tmp_path, programme=NO_LIST, beneficiaries=BENEFICIARIES + rows)
    report = check_programme(path)
    assert "Secret" not in str(report)
    assert "31 different values" in str(report)
