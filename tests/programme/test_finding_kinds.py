"""The page for data teams lists every kind of finding, in the program's own words."""

import re
from pathlib import Path

from armwise.programme.finding_kinds import KINDS

PAGE = (Path(__file__).parents[2] / "docs" / "data-format.md").read_text(encoding="utf-8")


def test_the_page_lists_every_finding():
    rows = [f"| `{kind}` | {known.severity} | {known.what} | {known.remedy} |" for kind, known in KINDS.items()]
    listed = re.search(r"<!-- findings -->\n\| finding.*?\n\|.*?\n(.*?)\n<!-- /findings -->", PAGE, re.DOTALL)
    assert listed is not None
    assert listed[1].splitlines() == rows


def test_every_kind_is_used():
    source = Path(__file__).parents[2] / "src" / "armwise" / "programme"
    code = "".join(path.read_text(encoding="utf-8") for path in source.glob("*.py") if path.name != "finding_kinds.py")
    assert [kind for kind in KINDS if f'"{kind}"' not in code] == []
