"""Whoever does what a remedy says is rid of the finding."""

import pytest

from armwise.programme import check_programme
from armwise.programme.finding_kinds import KINDS, Severity
from tests.programme.remedies import REMEDIES, Remedy
from tests.programme.small import write_programme

# Found by other means than a spoilt file of four people; each has its tests where it is made.
ELSEWHERE = {
    "outage",
    "outage-now",
    "row-in-future",
    "row-far-after",
    "row-far-before",
    "call-far-before",
    "list-without-outcomes",
}


def name_of(remedy: Remedy) -> str:
    return f"{remedy.kind}: {remedy.says}"


def test_every_kind_has_a_remedy_that_is_followed():
    assert {remedy.kind for remedy in REMEDIES} | ELSEWHERE == set(KINDS)


@pytest.mark.parametrize("remedy", REMEDIES, ids=name_of)
def test_a_remedy_that_is_followed_works(tmp_path, remedy):
    path = write_programme(tmp_path)
    for step in remedy.spoil:
        step(tmp_path)
    report = check_programme(path)
    found = [finding for finding in report.findings if finding.kind == remedy.kind]
    assert any(remedy.says in finding.remedy for finding in found), str(report)
    for step in remedy.mend:
        step(tmp_path)
    mended = check_programme(path)
    assert remedy.kind not in {finding.kind for finding in mended.findings}, str(mended)
    assert [finding for finding in mended.findings if finding.severity is Severity.ERROR] == [], str(mended)
