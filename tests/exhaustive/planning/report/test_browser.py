"""The page in a real Chromium, on a desk and on a phone: nothing is cut off, nothing overlaps, nothing is fetched.

Looks for a browser in ARMWISE_CHROMIUM, then by its usual names; without one, these tests are skipped.
"""

import json
import os
import re
import shutil
import subprocess

import pytest

from armwise.planning.report.page import POLICY, write_page
from tests.planning.report.pages import make_facts, sample_data

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = os.environ.get("ARMWISE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no Chromium: set ARMWISE_CHROMIUM to one to test the page in it"
)

MEASURE = """
const boxes = [...document.querySelectorAll("figure > svg")].map(chart => {
  const outer = chart.getBoundingClientRect();
  const texts = [...chart.querySelectorAll("text")].map(text => [text.textContent, text.getBoundingClientRect()]);
  const overlaps = [], outside = [];
  texts.forEach(([words, box], place) => {
    if (box.left < outer.left - 1 || box.right > outer.right + 1) outside.push(words);
    texts.slice(place + 1).forEach(([others, other]) => {
      const across = Math.min(box.right, other.right) - Math.max(box.left, other.left);
      const down = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
      if (across > 1 && down > 4) overlaps.push([words, others]);
    });
  });
  const size = parseFloat(getComputedStyle(chart.querySelector("text")).fontSize) * outer.width / 400;
  return {overlaps, outside, size};
});
const result = {
  width: document.documentElement.scrollWidth, screen: innerWidth, boxes,
  fetched: performance.getEntriesByType("resource").map(each => each.name),
  paper: getComputedStyle(document.body).backgroundColor, attacked: window.attacked || null,
};
document.documentElement.setAttribute("data-measured", JSON.stringify(result));
"""


def measure(folder, page, width, *flags):
    """What the browser makes of the page; the measuring script is let in by a policy of its own."""
    policy = "".join(re.findall(r"default-src.*?form-action 'none'", POLICY)).replace("'", "&#x27;")
    assert policy in page
    page = page.replace(policy, policy + "; script-src 'unsafe-inline'")
    path = folder / "page.html"
    path.write_text(page.replace("</body>", f"<script>{MEASURE}</script></body>"))
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--dump-dom", *flags]
    command += [f"--window-size={width},900", path.as_uri()]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r'data-measured="([^"]*)"', result.stdout)
    assert found, result.stderr
    return json.loads(found[1].replace("&quot;", '"').replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return write_page(make_facts(sample_data(tmp_path_factory.mktemp("browser"))))


@pytest.mark.parametrize("width", [1280, 360])
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
        assert box["size"] >= 10


def test_a_dark_screen_gets_a_dark_page(page, tmp_path):
    light = measure(tmp_path, page, 1280)["paper"]
    dark = measure(tmp_path, page, 1280, "--blink-settings=preferredColorScheme=0")["paper"]
    assert light == "rgb(255, 255, 255)"
    assert dark == "rgb(21, 24, 27)"


def test_a_script_would_not_run_on_the_page_as_it_is(page, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(page.replace("</body>", "<script>document.title = 'it ran'</script></body>"))
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", path.as_uri()]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "<title>it ran</title>" not in result.stdout
    assert "<title>Calls for" in result.stdout
