"""The page in a real Chromium, on a desk, on a phone and on paper: nothing is cut off, overlaps or is fetched.

Looks for a browser in ARMWISE_CHROMIUM, then by its usual names. Without one, these tests are skipped; where CI is
"true", they fail instead.
"""

import html
import json
import os
import re
import shutil
import subprocess

import pytest

from armwise.report.page import POLICY, write_page
from tests.report.pages import make_facts, make_full_list, sample_data

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = os.environ.get("ARMWISE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
)
# The width between the margins of an A4 page, 186 mm, at 96 units an inch.
PAPER = 703

MEASURE = """
document.querySelectorAll("details").forEach(each => { each.open = window.unfolded; });
const meet = (box, other, across, down) =>
  Math.min(box.right, other.right) - Math.max(box.left, other.left) > across &&
  Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top) > down;
const boxes = [...document.querySelectorAll("figure > svg")].map(chart => {
  const outer = chart.getBoundingClientRect();
  const texts = [...chart.querySelectorAll("text")].map(text => [text.textContent, text.getBoundingClientRect()]);
  const lines = [...chart.querySelectorAll("line.grid")].map(line => line.getBoundingClientRect());
  const overlaps = [], outside = [], crossed = [];
  texts.forEach(([words, box], place) => {
    if (box.left < outer.left - 1 || box.right > outer.right + 1) outside.push(words);
    if (lines.some(line => meet(box, line, -0.1, 1.5) || meet(box, line, 1.5, -0.1))) crossed.push(words);
    texts.slice(place + 1).forEach(([others, other]) => {
      if (meet(box, other, 1, 4)) overlaps.push([words, others]);
    });
  });
  const size = parseFloat(getComputedStyle(chart.querySelector("text")).fontSize) * outer.width / 400;
  return {overlaps, outside, crossed, size};
});
const shown = each => each.getBoundingClientRect().width > 0;
const cells = [...document.querySelectorAll("th, td, caption, li, p, summary, h1, h2")].filter(shown);
const isCut = each => {
  const box = each.getBoundingClientRect();
  const inside = each.clientWidth == 0 || each.scrollWidth <= each.clientWidth + 1;
  return box.left < -0.5 || box.right > innerWidth + 0.5 || !inside;
};
const result = {
  width: document.documentElement.scrollWidth, screen: innerWidth, boxes, cells: cells.length,
  cut: cells.filter(isCut).map(each => each.textContent.slice(0, 60)),
  rows: [...document.querySelectorAll(".sheet tbody tr")].map(each => each.getBoundingClientRect().height),
  scrolling: [...document.querySelectorAll(".scroll")].filter(each => each.scrollWidth > each.clientWidth + 1).length,
  tables: [...document.querySelectorAll("table")].filter(each => each.checkVisibility()).length,
  line: parseFloat(getComputedStyle(document.querySelector(".sheet td")).fontSize),
  breaks: [...document.querySelectorAll(".sheet")].map(each => getComputedStyle(each).breakBefore),
  fetched: performance.getEntriesByType("resource").map(each => each.name),
  paper: getComputedStyle(document.body).backgroundColor, attacked: window.attacked || null,
};
parent.postMessage(JSON.stringify(result), "*");
"""
# A window has a least width, 500 units; a frame has none.
FRAME = """<!DOCTYPE html><title>frame</title>
<iframe src="page.html" width="{width}" height="900" style="border: 0"></iframe>
<script>onmessage = message => document.documentElement.setAttribute("data-measured", message.data)</script>
"""


@pytest.fixture(scope="module", autouse=True)
def _needs_a_browser():
    if BROWSER is None:
        stop = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        stop("no Chromium: set ARMWISE_CHROMIUM to one to test the page in it")


def browse(folder, *arguments):
    command = [BROWSER, *FLAGS, f"--user-data-dir={folder / 'profile'}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def measure(folder, page, width, *flags, unfolded=True):
    """What the browser makes of the page; the measuring script is let in by a policy of its own."""
    policy = "".join(re.findall(r"default-src.*?form-action 'none'", POLICY)).replace("'", "&#x27;")
    assert policy in page
    page = page.replace(policy, policy + "; script-src 'unsafe-inline'")
    path = folder / "page.html"
    script = f"window.unfolded = {json.dumps(unfolded)};{MEASURE}"
    path.write_text(page.replace("</body>", f"<script>{script}</script></body>"))
    frame = folder / "frame.html"
    frame.write_text(FRAME.format(width=width))
    arguments = ("--virtual-time-budget=10000", f"--window-size={width + 50},1000", frame.as_uri())
    result = browse(folder, "--dump-dom", *flags, *arguments)
    found = re.search(r'data-measured="([^"]*)"', result.stdout)
    assert found, result.stderr
    return json.loads(html.unescape(found[1]))


def num_printed_pages(folder, page):
    path, printed = folder / "page.html", folder / "page.pdf"
    path.write_text(page)
    browse(folder, "--no-pdf-header-footer", f"--print-to-pdf={printed}", path.as_uri())
    return len(re.findall(rb"/Type\s*/Page\b", printed.read_bytes()))


def on_paper(page):
    return page.replace("@media print", "@media all")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return sample_data(tmp_path_factory.mktemp("browser"))


@pytest.fixture(scope="module")
def page(data):
    """With names that would run if they were not escaped."""
    return write_page(make_facts(data))


@pytest.fixture(scope="module")
def full(data):
    """With 42 calls in three groups, as the demonstration's list."""
    return write_page(make_full_list(data))


@pytest.mark.parametrize("width", [1280, 768, 375, 360])
def test_the_page_fits_and_fetches_nothing(page, tmp_path, width):
    seen = measure(tmp_path, page.replace("alert(1)", "window.attacked = 1"), width)
    assert seen["screen"] == width
    assert seen["width"] <= width
    assert seen["fetched"] == []
    assert seen["attacked"] is None
    assert len(seen["boxes"]) >= 8
    for box in seen["boxes"]:
        assert box["overlaps"] == []
        assert box["outside"] == []
        assert box["crossed"] == []
        assert box["size"] >= 10


@pytest.mark.parametrize("width", [1280, 768, 375])
def test_no_column_is_cut_off(page, full, tmp_path, width):
    for each in (page, full):
        seen = measure(tmp_path, each, width)
        assert seen["cells"] > 200
        assert seen["cut"] == []
        assert seen["scrolling"] == 0


def test_long_names_and_ids_are_broken_rather_than_cut_off(data, tmp_path):
    facts, long = make_full_list(data), "W" * 120
    plan = facts.plan
    calls = plan.calls.with_columns(id=plan.calls["id"] + long, group=plan.calls["group"] + long)
    background = facts.background.with_columns(id=facts.background["id"] + long)
    listed = type(plan)(calls, plan.summary, plan.rules, plan._standing)
    page = write_page(facts._replace(plan=listed, background=background, name=long))
    for width, each in ((375, page), (PAPER, on_paper(page))):
        seen = measure(tmp_path, each, width)
        assert seen["cut"] == []
        assert seen["width"] <= width


def test_tables_are_folded_under_their_charts_but_for_the_list(full, tmp_path):
    assert measure(tmp_path, full, 1280, unfolded=False)["tables"] == 3
    assert measure(tmp_path, full, 1280)["tables"] > 10


def test_the_sample_prints_on_five_pages(page, full, tmp_path):
    assert 1 < num_printed_pages(tmp_path, full) <= 5
    assert 1 < num_printed_pages(tmp_path, page) <= 5


def test_on_paper_a_person_is_a_line_and_a_group_starts_a_page(full, tmp_path):
    seen = measure(tmp_path, on_paper(full), PAPER, unfolded=False)
    assert len(seen["rows"]) == 42
    assert max(seen["rows"]) < 2 * seen["line"]
    # The first group may follow on the first page; no page holds two groups.
    assert seen["breaks"] == ["auto", "page", "page"]
    assert seen["cut"] == []
    for box in seen["boxes"]:
        assert box["overlaps"] == []
        assert box["outside"] == []
        assert box["crossed"] == []


def test_a_dark_screen_gets_a_dark_page(page, tmp_path):
    light = measure(tmp_path, page, 1280)["paper"]
    dark = measure(tmp_path, page, 1280, "--blink-settings=preferredColorScheme=0")["paper"]
    assert light == "rgb(255, 255, 255)"
    assert dark == "rgb(21, 24, 27)"


def test_a_script_would_not_run_on_the_page_as_it_is(page, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(page.replace("</body>", "<script>document.title = 'it ran'</script></body>"))
    result = browse(tmp_path, "--dump-dom", path.as_uri())
    assert "<title>it ran</title>" not in result.stdout
    assert "<title>Calls for" in result.stdout
